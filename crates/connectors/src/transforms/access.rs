//! The `access` transform: forced tokens, for sources that know no access, or not the one that is wanted.

use std::borrow::Cow;
use std::sync::Arc;

use garde::Validate;
use ingather_contract::call::CallContext;
use ingather_contract::settings;
use ingather_contract::transform::{Item, Transform, TransformKind, Verdict};
use ingather_model::access::{Acl, Entry, UNIX_FORMS, is_misspelled};
use ingather_model::fault::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tokens of one list; an acl is compared and kept as a whole.
const TOKENS_MAX: usize = 1_024;
/// Longest token, bytes.
const TOKEN_BYTES_MAX: usize = 1_024;

/// The `access` transform.
pub(crate) const TRANSFORM: TransformKind = TransformKind {
    name: "access",
    about: "Says who may see the documents, instead of what the source says or beside it; folders above them still decide.",
    version: "1",
    schema: settings::schema_of::<Access>,
    open,
};

fn open(value: &serde_json::Value) -> Result<Arc<dyn Transform>, Fault> {
    let access: Access = settings::read(value)?;
    // A deny list with a slip in it would leave a document open.
    for (setting, tokens) in [("allow", &access.allow), ("deny", &access.deny)] {
        if let Some(at) = tokens.iter().position(|token| is_misspelled(token)) {
            return Err(Fault::refused(
                "settings",
                format!(
                    "nobody can hold the token at {setting}[{at}]: there are {UNIX_FORMS}; `ingather tokens USER` lists those of a \
                     user"
                ),
            ));
        }
    }
    let is_empty = access.allow.is_empty() && access.deny.is_empty();
    if is_empty != access.everybody {
        return Err(Fault::refused(
            "settings",
            "it names tokens and says `everybody`, or neither; give `allow` and `deny`, or `\"everybody\": true` alone to \
             show the documents to everybody who may enter their folders",
        ));
    }
    if access.everybody && access.mode == Mode::Add {
        return Err(Fault::refused(
            "settings",
            "`everybody` replaces what the source says; leave `mode` out",
        ));
    }
    Ok(Arc::new(access))
}

/// Who may see the documents. Tokens of this machine's users are `unix:everyone`, `unix:u:NUMBER` and `unix:g:NUMBER`, those of
/// another authority are as it spells them; `tokens USER` lists what a user holds.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
struct Access {
    /// What becomes of the access that the source tells.
    #[garde(skip)]
    mode: Mode,
    /// Tokens of those who may see the documents, such as `unix:g:100`. Without any, nobody may.
    #[garde(length(max = TOKENS_MAX), inner(length(bytes, min = 1, max = TOKEN_BYTES_MAX)))]
    allow: Vec<String>,
    /// Tokens of those who may not, whatever else they hold.
    #[garde(length(max = TOKENS_MAX), inner(length(bytes, min = 1, max = TOKEN_BYTES_MAX)))]
    deny: Vec<String>,
    /// Instead of tokens: everybody may see the documents, also those who are not known.
    #[garde(skip)]
    everybody: bool,
}

/// What becomes of the access that the source tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// It counts for nothing, owner, mode and access list of a file included: exactly the holders of `allow` without those
    /// of `deny` see the document, also where the source hides it from them.
    #[default]
    Replace,
    /// It stays, and the tokens join it. Where the source has sets of allowed and denied tokens, they join the sets: its
    /// own denials still count, and a document that was open to all is open to holders of `allow` alone. Where it has an
    /// ordered list, as a Unix mode or access list is, they are asked first: holders of `deny` may not see the document,
    /// then holders of `allow` may, whatever the file says, and for everybody else the file decides.
    Add,
}

impl Transform for Access {
    fn apply(&self, _call: &CallContext, _item: &mut Item<'_>) -> Result<Verdict, Fault> {
        Ok(Verdict::Pass)
    }

    fn rules_access(&self) -> bool {
        true
    }

    fn access<'l>(&self, acl: Cow<'l, Acl>) -> Cow<'l, Acl> {
        Cow::Owned(match (self.mode, acl.into_owned()) {
            (Mode::Replace, _) => Acl::Flat { allow: self.allow.clone(), deny: self.deny.clone() },
            (Mode::Add, Acl::Flat { allow, deny }) => {
                Acl::Flat { allow: joined(allow, &self.allow), deny: joined(deny, &self.deny) }
            }
            (Mode::Add, Acl::Ordered(entries)) => {
                let denied = self.deny.iter().map(Entry::deny);
                let allowed = self.allow.iter().map(Entry::allow);
                Acl::Ordered(denied.chain(allowed).chain(entries).collect())
            }
        })
    }
}

