//! Every state that a job can be in × every event that it can meet there, through the operations of a service, on both databases: what whoever
//! asks is answered, how the job stands then and when nothing more happens by itself, and what was stored and sent when it could go on.
//!
//! The tables are written by hand from what is demanded (coverage S3.25–S3.82, S3.207–S3.233) and from decisions 0024 and 0028; nothing here
//! reads `ingather_model::lifecycle`.

mod answers;
mod away;
mod play;
mod table;

use ingather_operations::Code;
use ingather_testkit::database::{BOTH, Kind};

use self::play::Play;

/// Of what is on its way and held nowhere: nobody can tell how far it has come.
const ANY: &str = "~";

/// Compares all rows of a table; told at once, so that one look shows what a change does to all of them.
fn compare(kind: Kind, table: &str) {
    let mut play = Play::new(kind);
    let mut differs = Vec::new();
    for state in table::read(table) {
        for row in &state.rows {
            play.begin(&state.made_by);
            let answer = play.meet(&row.event);
            let now = play.stands();
            play.let_go();
            let then = play.stands();
            play.go_on();
            let [runs, entries, sent] = play.ends();
            let found = [&answer, &now, &then, &runs, &entries, &sent].map(String::as_str);
            let [runs, entries, sent] = row.end.each_ref();
            let expected = [&row.answer, &row.now, &row.then, runs, entries, sent].map(String::as_str);
            let is_as_said = |(found, expected): (&&str, &&str)| *expected == ANY || found == expected;
            if !found.iter().zip(&expected).all(is_as_said) {
                let (found, expected) = (found.join(" | "), expected.join(" | "));
                let log = play.logged().join("; ");
                differs.push(format!(
                    "{} · {}\n  found    {found}\n  expected {expected}\n  log {log}",
                    state.name, row.event
                ));
            }
            play.clear();
        }
    }
    assert!(differs.is_empty(), "{kind:?}: {} rows differ\n{}", differs.len(), differs.join("\n"));
}

fn on_both(table: &str) {
    BOTH.into_iter().for_each(|kind| compare(kind, table));
}

#[test]
fn a_job_at_rest_answers_each_event_as_the_table_says() {
    on_both(include_str!("at_rest.txt"));
}

#[test]
fn a_job_whose_run_begins_or_has_just_ended_answers_each_event_as_the_table_says() {
    on_both(include_str!("starting.txt"));
}

#[test]
fn a_job_that_works_answers_each_event_as_the_table_says() {
    on_both(include_str!("running.txt"));
}

#[test]
fn a_job_that_stops_answers_each_event_as_the_table_says() {
    on_both(include_str!("stopping.txt"));
}

#[test]
fn a_job_that_is_paused_answers_each_event_as_the_table_says() {
    on_both(include_str!("pausing.txt"));
}

#[test]
fn a_job_outside_its_window_answers_each_event_as_the_table_says() {
    on_both(include_str!("windows.txt"));
}

#[test]
fn a_job_whose_service_is_gone_answers_each_event_as_the_table_says() {
    on_both(include_str!("left.txt"));
}

#[test]
fn a_job_that_is_deleted_answers_each_event_as_the_table_says() {
    on_both(include_str!("deletion.txt"));
}

#[test]
fn a_job_that_lacks_connectors_answers_each_event_as_the_table_says() {
    on_both(include_str!("connectors.txt"));
}

#[test]
fn a_job_whose_source_or_output_is_away_answers_each_event_as_the_table_says() {
    on_both(include_str!("away.txt"));
}

/// What is in hands when a job is paused, stopped or left is put down, and none of that is an attempt (D-18).
#[test]
fn what_puts_documents_down_counts_no_attempt() {
    let of_a_person = "hold listing and reading; start; both are held";
    let of_a_schedule = "a day passes; hold listing and reading; the service looks; both are held";
    for kind in BOTH {
        let mut play = Play::new(kind);
        let ways = [
            (of_a_person, "pause"),
            (of_a_person, "abort"),
            (of_a_person, "restart"),
            (of_a_person, "service ends"),
            (of_a_person, "process dies"),
            (of_a_schedule, "window closes"),
        ];
        for (made_by, event) in ways {
            // One attempt more would be one too many, and end the job.
            let steps = format!("b may fail once; start; it is let go; it is time to try again; {made_by}");
            play.begin(&steps.split("; ").map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(play.attempts(), 1, "{kind:?} {event}");
            play.meet(event);
            play.let_go();
            assert!(play.attempts() <= 1, "{kind:?} {event}: {} attempts", play.attempts());
            play.go_on();
            play.once_more();
            let [runs, entries, _] = play.ends();
            assert!(!runs.contains("failed") && entries == "a1 b2", "{kind:?} {event}: {runs}, {entries}");
            play.clear();
        }
    }
}

/// None is overlooked behind another one that cannot go on yet (D-4).
#[test]
fn all_jobs_that_waited_for_a_connector_go_on_by_themselves() {
    for kind in BOTH {
        let mut play = Play::new(kind);
        play.begin(&["hold sending", "start", "it is held"].map(str::to_owned));
        play.another_begins();
        play.event("process dies");
        play.event("its output's goes");
        play.let_go();
        let waits = "ACTIVE_NOOUTPUT working: connector";
        assert_eq!((play.stands().as_str(), play.another_has_ended()), (waits, false), "{kind:?}");
        play.event("its output's comes");
        play.let_go();
        let ended = (play.stands(), play.another_has_ended());
        assert_eq!(ended, ("INACTIVE resting: scheduled".to_owned(), true), "{kind:?}");
    }
}

/// Whoever looks at jobs begins only what is still so: else one start leads to two runs, and an aborted run comes back.
#[test]
fn a_look_that_is_old_begins_nothing() {
    for kind in BOTH {
        let mut play = Play::new(kind);
        play.begin(&["only the first run".to_owned()]);
        let outdated = |play: &Play, seen| play.service().begin_as_seen(seen).unwrap_err().code;
        let run = |play: &Play| play.job().run;

        let seen = play.job();
        play.service().begin_as_seen(&seen).unwrap();
        assert_eq!((run(&play), outdated(&play, &seen)), (2, Code::Outdated), "{kind:?}: it has run since");

        play.service().keep_back();
        play.event("start");
        let seen = play.job();
        assert!(seen.restart.is_some());
        play.event("abort");
        play.service().let_begin();
        play.service().join();
        let before = run(&play);
        assert_eq!(outdated(&play, &seen), Code::Outdated, "{kind:?}: nobody wants it any more");

        let seen = play.job();
        play.event("pause");
        assert_eq!(outdated(&play, &seen), Code::Outdated, "{kind:?}: it was paused");
        assert_eq!(run(&play), before, "{kind:?}");
    }
}
