//! Dying at every transaction, send and commit, and running again, leads where an undisturbed run leads.

use ingather_model::limits::DELIVERY_BATCH_MAX;
use ingather_store::turns;
use ingather_testkit::database::{BOTH, Kind};
use ingather_testkit::scenario::{play_and_tell, play_on, with_turns};
use ingather_testkit::together::{definition, put};
use ingather_testkit::world::{FULL, World};

/// A world before the run that dies, and what is true after the next one. Every kind of work is in it.
const BEFORE: &str = r#"
output one
output two committing
output shared
job other to=shared
job docs to=one,two,shared stage={"parts":"keep"} stage={"decline":"no"}
source a v1, b v1, c v1 access:anna, d v1, sub/e v1, sub/f v1, g v1, z v1+p1+q1+r1
run other
run docs
source a v2, b gone, c access:bert, d v-no, sub/h move:sub/e, new v1, sub/f v2 racy:1, z v2+p2+q?+s1
"#;
const AFTER: &str = r#"
run docs
expect error:
expect exit: 0
expect output one: a v2, c v1, g v1, new v1, sub/f v2, sub/h v1, z v2, z#p p2, z#q q1, z#s s1
expect output two: a v2, c v1, g v1, new v1, sub/f v2, sub/h v1, z v2, z#p p2, z#q q1, z#s s1
expect output shared: a v2, b v1, c v1, d v1, g v1, new v1, sub/e v1, sub/f v2, sub/h v1, z v2, z#p p2, z#q q1, z#s s1
expect documents docs: a settled, c settled, d skipped declined, g settled, new settled, sub/f settled, sub/h settled, z settled
expect sees bert one: a, c, g, new, sub/f, sub/h, z, z#p, z#q, z#s
expect sees anna one: a, g, new, sub/f, sub/h, z, z#p, z#q, z#s
expect sees anna two: a, g, new, sub/f, sub/h, z, z#p, z#q, z#s
run docs
expect balance: unchanged 7, skipped 1
run other
expect output shared: a v2, c v1, d v-no, g v1, new v1, sub/f v2, sub/h v1, z v2+p2+q?+s1, z#p p2, z#q q1, z#s s1
delete other
run docs
expect output shared: a v2, c v1, g v1, new v1, sub/f v2, sub/h v1, z v2, z#p p2, z#q q1, z#s s1
delete docs
expect output one:
expect output two:
expect output shared:
expect jobs:
"#;

/// Dies at the nth meeting of a place, for each n until the run gets through; how often it died.
fn die_everywhere(kind: Kind, point: &str) -> usize {
    let step = "run docs";
    for nth in 1..200 {
        let armed = format!("{BEFORE}crash {point} {nth}\n{step}\nexpect error:\n");
        let mut found = play_on(kind, &format!("{armed}{AFTER}"));
        // The expectation of no error is not met exactly when it died.
        let line = format!("{}: expect error:", armed.lines().count());
        let died = found.iter().position(|told| told.starts_with(&line)).map(|at| found.remove(at)).is_some();
        assert!(found.is_empty(), "{kind:?}, crash {point} {nth}, {step}:\n{}", found.join(""));
        if !died {
            return nth - 1;
        }
    }
    panic!("{point} is met for ever");
}

macro_rules! crashes {
    ($($name:ident: $point:literal at least $least:literal;)*) => {
        $(
            #[test]
            fn $name() {
                let died = die_everywhere(Kind::Sqlite, $point);
                assert!(died >= $least, "it died only {died} times at `{}`", $point);
            }
        )*
    };
}

crashes! {
    before_every_transaction: "before write" at least 8;
    after_every_transaction: "after write" at least 8;
    before_every_send: "before send" at least 3;
    in_the_middle_of_every_batch: "mid send" at least 3;
    after_every_send: "after send" at least 3;
    before_every_commit: "before commit" at least 1;
    after_every_commit: "after commit" at least 1;
    before_every_read: "before read" at least 3;
}

#[test]
fn on_postgres_as_well() {
    for point in ["before intent", "after intent", "after send", "before confirm", "after confirm"] {
        assert!(die_everywhere(Kind::Postgres, point) > 0, "{point}");
    }
}

/// Outputs confirm at the same time: whichever dies before its confirmation, the document still waits.
#[test]
fn a_document_is_settled_after_all_its_outputs_have_confirmed() {
    let outputs = ["one", "two", "three", "four", "five", "six"];
    let head: String = outputs.iter().map(|output| format!("output {output}\n")).collect();
    for (turns, nth) in (2..=6).cycle().take(30).enumerate() {
        let text = format!(
            "{head}job docs to={}\nwatch\nsource a v1, b v1, c v1\ncrash before confirm {nth}\nrun docs\nquiet\n",
            outputs.join(",")
        );
        let found = play_on(Kind::Sqlite, &with_turns(&text, turns as u64));
        assert!(found.is_empty(), "crash before confirm {nth}, turns {turns}:\n{}", found.join(""));
    }
}

/// An inventory of an earlier day knows nothing of what an output holds.
#[test]
fn deleting_a_job_whose_inventory_is_of_an_earlier_day_empties_its_output() {
    let text = "output one committing\njob docs to=one\nsource a v1\nbackup\nrun docs\nexpect output one: a v1\nrestore\n\
                delete docs\nexpect output one:\nexpect jobs:\n";
    assert_eq!(play_on(Kind::Sqlite, text), Vec::<String>::new());
}

