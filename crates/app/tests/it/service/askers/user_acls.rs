//! Plug-ins of ManifoldCF ask what people hold, where they may, as its own authority service is asked.

use std::net::SocketAddr;

use rustix::process::Signal;
use serde_json::json;

use crate::sandbox::Sandbox;
use crate::service::http::Request;
use crate::service::{Service, key};

/// A sandbox with a directory of somebody, and one that cannot be asked, of the group `g 1`.
fn directories() -> Sandbox {
    let sandbox = Sandbox::sqlite();
    let file = sandbox.path().join("people.json");
    std::fs::write(&file, json!({"users": {"ann lee": ["staff", "r\u{e4}ume"]}}).to_string()).unwrap();
    let listed =
        |file| json!({"kind": "listed", "settings": {"file": file}, "group": "g 1", "domain": "acme"});
    let declared = json!({"version": 1, "authorities": {
        "directory": listed(&file), "partner": listed(&sandbox.path().join("missing.json")),
    }});
    std::fs::write(sandbox.path().join("people.json.apply"), declared.to_string()).unwrap();
    sandbox.run(&["apply", "-f", "people.json.apply"]).exits(0);
    sandbox
}

fn listening<'s>(sandbox: &'s Sandbox, flags: &[&str]) -> (Service<'s>, SocketAddr) {
    let admin = key(sandbox, &format!("admin{}", flags.len()), &["admin"], None);
    let mut service = Service::with(sandbox, admin, &[&["--user-acls", "127.0.0.1:0"], flags].concat());
    let told = service.tells("plug-ins of ManifoldCF ask at http://");
    let address = told.trim().rsplit("//").next().unwrap().trim_end_matches("/UserACLs").parse().unwrap();
    (service, address)
}

#[test]
fn plug_ins_of_manifoldcf_are_told_what_somebody_holds_without_a_key_at_an_address_of_its_own() {
    let sandbox = directories();
    let (mut service, address) = listening(&sandbox, &[]);
    let ask = |path: &str| Request::new("GET", path).send(address);
    let expected = "AUTHORIZED:directory\nTOKEN:g+1:r%C3%A4ume\nTOKEN:g+1:staff\n\
        UNREACHABLEAUTHORITY:partner\nTOKEN:g+1:DEAD_AUTHORITY\n";
    for path in ["/UserACLs", "/mcf-authority-service/UserACLs"] {
        let reply = ask(&format!("{path}?username=ann+lee&domain=acme")).is(200);
        assert_eq!(reply.body, expected, "{path}");
        assert!(
            reply.head.to_lowercase().contains("content-type: text/plain; charset=iso-8859-1"),
            "{}",
            reply.head
        );
    }
    let told = service.tells("127.0.0.1 for \"ann lee\" of \"acme\" asked for authority.user_acls: done");
    assert!(!told.contains("staff"), "{told}");
    let several =
        ask("/UserACLs?username_1=nobody-here&username_2=ann%20lee&domain_2=acme&idneeded=true").is(200).body;
    let lines: Vec<&str> = several.lines().collect();
    assert_eq!(lines.first(), Some(&"USERNOTFOUND:unix"), "{several}");
    assert!(
        lines.contains(&"TOKEN:g+1:staff") && lines.ends_with(&["ID:nobody-here", "ID:ann+lee"]),
        "{several}"
    );
    for wrong in ["/UserACLs", "/UserACLs?username=a&username=b", "/UserACLs?domain=acme"] {
        assert_eq!(ask(wrong).status, 400, "{wrong}");
    }
    // Nothing else is answered there, and nothing of that anywhere else.
    assert_eq!(ask("/api/v1/jobs").status, 404);
    assert_eq!(Request::new("POST", "/UserACLs?username=a").send(address).status, 405);
    let other = Request::new("GET", "/UserACLs?username=ann+lee&domain=acme").send(service.address);
    assert!(other.status == 404 && !other.body.contains("staff"), "{other:?}");
    service.end(Signal::TERM);
}

#[test]
fn whoever_is_not_listed_is_told_nothing_and_an_open_door_for_all_is_refused() {
    let sandbox = directories();
    let (service, address) = listening(&sandbox, &["--user-acls-client", "10.0.0.7"]);
    let refused = Request::new("GET", "/UserACLs?username=ann+lee&domain=acme").send(address);
    assert!(!refused.body.contains("staff"), "{refused:?}");
    refused.refuses(403, "forbidden");
    service.end(Signal::TERM);
    let open = ["serve", "--listen", "127.0.0.1:0", "--user-acls", "0.0.0.0:0"];
    sandbox.run(&open).refuses(2, &["--user-acls-client"]);
}
