//! Who somebody is by a token: it goes to whoever has verified it, and what it proved is kept for it alone.

use ingather_contract::authority::{OF_WHAT_IS_PRESENTED, Presented, Whose};

use super::*;

/// Knows tokens `NAME until TIME by ISSUER` of its own issuer, and nobody by name; notes what it was shown.
struct Issuer {
    of: &'static str,
    asked: AtomicUsize,
    shown: Mutex<Vec<(String, Option<String>)>>,
}

impl Issuer {
    fn of(of: &'static str) -> Arc<Issuer> {
        Arc::new(Issuer { of, asked: AtomicUsize::new(0), shown: Mutex::default() })
    }
}

impl Authority for Issuer {
    fn check(&self, _: &CallContext) -> std::result::Result<String, Fault> {
        Ok("it answers".to_owned())
    }

    fn tokens(&self, _: &CallContext, account: &Account<'_>) -> std::result::Result<Answer, Fault> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let presented = account.presented.map(|presented| presented.token().to_owned());
        self.shown.lock().unwrap().push((account.name.to_owned(), presented.clone()));
        match presented {
            Some(token) if token.starts_with(&format!("{} ", account.name)) => known(&token),
            _ => Err(Fault::refused(OF_WHAT_IS_PRESENTED, "it knows people by their tokens alone")),
        }
    }

    fn whose(
        &self,
        _: &CallContext,
        presented: &Presented,
        _: Duration,
    ) -> std::result::Result<Whose, Fault> {
        match presented.token().split(' ').collect::<Vec<_>>()[..] {
            [name, "until", until, "by", of] if of == self.of => {
                Ok(Whose::Person { name: name.to_owned(), until: until.parse().unwrap() })
            }
            ["down", .., of] if of == self.of => Err(Fault::passing("down", "it does not answer")),
            [.., of] if of == self.of => Ok(Whose::Refused("it has expired".to_owned())),
            _ => Ok(Whose::NotOurs),
        }
    }
}

fn lane_of(name: &str, kind: &str, authority: Arc<dyn Authority>, domain: &str) -> Arc<Lane> {
    let of = (name.to_owned(), kind.to_owned(), Group::default());
    // A mapping that would make another name of each.
    let rule =
        MappingRule { pattern: "(.+)".to_owned(), name: "mapped-$1".to_owned(), case: Default::default() };
    let mapping = if kind == "oidc" { vec![rule] } else { Vec::new() };
    let asking = Asking { domain: domain.to_owned(), mapping, ..Asking::default() };
    Arc::new(Lane::new(of, asking, Ok(authority), DAY))
}

fn all_of(lanes: &[Arc<Lane>]) -> Authorities {
    let lanes: Arc<[Arc<Lane>]> = lanes.to_vec().into();
    Authorities { opened: Mutex::new(Opened { store: None, revisions: Vec::new(), lanes: Some(lanes) }) }
}

const NONE: Registry = Registry { repositories: &[], transforms: &[], outputs: &[], authorities: &[] };

fn person(all: &Authorities, call: &CallContext, token: &str) -> ByToken {
    match all.whose((None, &NONE), call, &Presented::new(token)).unwrap() {
        Verified::Person(by) => by,
        other => panic!("{token}: {other:?}"),
    }
}

