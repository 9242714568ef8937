//! The search page for whom a reverse proxy vouches for: without a key, and as nobody else.

use super::{SECRET, behind, named, secret, two_files};
use crate::people::ordinary;
use crate::service::http::Request;

const FIND: &str = "/?q=apple";

#[test]
fn the_page_finds_as_whom_a_proxy_vouches_for_and_refuses_every_name_that_is_not_vouched_for() {
    let sandbox = two_files();
    let service = behind(&sandbox, "127.0.0.1", &[]);
    let begin = named("GET", "/", ordinary()).send(service.address).is(200);
    let whose = format!("You search as {}, by the word of a reverse proxy.", ordinary());
    assert!(begin.body.contains(&whose) && !begin.body.contains("Log out"), "{begin:#?}");
    assert!(!begin.head.contains("set-cookie"), "{begin:#?}");
    let found = named("GET", FIND, ordinary()).send(service.address).is(200);
    assert!(found.body.contains("open.txt") && !found.body.contains("closed.txt"), "{found:#?}");
    let nobody = named("GET", FIND, "no-such-user").send(service.address).is(200);
    assert!(!nobody.body.contains("open.txt"), "{nobody:#?}");
    let name = || Request::new("GET", FIND).header(&format!("X-Ingather-User: {}", ordinary()));
    for wrong in [
        name(),
        name().header(&secret("another")),
        name().header(&secret(SECRET)).key(&service.key),
        Request::new("GET", FIND).header(&secret(SECRET)),
    ] {
        let refused = wrong.send(service.address).is(403);
        assert!(
            refused.body.contains("role=\"alert\"") && !refused.body.contains("open.txt"),
            "{refused:#?}"
        );
    }
}

#[test]
fn a_session_of_somebody_else_does_not_count_beside_a_vouched_name() {
    let sandbox = two_files();
    let own = crate::people::must(std::process::Command::new("id").arg("-un"));
    let owner = crate::service::key(&sandbox, "owner", &["searcher"], Some(&own));
    let service = behind(&sandbox, "127.0.0.1", &[]);
    let session = crate::service::page::logged_in(&service, &owner);
    let cookie = format!("Cookie: {session}");
    let as_owner = Request::new("GET", FIND).header(&cookie).send(service.address).is(200);
    assert!(as_owner.body.contains("closed.txt"), "{as_owner:#?}");
    let vouched = named("GET", FIND, ordinary()).header(&cookie).send(service.address).is(200);
    assert!(vouched.body.contains("open.txt") && !vouched.body.contains("closed.txt"), "{vouched:#?}");
    let wrong = Request::new("GET", FIND).header(&cookie).header("X-Ingather-User: root");
    let refused = wrong.send(service.address).is(403);
    assert!(!refused.body.contains("closed.txt"), "{refused:#?}");
    // Who is known by the proxy has nothing to log in to, and ends nobody's session.
    let out = named("POST", "/logout", ordinary()).header(&cookie).send(service.address).is(303);
    assert!(out.head.contains("location: /\r\n"), "{out:#?}");
    Request::new("GET", FIND).header(&cookie).send(service.address).is(200);
}
