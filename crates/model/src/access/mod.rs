//! Who may see a document: acls, containers and the one function that judges (design 4.20, coverage S3.253–S3.267).

pub mod authority;
pub mod identity;

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::ids::Digest;

/// What tokens of the local machine begin with.
pub const UNIX_PREFIX: &str = "unix:";

/// Held by every user of the local machine, by nobody anonymous.
pub const UNIX_EVERYONE: &str = "unix:everyone";

/// The token of a local user.
pub fn unix_user(uid: u32) -> String {
    format!("unix:u:{uid}")
}

/// The token of a local group.
pub fn unix_group(gid: u32) -> String {
    format!("unix:g:{gid}")
}

/// How the tokens of this machine's users are spelled.
pub const UNIX_FORMS: &str = "`unix:everyone`, `unix:u:NUMBER` for a user and `unix:g:NUMBER` for a group";

/// Whether a token begins as those of this machine's users do, and is spelled as none of them: nobody can hold it, so that
/// it would deny nobody, though somebody wrote it down. Any other token is an opaque string, which another authority may give.
pub fn is_misspelled(token: &str) -> bool {
    let number = |beginning: &str| token.strip_prefix(beginning)?.parse().ok();
    let begins = token.get(..5).is_some_and(|begin| begin.eq_ignore_ascii_case("unix:"));
    let known = token == UNIX_EVERYONE
        || number("unix:u:").is_some_and(|uid| unix_user(uid) == token)
        || number("unix:g:").is_some_and(|gid| unix_group(gid) == token);
    begins && !known
}

/// One layer of access; a user must be admitted by every layer above a document and by its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Acl {
    /// Entries in order; the first whose token the user holds decides; none: not admitted.
    Ordered(Vec<Entry>),
    /// Two sets with the rules of ManifoldCF's search plug-ins (design manifoldcf 10.5).
    Flat {
        /// One of these is needed, unless both sets are empty.
        allow: Vec<String>,
        /// Any of these shuts out.
        deny: Vec<String>,
    },
}

/// One entry of an ordered acl.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Entry {
    /// The token that the entry speaks of.
    pub who: String,
    /// Whether it admits.
    pub allow: bool,
}

impl Entry {
    /// An entry that admits.
    pub fn allow(who: impl Into<String>) -> Entry {
        Entry { who: who.into(), allow: true }
    }

    /// An entry that shuts out.
    pub fn deny(who: impl Into<String>) -> Entry {
        Entry { who: who.into(), allow: false }
    }
}

impl Acl {
    /// Admits everybody, also those who are not known.
    pub fn open() -> Acl {
        Acl::Flat { allow: Vec::new(), deny: Vec::new() }
    }

    /// Whether somebody who holds `tokens` passes this acl.
    pub fn admits(&self, tokens: &Tokens) -> bool {
        matches!(self.judge(tokens), Judgement::Open | Judgement::Allowed { .. })
    }

    /// What of this acl decides about somebody who holds `tokens`.
    ///
    /// Tokens that are not whole may lack any other token, so that they pass no deny that they cannot disprove: whoever is
    /// admitted by a part of their tokens is admitted by all of them.
    pub fn judge(&self, tokens: &Tokens) -> Judgement<'_> {
        match self {
            Acl::Ordered(entries) => ordered(entries, tokens),
            Acl::Flat { allow, deny } => flat(allow, deny, tokens),
        }
    }

    /// Whether it surely admits nobody whom `other` shuts out. Acls of different forms are not compared: false.
    pub fn is_within(&self, other: &Acl) -> bool {
        match (self, other) {
            // The same first entry decides about everybody.
            (Acl::Ordered(these), Acl::Ordered(those)) => {
                these.len() == those.len()
                    && these
                        .iter()
                        .zip(those)
                        .all(|(this, that)| this.who == that.who && (that.allow || !this.allow))
            }
            (Acl::Flat { allow, deny }, Acl::Flat { allow: others, deny: denied }) => {
                let open = others.is_empty() && denied.is_empty();
                let all_in =
                    |these: &[String], those: &[String]| these.iter().all(|token| those.contains(token));
                open || (!allow.is_empty() && all_in(allow, others) && all_in(denied, deny))
            }
            _ => false,
        }
    }

    /// The text under which an acl is interned: equal acls have equal texts.
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("an acl is made of strings and flags")
    }

    /// Digest of [`Acl::text`].
    pub fn digest(&self) -> Digest {
        Digest::of(self.text().as_bytes())
    }
}

