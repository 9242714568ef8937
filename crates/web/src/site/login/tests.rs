//! Sites where people log in by a form: what is read there is the page itself or nothing, and never the form.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use ingather_contract::call::{CallContext, Cancel, Clock};
use ingather_contract::events::EventNames;
use ingather_contract::refers::{Asked, VisitAnswer};
use ingather_contract::repository::{HostContext, Repository};
use ingather_model::access::Acl;
use ingather_model::document::Links;
use ingather_model::fault::Fault;
use ingather_model::limits;
use ingather_testkit::script_repository::server::{self, Answer, SiteServer};
use ingather_testkit::suites::events::MemoryEvents;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::site::REFERRING;

/// A clock that is moved by hand.
#[derive(Default)]
struct Hand(AtomicI64);

impl Clock for Hand {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// What whoever is not logged in is answered in place of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shows {
    Redirect,
    Form,
    Status(u16),
    Text,
}

/// A site whose pages below `/docs/` are for those who are logged in.
struct Gate {
    server: SiteServer,
    inner: Arc<Inner>,
    clock: Arc<Hand>,
    root: String,
    events: MemoryEvents,
}

#[derive(Default)]
struct Inner {
    sessions: Mutex<BTreeSet<String>>,
    given: AtomicUsize,
    sent: AtomicUsize,
    /// Pages that are for everybody.
    open: Mutex<BTreeSet<String>>,
    /// A login works, and no page knows of it.
    forgets: AtomicUsize,
}

const FORM: &str = "<html><head><title>Log in</title></head><body><form action=/search><input name=q></form>\
    <form method=post action='/session'><input type=hidden name=token value='%T'><input name=user><input type=password name=pass>\
    </form></body></html>";

impl Inner {
    fn answer(&self, asked: &server::Asked, shows: Shows) -> Option<Answer> {
        let cookie = asked.header("cookie").unwrap_or_default();
        let is_in = cookie.split("; ").any(|cookie| self.sessions.lock().unwrap().contains(cookie));
        let form = || Answer::page(&FORM.replace("%T", "t&quot;1"));
        if asked.path == "/session" {
            self.sent.fetch_add(1, Ordering::SeqCst);
            // The token that the form hides, with its quote.
            if asked.body != "token=t%221&user=ann&pass=hush%26" || !cookie.contains("before=1") {
                return Some(form());
            }
            let session = format!("sid={}", self.given.fetch_add(1, Ordering::SeqCst));
            if self.forgets.load(Ordering::SeqCst) == 0 {
                self.sessions.lock().unwrap().insert(session.clone());
            }
            let welcome = Answer::status(303).with("Location", "/welcome");
            return Some(welcome.with("Set-Cookie", &format!("{session}; Path=/")));
        }
        if asked.path == "/welcome" {
            return Some(Answer::page("welcome, ann"));
        }
        if asked.path.starts_with("/login") {
            return Some(form().with("Set-Cookie", "before=1; Path=/"));
        }
        if is_in || !asked.path.starts_with("/docs/") || self.open.lock().unwrap().contains(&asked.path) {
            return None;
        }
        Some(match shows {
            Shows::Redirect => Answer::status(302).with("Location", &format!("/login?next={}", asked.path)),
            Shows::Form => form(),
            Shows::Status(status) => Answer { status, ..Answer::page("who are you?") },
            Shows::Text => Answer::page("<p>Please sign in first.</p>"),
        })
    }
}

impl Gate {
    fn new(shows: Shows) -> Gate {
        let (server, inner) = (SiteServer::start(), Arc::<Inner>::default());
        let own = Arc::clone(&inner);
        server.answer_by(move |asked| own.answer(asked, shows));
        for number in 0..20 {
            server.put(&format!("/docs/{number}"), Answer::linked(&format!("page {number}"), &[]));
        }
        let root = server.url("/docs/0");
        Gate { server, inner, clock: Arc::default(), root, events: MemoryEvents::default() }
    }

