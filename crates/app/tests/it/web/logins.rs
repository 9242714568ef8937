//! A site behind a login by a form: its pages are found, its form never is, and a session that ends costs nothing but a login.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ingather_testkit::script_repository::server::{Answer, Asked, SiteServer};

use super::{found, sync};
use crate::sandbox::Sandbox;

/// Who is logged in, and how often somebody did.
#[derive(Default)]
struct Gate {
    sessions: Mutex<BTreeSet<String>>,
    logins: AtomicUsize,
    pages: AtomicUsize,
}

/// Each session ends after so many pages.
const PAGES_OF_SESSION: usize = 30;

impl Gate {
    /// Pages that begin with `/docs/form` show the form in their place, the others lead to it.
    fn answer(&self, asked: &Asked) -> Option<Answer> {
        let form = || {
            Answer::page(
                "<html><body>forbidden fruit<form method=post action=/in><input name=user><input name=pass></form>",
            )
        };
        let cookie = asked.header("cookie").unwrap_or_default();
        let mut sessions = self.sessions.lock().unwrap();
        match asked.path.as_str() {
            "/in" if asked.body == "user=ann&pass=hush" => {
                let session = format!("sid={}", self.logins.fetch_add(1, Ordering::SeqCst));
                sessions.insert(session.clone());
                Some(
                    Answer::status(303)
                        .with("Location", "/welcome")
                        .with("Set-Cookie", &format!("{session}; Path=/")),
                )
            }
            "/in" => Some(form()),
            "/welcome" => Some(Answer::page("welcome")),
            path if path.starts_with("/login") => Some(form()),
            path if path.starts_with("/docs/") && sessions.contains(cookie) => {
                if (self.pages.fetch_add(1, Ordering::SeqCst) + 1).is_multiple_of(PAGES_OF_SESSION) {
                    sessions.clear();
                }
                None
            }
            path if path.starts_with("/docs/form") => Some(form()),
            path if path.starts_with("/docs/") => {
                Some(Answer::status(302).with("Location", &format!("/login?next={path}")))
            }
            _ => None,
        }
    }
}

#[test]
fn a_hundred_pages_behind_a_login_are_found_and_its_form_is_not() {
    let (sandbox, server, gate) = (Sandbox::sqlite(), SiteServer::start(), Arc::<Gate>::default());
    let own = Arc::clone(&gate);
    server.answer_by(move |asked| own.answer(asked));
    let names: Vec<String> =
        (0..50).flat_map(|number| [format!("form{number}"), format!("page{number}")]).collect();
    let links: Vec<&str> = names.iter().map(String::as_str).chain(["/login"]).collect();
    server.put("/docs/", Answer::linked("start apple", &links));
    for name in &names {
        server.put(&format!("/docs/{name}"), Answer::linked("apple", &[]));
    }
    let login = format!(
        "login={{\"page\": \"{}\", \"fields\": {{\"user\": \"ann\"}}, \"secret_fields\": {{\"pass\": \"hush\"}}}}",
        server.url("/login")
    );
    let root = server.url("/docs/");
    let flags = ["--set", "private_networks=[\"127.0.0.1\"]", "--set", "delay_ms=0", "--set", login.as_str()];
    for open in [&[][..], &["--set", "access=[\"everybody\"]"]] {
        sandbox.run(&[&["sync", &root], &flags[..], open].concat()).refuses(2, &["`access`"]);
    }
    let named = [&flags[..], &["--set", "access=[\"unix:u:4242\"]"]].concat();
    let (counts, code) = sync(&sandbox, &root, &named);
    assert_eq!((counts.get("added"), counts.get("failed"), code), (101, 0, 0), "{counts:?}");
    assert_eq!(found(&sandbox, &server, "forbidden"), Vec::<String>::new());
    assert!(gate.logins.load(Ordering::SeqCst) >= 3, "sessions ended on the way");
    let of_others = sandbox.run(&["search", "apple", "--as", "nobody", "--json"]).exits(0).json();
    assert_eq!(of_others, Vec::<serde_json::Value>::new());
    assert!(!sandbox.run(&["export"]).exits(0).out.contains("hush"));
    // The next run begins without a session, and everything is as it was.
    let (counts, code) = sync(&sandbox, &root, &[]);
    assert_eq!((counts.get("unchanged"), counts.get("deleted"), code), (101, 0, 0), "{counts:?}");
    // Where the login does not work any more, nothing is lost.
    gate.sessions.lock().unwrap().clear();
    server.answer_by(|asked| match asked.path.as_str() {
        "/robots.txt" => None,
        path if path.starts_with("/docs/") => Some(Answer::status(302).with("Location", "/login")),
        _ => Some(Answer::page("<form method=post action=/in><input name=user><input name=pass></form>")),
    });
    let (counts, _) = sync(&sandbox, &root, &[]);
    assert_eq!(counts.get("deleted"), 0, "{counts:?}");
    assert_eq!(found(&sandbox, &server, "start"), ["/docs/"]);
}
