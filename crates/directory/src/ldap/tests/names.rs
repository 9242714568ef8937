//! Names that only look like somebody's: directories take them for the same, and nobody is known by them.

use std::io::Write;

use super::*;
use crate::proxies::serving;
use crate::scripted::{Attributes, NOT_ANN, attributes_of, entry, next_message, result};
use crate::wire::failure::SUCCESS;
use crate::wire::message::{self, received};

/// Somebody with a space in their name, and with an address.
const MORE: &str = "\
dn: cn=Zoe,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
cn: Zoe
sn: Z
uid: zoë smith
mail: zoe@example.org
mail: z.smith@example.org

dn: cn=Karl,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
cn: Karl
sn: K
uid: karl

";

fn by(filter: &str) -> Value {
    json!({"users": {"base": format!("ou=people,{SUFFIX}"), "filter": filter}})
}

#[test]
fn a_name_that_only_looks_alike_is_that_of_nobody() {
    let server = Slapd::start(&format!("{FEW}{MORE}"), "");
    let authority = opened(&settings(&server.url()));
    for name in ["ann", "ANN", "aNn"] {
        assert_eq!(whole(ask(authority.as_ref(), name)), ANN, "{name}");
    }
    for name in ["zoë smith", "ZOË Smith"] {
        assert_eq!(whole(ask(authority.as_ref(), name)), ["user:zoë smith"], "{name}");
    }
    // What the server itself takes for one of them.
    let mut taken = 0;
    let others = ["zoë  smith", "zoë\u{a0}smith", "zoe\u{308} smith", "zoë smiｔh", "\u{212a}arl", "ｋarl"];
    for name in NOT_ANN.into_iter().chain(others) {
        taken += usize::from(server.found(&format!("(uid={name})"), &["uid"]).contains("dn:"));
        assert_eq!(ask(authority.as_ref(), name), Ok(Answer::Unknown), "{name:?}");
    }
    assert!(taken > 8, "the server takes only {taken} of these names for others");
}

#[test]
fn each_attribute_that_the_filter_compares_has_the_name_as_it_is() {
    let server = Slapd::start(&format!("{FEW}{MORE}"), "");
    let of = |filter: &str| opened(&changed(settings(&server.url()), &by(filter)));
    let zoe = ["user:zoë smith"];
    let both = of("(&(objectClass=person)(|(uid={name})(mail={name})))");
    for name in ["zoë smith", "zoe@example.org", "Z.Smith@Example.org"] {
        assert_eq!(whole(ask(both.as_ref(), name)), zoe, "{name}");
    }
    assert_eq!(whole(ask(both.as_ref(), "ann")), ANN, "without an address");
    for name in ["ａnn", "zoe@example\u{ad}.org", "ｚoe@example.org", "zoë  smith", "Zoe"] {
        assert_eq!(ask(both.as_ref(), name), Ok(Answer::Unknown), "{name:?}");
    }
    let composed = of("(mail={name}@example.org)");
    assert_eq!(whole(ask(composed.as_ref(), "ZOE")), zoe);
    assert_eq!(whole(ask(composed.as_ref(), "z.smith")), zoe);
    for name in ["zoe@example.org", "ｚoe", "zo\u{ad}e", "zoë"] {
        assert_eq!(ask(composed.as_ref(), name), Ok(Answer::Unknown), "{name:?}");
    }
    // The server finds by a part, or by a rule, and the name is compared as a whole.
    let in_part = of("(|(uid={name})(mail={name}@*))");
    assert_eq!(whole(ask(in_part.as_ref(), "ann")), ANN);
    assert_eq!(ask(in_part.as_ref(), "zoe"), Ok(Answer::Unknown));
    for rule in ["(uid:caseExactMatch:={name})", "(uid~={name})"] {
        let by_rule = of(rule);
        assert_eq!(whole(ask(by_rule.as_ref(), "ann")), ANN, "{rule}");
        for name in ["ａnn", "an\u{34f}n", "aen", "anne"] {
            assert_eq!(ask(by_rule.as_ref(), name), Ok(Answer::Unknown), "{rule}: {name:?}");
        }
    }
    assert_eq!(ask(of("(uid~={name})").as_ref(), "anne"), Ok(Answer::Unknown));
}

