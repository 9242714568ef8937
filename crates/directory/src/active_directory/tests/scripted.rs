//! Answers that no controller at hand gives: groups by ranges, references to other controllers, identifiers that are none, what is hidden.

use std::io::Write;

use super::*;
use crate::proxies::serving;
use crate::scripted::{Attributes, NOT_ANN, answer, attributes_of, entry, next_message, result};
use crate::wire::ber;
use crate::wire::failure::{SIZE_LIMIT, SUCCESS};
use crate::wire::message::{self, received};

/// Where a scripted person is.
const DN: &str = "CN=ann,DC=t,DC=test";
const DOMAIN_SCOPE: &[u8] = b"1.2.840.113556.1.4.1339";

/// What a controller answers beside the person who is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beside {
    Nothing,
    Reference,
    Twin,
    /// A twin, where the first of two was already one too many for it.
    Limit,
}

/// A controller that gives one entry to each search by what it asks for, or none, and something beside a person.
fn controller(
    beside: Beside,
    script: impl Fn(&[String]) -> Option<Attributes> + Send + Sync + 'static,
) -> String {
    serving(move |mut stream| {
        while let Some(bytes) = next_message(&mut stream) {
            let asked = received(&bytes).unwrap();
            let told = match asked.tag {
                0x60 => result(asked.id, message::BIND_ANSWER, SUCCESS),
                0x63 => {
                    let names = attributes_of(asked.content);
                    let is_below = names.iter().any(|name| name == "1.1");
                    let has = |part: &[u8]| bytes.windows(part.len()).any(|some| some == part);
                    assert!(has(DOMAIN_SCOPE) || !is_below, "a person is looked for in this domain alone");
                    let by_name = has(b"sAMAccountName") || has(b"userPrincipalName");
                    assert!(by_name || !asks_for(&names, "tokenGroups"), "an account may have lost its name");
                    let own =
                        script(&names).map(|attributes| entry(asked.id, DN, &attributes)).unwrap_or_default();
                    let mut told = own.clone();
                    match beside {
                        Beside::Reference if is_below => {
                            let other = ber::element(ber::OCTETS, b"ldap://other.test/DC=other,DC=test");
                            told.extend(answer(asked.id, message::REFERENCE, &[other]));
                        }
                        Beside::Twin | Beside::Limit if is_below => told.extend(own),
                        _ => {}
                    }
                    let code = if is_below && beside == Beside::Limit { SIZE_LIMIT } else { SUCCESS };
                    told.extend(result(asked.id, message::DONE, code));
                    told
                }
                _ => return,
            };
            if stream.write_all(&told).is_err() {
                return;
            }
        }
    })
}

fn sid(last: u32) -> Vec<u8> {
    let numbers = [21, 1, 2, 3, last].map(u32::to_le_bytes).concat();
    [&[1, 5, 0, 0, 0, 0, 0, 5], numbers.as_slice()].concat()
}

/// Ann's account, with what the controller calls her groups.
fn ann(groups: &str, values: Vec<Vec<u8>>) -> Attributes {
    let one = |name: &str, value: &[u8]| (name.to_owned(), vec![value.to_vec()]);
    vec![
        one("objectSid", &sid(1_000)),
        one("userAccountControl", b"512"),
        one("accountExpires", b"0"),
        one("sAMAccountName", b"ann"),
        one("userPrincipalName", b"ann@t.test"),
        ("tokenGroups".to_owned(), Vec::new()),
        (groups.to_owned(), values),
    ]
}

fn asks_for(names: &[String], attribute: &str) -> bool {
    names.iter().any(|name| name == attribute)
}

/// The answer of a controller that finds Ann, and gives this account of hers.
fn held(account: Attributes) -> Result<Answer, Fault> {
    held_by("ann", account)
}

/// The same for whoever asks by a name, which the controller takes for Ann's.
fn held_by(name: &str, account: Attributes) -> Result<Answer, Fault> {
    let url = controller(Beside::Nothing, move |names| {
        (asks_for(names, "1.1") || asks_for(names, "tokenGroups")).then(|| account.clone())
    });
    ask(opened(&changed(settings(&url), &json!({"domain": "T"}))).as_ref(), name)
}

/// A controller compares without regard to accents, widths and what is not seen. Whoever is called so elsewhere is not Ann.
#[test]
fn a_name_that_only_looks_alike_is_that_of_nobody() {
    let groups = || ann("tokenGroups", vec![sid(513)]);
    for name in ["ann", "ANN", "Ann", "ann@t.test", "ANN@T.Test", "T\\ann", "t\\ANN"] {
        assert_eq!(whole(held_by(name, groups())).len(), 6, "{name}");
    }
    for name in NOT_ANN {
        for whole_name in [name.to_string(), format!("{name}@t.test"), format!("T\\{name}")] {
            assert_eq!(held_by(&whole_name, groups()), Ok(Answer::Unknown), "{whole_name:?}");
        }
    }
    for name in ["ann@ｔ.test", "ann@t.tést", "ann@t\u{ad}.test"] {
        assert_eq!(held_by(name, groups()), Ok(Answer::Unknown), "{name:?}");
    }
    // Whoever is disabled is not told to strangers, either.
    let mut disabled = groups();
    disabled.iter_mut().find(|(name, _)| name == "userAccountControl").unwrap().1 = vec![b"514".to_vec()];
    assert_eq!(held_by("ann", disabled.clone()), Ok(Answer::Unauthorized));
    assert_eq!(held_by("ánn", disabled), Ok(Answer::Unknown));
}