    fn settings(&self, more: Value) -> Value {
        let mut login = json!({
            "page": self.server.url("/login"), "fields": {"user": "ann"}, "secret_fields": {"pass": "hush&"}
        });
        for (name, value) in more.as_object().into_iter().flatten() {
            login[name] = value.clone();
        }
        json!({
            "root": self.root, "private_networks": ["127.0.0.1"], "access": ["unix:g:7"], "delay_ms": 0,
            "sitemaps": false, "login": login
        })
    }

    fn site(&self, more: Value) -> Arc<dyn Repository> {
        (REFERRING.open)(&self.settings(more), &HostContext::default()).unwrap()
    }

    fn visit(&self, site: &dyn Repository, path: &str) -> (Result<VisitAnswer, Fault>, String) {
        let call = CallContext { clock: self.clock.clone(), cancel: Cancel::default() };
        let key = self.server.url(path);
        let mut text = String::new();
        let names = EventNames { connection: "web", job: "docs" };
        let asked = Asked { events: &self.events, names, ..Asked::of(&key) };
        let mut once = || {
            site.refers().unwrap().visit(&call, &asked, &mut |_, _, content| {
                content.read_to_string(&mut text).unwrap();
                Ok(Links::default())
            })
        };
        let answer = loop {
            match once() {
                // As the engine does: nothing is asked for while somebody logs in.
                Ok(VisitAnswer::Again { after }) => {
                    while !self.events.are_completed(&after) {
                        std::thread::yield_now();
                    }
                }
                answer => break answer,
            }
        };
        (answer, text)
    }

    /// The text of a page that is read, or the code of what came in between.
    fn read(&self, site: &dyn Repository, path: &str) -> Result<String, String> {
        match self.visit(site, path) {
            (Ok(VisitAnswer::Read(..)), text) => Ok(text),
            (Ok(VisitAnswer::NoEntry(reason, _)), text) => {
                assert_eq!(text, "");
                Err(reason.code)
            }
            (Ok(other), _) => panic!("{other:?}"),
            (Err(fault), text) => {
                assert_eq!(text, "", "what is not the page is not read");
                Err(fault.reason().code)
            }
        }
    }

    fn sent(&self) -> usize {
        self.inner.sent.load(Ordering::SeqCst)
    }

    fn expire(&self) {
        self.inner.sessions.lock().unwrap().clear();
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let left = self.events.left();
            assert!(
                left.is_empty(),
                "whoever logs in completes what it began, and nobody else does: {left:?}"
            );
        }
    }
}

#[test]
fn pages_behind_a_login_are_read_after_it_however_their_site_says_that_it_is_needed() {
    for (shows, more) in [
        (Shows::Redirect, json!({})),
        (Shows::Form, json!({})),
        (Shows::Status(401), json!({})),
        (Shows::Status(403), json!({"logged_out_status": [403, 440]})),
        (Shows::Status(440), json!({"logged_out_status": [403, 440]})),
        (Shows::Text, json!({"logged_out_text": "sign in first"})),
        (Shows::Redirect, json!({"logged_in_text": "welcome, [a-z]+"})),
    ] {
        let gate = Gate::new(shows);
        let site = gate.site(more);
        for number in 0..20 {
            let text = gate.read(site.as_ref(), &format!("/docs/{number}"));
            assert!(
                text.as_ref().is_ok_and(|text| text.contains(&format!("<p>page {number}</p>"))),
                "{shows:?} {text:?}"
            );
        }
        assert_eq!(gate.sent(), 1, "{shows:?}");
    }
}

#[test]
fn a_session_that_ends_in_the_middle_is_begun_again_and_no_page_is_lost_or_mistaken() {
    for shows in [Shows::Redirect, Shows::Form, Shows::Status(401)] {
        let gate = Gate::new(shows);
        let site = gate.site(json!({}));
        for number in 0..20 {
            if number % 5 == 0 {
                gate.expire();
            }
            let text = gate.read(site.as_ref(), &format!("/docs/{number}")).unwrap();
            assert!(text.contains(&format!("<p>page {number}</p>")), "{shows:?} {text}");
        }
        assert_eq!(gate.sent(), 4, "{shows:?}");
    }
}

