//! Which addresses may be connected to: where nobody has said so, none that only this machine or this network reaches. A link can be
//! written by anybody, and what it leads to would end in a search index.

use std::net::IpAddr;

use ingather_contract::addresses::{innermost, is_public};
use ipnet::IpNet;

/// What may be connected to.
#[derive(Clone, Debug, Default)]
pub(super) struct Guard {
    /// Networks that are allowed although they are not public.
    pub(super) private: Vec<IpNet>,
    /// Whether requests say whom to write to: without that, no public server is asked.
    pub(super) has_contact: bool,
}

/// Why an address is not connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    /// It is not public.
    Private,
    /// Its owner could not complain.
    NoContact,
}

impl Guard {
    /// Judges an address right before it is connected to, so that no other answer of a name server comes between.
    pub(super) fn judge(&self, address: IpAddr) -> Result<(), Closed> {
        let inner = innermost(address);
        if self.private.iter().any(|network| network.contains(&address) || network.contains(&inner)) {
            return Ok(());
        }
        match (is_public(inner), self.has_contact) {
            (false, _) => Err(Closed::Private),
            (true, false) => Err(Closed::NoContact),
            (true, true) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(guard: &Guard, text: &str) -> Result<(), Closed> {
        guard.judge(text.parse().unwrap())
    }

    #[test]
    fn what_is_not_public_is_closed() {
        let guard = Guard { has_contact: true, ..Guard::default() };
        for private in ["127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "fd00:ec2::254"] {
            assert_eq!(judged(&guard, private), Err(Closed::Private), "{private}");
        }
        assert_eq!(judged(&guard, "1.1.1.1"), Ok(()));
    }

    #[test]
    fn a_network_that_is_allowed_is_open_without_a_contact_and_no_other_one_is() {
        let private = vec!["10.1.0.0/16".parse().unwrap(), "fd00::/8".parse().unwrap()];
        let guard = Guard { private, has_contact: false };
        for open in ["10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::a01:203", "fd12::1"] {
            assert_eq!(judged(&guard, open), Ok(()), "{open}");
        }
        assert_eq!(judged(&guard, "10.2.0.1"), Err(Closed::Private));
        assert_eq!(judged(&guard, "1.1.1.1"), Err(Closed::NoContact));
    }
}
