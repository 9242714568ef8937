//! A pipeline stage for scenarios: declines what contains a word, or fails on it, puts a mark on the rest, finds parts in it.

use std::borrow::Cow;
use std::sync::Arc;

use ingather_contract::call::CallContext;
use ingather_contract::settings::{NoSettings, schema_of};
use ingather_contract::transform::{Item, Transform, TransformKind, Verdict};
use ingather_model::access::Acl;
use ingather_model::document::{Component, Record};
use ingather_model::fault::{Fault, Reason};

/// `{"decline": word, "broken": word, "away": word, "mark": text, "parts": "keep" | "drop", "access": "everybody"}`, each optional; for parts see [`parted`].
pub static TRANSFORM: TransformKind = TransformKind {
    name: "script",
    about: "Declines, fails, is away or marks by a word.",
    version: "1",
    schema: schema_of::<NoSettings>,
    open: |settings| {
        let word = |name: &str| settings[name].as_str().map(str::to_owned);
        Ok(Arc::new(Script {
            decline: word("decline"),
            broken: word("broken"),
            away: word("away"),
            mark: word("mark"),
            parts: word("parts"),
            everybody: word("access").is_some(),
        }))
    },
};

struct Script {
    decline: Option<String>,
    broken: Option<String>,
    away: Option<String>,
    mark: Option<String>,
    parts: Option<String>,
    everybody: bool,
}

/// What a text holds: `v1+a1+b?+...` is the text `v1`, in which are a component `a` with the text `a1` and a component `b`
/// that cannot be read, and more that cannot be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parted {
    /// The text itself.
    pub own: String,
    /// Components: name, and text where it can be read.
    pub parts: Vec<(String, Option<String>)>,
    /// There are more.
    pub incomplete: bool,
}

/// Takes a text apart.
pub fn parted(text: &str) -> Parted {
    let mut words = text.split('+');
    let own = words.next().unwrap_or_default().to_owned();
    let mut found = Parted { own, parts: Vec::new(), incomplete: false };
    for word in words {
        let name = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '?').to_owned();
        match word {
            "..." => found.incomplete = true,
            word => found.parts.push((name, (!word.ends_with('?')).then(|| word.to_owned()))),
        }
    }
    found
}

impl Transform for Script {
    fn apply(&self, _call: &CallContext, item: &mut Item<'_>) -> Result<Verdict, Fault> {
        let mut text = String::new();
        item.content.read_to_string(&mut text).map_err(|error| Fault::passing("read", error.to_string()))?;
        // An earlier stage has read it, and left what it found.
        if text.is_empty() {
            text = item.record.body.clone().unwrap_or_default();
        }
        let has = |word: &Option<String>| word.as_ref().is_some_and(|word| text.contains(word.as_str()));
        if has(&self.broken) {
            return Err(Fault::broken("stage", "the stage cannot read this"));
        }
        if has(&self.away) {
            return Ok(Verdict::Unread(Fault::passing("away", "what reads it is away")));
        }
        if has(&self.decline) {
            return Ok(Verdict::Decline(Reason::new("declined", "it contains the word")));
        }
        if let Some(mark) = &self.mark {
            item.record.fields.insert("mark".to_owned(), vec![mark.clone()]);
        }
        let Some(own) = &self.parts else { return Ok(Verdict::Pass) };
        let found = parted(&text);
        let is_container = !found.parts.is_empty() || found.incomplete;
        item.record.body = Some(found.own);
        item.parts.incomplete = found.incomplete;
        for (name, text) in found.parts {
            let record = match text {
                Some(text) => Ok(Record { body: Some(text), ..Record::default() }),
                None => Err(Reason::new("unreadable", "it cannot be read")),
            };
            item.parts.list.push(Component { name, record });
        }
        Ok(if own == "drop" && is_container { Verdict::PartsOnly } else { Verdict::Pass })
    }

    fn rules_access(&self) -> bool {
        self.everybody
    }

    fn access<'l>(&self, acl: Cow<'l, Acl>) -> Cow<'l, Acl> {
        if self.everybody { Cow::Owned(Acl::open()) } else { acl }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_taken_apart() {
        let parts = vec![("a".to_owned(), Some("a1".to_owned())), ("b".to_owned(), None)];
        assert_eq!(parted("v1+a1+b?+..."), Parted { own: "v1".to_owned(), parts, incomplete: true });
        assert_eq!(parted("v1"), Parted { own: "v1".to_owned(), parts: Vec::new(), incomplete: false });
    }
}