/// Who asks may search by an attribute, and not read it.
#[test]
fn a_name_that_may_not_be_read_is_a_fault() {
    let rights = "access to attrs=uid by * search\naccess to * by * read\n";
    let server = Slapd::start(&format!("{FEW}{MORE}"), rights);
    let nobody = json!({"bind_dn": null, "bind_password": null, "user_attribute": "cn"});
    let asked = |filter: &str, name: &str| {
        let settings = changed(changed(settings(&server.url()), &nobody), &by(filter));
        ask(opened(&settings).as_ref(), name)
    };
    for name in ["ann", "ａｎｎ"] {
        let told = fault(asked("(uid={name})", name));
        assert!(told.contains("`uid`") && told.contains("let `bind_dn` read it"), "{told}");
    }
    assert_eq!(asked("(uid={name})", "cid"), Ok(Answer::Unknown));
    // By an attribute that is shown they are known, and by the other one they are not.
    let both = "(|(uid={name})(mail={name}))";
    assert_eq!(whole(asked(both, "zoe@example.org")), ["user:Zoe"]);
    assert_eq!(asked(both, "zoë smith"), Ok(Answer::Unknown));
    // The server gives these by other names: `cn`, and `mail`.
    for (filter, name) in [("(name={name})", "Zoe"), ("(rfc822Mailbox={name})", "zoe@example.org")] {
        let told = fault(asked(filter, name));
        assert!(told.contains("name it in `users.filter` as the directory does"), "{told}");
    }
}

/// A server that finds this entry by whatever name.
fn finding(attributes: Attributes) -> String {
    serving(move |mut stream| {
        while let Some(bytes) = next_message(&mut stream) {
            let asked = received(&bytes).unwrap();
            let told = match asked.tag {
                0x60 => result(asked.id, message::BIND_ANSWER, SUCCESS),
                0x63 => {
                    let names = attributes_of(asked.content);
                    let mut given = attributes.clone();
                    given.retain(|(name, _)| {
                        let attribute = name.split(';').next().unwrap();
                        names.iter().any(|asked| asked.eq_ignore_ascii_case(attribute))
                    });
                    let mut told = entry(asked.id, "cn=Ann,ou=people,dc=example,dc=org", &given);
                    told.extend(result(asked.id, message::DONE, SUCCESS));
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

#[test]
fn whatever_a_server_finds_by_a_name_has_to_be_called_so() {
    let with = |name: &str, values: &[&[u8]]| {
        let attribute = (name.to_owned(), values.iter().map(|value| value.to_vec()).collect());
        let url = finding(vec![("cn".to_owned(), vec![b"Ann".to_vec()]), attribute]);
        let alone = json!({"groups": null, "user_attribute": "cn"});
        opened(&changed(settings(&url), &alone))
    };
    let ann = ["user:Ann"];
    let one = with("uid", &[b"ann"]);
    for name in ["ann", "ANN"] {
        assert_eq!(whole(ask(one.as_ref(), name)), ann, "{name}");
    }
    for name in NOT_ANN.into_iter().chain(["Ann A", "an", "anna", "bob", "cn", "*"]) {
        assert_eq!(ask(one.as_ref(), name), Ok(Answer::Unknown), "{name:?}");
    }
    // Capitals of the attribute, its options, and several values of which one is no text.
    for several in [with("UID", &[b"\xff", b"x", b"ann"]), with("uid;lang-de", &[b"ann"])] {
        assert_eq!(whole(ask(several.as_ref(), "ann")), ann);
        assert_eq!(ask(several.as_ref(), "ａnn"), Ok(Answer::Unknown));
    }
    // The name as a value of something else is no name.
    for hidden in [with("mail", &[b"ann"]), with("uid", &[])] {
        let told = fault(ask(hidden.as_ref(), "ann"));
        assert!(told.contains("`uid`") && told.contains("does not show it"), "{told}");
    }
    assert_eq!(ask(with("uid", &[b"\xff"]).as_ref(), "ann"), Ok(Answer::Unknown), "no text");
}
