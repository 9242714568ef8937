//! Who holds what, by the authority, by the drawing of the company, and by `ldapsearch`.

use std::collections::BTreeSet;
use std::time::Instant;

use ingather_testkit::suites::{self, AuthoritySample};

use super::super::AUTHORITY;
use super::world::{Lists, World};
use super::*;

#[test]
fn it_keeps_what_an_authority_promises() {
    let server = Mutex::new(few());
    let url = server.lock().unwrap().url();
    let obstruct = || server.lock().unwrap().stop();
    suites::authority(
        &AUTHORITY,
        &AuthoritySample {
            settings: settings(&url),
            known: Some(("ann", &ANN)),
            presented: None,
            cut: None,
            obstruct: Some(&obstruct),
        },
    );
}

#[test]
fn it_keeps_what_an_authority_promises_where_groups_may_not_be_seen() {
    let server = Mutex::new(few());
    let url = server.lock().unwrap().url();
    // A group that an attribute lists and that is not there: with a name that nobody can tell.
    let cut = || {
        server.lock().unwrap().change(&format!(
            "dn: cn=Ann,ou=people,{SUFFIX}\nchangetype: modify\nadd: seeAlso\nseeAlso: cn=gone,ou=groups,{SUFFIX}\n-\ndelete: seeAlso\nseeAlso: cn=staff,ou=groups,{SUFFIX}\n"
        ));
    };
    server.lock().unwrap().change(&format!(
        "dn: cn=Ann,ou=people,{SUFFIX}\nchangetype: modify\nadd: seeAlso\nseeAlso: cn=staff,ou=groups,{SUFFIX}\n"
    ));
    let settings = changed(settings(&url), &json!({"groups": {"attribute": "seeAlso"}}));
    let known = Some(("ann", ["group:staff", "user:ann"].as_slice()));
    suites::authority(
        &AUTHORITY,
        &AuthoritySample { settings, known, presented: None, cut: Some(&cut), obstruct: None },
    );
}

/// One in ten people, each by both ways to find groups.
#[test]
fn people_hold_what_the_company_draws() {
    let world = World::shared();
    let searched = opened(&settings(&world.server.url()));
    let by_attribute = changed(settings(&world.server.url()), &json!({"groups": {"attribute": "memberOf"}}));
    let listed = opened(&by_attribute);
    let mut random = fastrand::Rng::with_seed(1);
    let mut odd = 0;
    let (mut times, mut most) = ([0.0; 2], 0);
    let asked = world.people.len() / 10;
    for _ in 0..asked {
        let who = random.usize(..world.people.len());
        let name = &world.people[who].0;
        odd += usize::from(!name.starts_with('p'));
        // clock: how long a question takes is shown.
        let began = Instant::now();
        let by_search = whole(ask(searched.as_ref(), name));
        // clock: and the other way.
        let between = Instant::now();
        let by_list = whole(ask(listed.as_ref(), name));
        times[0] += (between - began).as_secs_f64() * 1_000.0;
        times[1] += between.elapsed().as_secs_f64() * 1_000.0;
        assert_eq!(by_search, world.expected(who, |_| true), "{name}");
        assert_eq!(by_list, world.expected(who, |group| group.lists == Lists::Member), "{name}");
        most = most.max(by_search.len());
    }
    assert!(odd > 5 && most > 10, "{odd} odd names, {most} tokens");
    let each = times.map(|all| all / asked as f64);
    println!("{asked} questions, ms for each: {:.2} by search, {:.2} by attribute", each[0], each[1]);
}