#[test]
fn a_name_that_may_not_be_read_is_a_fault() {
    for (name, hidden) in [("ann", "sAMAccountName"), ("ann@t.test", "userPrincipalName")] {
        for empty in [false, true] {
            let mut account = ann("tokenGroups", vec![sid(513)]);
            account.retain(|(attribute, _)| attribute != hidden);
            if empty {
                account.push((hidden.to_owned(), Vec::new()));
            }
            let told = fault(held_by(name, account));
            assert!(told.contains(hidden) && told.contains("let `bind_dn` read it"), "{told}");
        }
    }
}

/// 3,700 groups, of which a controller gives 1,500 at once, as those of Windows do with values of an attribute.
#[test]
fn groups_that_come_by_ranges_are_read_to_their_end_or_it_is_a_fault() {
    const ALL: usize = 3_700;
    let ask_with = |end: &'static str| {
        let url = controller(Beside::Nothing, move |names| {
            let from = match names.iter().find_map(|name| name.strip_prefix("tokenGroups;range=")) {
                Some(range) => range.strip_suffix("-*").unwrap().parse().unwrap(),
                None if asks_for(names, "tokenGroups") || asks_for(names, "1.1") => 0,
                None => return None,
            };
            let to = ALL.min(from + 1_500);
            let values = (from..to).map(|at| sid(2_000 + at as u32)).collect();
            match (to == ALL, end) {
                (false, _) => Some(ann(&format!("tokenGroups;range={from}-{}", to - 1), values)),
                (true, "no entry") => None,
                (true, "nothing") => Some(ann("tokenGroups;range=3000-*", Vec::new())),
                (true, "a gap") => Some(ann("tokenGroups;range=3001-*", values)),
                (true, _) => Some(ann(&format!("tokenGroups;range={from}-*"), values)),
            }
        });
        ask(opened(&settings(&url)).as_ref(), "ann")
    };
    let all = whole(ask_with("all"));
    assert_eq!(all.len(), ALL + 5);
    assert!(all.contains("S-1-5-21-1-2-3-2000") && all.contains("S-1-5-21-1-2-3-5699"));
    for end in ["no entry", "nothing", "a gap"] {
        let told = fault(ask_with(end));
        assert!(told.contains("range of values"), "{end}: {told}");
    }
}

#[test]
fn an_identifier_that_is_none_is_a_fault_wherever_it_stands() {
    assert_eq!(whole(held(ann("tokenGroups", vec![sid(513)]))).len(), 6);
    let broken = || [vec![], sid(513)[..27].to_vec(), [&[2], &sid(513)[1..]].concat(), b"S-1-1-0".to_vec()];
    for wrong in broken() {
        let told = fault(held(ann("tokenGroups", vec![sid(513), wrong.clone()])));
        assert!(told.contains("identifier that is none"), "{told}");
        for name in ["objectSid", "sIDHistory"] {
            let mut account = ann("tokenGroups", vec![sid(513)]);
            account.retain(|(attribute, _)| attribute != name);
            account.push((name.to_owned(), vec![wrong.clone()]));
            assert!(fault(held(account)).contains("identifier that is none"), "{name}");
        }
    }
    let mut two = ann("tokenGroups", vec![sid(513)]);
    two[0].1.push(sid(7));
    assert!(fault(held(two)).contains("objectSid"));
}

/// Who may not see somebody's groups is told, and gives nobody an answer that lacks them.
#[test]
fn groups_that_are_hidden_are_a_fault() {
    let told = fault(held(ann("tokenGroups", Vec::new())));
    assert!(told.contains("Windows Authorization Access Group"), "{told}");
    for name in ["objectSid", "userAccountControl", "accountExpires"] {
        let mut account = ann("tokenGroups", vec![sid(513)]);
        account.retain(|(attribute, _)| attribute != name);
        let told = fault(held(account));
        assert!(told.contains(name), "{told}");
    }
}

/// A controller is asked not to refer to others. What one does all the same is no answer; and of two of one name, neither is meant.
#[test]
fn a_reference_to_another_controller_and_a_second_person_of_the_name_are_faults() {
    let of = |beside: Beside| {
        let url = controller(beside, |names| {
            (asks_for(names, "1.1") || asks_for(names, "tokenGroups"))
                .then(|| ann("tokenGroups", vec![sid(513)]))
        });
        ask(opened(&settings(&url)).as_ref(), "ann@t.test")
    };
    assert_eq!(whole(of(Beside::Nothing)).len(), 6);
    assert!(fault(of(Beside::Reference)).contains("referrals are not followed"));
    for twin in [Beside::Twin, Beside::Limit] {
        assert!(fault(of(twin)).contains("more than one account has this name"));
    }
}

/// Renamed while they are asked about, somebody is nobody by the name that they had.
#[test]
fn whoever_has_lost_the_name_meanwhile_is_nobody_by_it() {
    let account = ann("tokenGroups", vec![sid(513)]);
    let url = controller(Beside::Nothing, move |names| asks_for(names, "1.1").then(|| account.clone()));
    assert_eq!(ask(opened(&settings(&url)).as_ref(), "ann"), Ok(Answer::Unknown));
}