fn ordered<'l>(entries: &'l [Entry], tokens: &Tokens) -> Judgement<'l> {
    let decides = |(at, entry): (usize, &'l Entry)| {
        let who = entry.who.as_str();
        match (tokens.holds(who), entry.allow) {
            (true, true) => Some(Judgement::Allowed { at, who }),
            (true, false) => Some(Judgement::Denied { at, who }),
            (false, false) if !tokens.are_whole() => Some(Judgement::Unproven { at, who }),
            (false, _) => None,
        }
    };
    entries.iter().enumerate().find_map(decides).unwrap_or(Judgement::Unlisted)
}

fn flat<'l>(allow: &'l [String], deny: &'l [String], tokens: &Tokens) -> Judgement<'l> {
    let held = |list: &'l [String]| list.iter().enumerate().find(|(_, token)| tokens.holds(token));
    match (held(deny), held(allow), deny.first()) {
        (Some((at, who)), ..) => Judgement::Denied { at, who },
        (None, None, None) if allow.is_empty() => Judgement::Open,
        (None, None, _) => Judgement::Unlisted,
        (None, Some(_), Some(who)) if !tokens.are_whole() => Judgement::Unproven { at: 0, who },
        (None, Some((at, who)), _) => Judgement::Allowed { at, who },
    }
}

/// What of an acl decides about somebody. `at` counts from 0: entries of an ordered acl, or tokens of the list of a flat one that
/// has `who`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement<'l> {
    /// It lists nobody: everybody passes.
    Open,
    /// It allows `who`, and they hold that.
    Allowed {
        /// Where it says so.
        at: usize,
        /// The token.
        who: &'l str,
    },
    /// It denies `who`, and they hold that.
    Denied {
        /// Where it says so.
        at: usize,
        /// The token.
        who: &'l str,
    },
    /// It denies `who`, and they may hold that: their tokens are not whole. They do not pass.
    Unproven {
        /// Where it says so.
        at: usize,
        /// The token.
        who: &'l str,
    },
    /// It allows others alone.
    Unlisted,
}

/// The tokens that a user holds; none for somebody who is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokens {
    held: HashSet<String>,
    whole: bool,
}

impl Tokens {
    /// Nobody known: sees only what is open to all.
    pub fn anonymous() -> Tokens {
        Tokens { held: HashSet::new(), whole: true }
    }

    /// The same tokens of a user who may hold others: not all of them could be asked for. Such a user passes no deny
    /// that the tokens do not disprove ([`Acl::judge`]).
    pub fn not_whole(self) -> Tokens {
        Tokens { whole: false, ..self }
    }

    /// Whether the user holds no other token.
    pub fn are_whole(&self) -> bool {
        self.whole
    }

    /// Whether `token` is among them.
    pub fn holds(&self, token: &str) -> bool {
        self.held.contains(token)
    }

    /// All tokens, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.held.iter().map(String::as_str)
    }
}

/// Whole tokens.
impl<T: Into<String>> FromIterator<T> for Tokens {
    fn from_iter<I: IntoIterator<Item = T>>(tokens: I) -> Tokens {
        Tokens { held: tokens.into_iter().map(Into::into).collect(), whole: true }
    }
}