/// What a page is when nobody can log in: until when it is left alone.
fn waits(gate: &Gate, site: &dyn Repository, path: &str) -> Option<i64> {
    let (answer, _) = gate.visit(site, path);
    let Err(Fault::Passing { reason, retry_in_ms, .. }) = answer else { panic!("{answer:?}") };
    assert_eq!(reason.code, "login");
    assert!(!reason.message.contains("wrong\""), "{}", reason.message);
    retry_in_ms
}

#[test]
fn a_password_that_is_refused_is_sent_once_and_then_more_and_more_seldom() {
    let gate = Gate::new(Shows::Redirect);
    let wrong = gate.site(json!({"secret_fields": {"pass": "wrong"}}));
    let mut wait_ms = limits::WEB_LOGIN_WAIT_MS;
    for round in 1..=10 {
        for number in 0..5 {
            assert_eq!(waits(&gate, wrong.as_ref(), &format!("/docs/{number}")), Some(wait_ms));
        }
        assert_eq!(gate.sent(), round);
        gate.clock.0.fetch_add(wait_ms, Ordering::SeqCst);
        wait_ms = (wait_ms * 2).min(limits::WEB_LOGIN_WAIT_MS << limits::WEB_LOGIN_WAIT_DOUBLED_MAX);
    }
    assert_eq!(wrong.notes().len(), 1, "{:?}", wrong.notes());
    assert_eq!(wrong.pace(&wrong.bins(&gate.root)[0]).unwrap().every_ms, 0, "its host is not slow");
    // What needs no login is read all the same.
    gate.inner.open.lock().unwrap().insert("/docs/1".to_owned());
    assert!(gate.read(wrong.as_ref(), "/docs/1").is_ok());
}

#[test]
fn a_login_that_fails_for_another_reason_is_tried_a_few_times_and_then_not_for_a_while() {
    let most = limits::WEB_LOGIN_ATTEMPTS_MAX as usize;
    let gate = Gate::new(Shows::Redirect);
    let site = gate.site(json!({"logged_in_text": "what it never says"}));
    for number in 0..20 {
        let wait_ms = waits(&gate, site.as_ref(), &format!("/docs/{number}"));
        assert_eq!(wait_ms, (number + 1 >= most).then_some(limits::WEB_LOGIN_WAIT_MS), "{number}");
        gate.expire();
    }
    assert_eq!(gate.sent(), most);
    gate.clock.0.fetch_add(limits::WEB_LOGIN_WAIT_MS, Ordering::SeqCst);
    assert_eq!(gate.read(site.as_ref(), "/docs/0"), Err("login".to_owned()));
    assert_eq!(gate.sent(), most + 1);
}

#[test]
fn a_login_after_which_pages_are_as_before_is_none() {
    for shows in [Shows::Redirect, Shows::Form] {
        let gate = Gate::new(shows);
        gate.inner.forgets.store(1, Ordering::SeqCst);
        let site = gate.site(json!({}));
        for number in 0..20 {
            assert_eq!(
                gate.read(site.as_ref(), &format!("/docs/{number}")),
                Err("login".to_owned()),
                "{shows:?}"
            );
        }
        assert_eq!(gate.sent(), limits::WEB_LOGIN_ATTEMPTS_MAX as usize);
    }
    // What is shut even for who is logged in is no failure of the login.
    let gate = Gate::new(Shows::Redirect);
    let site = gate.site(json!({}));
    gate.server.put("/docs/0", Answer::status(401));
    assert_eq!(gate.read(site.as_ref(), "/docs/0"), Err("unreadable".to_owned()));
}

