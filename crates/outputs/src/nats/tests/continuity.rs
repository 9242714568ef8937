//! A process that died, a stream that was replaced, and somebody else who writes to it.

use ingather_contract::output::{Continuity, Generation, LOST};
use ingather_model::run_counts::RunCounts;

use super::*;

/// An opening that goes on from what was noted of a stream.
fn gone_on(stream: &Stream, noted: &Generation, before: i64, opening: i64) -> (Box<dyn Output>, Continuity) {
    let mut output = opened(&stream.settings(), opening).unwrap();
    let continuity = output.continuity(&noted.identity, before).unwrap();
    (output, continuity)
}

#[test]
fn what_a_process_that_died_has_published_is_not_published_again() {
    let Some(stream) = Stream::here("what_a_process_that_died_has_published_is_not_published_again") else {
        return;
    };
    let mut output = opened(&stream.settings(), 1).unwrap();
    output.tell(&call(), &[begin(1, 11)]).unwrap();
    applied(output.as_mut(), &[put("confirmed", 2, "A")]);
    let noted = output.generation();
    // It dies before these are noted.
    let late =
        [put("a", 3, "A"), put("b", 4, "A"), put("b", 5, "B"), put("c", 6, "A"), change("d", 7, Op::Delete)];
    applied(output.as_mut(), &late);
    drop(output);

    // So does the next one, once it has noted where the stream stands and told that it begins.
    let (mut output, continuity) = gone_on(&stream, &noted, 11, 2);
    assert_eq!(continuity, Continuity::Same);
    let noted = output.generation();
    assert_eq!(noted.number, 7);
    output.tell(&call(), &[begin(8, 12)]).unwrap();
    drop(output);

    let (mut output, continuity) = gone_on(&stream, &noted, 12, 3);
    assert_eq!(continuity, Continuity::Same);
    // The same comes again, with other numbers. Only what is the last of its address counts as done.
    let again = [
        put("a", 9, "A"),
        put("b", 10, "A"),
        put("b", 11, "B"),
        put("c", 12, "C"),
        change("d", 13, Op::Delete),
    ];
    applied(output.as_mut(), &again);
    // And what was taken for done once is told when it is done once more.
    applied(output.as_mut(), &[put("a", 14, "B"), put("a", 15, "A"), put("confirmed", 16, "A")]);
    let messages = stream.messages();
    let behind = [(8, "-"), (10, "A"), (11, "B"), (12, "C"), (14, "B"), (15, "A")];
    assert_eq!(texts(&messages)[7..], behind);
    drop(output);

    // A run that is over leaves nothing to look for.
    let (mut output, _) = gone_on(&stream, &opened(&stream.settings(), 4).unwrap().generation(), 12, 5);
    let (job, counts) = ("job".into(), RunCounts::default());
    let end = Says::End { job, run: Some(1), outcome: "done", counts };
    output.tell(&call(), &[Statement { seq: 17, says: end }]).unwrap();
    let (mut output, continuity) = gone_on(&stream, &output.generation(), 5, 6);
    assert_eq!(continuity, Continuity::Same);
    applied(output.as_mut(), &[put("a", 18, "A")]);
    assert_eq!(texts(&stream.messages())[13..], [(17, "-"), (18, "A")]);
}

#[test]
fn a_change_that_was_replaced_by_two_processes_that_died_is_told_again() {
    let test = "a_change_that_was_replaced_by_two_processes_that_died_is_told_again";
    let Some(stream) = Stream::here(test) else { return };
    let mut output = opened(&stream.settings(), 1).unwrap();
    output.tell(&call(), &[begin(1, 11)]).unwrap();
    let noted = output.generation();
    applied(output.as_mut(), &[put("a", 2, "A")]);
    let (mut output, continuity) = gone_on(&stream, &noted, 11, 2);
    assert_eq!(continuity, Continuity::Same);
    let noted = output.generation();
    output.tell(&call(), &[begin(3, 12)]).unwrap();
    applied(output.as_mut(), &[put("a", 4, "B")]);
    let (mut output, continuity) = gone_on(&stream, &noted, 12, 3);
    assert_eq!(continuity, Continuity::Same);
    output.tell(&call(), &[begin(5, 13)]).unwrap();
    applied(output.as_mut(), &[put("a", 6, "A")]);
    assert_eq!(texts(&stream.messages()), [(1, "-"), (2, "A"), (3, "-"), (4, "B"), (5, "-"), (6, "A")]);
}