#[test]
fn a_token_goes_to_whoever_has_verified_it_and_others_of_the_domain_are_asked_about_the_name() {
    let call = call(&Arc::new(ByHand::default()));
    let (one, other, elsewhere) = (Issuer::of("one"), Issuer::of("other"), Issuer::of("one"));
    let directory = scripted(|name| known(&format!("by-name-of-{name}")));
    let machine = scripted(|_| known("unix:u:0"));
    let all = all_of(&[
        lane_of("machine", MACHINE, machine.clone(), "acme"),
        lane_of("login", "oidc", one.clone(), "acme"),
        lane_of("other", "oidc", other.clone(), "acme"),
        lane_of("elsewhere", "oidc", elsewhere.clone(), "other"),
        lane_of("directory", "ldap", directory.clone(), "acme"),
    ]);
    let token = "ann until 9000000 by one";
    let by = person(&all, &call, token);
    assert_eq!(
        (by.user.name.as_str(), by.user.domain.as_str(), by.authority.as_str()),
        ("ann", "acme", "login")
    );
    let said = all.ask_by_token((None, &NONE), &call, &by).unwrap();
    let answered: Vec<(&str, bool)> =
        said.iter().map(|said| (said.authority.as_str(), said.answer.is_ok())).collect();
    assert_eq!(answered, [("machine", true), ("login", true), ("other", false), ("directory", true)]);
    assert_eq!(
        *one.shown.lock().unwrap(),
        [("ann".to_owned(), Some(token.to_owned()))],
        "the name that it said itself"
    );
    assert_eq!(*other.shown.lock().unwrap(), [("mapped-ann".to_owned(), None)], "nobody else sees the token");
    assert!(elsewhere.shown.lock().unwrap().is_empty(), "in another domain that is somebody else");
    // Numbers are no users of this machine, however they are spelled.
    for number in ["0", "1000", "00", "+0", "-0"] {
        let by = person(&all, &call, &format!("{number} until 9000000 by one"));
        let said = all.ask_by_token((None, &NONE), &call, &by).unwrap();
        assert!(said.iter().all(|said| said.authority != "machine"), "{number}");
    }
    assert_eq!(machine.asked.load(Ordering::SeqCst), 1);
}

#[test]
fn a_token_of_nobody_is_told_from_one_that_does_not_count_and_from_one_that_nobody_can_tell() {
    let call = call(&Arc::new(ByHand::default()));
    let all = all_of(&[
        lane_of("directory", "ldap", scripted(|_| known("x")), ""),
        lane_of("login", "oidc", Issuer::of("one"), ""),
    ]);
    let whose = |token: &str| all.whose((None, &NONE), &call, &Presented::new(token)).unwrap();
    assert!(matches!(whose("ann until 1 by another"), Verified::Nobodys));
    assert!(matches!(whose("ann expired one"), Verified::Refused(why) if why == "it has expired"));
    for _ in 0..10 {
        assert!(matches!(whose("down one"), Verified::Unreachable(authority, _) if authority == "login"));
    }
    assert!(matches!(whose("ann until 9 by one"), Verified::Person(_)), "strangers give it no rest");
}

#[test]
fn what_a_token_proved_is_kept_for_it_alone_and_no_longer_than_it_counts() {
    let clock = Arc::new(ByHand::default());
    let call = call(&clock);
    let issuer = Issuer::of("one");
    let all = all_of(&[lane_of("login", "oidc", issuer.clone(), "")]);
    let (short, long) = ("ann until 1000100 by one", "ann until 9000000 by one");
    let kept = |token: &str| {
        let by = person(&all, &call, token);
        all.ask_by_token((None, &NONE), &call, &by).unwrap()[0].was_kept
    };
    assert_eq!([kept(short), kept(short), kept(long), kept(long)], [false, true, false, true]);
    clock.moves(99);
    assert_eq!([kept(short), kept(long)], [true, true]);
    clock.moves(1);
    assert_eq!([kept(short), kept(short), kept(long)], [false, false, true], "it counts no longer");
    let ann = User { name: "ann".to_owned(), domain: String::new() };
    let by_name = all.ask((None, &NONE), &call, (std::slice::from_ref(&ann), Which::All)).unwrap();
    assert!(
        by_name[0].answer.is_err() && !by_name[0].was_kept,
        "what a token proved is nothing about the name"
    );
    assert_eq!(all.forget((None, &NONE), Some(&ann)).unwrap(), 2, "by whatever token");
    assert!(!kept(long));
}