/// What base64 stands for.
fn decoded(text: &str) -> String {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for c in text.bytes().filter(|c| *c != b'=') {
        let digit = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        (bits, count) = (bits << 6 | u32::from(digit), count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// A value as it stands in a filter (RFC 4515).
fn in_a_filter(value: &str) -> String {
    value.replace('\\', "\\5c").replace('*', "\\2a").replace('(', "\\28").replace(')', "\\29")
}

/// The tools of OpenLDAP find the same, group by group: for four people of a small company, for one in ten of a large one.
#[test]
fn a_person_holds_what_ldapsearch_finds() {
    let world = World::shared();
    let authority = opened(&settings(&world.server.url()));
    let mut random = fastrand::Rng::new();
    let (few, all) = (vec![0, 1, 500, 1_999], world.people.len());
    let many = (0..all / 10).map(|_| random.usize(..all)).collect();
    for who in if all <= 2_000 { few } else { many } {
        let (name, dn) = &world.people[who];
        let (mut found, mut names, mut next) = (BTreeSet::new(), BTreeSet::new(), vec![dn.clone()]);
        let mut by_uid = format!("(memberUid={})", in_a_filter(name));
        while let Some(dn) = next.pop() {
            let escaped = in_a_filter(&dn);
            let filter = format!("(|(member={escaped})(uniqueMember={escaped}){by_uid})");
            by_uid.clear();
            let text = world.server.found(&filter, &["cn"]);
            let values = |name: &'static str| {
                let lines = text.lines().filter_map(move |line| line.strip_prefix(name));
                lines.map(|line| line.strip_prefix(": ").map_or_else(|| line.trim().to_owned(), decoded))
            };
            names.extend(values("cn:"));
            next.extend(values("dn:").filter(|dn| found.insert(dn.clone())));
        }
        let held = whole(ask(authority.as_ref(), name));
        let groups = names.iter().map(|name| format!("group:{name}"));
        let mut expected: Vec<String> = groups.chain([format!("user:{name}")]).collect();
        expected.sort();
        assert_eq!(held, expected, "{name}");
    }
}

/// Answers that come in several pages, and a server whose limit is the default: 500 entries for whoever is not its administrator.
#[test]
fn groups_of_somebody_who_is_in_many_are_all_there_or_it_is_a_fault() {
    let crowd: String = (0..1_200)
        .map(|at| {
            format!(
                "dn: cn=g{at},ou=groups,{SUFFIX}\nobjectClass: groupOfNames\ncn: g{at}\nmember: cn=Bob,ou=people,{SUFFIX}\n\n"
            )
        })
        .collect();
    let server = Slapd::start(&format!("{FEW}{crowd}"), "");
    assert_eq!(whole(ask(opened(&settings(&server.url())).as_ref(), "bob")).len(), 1_201);
    let nobody = changed(settings(&server.url()), &json!({"bind_dn": null, "bind_password": null}));
    let told = fault(ask(opened(&nobody).as_ref(), "bob"));
    assert!(told.contains("size limit"), "{told}");
    assert_eq!(whole(ask(opened(&nobody).as_ref(), "ann")), ANN);
}

#[test]
fn settings_say_what_becomes_a_token_and_who_may_enter() {
    let server = few();
    let ask =
        |change: &Value, name: &str| ask(opened(&changed(settings(&server.url()), change)).as_ref(), name);
    assert_eq!(whole(ask(&json!({}), "ann")), ANN);
    assert_eq!(whole(ask(&json!({}), "bob")), ["user:bob"]);
    assert_eq!(whole(ask(&json!({"groups": null}), "ann")), ["user:ann"]);
    assert_eq!(whole(ask(&json!({"group_prefix": ""}), "ann")), ["all", "staff", "user:ann"]);
    let base = format!("ou=groups,{SUFFIX}");
    let plain = json!({"groups": {"base": base, "nested": false}});
    assert_eq!(whole(ask(&plain, "ann")), ["group:staff", "user:ann"]);
    let by_dn = json!({"user_attribute": "DN", "group_attribute": "dn", "user_prefix": "", "groups": {"base": base, "filter": "(member={dn})"}});
    let dns = [
        "cn=Ann,ou=people,dc=example,dc=org",
        "group:cn=all,ou=groups,dc=example,dc=org",
        "group:cn=staff,ou=groups,dc=example,dc=org",
    ];
    assert_eq!(whole(ask(&by_dn, "ann")), dns);
    let shut = json!({"disabled": "(employeeType=left)"});
    assert_eq!(ask(&shut, "bob"), Ok(Answer::Unauthorized));
    assert_eq!(whole(ask(&shut, "ann")), ANN);
    // Found by another attribute, whatever capitals, and always called as the directory calls them.
    let by_cn = json!({"users": {"base": format!("ou=people,{SUFFIX}"), "filter": "(cn={name})"}});
    assert_eq!(whole(ask(&by_cn, "ANN")), ANN);
    assert_eq!(ask(&json!({}), "cid"), Ok(Answer::Unknown));
}

/// Whoever may choose a name chooses no group by it, and what has no name may be anything.
#[test]
fn a_name_that_looks_like_another_kind_of_token_gives_none() {
    let server = few();
    server.change(&format!(
        "dn: cn=Eve,ou=people,{SUFFIX}\nchangetype: add\nobjectClass: inetOrgPerson\ncn: Eve\nsn: E\nuid: group:staff\n\n\
         dn: cn=Dan,ou=people,{SUFFIX}\nchangetype: add\nobjectClass: inetOrgPerson\ncn: Dan\nsn: D\n\n\
         dn: cn=user:bob,ou=groups,{SUFFIX}\nchangetype: add\nobjectClass: groupOfNames\ncn: user:bob\nmember: cn=Ann,ou=people,{SUFFIX}\n"
    ));
    let by_cn = json!({"users": {"base": format!("ou=people,{SUFFIX}"), "filter": "(cn={name})"}});
    let of = |change: &Value| opened(&changed(changed(settings(&server.url()), &by_cn), change));
    assert_eq!(in_part(ask(of(&json!({"user_prefix": ""})).as_ref(), "Eve")), [""; 0]);
    assert_eq!(whole(ask(of(&json!({})).as_ref(), "Eve")), ["user:group:staff"]);
    assert_eq!(in_part(ask(of(&json!({})).as_ref(), "Dan")), [""; 0], "without a uid");
    let plain = in_part(ask(of(&json!({"group_prefix": ""})).as_ref(), "Ann"));
    assert_eq!(plain, ["all", "staff", "user:ann"], "a group is called as Bob's token");
}

#[test]
fn a_check_goes_the_way_of_questions_and_names_what_is_missing() {
    let server = few();
    let check = |change: &Value| {
        let authority = opened(&changed(settings(&server.url()), change));
        authority.check(&call()).map_err(|fault| fault.reason().message)
    };
    let said = format!("it answers {ADMIN} below the base of people, and below that of groups");
    assert_eq!(check(&json!({})), Ok(said));
    let listed = check(&json!({"groups": {"attribute": "memberOf"}, "bind_dn": null, "bind_password": null}));
    assert!(listed.unwrap().contains("nobody"));
    for (change, words) in [
        (json!({"users": {"base": "ou=nowhere,dc=example,dc=org"}}), "no entry `ou=nowhere"),
        (json!({"groups": {"base": "ou=nowhere,dc=example,dc=org"}}), "no entry `ou=nowhere"),
        (json!({"users": {"base": "people"}}), "code 34"),
        (json!({"bind_password": "wrong"}), "`bind_dn` or `bind_password` is wrong"),
        (json!({"url": ["ldap://127.0.0.1:1"]}), "cannot be reached"),
    ] {
        let told = check(&change).unwrap_err();
        assert!(told.contains(words), "{change}: {told}");
    }
}