/// Judges: a user may see a document when every acl above it and its own admit (design 4.20).
///
/// `acls` holds the document's acl, its container and every container above; an unknown one is given as `None` and admits
/// nobody.
pub fn may_see<'a>(tokens: &Tokens, acls: impl IntoIterator<Item = Option<&'a Acl>>) -> bool {
    acls.into_iter().all(|acl| acl.is_some_and(|acl| acl.admits(tokens)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn flat(allow: &str, deny: &str) -> Acl {
        let set = |text: &str| text.chars().map(|c| c.to_string()).collect();
        Acl::Flat { allow: set(allow), deny: set(deny) }
    }

    /// The truth table of design manifoldcf 10.6; each document has its own acl and a share acl.
    #[test]
    fn the_truth_table_of_the_search_plug_ins_holds() {
        let documents = [
            ("P1", flat("ab", ""), flat("", "")),
            ("P2", flat("ac", "c"), flat("", "")),
            ("P3", flat("", ""), flat("abc", "ac")),
            ("P4", flat("bc", ""), flat("c", "a")),
            ("P5", flat("", ""), flat("", "")),
        ];
        let table = [
            ("", "P5"),
            ("a", "P1 P2 P5"),
            ("b", "P1 P3 P5"),
            ("c", "P4 P5"),
            ("ab", "P1 P2 P5"),
            ("bc", "P1 P4 P5"),
            ("abc", "P1 P5"),
        ];
        for (held, expected) in table {
            let tokens: Tokens = held.chars().map(|c| c.to_string()).collect();
            let seen: Vec<&str> = documents
                .iter()
                .filter(|(_, own, share)| may_see(&tokens, [Some(own), Some(share)]))
                .map(|(name, _, _)| *name)
                .collect();
            assert_eq!(seen.join(" "), expected, "tokens {held:?}");
        }
    }

    #[test]
    fn a_deny_without_an_allow_hides_from_everybody() {
        for held in ["", "a", "b", "ab"] {
            let tokens: Tokens = held.chars().map(|c| c.to_string()).collect();
            assert!(!flat("", "a").admits(&tokens));
        }
    }

    #[test]
    fn the_first_entry_that_matches_decides() {
        let owner_in_a_denied_group = Acl::Ordered(vec![
            Entry::allow("unix:u:7"),
            Entry::deny("unix:g:3"),
            Entry::allow(UNIX_EVERYONE),
        ]);
        let judge = |tokens: &[&str]| owner_in_a_denied_group.admits(&tokens.iter().copied().collect());
        assert!(judge(&["unix:u:7", "unix:g:3", UNIX_EVERYONE]));
        assert!(!judge(&["unix:u:8", "unix:g:3", UNIX_EVERYONE]));
        assert!(judge(&["unix:u:8", "unix:g:4", UNIX_EVERYONE]));
        assert!(!judge(&[]), "nobody anonymous");
    }

    /// The table of docs/design/access.md: what decides about somebody who holds `b` and perhaps more.
    #[test]
    fn tokens_that_are_not_whole_pass_no_deny_that_they_cannot_disprove() {
        let ordered = |text: &str| {
            let entry = |word: &str| Entry { who: word[1..].to_owned(), allow: word.starts_with('+') };
            Acl::Ordered(text.split_whitespace().map(entry).collect())
        };
        let allowed = |at| Judgement::Allowed { at, who: "b" };
        let denied = |at| Judgement::Denied { at, who: "b" };
        let unproven = |at| Judgement::Unproven { at, who: "a" };
        let table = [
            (flat("", ""), Judgement::Open, Judgement::Open),
            (flat("ab", ""), allowed(1), allowed(1)),
            (flat("b", "a"), allowed(0), unproven(0)),
            (flat("b", "ab"), denied(1), denied(1)),
            (flat("", "a"), Judgement::Unlisted, Judgement::Unlisted),
            (flat("a", ""), Judgement::Unlisted, Judgement::Unlisted),
            (ordered("+b"), allowed(0), allowed(0)),
            (ordered("+a +b"), allowed(1), allowed(1)),
            (ordered("+b -a"), allowed(0), allowed(0)),
            (ordered("-a +b"), allowed(1), unproven(0)),
            (ordered("+c -a -b"), denied(2), unproven(1)),
            (ordered("-b"), denied(0), denied(0)),
            (ordered("+a"), Judgement::Unlisted, Judgement::Unlisted),
            (ordered("-a"), Judgement::Unlisted, unproven(0)),
            (ordered(""), Judgement::Unlisted, Judgement::Unlisted),
        ];
        let whole: Tokens = ["b"].into_iter().collect();
        let part = whole.clone().not_whole();
        for (acl, of_whole, of_part) in &table {
            assert_eq!(acl.judge(&whole), *of_whole, "{acl:?}, whole");
            assert_eq!(acl.judge(&part), *of_part, "{acl:?}, not whole");
            assert!(whole.are_whole() && !part.are_whole() && part != whole && part.holds("b"));
        }
    }

    const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

    fn some_acl() -> impl Strategy<Value = Acl> {
        let list =
            || prop::collection::vec(prop::sample::select(NAMES.to_vec()).prop_map(str::to_owned), 0..4);
        let entry = (prop::sample::select(NAMES.to_vec()), any::<bool>());
        let entry = entry.prop_map(|(who, allow)| Entry { who: who.to_owned(), allow });
        prop_oneof![
            prop::collection::vec(entry, 0..6).prop_map(Acl::Ordered),
            (list(), list()).prop_map(|(allow, deny)| Acl::Flat { allow, deny }),
        ]
    }

    fn some_of(bits: u32) -> Tokens {
        NAMES.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1).map(|(_, name)| *name).collect()
    }

    proptest! {
        /// A part of an answer never sees more than the whole one; and what no other token could deny, it sees.
        #[test]
        fn a_part_of_the_tokens_sees_what_all_that_they_may_be_part_of_see(acl in some_acl(), held in 0u32..32) {
            let part = some_of(held).not_whole();
            let always = (0..32).filter(|all| all & held == held).all(|all| acl.admits(&some_of(all)));
            prop_assert!(always || !acl.admits(&part), "{acl:?}");
            // Of a token that is listed twice, the later entry says nothing.
            let twice = match &acl {
                Acl::Ordered(entries) => (1..entries.len()).any(|n| entries[..n].iter().any(|e| e.who == entries[n].who)),
                Acl::Flat { .. } => false,
            };
            prop_assert!(twice || !always || acl.admits(&part), "{acl:?}");
        }

        /// An acl that is within another one is so for a part of somebody's tokens, too.
        #[test]
        fn an_acl_within_another_admits_no_part_of_the_tokens_of_somebody_else(
            one in some_acl(), other in some_acl(), held in 0u32..32,
        ) {
            let part = some_of(held).not_whole();
            prop_assert!(!one.is_within(&other) || !one.admits(&part) || other.admits(&part));
        }
    }

    #[test]
    fn a_misspelled_token_is_told_from_one_of_another_authority() {
        for token in [UNIX_EVERYONE.to_owned(), unix_user(0), unix_user(1000), unix_group(u32::MAX)] {
            assert!(!is_misspelled(&token), "{token}");
        }
        let odd = "unix:u:ann unix:u: unix:u:007 unix:u:+7 unix:u:4294967296 unix:G:1 Unix:u:1 unix:x:1 unix: unix:everybody";
        for token in odd.split(' ').chain(["unix:u:1 ", "unix:u:-1"]) {
            assert!(is_misspelled(token), "{token}");
        }
        for other in ["", "staff", "ldap:u:1", "S-1-5-32-544", "unixen"] {
            assert!(!is_misspelled(other), "{other}");
        }
    }

    #[test]
    fn users_and_groups_of_this_machine_have_tokens_of_their_own() {
        let tokens = [unix_user(0), unix_user(7), unix_group(0), unix_group(7), UNIX_EVERYONE.to_owned()];
        assert_eq!(tokens, ["unix:u:0", "unix:u:7", "unix:g:0", "unix:g:7", "unix:everyone"]);
        let held: Tokens = tokens.iter().collect();
        assert_eq!(held.iter().collect::<HashSet<_>>(), tokens.iter().map(String::as_str).collect());
        assert_eq!(held.iter().count(), tokens.len());
        assert_eq!(Tokens::anonymous().iter().count(), 0);
    }

    #[test]
    fn acls_are_interned_by_a_text_of_their_own() {
        let sides = ["", "a", "b", "ab"];
        let flats = sides.iter().flat_map(|allow| sides.iter().map(|deny| flat(allow, deny)));
        let entries = [Entry::allow("a"), Entry::deny("a"), Entry::allow("b")];
        let ordered = entries.iter().flat_map(|one| {
            entries.iter().flat_map(move |other| [vec![one.clone()], vec![one.clone(), other.clone()]])
        });
        let acls: HashSet<Acl> = flats.chain(ordered.chain([Vec::new()]).map(Acl::Ordered)).collect();
        for acl in &acls {
            assert_eq!(serde_json::from_str::<Acl>(&acl.text()).ok().as_ref(), Some(acl));
            assert_eq!(acl.digest(), Digest::of(acl.text().as_bytes()));
        }
        assert_eq!(acls.iter().map(Acl::digest).collect::<HashSet<_>>().len(), acls.len());
    }

    /// Where each entry can decide about somebody, the comparison is no more careful than it has to be: else what only
    /// became narrower would be taken for wider, and wait.
    #[test]
    fn an_acl_that_admits_nobody_else_is_known_to_be_within() {
        let sets = ["", "a", "b", "c", "ab", "ac", "bc", "abc"];
        let held = |text: &str| -> Tokens { text.chars().map(|c| c.to_string()).collect() };
        let admits_no_more = |one: &Acl, other: &Acl| {
            sets.iter().all(|set| !one.admits(&held(set)) || other.admits(&held(set)))
        };
        let apart = |allow: &str, deny: &str| allow.chars().all(|c| !deny.contains(c));
        let all: Vec<(&str, &str)> =
            sets.iter().flat_map(|allow| sets.iter().map(|deny| (*allow, *deny))).collect();
        for (allow, deny) in
            all.iter().filter(|(allow, deny)| apart(allow, deny) && (!allow.is_empty() || deny.is_empty()))
        {
            for (others, denied) in &all {
                let (one, other) = (flat(allow, deny), flat(others, denied));
                assert_eq!(one.is_within(&other), admits_no_more(&one, &other), "{one:?} within {other:?}");
            }
        }
        let ordered = |flags: usize, count: usize| {
            let entry = |n: usize| Entry { who: ["a", "b", "c"][n].to_owned(), allow: flags >> n & 1 == 1 };
            Acl::Ordered((0..count).map(entry).collect())
        };
        for (one, other) in (0..8).flat_map(|one| (0..8).map(move |other| (one, other))) {
            for count in 0..=3 {
                let (one, other) = (ordered(one, count), ordered(other, count));
                assert_eq!(one.is_within(&other), admits_no_more(&one, &other), "{one:?} within {other:?}");
            }
            assert!(!ordered(one, 2).is_within(&ordered(other, 3)), "of another length: not compared");
        }
        assert!(!Acl::Ordered(Vec::new()).is_within(&Acl::open()), "of another form: not compared");
    }

    #[test]
    fn an_acl_within_another_admits_nobody_else() {
        let tokens = ["", "a", "b", "c", "ab", "ac", "bc", "abc"];
        let held = |text: &str| -> Tokens { text.chars().map(|c| c.to_string()).collect() };
        let ordered = |text: &str| {
            let entries = text
                .as_bytes()
                .chunks(2)
                .map(|two| Entry { who: char::from(two[1]).to_string(), allow: two[0] == b'+' });
            Acl::Ordered(entries.collect())
        };
        let flats = ["", "a", "ab", "abc"]
            .into_iter()
            .flat_map(|allow| ["", "b", "bc"].map(|deny| flat(allow, deny)));
        let acls: Vec<Acl> =
            flats.chain(["", "+a", "-a", "+a-b", "-a+b", "+a+b", "-b+a"].map(ordered)).collect();
        let mut within = 0;
        for (one, other) in acls.iter().flat_map(|one| acls.iter().map(move |other| (one, other))) {
            if one.is_within(other) {
                within += 1;
                for held in tokens.map(held) {
                    assert!(other.admits(&held) || !one.admits(&held), "{one:?} within {other:?}: {held:?}");
                }
            }
        }
        assert!(within > acls.len(), "each is within itself, and some in others");
        assert!(
            acls.iter()
                .all(|acl| acl.is_within(acl) || matches!(acl, Acl::Flat { allow, .. } if allow.is_empty()))
        );
    }

    #[test]
    fn an_unknown_acl_admits_nobody() {
        let everyone: Tokens = [UNIX_EVERYONE].into_iter().collect();
        assert!(!may_see(&everyone, [Some(&Acl::open()), None]));
    }
}
