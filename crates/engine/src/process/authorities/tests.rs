//! What the authorities of a program answer together, with authorities that the tests move by hand.

mod presented;

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ingather_contract::authority::{Account, Answer, Authority};
use ingather_contract::call::{CallContext, Cancel, Clock};
use ingather_model::access::authority::{Asking, MappingRule};
use ingather_model::access::identity::{Group, Identity};
use ingather_model::access::{Acl, Tokens};
use ingather_model::fault::{Fault, Reason};
use ingather_model::limits;
use ingather_store::turns::Monitor;

use super::lane::{Begun, Lane, Outcome};
use super::*;

#[derive(Default)]
struct ByHand(AtomicI64);

impl Clock for ByHand {
    fn now(&self) -> i64 {
        1_000_000 + self.0.load(Ordering::SeqCst)
    }
    fn steady(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

impl ByHand {
    fn moves(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

fn call(clock: &Arc<ByHand>) -> CallContext {
    CallContext { clock: clock.clone(), cancel: Cancel::default() }
}

type Answering = dyn Fn(&str) -> std::result::Result<Answer, Fault> + Send + Sync;

/// An authority that a test answers for, and how often it was asked.
struct Scripted {
    answers: Box<Answering>,
    asked: AtomicUsize,
}

impl Authority for Scripted {
    fn check(&self, _: &CallContext) -> std::result::Result<String, Fault> {
        Ok("it answers".to_owned())
    }
    fn tokens(&self, _: &CallContext, account: &Account<'_>) -> std::result::Result<Answer, Fault> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        (self.answers)(account.name)
    }
}

fn scripted(
    answers: impl Fn(&str) -> std::result::Result<Answer, Fault> + Send + Sync + 'static,
) -> Arc<Scripted> {
    Arc::new(Scripted { answers: Box::new(answers), asked: AtomicUsize::new(0) })
}

fn known(tokens: &str) -> std::result::Result<Answer, Fault> {
    Ok(Answer::Known(tokens.split_whitespace().collect()))
}

fn down() -> std::result::Result<Answer, Fault> {
    Err(Fault::passing("down", "it does not answer"))
}

fn lane(authority: &Arc<Scripted>, asking: Asking, kept: Duration) -> Arc<Lane> {
    let of = ("directory".to_owned(), "scripted".to_owned(), Group::default());
    Arc::new(Lane::new(of, asking, Ok(authority.clone()), kept))
}

fn ask(lane: &Arc<Lane>, name: &str, call: &CallContext) -> Outcome {
    match lane.begin(name, None, call) {
        Begun::Now(outcome) => outcome,
        Begun::Waits(waits) => lane.wait(waits, call),
    }
}

fn code(outcome: &Outcome) -> String {
    match &outcome.answer {
        Ok(answer) => format!("{answer:?}").split('(').next().unwrap_or_default().to_owned(),
        Err(reason) => reason.code.clone(),
    }
}

const DAY: Duration = Duration::from_millis(limits::AUTHORITY_KEPT_MS_MAX as u64);

/// What an answer waits for.
#[derive(Default)]
struct Gate(Monitor<usize>);

impl Gate {
    /// Lets one answer pass.
    fn open(&self) {
        *self.0.lock() += 1;
        self.0.notify();
    }

    fn pass(&self) {
        *self.0.wait_while(self.0.lock(), |open| *open == 0) -= 1;
    }
}

#[test]
fn an_answer_is_kept_as_long_as_it_may_be_and_one_that_is_not_whole_shortly() {
    let clock = Arc::new(ByHand::default());
    let directory = scripted(|name| match name {
        "ann" => known("staff"),
        "part" => Ok(Answer::Known(["staff"].into_iter().collect::<Tokens>().not_whole())),
        "out" => Ok(Answer::Unauthorized),
        _ => Ok(Answer::Unknown),
    });
    let lane = lane(&directory, Asking::default(), DAY);
    let call = call(&clock);
    let asked = || directory.asked.load(Ordering::SeqCst);
    for name in ["ann", "part", "out", "zoe"] {
        assert!(!ask(&lane, name, &call).was_kept && ask(&lane, name, &call).was_kept, "{name}");
    }
    assert_eq!(asked(), 4);
    clock.moves(limits::AUTHORITY_KEPT_SHORTLY_MS);
    for (name, kept) in [("ann", true), ("part", false), ("out", false), ("zoe", false)] {
        assert_eq!(ask(&lane, name, &call).was_kept, kept, "{name}");
    }
    let first = ask(&lane, "ann", &call).at;
    assert_eq!(first, 1_000_000, "when it was asked, and not when it was told");
    clock.moves(DAY.as_millis() as i64);
    assert!(!ask(&lane, "ann", &call).was_kept);
    assert_eq!((lane.forget(Some("ann")), lane.forget(Some("ann"))), (1, 0));
    assert!(!ask(&lane, "ann", &call).was_kept, "forgotten by hand");
}

#[test]
fn nothing_is_kept_where_a_definition_or_a_kind_says_so() {
    let clock = Arc::new(ByHand::default());
    let directory = scripted(|_| known("staff"));
    for (kept_ms, kept, is_kept) in
        [(None, Duration::ZERO, false), (Some(0), DAY, false), (Some(9), Duration::ZERO, true)]
    {
        let lane = lane(&directory, Asking { kept_ms, ..Asking::default() }, kept);
        ask(&lane, "ann", &call(&clock));
        assert_eq!(ask(&lane, "ann", &call(&clock)).was_kept, is_kept, "{kept_ms:?} {kept:?}");
    }
}

#[test]
fn who_asks_at_once_about_a_name_asks_once_and_who_finds_no_room_is_refused() {
    let clock = Arc::new(ByHand::default());
    let gate = Arc::new(Gate::default());
    let its = gate.clone();
    let directory = scripted(move |name| {
        its.pass();
        known(name)
    });
    let lane = lane(&directory, Asking { at_once: 1, within_ms: 60_000, ..Asking::default() }, DAY);
    let call = call(&clock);
    let waits = |name: &str| match lane.begin(name, None, &call) {
        Begun::Waits(waits) => waits,
        Begun::Now(outcome) => panic!("{name}: {}", code(&outcome)),
    };
    let (one, other) = (waits("ann"), waits("ann"));
    let room = limits::AUTHORITY_WAITING_FOR_EACH;
    let rest: Vec<_> = (0..room).map(|n| waits(&format!("u{n}"))).collect();
    assert_eq!(code(&ask(&lane, "one-too-many", &call)), "busy");
    (0..=room).for_each(|_| gate.open());
    for waits in [one, other] {
        let outcome = lane.wait(waits, &call);
        assert!(matches!(outcome.answer.as_deref(), Ok(Answer::Known(tokens)) if tokens.holds("ann")));
    }
    for (n, waits) in rest.into_iter().enumerate() {
        let outcome = lane.wait(waits, &call);
        let own = format!("u{n}");
        assert!(matches!(outcome.answer.as_deref(), Ok(Answer::Known(tokens)) if tokens.holds(&own)));
    }
    assert_eq!(directory.asked.load(Ordering::SeqCst), 1 + room);
}

#[test]
fn an_answer_that_comes_a_millisecond_late_counts_as_none() {
    for (late, expected) in [(0, "Known"), (1, "late")] {
        let clock = Arc::new(ByHand::default());
        let moved = clock.clone();
        let directory = scripted(move |_| {
            moved.moves(i64::from(Asking::default().within_ms) + late);
            known("staff")
        });
        let lane = lane(&directory, Asking::default(), Duration::ZERO);
        let Begun::Waits(waits) = lane.begin("ann", None, &call(&clock)) else { panic!("nothing is kept") };
        // By a clock that stands still: by the other one it may be too late before the wait has begun.
        assert_eq!(code(&lane.wait(waits, &call(&Arc::default()))), expected);
    }
}

#[test]
fn an_authority_that_hangs_costs_its_time_and_rests_then() {
    let clock = Arc::new(ByHand::default());
    let gate = Arc::new(Gate::default());
    let its = gate.clone();
    let directory = scripted(move |_| {
        its.pass();
        down()
    });
    let lane = lane(&directory, Asking { within_ms: 1, ..Asking::default() }, DAY);
    for _ in 0..limits::AUTHORITY_FAULTS_MAX {
        assert_eq!(code(&ask(&lane, "ann", &call(&clock))), "late");
    }
    assert!(
        matches!(lane.begin("bob", None, &call(&clock)), Begun::Now(outcome) if code(&outcome) == "late"),
        "it rests"
    );
    clock.moves(limits::AUTHORITY_REST_MS);
    assert!(matches!(lane.begin("bob", None, &call(&clock)), Begun::Waits(_)), "it is asked once more");
    (0..100).for_each(|_| gate.open());
}

#[test]
fn an_authority_that_fails_again_and_again_is_not_asked_for_a_while() {
    let clock = Arc::new(ByHand::default());
    let up = Arc::new(Mutex::new(false));
    let is_up = up.clone();
    let directory = scripted(move |_| if *is_up.lock().unwrap() { known("staff") } else { down() });
    let (lane, call) = (lane(&directory, Asking::default(), Duration::ZERO), call(&clock));
    let asked = || directory.asked.load(Ordering::SeqCst);
    for _ in 0..10 {
        assert_eq!(code(&ask(&lane, "ann", &call)), "down");
    }
    assert_eq!(asked(), limits::AUTHORITY_FAULTS_MAX as usize);
    clock.moves(limits::AUTHORITY_REST_MS);
    ask(&lane, "ann", &call);
    ask(&lane, "ann", &call);
    assert_eq!(asked(), limits::AUTHORITY_FAULTS_MAX as usize + 1, "once after each rest");
    *up.lock().unwrap() = true;
    clock.moves(limits::AUTHORITY_REST_MS_MAX);
    assert_eq!(
        (code(&ask(&lane, "ann", &call)).as_str(), code(&ask(&lane, "ann", &call)).as_str()),
        ("Known", "Known")
    );
}

#[test]
fn what_is_forgotten_while_it_is_asked_is_not_kept() {
    let clock = Arc::new(ByHand::default());
    let gate = Arc::new(Gate::default());
    let its = gate.clone();
    let directory = scripted(move |_| {
        its.pass();
        known("staff")
    });
    let (lane, call) = (lane(&directory, Asking::default(), DAY), call(&clock));
    let Begun::Waits(waits) = lane.begin("ann", None, &call) else { panic!("it was not asked") };
    lane.forget(None);
    gate.open();
    assert_eq!(code(&lane.wait(waits, &call)), "Known", "who asked before is answered");
    gate.open();
    assert!(!ask(&lane, "ann", &call).was_kept);
    assert!(ask(&lane, "ann", &call).was_kept);
}

#[test]
fn a_panic_and_too_many_tokens_are_faults() {
    let clock = Arc::new(ByHand::default());
    let directory = scripted(|name| match name {
        "ann" => panic!("a defect"),
        _ => Ok(Answer::Known((0..=limits::TOKENS_OF_A_USER_MAX).map(|n| n.to_string()).collect())),
    });
    let lane = lane(&directory, Asking::default(), DAY);
    assert_eq!(code(&ask(&lane, "ann", &call(&clock))), "panic");
    assert_eq!(code(&ask(&lane, "bob", &call(&clock))), "too_many");
}

fn said(group: &str, answer: std::result::Result<Answer, Reason>) -> Said {
    Said {
        authority: "directory".to_owned(),
        kind: "scripted".to_owned(),
        group: Group::named(group),
        user: User { name: "ann".to_owned(), domain: String::new() },
        asked_as: None,
        answer: answer.map(Arc::new),
        at: 0,
        was_kept: false,
    }
}

/// Coverage S3.259; the cases S8 to S11 of the specification of search security.
#[test]
fn answers_of_a_group_are_one_and_what_is_missing_hides() {
    let held = |tokens: &str| known(tokens).map_err(|fault| fault.reason());
    let part = |tokens: &str| Ok(Answer::Known(tokens.split_whitespace().collect::<Tokens>().not_whole()));
    let failed = || Err(Reason::new("down", "it does not answer"));
    let acl = |allow: &str, deny: &str| {
        let list = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        Acl::Flat { allow: list(allow), deny: list(deny) }
    };
    let documents = [acl("a", ""), acl("b", ""), acl("a", "x"), acl("", "x"), acl("", "")];
    type Answers = Vec<std::result::Result<Answer, Reason>>;
    let table: [(Answers, &str); 11] = [
        (vec![Ok(Answer::Unknown)], "----+"),
        (vec![held("a")], "+-+-+"),
        (vec![held("a"), held("b")], "+++-+"),
        (vec![held("a"), Ok(Answer::Unknown)], "+-+-+"),
        (vec![held("a"), held("b x")], "++--+"),
        (vec![held("a"), failed()], "+---+"),
        (vec![held("a"), part("b")], "++--+"),
        (vec![failed()], "----+"),
        (vec![held("a"), Ok(Answer::Unauthorized)], "+---+"),
        (vec![Ok(Answer::Unauthorized)], "----+"),
        (vec![Ok(Answer::Unauthorized), failed()], "----+"),
    ];
    for (answers, expected) in table {
        let all: Vec<Said> = answers.iter().cloned().map(|answer| said("files", answer)).collect();
        let identity = identity(&all);
        let seen = |group: &str| -> String {
            let passes = |acl: &Acl| if identity.passes(&Group::named(group), acl) { '+' } else { '-' };
            documents.iter().map(passes).collect()
        };
        assert_eq!(seen("files"), expected, "{answers:?}");
        assert_eq!(seen("mails"), "----+", "tokens of one group count in no other one");
    }
    assert_eq!(identity(&[]), Identity::anonymous());
}

/// Whatever fails, nobody sees more than with the whole answers.
#[test]
fn a_fault_more_never_shows_a_document_more() {
    let seed: u64 = std::env::var("INGATHER_TEST_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| fastrand::u64(..));
    let mut dice = fastrand::Rng::with_seed(seed);
    let names = ["a", "b", "c", "d"];
    for round in 0..10_000 {
        let some = |dice: &mut fastrand::Rng| -> Vec<String> {
            names.iter().filter(|_| dice.bool()).map(|name| (*name).to_owned()).collect()
        };
        let whole: Vec<Said> = (0..dice.usize(1..5))
            .map(|_| {
                let answer = match dice.u8(0..8) {
                    0 => Answer::Unknown,
                    1 => Answer::Unauthorized,
                    _ => Answer::Known(some(&mut dice).into_iter().collect()),
                };
                said(["", "files"][dice.usize(0..2)], Ok(answer))
            })
            .collect();
        let mut faulty = whole.clone();
        for one in &mut faulty {
            let cut = match (dice.u8(0..3), one.answer.as_deref()) {
                (0, _) => Err(Reason::new("down", "it does not answer")),
                (1, Ok(Answer::Known(tokens))) => {
                    let part: Tokens = tokens.iter().filter(|_| dice.bool()).collect();
                    Ok(Arc::new(Answer::Known(part.not_whole())))
                }
                _ => continue,
            };
            one.answer = cut;
        }
        let (whole, faulty) = (identity(&whole), identity(&faulty));
        for _ in 0..8 {
            let group = Group::named(["", "files"][dice.usize(0..2)]);
            let acl = Acl::Flat { allow: some(&mut dice), deny: some(&mut dice) };
            let told = || format!("seed {seed}, round {round}: {acl:?} of {group:?}");
            assert!(whole.passes(&group, &acl) || !faulty.passes(&group, &acl), "{}", told());
        }
    }
}

#[test]
fn definitions_out_of_bounds_are_refused_by_name() {
    let usual = Asking::default();
    assert_eq!(check_asking(&usual), Ok(()));
    let rule = MappingRule { pattern: "(".to_owned(), name: String::new(), case: Default::default() };
    for (asking, word) in [
        (Asking { within_ms: 0, ..usual.clone() }, "`within_ms` is 0"),
        (Asking { within_ms: 60_001, ..usual.clone() }, "`within_ms` is 60001"),
        (Asking { at_once: 0, ..usual.clone() }, "`at_once` is 0"),
        (Asking { kept_ms: Some(86_400_001), ..usual.clone() }, "`kept_ms`"),
        (Asking { domain: "x".repeat(2_000), ..usual.clone() }, "`domain`"),
        (Asking { mapping: vec![rule], ..usual }, "rule 1"),
    ] {
        assert!(check_asking(&asking).unwrap_err().contains(word), "{word}");
    }
}

/// The group of each name; nothing else of an authority is looked at.
#[test]
fn only_authorities_of_its_domain_are_asked_about_a_name() {
    let clock = Arc::new(ByHand::default());
    let directory = scripted(known);
    let of = |name: &str, domain: &str, rules: &[(&str, &str)]| {
        let rule = |(pattern, name): &(&str, &str)| MappingRule {
            pattern: (*pattern).to_owned(),
            name: (*name).to_owned(),
            case: Default::default(),
        };
        let asking = Asking {
            domain: domain.to_owned(),
            mapping: rules.iter().map(rule).collect(),
            ..Asking::default()
        };
        let opened: std::result::Result<Arc<dyn Authority>, Fault> = Ok(directory.clone());
        let of = (name.to_owned(), "scripted".to_owned(), Group::named(name));
        Arc::new(Lane::new(of, asking, opened, DAY))
    };
    let lanes = [
        of("files", "", &[]),
        of("mails", "acme", &[("(.+)@acme", "$1")]),
        of("wiki", "acme", &[("x(.+)", "$1")]),
    ];
    let authorities =
        Authorities { opened: Mutex::new(Opened { lanes: Some(Arc::new(lanes)), ..Opened::default() }) };
    let registry = Registry { repositories: &[], transforms: &[], outputs: &[], authorities: &[] };
    let user = |name: &str, domain: &str| User { name: name.to_owned(), domain: domain.to_owned() };
    let users = [user("ann", ""), user("bob@acme", "acme"), user("cid", "elsewhere")];
    let said = authorities.ask((None, &registry), &call(&clock), (&users, Which::All)).unwrap();
    let told: HashMap<&str, Option<&str>> =
        said.iter().map(|one| (one.authority.as_str(), one.asked_as.as_deref())).collect();
    assert_eq!(told, HashMap::from([("files", Some("ann")), ("mails", Some("bob")), ("wiki", None)]));
    let identity = identity(&said);
    assert!(identity.tokens(&Group::named("files")).unwrap().holds("ann"));
    assert!(identity.tokens(&Group::named("mails")).unwrap().holds("bob"));
    assert_eq!(identity.tokens(&Group::named("wiki")), None, "whom a mapping does not fit is not known");
    assert_eq!(authorities.forget((None, &registry), Some(&user("bob@acme", "acme"))).unwrap(), 1);
    assert_eq!(authorities.forget((None, &registry), None).unwrap(), 1);
}

/// Each of them answers only once all of them have been asked: one after the other, or by fewer threads, none ever would.
#[test]
fn all_authorities_are_asked_at_once_however_many_there_are() {
    const AUTHORITIES: usize = 40;
    let clock = Arc::new(ByHand::default());
    let met = Arc::new(Monitor::new(0));
    let lanes: Vec<Arc<Lane>> = (0..AUTHORITIES)
        .map(|number| {
            let met = met.clone();
            let directory = scripted(move |name| {
                let mut asked = met.lock();
                *asked += 1;
                met.notify();
                drop(met.wait_while(asked, |asked| *asked < AUTHORITIES));
                known(name)
            });
            let opened: std::result::Result<Arc<dyn Authority>, Fault> = Ok(directory);
            let of =
                (format!("directory {number}"), "scripted".to_owned(), Group::named(format!("{number}")));
            Arc::new(Lane::new(of, Asking::default(), opened, DAY))
        })
        .collect();
    let lanes: Arc<[Arc<Lane>]> = lanes.into();
    let authorities = Authorities { opened: Mutex::new(Opened { lanes: Some(lanes), ..Opened::default() }) };
    let registry = Registry { repositories: &[], transforms: &[], outputs: &[], authorities: &[] };
    let ann = [User { name: "ann".to_owned(), domain: String::new() }];
    let said = authorities.ask((None, &registry), &call(&clock), (&ann, Which::All)).unwrap();
    let knows =
        |said: &&Said| matches!(said.answer.as_deref(), Ok(Answer::Known(tokens)) if tokens.holds("ann"));
    assert_eq!(said.iter().filter(knows).count(), AUTHORITIES);
}

#[test]
fn a_name_is_a_number_as_an_authority_spells_it() {
    let rule =
        MappingRule { pattern: "(.+)@acme".to_owned(), name: "$1".to_owned(), case: Default::default() };
    let plain = lane(&scripted(|_| down()), Asking::default(), DAY);
    let mapped = lane(&scripted(|_| down()), Asking { mapping: vec![rule], ..Asking::default() }, DAY);
    for (lane, name, is) in [
        (&plain, "1001", true),
        (&plain, "+1001", true),
        (&plain, "-0", true),
        (&plain, "ann", false),
        (&plain, "-", false),
        (&plain, "1001@acme", false),
        (&mapped, "1001@acme", true),
        (&mapped, "+0@acme", true),
        (&mapped, "ann@acme", false),
        (&mapped, "1001", false),
    ] {
        let user = User { name: name.to_owned(), domain: String::new() };
        assert_eq!(is_a_number(lane, &user), is, "{name}");
    }
}
