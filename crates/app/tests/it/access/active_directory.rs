//! A domain of Active Directory that is declared: who somebody is by Samba, and what that opens and closes.

use ingather_testkit::samba::{ADMIN, DOMAIN, PASSWORD, Samba};
use serde_json::{Value, json};

use crate::sandbox::{Answer, Sandbox};

/// Ann and Bob are editors, editors are staff; Bob is a trainee. Dan is staff, and has left.
fn people() -> String {
    let entry = |name: &str, lines: &str| format!("dn: CN={name},CN=Users,{DOMAIN}\nchangetype: {lines}\n");
    let person = |name: &str, control: u32| {
        let lines =
            format!("add\nobjectClass: user\nsAMAccountName: {name}\nuserPrincipalName: {name}@t.test\n");
        entry(name, &format!("{lines}userAccountControl: {control}\n"))
    };
    let group = |name: &str, members: &[&str]| {
        let member = |of: &&str| format!("member: CN={of},CN=Users,{DOMAIN}\n");
        let members: String = members.iter().map(member).collect();
        entry(
            name,
            &format!("add\nobjectClass: group\nsAMAccountName: {name}\ndescription: {name}\n{members}"),
        )
    };
    let all = [
        person("ann", 544),
        person("bob", 544),
        person("dan", 546),
        group("editors", &["ann", "bob"]),
        group("staff", &["editors", "dan"]),
        group("trainees", &["bob"]),
    ];
    all.concat()
}

/// The SID of a group.
fn sid(server: &Samba, group: &str) -> String {
    let found = server.read(DOMAIN, "sub", &format!("(description={group})"), &["objectSid"]);
    found.lines().find_map(|line| line.strip_prefix("objectSid: ")).unwrap().to_owned()
}

fn declaration(sandbox: &Sandbox, server: &Samba) -> Value {
    let access = json!({"allow": [sid(server, "staff")], "deny": [sid(server, "trainees")]});
    json!({
        "version": 1,
        "repositories": {"files": {"kind": "filesystem", "group": "company"}},
        "authorities": {"domain": {
            "kind": "active-directory",
            "settings": {
                "url": [server.secure_url()],
                "ca_file": server.root(),
                "bind_dn": ADMIN,
                "bind_password": PASSWORD,
                "base": DOMAIN,
                "domain": "T",
            },
            "group": "company",
            "domain": "acme",
        }, "machine": {
            "kind": "listed", "settings": {"file": sandbox.path().join("people.json")}, "group": "company", "domain": "acme",
        }},
        "jobs": [{
            "name": "docs", "source": {"root": sandbox.root()},
            "stages": [{"transform": "text", "settings": {}}, {"transform": "access", "settings": access}],
        }],
    })
}

fn search(sandbox: &Sandbox, name: &str) -> Answer {
    sandbox.run(&["search", "apple", "--as", name, "--domain", "acme", "--json"])
}

#[test]
fn whoever_a_domain_knows_finds_what_its_groups_open_and_nothing_while_it_is_away() {
    ingather_testkit::needs!(Machine);
    let mut server = Samba::start();
    server.change(&people());
    let sandbox = Sandbox::sqlite();
    // Folders of this machine are open to its users.
    let names = ["ann", "bob", "dan", "ann@t.test", "T\\ann", "Administrator"];
    let users: Value = names.iter().map(|name| ((*name).to_owned(), json!(["unix:everyone"]))).collect();
    std::fs::write(sandbox.path().join("people.json"), json!({"users": users}).to_string()).unwrap();
    sandbox.write("plan.txt", "apple");
    crate::files::settle(&sandbox.root());
    std::fs::write(sandbox.path().join("declaration.json"), declaration(&sandbox, &server).to_string())
        .unwrap();
    sandbox.run(&["apply", "-f", "declaration.json"]).exits(0);
    sandbox.run(&["sync", "docs"]).exits(0);

    for name in ["ann", "ann@t.test", "T\\ann"] {
        assert_eq!(search(&sandbox, name).exits(0).documents(), ["plan.txt"], "{name}");
    }
    assert_eq!(search(&sandbox, "bob").exits(0).documents(), [""; 0], "a trainee");
    assert_eq!(search(&sandbox, "dan").exits(0).documents(), [""; 0], "who has left");
    assert_eq!(search(&sandbox, "Administrator").exits(0).documents(), [""; 0], "not of the staff");
    search(&sandbox, "*").refuses(2, &["no authority knows a user `*`"]);
    let tokens = sandbox.run(&["tokens", "ann", "--domain", "acme"]).exits(0).out;
    for token in ["S-1-1-0", "S-1-5-11", &sid(&server, "editors"), &sid(&server, "staff")] {
        assert!(tokens.contains(&format!("company: {token}\n")), "{token}: {tokens}");
    }
    assert!(!tokens.contains(&sid(&server, "trainees")), "{tokens}");
    let listed = sandbox.run(&["authority", "list"]).exits(0).out;
    assert!(listed.contains("it answers administrator@t.test"), "{listed}");
    let exported = sandbox.run(&["export"]).exits(0).out;
    assert!(exported.contains("bind_password") && !exported.contains(PASSWORD), "{exported}");

    server.stop();
    assert_eq!(search(&sandbox, "ann").exits(0).documents(), [""; 0], "the domain may call her a trainee");
    let told = sandbox.run(&["search", "apple", "--as", "ann", "--domain", "acme"]).exits(0).err;
    assert!(told.contains("less may be found"), "{told}");
    server.go_on();
    assert_eq!(search(&sandbox, "ann").exits(0).documents(), ["plan.txt"]);
}