#[test]
fn a_process_that_was_taken_for_dead_stores_nothing_any_more() {
    let Some(stream) = Stream::here("a_process_that_was_taken_for_dead_stores_nothing_any_more") else {
        return;
    };
    let mut old = opened(&stream.settings(), 1).unwrap();
    old.tell(&call(), &[begin(1, 11)]).unwrap();
    let (mut new, continuity) = gone_on(&stream, &old.generation(), 11, 2);
    assert_eq!(continuity, Continuity::Same);
    new.tell(&call(), &[begin(2, 12)]).unwrap();
    applied(new.as_mut(), &[put("a", 3, "new")]);
    let batch: Vec<Change> = (4..300).map(|seq| put("a", seq, "old")).collect();
    let answers = apply(old.as_mut(), &batch);
    assert!(
        answers.iter().all(|answer| answer.as_ref().is_err_and(|fault| fault.reason().code == "replaced"))
    );
    assert_eq!(old.generation().identity, LOST);
    assert!(old.commit(&call()).is_err());
    applied(new.as_mut(), &[put("a", 300, "newer")]);
    assert_eq!(texts(&stream.messages())[1..], [(2, "-"), (3, "new"), (300, "newer")]);
}

#[test]
fn what_somebody_else_writes_into_the_stream_is_noticed_and_voids_it() {
    let test = "what_somebody_else_writes_into_the_stream_is_noticed_and_voids_it";
    let Some(stream) = Stream::here(test) else { return };
    let mut output = opened(&stream.settings(), 1).unwrap();
    output.tell(&call(), &[begin(1, 11)]).unwrap();
    let noted = output.generation();
    stream.client().request(&format!("{}.put", stream.name), b"{\"id\": \"forged\"}");
    let fault = apply(output.as_mut(), &[put("a", 2, "A")])[0].clone().unwrap_err();
    assert!(
        matches!(&fault, Fault::Passing { reason, .. } if reason.message.contains("somebody else")),
        "{fault}"
    );
    assert_eq!(output.generation().identity, LOST);
    assert_eq!(stream.messages().len(), 2, "nothing was sent behind it");
    let (mut output, continuity) = gone_on(&stream, &noted, 11, 2);
    assert_eq!(continuity, Continuity::Other);
    assert_eq!(output.continuity(LOST, 11).unwrap(), Continuity::Other);
    output.tell(&call(), &[begin(3, 12)]).unwrap();
    applied(output.as_mut(), &[put("a", 4, "A")]);
}

#[test]
fn a_stream_that_was_dropped_and_made_anew_is_another_one() {
    let Some(stream) = Stream::here("a_stream_that_was_dropped_and_made_anew_is_another_one") else { return };
    let mut output = opened(&stream.settings(), 1).unwrap();
    output.tell(&call(), &[begin(1, 11)]).unwrap();
    applied(output.as_mut(), &[put("a", 2, "A")]);
    let noted = output.generation();
    stream.dropped();
    let fault = apply(output.as_mut(), &[put("b", 3, "B")])[0].clone().unwrap_err();
    assert!(matches!(&fault, Fault::Passing { reason, .. } if reason.message.contains("dropped")), "{fault}");
    assert_eq!(output.generation().identity, LOST);
    let (_, continuity) = gone_on(&stream, &noted, 11, 2);
    assert_eq!(continuity, Continuity::Other);
    // What is consumed or purged is no loss: whoever needed it has it.
    let mut output = opened(&stream.settings(), 3).unwrap();
    output.tell(&call(), &[begin(4, 13)]).unwrap();
    let noted = output.generation();
    stream.client().json(&format!("$JS.API.STREAM.PURGE.{}", stream.name), &json!({}));
    let (output, continuity) = gone_on(&stream, &noted, 13, 4);
    assert_eq!(continuity, Continuity::Same);
    assert_eq!(output.generation(), noted);
}

#[test]
fn a_work_queue_goes_on_when_all_was_consumed_and_is_void_when_a_crash_left_nothing_to_look_at() {
    let test = "a_work_queue_goes_on_when_all_was_consumed_and_is_void_when_a_crash_left_nothing_to_look_at";
    let Some(stream) = Stream::here(test) else { return };
    let config =
        json!({"name": stream.name, "subjects": [format!("{}.>", stream.name)], "retention": "workqueue"});
    let made = stream.client().json(&format!("$JS.API.STREAM.CREATE.{}", stream.name), &config);
    assert!(made["error"].is_null(), "{made}");
    let mut output = opened(&stream.settings(), 1).unwrap();
    output.tell(&call(), &[begin(1, 11)]).unwrap();
    let noted = output.generation();
    assert_eq!(stream.client().consume(&stream.name, "worker", 10).len(), 1);
    applied(output.as_mut(), &[put("a", 2, "A")]);
    let later = output.generation();
    assert_eq!(stream.client().consume(&stream.name, "worker", 10).len(), 1);
    let (output, continuity) = gone_on(&stream, &later, 11, 2);
    assert_eq!(continuity, Continuity::Same);
    assert_eq!(output.generation(), later);
    let (_, continuity) = gone_on(&stream, &noted, 11, 3);
    assert_eq!(continuity, Continuity::Other);
}
