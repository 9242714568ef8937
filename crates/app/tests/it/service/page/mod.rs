//! The search page, as a browser without scripts meets it: what documents hold is shown, and never done.

mod browser;

use std::io::Write;

use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_store::{Durability, Store, Target, jobs, runs};
use serde_json::json;

use crate::sandbox::Sandbox;
use crate::service::http::{Reply, Request, connect, reply};
use crate::service::{Service, key};

/// The value of a cookie that an answer sets.
fn cookie(reply: &Reply, name: &str) -> String {
    let mut lines = reply.head.lines().filter_map(|line| line.strip_prefix("set-cookie: "));
    let line =
        lines.find(|line| line.starts_with(&format!("{name}="))).unwrap_or_else(|| panic!("{reply:#?}"));
    assert!(line.contains("; httponly; samesite=strict"), "{line}");
    line.split(';').next().unwrap().split_once('=').unwrap().1.to_owned()
}

/// A form as a browser sends it.
fn sent(service: &Service<'_>, path: &str, cookies: &str, body: &str) -> Reply {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nCookie: {cookies}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = connect(service.address);
    stream.write_all(head.as_bytes()).unwrap();
    reply(stream)
}

/// Sends the form with a key.
fn log_in(service: &Service<'_>, key: &str) -> Reply {
    let asked = Request::new("GET", "/").send(service.address).is(200);
    let name = format!("ingather_form_{}", service.address.port());
    let form = cookie(&asked, &name);
    assert!(asked.body.contains(&format!("name=\"form\" value=\"{form}\"")), "{asked:#?}");
    sent(service, "/login", &format!("{name}={form}"), &format!("form={form}&key={key}"))
}

/// Logs in; the cookie of the session.
pub(super) fn logged_in(service: &Service<'_>, key: &str) -> String {
    let begun = log_in(service, key).is(303);
    assert!(begun.head.contains("location: /"), "{begun:#?}");
    let name = format!("ingather_session_{}", service.address.port());
    format!("{name}={}", cookie(&begun, &name))
}

fn searched(service: &Service<'_>, session: &str, query: &str) -> Reply {
    Request::new("GET", &format!("/?q={query}")).header(&format!("Cookie: {session}")).send(service.address)
}

/// That a page runs nothing, and lets nobody put it into theirs.
#[track_caller]
fn is_still(reply: &Reply) {
    let policy = "content-security-policy: default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; \
                  frame-ancestors 'none'";
    for line in
        [policy, "x-content-type-options: nosniff", "x-frame-options: deny", "cache-control: no-store"]
    {
        assert!(reply.head.contains(line), "{line}: {reply:#?}");
    }
    for planted in ["<script", "<img", "onerror=\"", "javascript:"] {
        assert!(!reply.body.to_ascii_lowercase().contains(planted), "{planted}: {reply:#?}");
    }
}

#[test]
fn what_is_planted_in_names_titles_and_texts_is_shown_as_characters() {
    let sandbox = Sandbox::sqlite();
    let evil = "<script>alert(1)</script><img src=x onerror=alert(1)>";
    sandbox.write("<script>alert(1)<\u{2215}script>.txt", &format!("apple {evil} \"' apple"));
    sandbox.write("page.html", "<html><head><title>&lt;script&gt;alert(2)&lt;/script&gt; apple</title></head><body>apple &lt;script&gt;alert(3)&lt;/script&gt;</body></html>");
    sandbox.write("<img src=x onerror=alert(1)>/apple.txt", "apple");
    sandbox.run(&["sync", "root", "--name", "one"]).exits(0);
    let own = crate::people::must(std::process::Command::new("id").arg("-un"));
    let searcher = key(&sandbox, "ann", &["searcher"], Some(&own));
    let service = Service::with(&sandbox, String::new(), &[]);
    let session = logged_in(&service, &searcher);
    let found = searched(&service, &session, "apple").is(200);
    is_still(&found);
    assert!(found.body.contains("3 hits"), "{found:#?}");
    assert!(
        found.body.contains("<mark>apple</mark> &lt;script&gt;alert(1)&lt;/script&gt;&lt;img"),
        "{found:#?}"
    );
    assert!(found.body.contains("&lt;script&gt;alert(2)&lt;/script&gt; apple"), "{found:#?}");
    assert!(found.body.contains("<a rel=\"noreferrer\" href=\"file:///"), "{found:#?}");
    for query in [
        "%3Cscript%3Ealert(1)%3C%2Fscript%3E",
        "%22%3E%3Cimg+src=x+onerror%3Dalert(1)%3E",
        "sort:%3Cscript%3E",
    ] {
        is_still(&searched(&service, &session, query));
    }
    is_still(&Request::new("GET", "/").send(service.address));
    is_still(&Request::new("GET", "/style.css").send(service.address).is(200));
}