#[test]
fn one_thread_logs_in_while_the_others_wait() {
    let gate = Gate::new(Shows::Redirect);
    let site = gate.site(json!({}));
    std::thread::scope(|scope| {
        for number in 0..16 {
            let (gate, site) = (&gate, &site);
            scope.spawn(move || {
                let text = gate.read(site.as_ref(), &format!("/docs/{number}")).unwrap();
                assert!(text.contains(&format!("<p>page {number}</p>")), "{text}");
            });
        }
    });
    assert_eq!(gate.sent(), 1);
}

/// How far two visitors have come, and who waits for that.
type Stages = (Mutex<usize>, Condvar);

fn reached(stages: &Stages, stage: usize) {
    let mut at = stages.0.lock().unwrap();
    *at = (*at).max(stage);
    stages.1.notify_all();
}

fn wait_for(stages: &Stages, stage: usize) {
    let late = Duration::from_secs(10);
    drop(stages.1.wait_timeout_while(stages.0.lock().unwrap(), late, |at| *at < stage).unwrap());
}

#[test]
fn an_answer_from_before_the_login_does_not_log_out_again() {
    let gate = Gate::new(Shows::Redirect);
    let stages = Arc::<Stages>::default();
    let (own, told) = (Arc::clone(&gate.inner), Arc::clone(&stages));
    gate.server.answer_by(move |asked| {
        let is_nobody = !asked.header("cookie").unwrap_or_default().contains("sid=");
        if asked.path == "/docs/1" && is_nobody {
            reached(&told, 1);
            // It comes when somebody else is logged in, with a cookie for who is not.
            wait_for(&told, 2);
            let late = Answer::status(302).with("Location", "/login");
            return Some(late.with("Set-Cookie", "sid=nobody; Path=/"));
        }
        let answer = own.answer(asked, Shows::Redirect);
        if asked.path == "/docs/2" && answer.is_none() {
            reached(&told, 2);
        }
        answer
    });
    let site = gate.site(json!({}));
    // The rules of the host are asked for by one thread.
    gate.inner.open.lock().unwrap().insert("/docs/0".to_owned());
    gate.read(site.as_ref(), "/docs/0").unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| gate.read(site.as_ref(), "/docs/1").unwrap());
        wait_for(&stages, 1);
        gate.read(site.as_ref(), "/docs/2").unwrap();
    });
    gate.read(site.as_ref(), "/docs/3").unwrap();
    assert_eq!((gate.sent(), *stages.0.lock().unwrap()), (1, 2));
}

#[test]
fn the_page_with_the_form_is_no_page_of_the_site() {
    let gate = Gate::new(Shows::Redirect);
    let mut settings = gate.settings(json!({}));
    settings["paths"] = json!(["/"]);
    let site = (REFERRING.open)(&settings, &HostContext::default()).unwrap();
    for path in ["/login", "/login?next=/docs/3"] {
        assert_eq!(gate.read(site.as_ref(), path), Err("login_page".to_owned()), "{path}");
    }
    assert_eq!(gate.server.paths(), [""; 0], "it is not asked for");
}

