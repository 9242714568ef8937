//! A directory that is declared: who somebody is by OpenLDAP, and what that opens and closes.

use ingather_testkit::slapd::{ADMIN, PASSWORD, SUFFIX, Slapd};
use serde_json::{Value, json};

use crate::sandbox::{Answer, Sandbox};

const PEOPLE: &str = "\
dn: ou=people,dc=example,dc=org
objectClass: organizationalUnit
ou: people

dn: ou=groups,dc=example,dc=org
objectClass: organizationalUnit
ou: groups

dn: uid=ann,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: ann
cn: Ann
sn: A

dn: uid=bob,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: bob
cn: Bob
sn: B

dn: cn=editors,ou=groups,dc=example,dc=org
objectClass: groupOfNames
cn: editors
member: uid=ann,ou=people,dc=example,dc=org
member: uid=bob,ou=people,dc=example,dc=org

dn: cn=staff,ou=groups,dc=example,dc=org
objectClass: groupOfNames
cn: staff
member: cn=editors,ou=groups,dc=example,dc=org

dn: cn=trainees,ou=groups,dc=example,dc=org
objectClass: groupOfNames
cn: trainees
member: uid=bob,ou=people,dc=example,dc=org

";

fn declaration(sandbox: &Sandbox, server: &Slapd) -> Value {
    let access = json!({"allow": ["group:staff"], "deny": ["group:trainees"]});
    json!({
        "version": 1,
        "repositories": {"files": {"kind": "filesystem", "group": "company"}},
        "authorities": {"directory": {
            "kind": "ldap",
            "settings": {
                "url": [server.secure_url()],
                "ca_file": server.root(),
                "bind_dn": ADMIN,
                "bind_password": PASSWORD,
                "users": {"base": format!("ou=people,{SUFFIX}")},
                "groups": {"base": format!("ou=groups,{SUFFIX}")},
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
fn whoever_a_directory_knows_finds_what_its_groups_open_and_nothing_while_it_is_away() {
    let mut server = Slapd::start(PEOPLE, "");
    let sandbox = Sandbox::sqlite();
    // Folders of this machine are open to its users.
    let people = json!({"users": {"ann": ["unix:everyone"], "bob": ["unix:everyone"]}});
    std::fs::write(sandbox.path().join("people.json"), people.to_string()).unwrap();
    sandbox.write("plan.txt", "apple");
    crate::files::settle(&sandbox.root());
    std::fs::write(sandbox.path().join("declaration.json"), declaration(&sandbox, &server).to_string())
        .unwrap();
    sandbox.run(&["apply", "-f", "declaration.json"]).exits(0);
    sandbox.run(&["sync", "docs"]).exits(0);

    assert_eq!(search(&sandbox, "ann").exits(0).documents(), ["plan.txt"]);
    assert_eq!(search(&sandbox, "bob").exits(0).documents(), [""; 0], "a trainee");
    search(&sandbox, "*").refuses(2, &["no authority knows a user `*`"]);
    let tokens = sandbox.run(&["tokens", "ann", "--domain", "acme"]).exits(0).out;
    assert_eq!(
        tokens,
        "company: group:editors\ncompany: group:staff\ncompany: unix:everyone\ncompany: user:ann\n"
    );
    let listed = sandbox.run(&["authority", "list"]).exits(0).out;
    assert!(listed.contains("directory") && listed.contains("it answers cn=admin"), "{listed}");
    let exported = sandbox.run(&["export"]).exits(0).out;
    assert!(exported.contains("bind_password") && !exported.contains(PASSWORD), "{exported}");

    server.stop();
    assert_eq!(search(&sandbox, "ann").exits(0).documents(), [""; 0], "the directory may call her a trainee");
    let told = sandbox.run(&["search", "apple", "--as", "ann", "--domain", "acme"]).exits(0).err;
    assert!(told.contains("less may be found"), "{told}");
    let tokens = sandbox.run(&["tokens", "ann", "--domain", "acme"]).exits(0);
    assert!(tokens.err.contains("the directory cannot be reached"), "{tokens:?}");
    search(&sandbox, "cid").refuses(3, &["the directory cannot be reached"]);
    server.go_on();
    assert_eq!(search(&sandbox, "ann").exits(0).documents(), ["plan.txt"]);
    let told = sandbox.run(&["search", "apple", "--as", "ann", "--domain", "acme"]).exits(0).err;
    assert!(!told.contains("less may be found"), "{told}");
}