#[test]
fn a_deletion_can_die_everywhere() {
    for point in ["before write", "after write", "mid send", "after send", "after commit"] {
        for nth in 1.. {
            let armed = format!("{BEFORE}run docs\ncrash {point} {nth}\ndelete docs\n");
            // Whether there is a job left decides what the next call may be asked.
            let got_through = play_on(Kind::Sqlite, &format!("{armed}expect error:\n")).is_empty();
            // The last call may find that everything was done before the process died.
            let rest = "delete docs\nexpect output one:\nexpect output two:\nexpect jobs: other\nrun other\n\
                        expect output shared: a v2, c v1, d v-no, g v1, new v1, sub/f v2, sub/h v1, z v2+p2+q?+s1\n";
            let rest = if got_through { rest.trim_start_matches("delete docs\n") } else { rest };
            let found = play_on(Kind::Sqlite, &format!("{armed}{rest}"));
            assert!(found.is_empty(), "crash {point} {nth}:\n{}", found.join(""));
            if got_through {
                assert!(nth > 1, "{point} was never met");
                break;
            }
        }
    }
}

/// One seed is one order of turns, whatever other worlds of the same process do meanwhile: two plays of one text die at the same place.
#[test]
fn worlds_beside_each_other_go_the_same_way() {
    let text = with_turns(&format!("{BEFORE}run docs\ndelete docs\n"), 3);
    let choices = || {
        let mut choices = Vec::new();
        let found = play_and_tell(Kind::Sqlite, &text, &mut |_, _| choices.extend(turns::seeded::choices()));
        assert_eq!(found, Vec::<String>::new());
        choices
    };
    let alone = choices();
    assert!(alone.last() > alone.first(), "nothing was chosen");
    std::thread::scope(|scope| {
        let beside =
            || assert!((0..4).all(|_| choices() == alone), "another world has changed this one's turns");
        (0..6).for_each(|_| drop(scope.spawn(beside)));
    });
}

/// How many transactions the deletion of a job with so many documents takes, at least and at most: a sender takes what has come until it
/// looks, so the order of turns decides on how many batches it is.
fn transactions_of_a_deletion(documents: usize) -> (usize, usize) {
    let source: Vec<String> = (0..documents).map(|n| format!("d{n} v1")).collect();
    let begun = format!("output one\njob docs to=one\nsource {}\nrun docs\n", source.join(", "));
    let of_turns = |turns| {
        let lives = |nth: &usize| {
            let armed = format!("{begun}crash before write {nth}\ndelete docs\nexpect error:\n");
            play_on(Kind::Sqlite, &with_turns(&armed, turns)).is_empty()
        };
        (1..200).find(lives).expect("a deletion ends") - 1
    };
    let found: Vec<usize> = (0..8).map(of_turns).collect();
    (*found.iter().min().unwrap(), *found.iter().max().unwrap())
}

/// Removals have no queue (decision 0003): one document costs a deletion no transaction of its own.
#[test]
fn a_deletion_takes_as_many_transactions_for_forty_documents_as_for_four() {
    let (few, _) = transactions_of_a_deletion(4);
    assert!(few > 0, "nothing was written");
    let (least, most) = transactions_of_a_deletion(40);
    assert_eq!(least, few, "all in one batch");
    assert!(most < few + 20, "{most} transactions, two for each batch: most batches have one document");
}

/// More parts than one batch takes: the first batch tells of access alone, and the row has it from then on. What is kept of the reading
/// before must not be sent by it, although nothing of the part that changed was intended yet.
#[test]
fn what_is_kept_of_a_document_that_takes_two_batches_goes_with_the_first_one() {
    let unchanged: String = (0..DELIVERY_BATCH_MAX).map(|part| format!("+{}1", letters(part))).collect();
    let world = format!(
        "output one\njob docs to=one keep=extracted stage={{\"parts\":\"keep\"}}\njob beside to=one stage={{\"parts\":\"keep\"}}\n\
         source a v1{unchanged}+secret1 access:anna\nrun docs\nrun beside\n\
         meanwhile list 1 a v1{unchanged}+secret2 access:bert\ncrash after send\nrun docs reread\n\
         source root absent\ndelete beside\nrun docs\nexpect sees bert one:\n"
    );
    let found = play_on(Kind::Sqlite, &world);
    assert!(
        found.is_empty(),
        "bert finds texts that were anna's alone: {} bytes of names",
        found.concat().len()
    );
}

/// A name without digits, another one for each number.
fn letters(mut number: usize) -> String {
    let mut name = String::new();
    for _ in 0..3 {
        name.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
    }
    name
}

/// As where a service dies between the two: an address is erased while a run has the document in hands that its job did not know.
#[test]
fn what_a_job_knows_at_an_address_that_is_erased_leaves_its_outputs_in_the_next_run() {
    for kind in BOTH {
        let mut world = World::new(kind);
        world.output("one", "memory");
        world.job(definition(&world, "docs", "", &["one"]));
        ["a", "b"].iter().for_each(|name| put(&world, name, "v1"));
        world.run("docs", FULL).unwrap();
        let job = world.find("docs").unwrap();
        let place = world.engine().erasable(&job, "a").unwrap().unwrap().uri;
        world.engine().want_erased((&place, "anna"), None, &[]).unwrap();
        let report = world.run("docs", FULL).unwrap();
        assert_eq!((report.counts.kept, report.counts.deleted), (0, 0), "{:?}", report.counts);
        assert_eq!(world.entries("one").into_keys().collect::<Vec<_>>(), ["b"]);
        let document = world.engine().erasable(&job, "a").unwrap().unwrap();
        let erased = document.erased.expect("it is erased from this job, too");
        assert_eq!((erased.by.as_str(), erased.done_at.is_some()), ("anna", true));
    }
}