#[test]
fn secrets_are_sent_to_the_host_that_they_were_given_for_and_never_in_an_address() {
    let elsewhere = SiteServer::start();
    for (form, why) in [
        (
            format!("<form method=post action='{}'><input name=pass>", elsewhere.url("/take")),
            "another server",
        ),
        (
            format!("<base href='{}'><form method=post action=take><input name=pass>", elsewhere.url("/")),
            "another server",
        ),
        ("<form action=/session><input name=pass>".to_owned(), "no place for secrets"),
        ("<form method=post action=/session><input name=other>".to_owned(), "no form with the fields"),
    ] {
        let server = SiteServer::start();
        server.put("/docs/", Answer::status(401));
        server.put("/login", Answer::page(&form));
        let settings = json!({
            "root": server.url("/docs/"), "private_networks": ["127.0.0.1"], "access": ["unix:g:7"], "delay_ms": 0,
            "login": {"page": server.url("/login"), "secret_fields": {"pass": "hush"}}
        });
        let (root, events) = (server.url("/docs/"), MemoryEvents::default());
        let gate = Gate { root, server, inner: Arc::default(), clock: Arc::default(), events };
        let site = (REFERRING.open)(&settings, &HostContext::default()).unwrap();
        let (answer, _) = gate.visit(site.as_ref(), "/docs/");
        let message = answer.unwrap_err().reason().message;
        assert!(message.contains(why), "{message}");
        let asked = gate.server.asked();
        assert!(asked.iter().all(|asked| asked.body.is_empty() && !asked.path.contains("hush")), "{asked:?}");
    }
    // A redirect of what was sent is not followed with it.
    let gate = Gate::new(Shows::Redirect);
    let to = elsewhere.url("/take");
    gate.server.answer_by(move |asked| match asked.path.as_str() {
        "/login" => Some(Answer::page(FORM)),
        "/session" => Some(Answer::status(307).with("Location", &to)),
        _ => Some(Answer::status(401)),
    });
    let site = gate.site(json!({}));
    assert_eq!(gate.read(site.as_ref(), "/docs/0"), Err("login".to_owned()));
    assert_eq!(elsewhere.paths(), [""; 0]);
}

#[test]
fn a_job_behind_a_login_names_its_readers_and_everybody_is_none_of_them() {
    let gate = Gate::new(Shows::Form);
    for access in [Value::Null, json!(["everybody"]), json!(["unix:g:7", "everybody"])] {
        let mut settings = gate.settings(json!({}));
        settings["access"] = access.clone();
        let refused =
            (REFERRING.open)(&settings, &HostContext::default()).err().map(|fault| fault.to_string());
        assert!(refused.as_ref().is_some_and(|why| why.contains("`access`")), "{access} {refused:?}");
    }
    for (more, why) in [
        (json!({"page": "login.html"}), "no address"),
        (json!({"secret_fields": {}}), "secret_fields"),
        (json!({"logged_out_text": "("}), "`login`"),
    ] {
        let refused =
            (REFERRING.open)(&gate.settings(more), &HostContext::default()).err().unwrap().to_string();
        assert!(refused.contains(why) && !refused.contains("hush"), "{refused}");
    }
}

proptest! {
    // Each case reads the certificates of the system, and visits many pages.
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Random sites: pages for everybody and others, sessions that end whenever, and any way of saying so.
    #[test]
    fn no_page_of_a_job_with_a_login_is_open_to_all_and_none_is_a_form(
        kind in 0usize..3,
        open in proptest::collection::btree_set(0usize..20, 0..10),
        ends in proptest::collection::btree_set(0usize..60, 0..12),
        visits in proptest::collection::vec(0usize..20, 1..60),
        access in proptest::collection::vec("[a-z]{1,5}:[a-z0-9]{1,5}", 1..4),
    ) {
        let gate = Gate::new([Shows::Redirect, Shows::Form, Shows::Status(401)][kind]);
        gate.inner.open.lock().unwrap().extend(open.iter().map(|number| format!("/docs/{number}")));
        let mut settings = gate.settings(json!({}));
        settings["access"] = json!(access);
        let site = (REFERRING.open)(&settings, &HostContext::default()).unwrap();
        for (at, number) in visits.into_iter().enumerate() {
            if ends.contains(&at) {
                gate.expire();
            }
            let (answer, text) = gate.visit(site.as_ref(), &format!("/docs/{number}"));
            let Ok(VisitAnswer::Read(observed, _)) = answer else { panic!("{answer:?}") };
            prop_assert!(observed.acl != Acl::open());
            prop_assert_eq!(observed.acl, Acl::Flat { allow: access.clone(), deny: Vec::new() });
            let is_the_page = text.contains(&format!("<p>page {number}</p>"));
            prop_assert!(is_the_page, "{}", text);
        }
    }
}
