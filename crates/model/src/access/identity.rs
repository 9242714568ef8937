//! Who somebody is to each group of authorities: tokens of one group say nothing to what another one rules.

use std::collections::BTreeMap;

use super::{Acl, Tokens};

/// A group of authorities, by its name. A repository connection belongs to one, and its acls are judged by the tokens
/// that authorities of this group give: a token of the same spelling that another system gives is another one.
/// The one without a name is that of every connection that was not given another.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group(String);

impl Group {
    /// The group of that name; the empty name is that of the default one.
    pub fn named(name: impl Into<String>) -> Group {
        Group(name.into())
    }

    /// Its name; empty for the default one.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Whether it is the one without a name.
    pub fn is_default(&self) -> bool {
        self.0.is_empty()
    }
}

/// The tokens that somebody holds in each group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity(BTreeMap<Group, Tokens>);

impl Identity {
    /// Nobody known, in any group: sees only what is open to all.
    pub fn anonymous() -> Identity {
        Identity::default()
    }

    /// The same with these tokens in a group, in place of others there.
    #[must_use]
    pub fn with(mut self, group: Group, tokens: Tokens) -> Identity {
        self.0.insert(group, tokens);
        self
    }

    /// The tokens in a group; none where no authority of the group knows them: there they are nobody.
    pub fn tokens(&self, group: &Group) -> Option<&Tokens> {
        self.0.get(group)
    }

    /// Whether they hold a token in any group.
    pub fn holds(&self, token: &str) -> bool {
        self.0.values().any(|tokens| tokens.holds(token))
    }

    /// Whether all authorities of all groups said what they hold: else they may be kept from what they would pass.
    pub fn is_whole(&self) -> bool {
        self.0.values().all(Tokens::are_whole)
    }

    /// Whether they pass an acl of a connection of this group.
    pub fn passes(&self, group: &Group, acl: &Acl) -> bool {
        match self.tokens(group) {
            Some(tokens) => acl.admits(tokens),
            None => acl.admits(&Tokens::anonymous()),
        }
    }
}

/// Somebody whom the authorities of the default group know.
impl From<Tokens> for Identity {
    fn from(tokens: Tokens) -> Identity {
        Identity::anonymous().with(Group::default(), tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_of_one_group_opens_and_closes_nothing_of_another() {
        let acl = |allow: &str, deny: &str| {
            let list = |text: &str| text.split_whitespace().map(str::to_owned).collect();
            Acl::Flat { allow: list(allow), deny: list(deny) }
        };
        let tokens = |text: &str| text.split_whitespace().collect::<Tokens>();
        let [unnamed, files, mails] = ["", "files", "mails"].map(Group::named);
        let ann = Identity::from(tokens("staff")).with(files.clone(), tokens("staff 7"));
        for (group, allow, deny, passes) in [
            (&unnamed, "staff", "", true),
            (&unnamed, "7", "", false),
            (&unnamed, "staff", "7", true),
            (&files, "7", "", true),
            (&files, "staff", "7", false),
            (&mails, "staff 7", "", false),
            (&mails, "", "", true),
        ] {
            assert_eq!(ann.passes(group, &acl(allow, deny)), passes, "{group:?} +{allow} -{deny}");
        }
        assert!(unnamed.is_default() && unnamed == Group::default() && !files.is_default());
        assert_eq!((ann.tokens(&mails), ann.tokens(&files)), (None, Some(&tokens("7 staff"))));
        assert!(ann.is_whole() && !ann.with(mails, tokens("staff").not_whole()).is_whole());
        assert!(Identity::anonymous().passes(&unnamed, &Acl::open()));
        assert!(!Identity::anonymous().passes(&unnamed, &acl("staff", "")));
    }
}