#[test]
fn whoever_presents_nothing_gives_an_authority_no_rest() {
    let call = call(&Arc::new(ByHand::default()));
    let issuer = Issuer::of("one");
    let all = all_of(&[lane_of("login", "oidc", issuer.clone(), "")]);
    let ann = User { name: "ann".to_owned(), domain: String::new() };
    for _ in 0..10 {
        let said = all.ask((None, &NONE), &call, (std::slice::from_ref(&ann), Which::All)).unwrap();
        assert_eq!(said[0].answer.as_ref().unwrap_err().code, OF_WHAT_IS_PRESENTED);
    }
    assert_eq!(issuer.asked.load(Ordering::SeqCst), 10);
    let by = person(&all, &call, "ann until 9000000 by one");
    assert!(all.ask_by_token((None, &NONE), &call, &by).unwrap()[0].answer.is_ok());
}

/// Has no place for whoever would wait, and notes how long they would have.
struct Crowded(Mutex<Vec<Duration>>);

impl Authority for Crowded {
    fn check(&self, _: &CallContext) -> std::result::Result<String, Fault> {
        down().map(|_| String::new())
    }
    fn tokens(&self, _: &CallContext, _: &Account<'_>) -> std::result::Result<Answer, Fault> {
        down()
    }
    fn whose(&self, _: &CallContext, _: &Presented, within: Duration) -> std::result::Result<Whose, Fault> {
        self.0.lock().unwrap().push(within);
        Err(Fault::passing("provider", "many wait"))
    }
}

#[test]
fn whoever_is_refused_to_wait_waits_at_no_other_authority_of_that_provider() {
    let call = call(&Arc::new(ByHand::default()));
    let crowded = Arc::new(Crowded(Mutex::default()));
    let lanes = ["one", "two", "three"].map(|name| lane_of(name, "oidc", crowded.clone(), ""));
    let all = all_of(&[&lanes[..], &[lane_of("login", "oidc", Issuer::of("one"), "")]].concat());
    person(&all, &call, "ann until 9000000 by one");
    let within = Duration::from_millis(Asking::default().within_ms.into());
    assert_eq!(*crowded.0.lock().unwrap(), [within, Duration::ZERO, Duration::ZERO]);
}

/// Never answers: it takes all the time that it has, by the clock of the test.
struct Hangs(Arc<ByHand>, Mutex<Vec<u128>>);

impl Authority for Hangs {
    fn check(&self, _: &CallContext) -> std::result::Result<String, Fault> {
        down().map(|_| String::new())
    }
    fn tokens(&self, _: &CallContext, _: &Account<'_>) -> std::result::Result<Answer, Fault> {
        down()
    }
    fn whose(&self, _: &CallContext, _: &Presented, within: Duration) -> std::result::Result<Whose, Fault> {
        self.1.lock().unwrap().push(within.as_millis());
        self.0.moves(within.as_millis() as i64);
        Err(Fault::passing("down", "it does not answer in time"))
    }
}

#[test]
fn authorities_that_hang_have_one_time_together_and_whoever_has_not_to_wait_still_tells() {
    let clock = Arc::new(ByHand::default());
    let call = call(&clock);
    let hangs = Arc::new(Hangs(clock.clone(), Mutex::default()));
    let lanes = ["one", "two", "three"].map(|name| lane_of(name, "oidc", hangs.clone(), ""));
    let login = lane_of("login", "oidc", Issuer::of("one"), "");
    let all = all_of(&[&lanes[..], &[login]].concat());
    let within = i64::from(Asking::default().within_ms);
    person(&all, &call, "ann until 9000000 by one");
    assert_eq!((call.steady(), hangs.1.lock().unwrap().clone()), (within, vec![within as u128, 0, 0]));
    let nobodys = all.whose((None, &NONE), &call, &Presented::new("ann until 1 by another")).unwrap();
    assert!(matches!(nobodys, Verified::Unreachable(..)));
    assert_eq!(call.steady(), 2 * within);
}