fn joined(mut tokens: Vec<String>, more: &[String]) -> Vec<String> {
    for token in more {
        if !tokens.contains(token) {
            tokens.push(token.clone());
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::super::trial::{refused, without_reading};
    use super::*;
    use ingather_model::access::Tokens;
    use ingather_model::document::Record;
    use ingather_testkit::suites;
    use serde_json::{Value, json};

    #[test]
    fn it_keeps_what_a_transform_promises() {
        suites::transform(&TRANSFORM, &json!({"allow": ["unix:u:7"]}), &[("a.txt", b"text")]);
        let mut record = Record { title: "t".into(), ..Record::default() };
        let before = record.clone();
        let (verdict, _) = without_reading(&TRANSFORM, &json!({"allow": ["unix:u:7"]}), &mut record);
        assert_eq!((verdict.unwrap(), record), (Verdict::Pass, before));
    }

    fn flat(allow: &[&str], deny: &[&str]) -> Acl {
        let owned = |tokens: &[&str]| tokens.iter().map(|token| (*token).to_owned()).collect();
        Acl::Flat { allow: owned(allow), deny: owned(deny) }
    }

    /// A file of ann, mode 640 with the group 100.
    fn unix() -> Acl {
        Acl::Ordered(vec![
            Entry::allow("unix:u:0"),
            Entry::allow("unix:u:1"),
            Entry::allow("unix:g:100"),
            Entry::deny("unix:everyone"),
        ])
    }

    /// Which of these people an acl admits.
    fn sees(settings: Value, acl: Acl) -> Vec<&'static str> {
        let people = [
            ("nobody", ""),
            ("ann", "unix:u:1 unix:everyone"),
            ("bob", "unix:u:2 unix:g:100 unix:everyone"),
            ("eve", "unix:u:3 unix:everyone"),
            ("audit", "unix:g:8 unix:u:4 unix:everyone"),
            ("both", "unix:g:8 unix:g:9"),
        ];
        let acl = (TRANSFORM.open)(&settings).unwrap().access(Cow::Owned(acl));
        let admitted = people.into_iter().filter(|(_, tokens)| {
            let tokens: Tokens = tokens.split_whitespace().collect();
            acl.admits(&tokens)
        });
        admitted.map(|(name, _)| name).collect()
    }

    #[test]
    fn forced_tokens_replace_what_the_source_says() {
        let forced = json!({"allow": ["unix:g:8"], "deny": ["unix:g:9"]});
        for acl in [unix(), Acl::open(), flat(&["unix:u:3"], &["unix:g:8"])] {
            assert_eq!(sees(forced.clone(), acl), ["audit"]);
        }
        assert_eq!(
            sees(json!({"deny": ["unix:g:9"]}), unix()),
            Vec::<&str>::new(),
            "nobody without an allowed token"
        );
        assert_eq!(sees(json!({"everybody": true}), unix()).len(), 6);
    }

    #[test]
    fn added_tokens_are_asked_before_a_unix_list() {
        assert_eq!(
            sees(json!({"mode": "add", "allow": ["unix:g:8"]}), unix()),
            ["ann", "bob", "audit", "both"]
        );
        let both = json!({"mode": "add", "allow": ["unix:g:8"], "deny": ["unix:g:9", "unix:u:1"]});
        assert_eq!(sees(both, unix()), ["bob", "audit"]);
    }

    #[test]
    fn added_tokens_join_the_sets_of_a_flat_acl() {
        let add = json!({"mode": "add", "allow": ["unix:g:8"]});
        assert_eq!(sees(add.clone(), flat(&["unix:u:3"], &["unix:g:9"])), ["eve", "audit"]);
        assert_eq!(sees(add, Acl::open()), ["audit", "both"], "what was open to all is so no longer");
        assert_eq!(sees(json!({"mode": "add", "deny": ["unix:g:9"]}), Acl::open()), Vec::<&str>::new());
    }

    #[test]
    fn opening_to_everybody_has_to_be_said() {
        assert!(refused(&TRANSFORM, json!({})).contains("everybody"));
        assert!(refused(&TRANSFORM, json!({"allow": ["unix:u:7"], "everybody": true})).contains("everybody"));
        assert!(refused(&TRANSFORM, json!({"everybody": true, "mode": "add"})).contains("mode"));
        refused(&TRANSFORM, json!({"allow": [""]}));
    }

    #[test]
    fn a_misspelled_token_is_refused() {
        for (settings, place) in [
            (json!({"allow": ["unix:u:1", "unix:u:ann"]}), "allow[1]"),
            (json!({"mode": "add", "deny": ["unix:u:ann"]}), "deny[0]"),
        ] {
            let told = refused(&TRANSFORM, settings);
            assert!(told.contains(place) && told.contains("`unix:u:NUMBER`"), "{told}");
        }
    }
}