#[test]
fn whoever_logs_in_searches_as_the_account_of_their_key_until_it_is_taken_back_or_they_log_out() {
    let sandbox = Sandbox::sqlite();
    for n in 0..15 {
        sandbox.write(&format!("{n}.txt"), &format!("apple {n}"));
    }
    sandbox.write("closed.txt", "apple");
    let closed = sandbox.root().join("closed.txt");
    std::fs::set_permissions(closed, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    sandbox.synced(&[]);
    let nobody = key(&sandbox, "nobody", &["searcher"], Some(crate::people::ordinary()));
    let operator = key(&sandbox, "operator", &["operator"], None);
    let service = Service::start(&sandbox);
    let session = logged_in(&service, &nobody);
    let first = searched(&service, &session, "apple").is(200);
    assert!(first.body.contains("15 hits") && !first.body.contains("closed.txt"), "{first:#?}");
    assert!(first.body.contains("rel=\"next\"") && !first.body.contains("rel=\"prev\""), "{first:#?}");
    let next = searched(&service, &session, "apple&offset=10").is(200);
    assert!(next.body.contains("rel=\"prev\"") && !next.body.contains("rel=\"next\""), "{next:#?}");
    assert_eq!(next.body.matches("<li>").count(), 5);
    assert!(searched(&service, &session, "apple+AND+(").body.contains("role=\"alert\""));
    // Another service of this machine has cookies of its own.
    assert!(!session.contains("ingather_session="), "{session}");
    let ordinary = crate::people::ordinary();
    assert!(first.body.contains(&format!("You search as {ordinary}, by the API key nobody.")), "{first:#?}");
    // A key that may not search is told so before anything is asked.
    let refused = log_in(&service, &operator).is(403);
    for said in ["it has the role operator", "needs the role searcher", "--role searcher --account USER"] {
        assert!(refused.body.contains(said), "{said}: {refused:#?}");
    }
    let other = logged_in(&service, &service.key);
    let alone = searched(&service, &other, "apple").is(200);
    assert!(alone.body.contains("Nothing was found that you may see."), "{alone:#?}");
    assert!(
        alone.body.contains("The API key test has no account: only what is open to everybody"),
        "{alone:#?}"
    );
    service.ask("DELETE", "/api/v1/api-keys/nobody").is(200);
    let asked = searched(&service, &session, "apple").is(401);
    assert!(asked.body.contains("API key is not valid any more"), "{asked:#?}");
    let page = searched(&service, &other, "").is(200);
    let form = page.body.split("name=\"form\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let ended = sent(&service, "/logout", &other, &format!("form={form}")).is(303);
    assert_eq!(cookie(&ended, &format!("ingather_session_{}", service.address.port())), "");
    assert!(searched(&service, &other, "apple").is(200).body.contains("Log in"));
}

#[test]
fn a_form_that_another_site_has_made_does_nothing() {
    let sandbox = Sandbox::sqlite();
    let service = Service::start(&sandbox);
    let body = format!("form=guessed&key={}", service.key);
    let form = format!("ingather_form_{}", service.address.port());
    let two = format!("{form}=guessed; {form}=other");
    for cookies in ["", &format!("{form}=other"), &format!("{form}="), &two, "ingather_form=guessed"] {
        let refused = sent(&service, "/login", cookies, &body).is(403);
        assert!(!refused.head.contains("ingather_session"), "{refused:#?}");
    }
    sent(&service, "/login", &format!("{form}="), &format!("form=&key={}", service.key)).is(403);
    let wrong = sent(&service, "/login", &format!("{form}=same"), "form=same&key=ing_0_0").is(401);
    assert!(!wrong.head.contains("ingather_session"), "{wrong:#?}");
    let session = logged_in(&service, &service.key);
    sent(&service, "/logout", &session, "form=guessed").is(403);
    assert!(searched(&service, &session, "").is(200).body.contains("Log out"), "still logged in");
    // A cookie is nothing to the API: no other site can use it there.
    let api = Request::new("GET", "/api/v1/jobs").header(&format!("Cookie: {session}"));
    api.send(service.address).refuses(401, "unauthenticated");
    let json = json!({"key": service.key}).to_string();
    sent(&service, "/login", &format!("{form}=x"), &json).is(403);
}

#[test]
fn what_has_not_been_read_to_its_end_is_said_on_the_page_and_to_a_searcher_without_names() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    let own = crate::people::must(std::process::Command::new("id").arg("-un"));
    sandbox.run(&["sync", "root", "--name", "secret-job"]).exits(0);
    // As after a first run that somebody stopped.
    let store = Store::open(&Target::Sqlite(sandbox.data().join("store.db"))).unwrap();
    let ended = store.write(Durability::Synced, |sql| {
        let job = jobs::by_name(sql, "secret-job")?.unwrap();
        runs::end(sql, job.id, job.run, 1, RunOutcome::Stopped, "{}", None)
    });
    ended.unwrap();
    drop(store);
    let searcher = key(&sandbox, "ann", &["searcher"], Some(&own));
    let operator = key(&sandbox, "bob", &["searcher", "operator"], Some(&own));
    let service = Service::start(&sandbox);
    let page = |key: &str| searched(&service, &logged_in(&service, key), "apple").is(200).body;
    let told = page(&searcher);
    assert!(told.contains("not everything has been read to its end yet"), "{told}");
    assert!(!told.contains("job secret-job"), "{told}");
    assert!(page(&operator).contains("job secret-job: no run of it has ended yet"));
}
