//! Every short sequence of what may be asked of one record, in every division into windows (coverage S4.28, S4.29): outputs end as if each had been delivered
//! by itself, with no more messages than that. What tickets are told is judged by the model of scenarios.

use ingather_testkit::database::Kind;
use ingather_testkit::scenario::play_on;

/// What is asked of a record one time after the other: the longest sequence.
const LONGEST: u32 = 5;

/// A record, whether an output has it before, and whether it is put (or else deleted) at each step.
struct Sequence {
    key: String,
    is_there: bool,
    puts: Vec<bool>,
}

fn sequences(length: u32) -> Vec<Sequence> {
    let of = |number: u32, is_there: bool| Sequence {
        key: format!("{}{number}", if is_there { "there" } else { "new" }),
        is_there,
        puts: (0..length).map(|step| number >> step & 1 == 1).collect(),
    };
    (0..1 << length).flat_map(|number| [of(number, false), of(number, true)]).collect()
}

/// The text of a scenario: between two steps a window ends where `ends` has a bit.
fn text(sequences: &[Sequence], length: usize, ends: u32) -> String {
    let mut text =
        "output one\njob docs over=push to=one access=open buffer=10000/600000\nwatch\n".to_owned();
    let mut step = |asked: Vec<String>, is_end: bool| {
        text.push_str(&format!("push docs {}\n", asked.join(", ")));
        text.push_str(if is_end {
            "clock 10s\nrun docs minimal pass\n"
        } else {
            "clock 1s\nrun docs minimal pass\n"
        });
    };
    step(sequences.iter().filter(|one| one.is_there).map(|one| format!("{} v0", one.key)).collect(), true);
    for at in 0..length {
        let asked = |one: &Sequence| match one.puts[at] {
            true => format!("{} v{}", one.key, at + 1),
            false => format!("{} gone", one.key),
        };
        step(sequences.iter().map(asked).collect(), at + 1 == length || ends >> at & 1 == 1);
    }
    let last = |one: &Sequence| one.puts[length - 1].then(|| format!("push:docs/{} v{length}", one.key));
    let mut held: Vec<String> = sequences.iter().filter_map(last).collect();
    held.sort();
    text.push_str(&format!("expect output one: {}\n", held.join(", ")));
    text
}

fn all_on(kind: Kind, lengths: std::ops::RangeInclusive<u32>) {
    for length in lengths {
        let sequences = sequences(length);
        for ends in 0..1 << (length - 1) {
            let text = text(&sequences, length as usize, ends);
            let found = play_on(kind, &text);
            assert!(found.is_empty(), "{found:#?} in\n{text}");
        }
    }
}

#[test]
fn whatever_is_asked_of_a_record_within_a_window_outputs_end_as_if_each_had_been_delivered() {
    all_on(Kind::Sqlite, 1..=LONGEST);
}

#[test]
fn so_they_do_on_postgres() {
    all_on(Kind::Postgres, 1..=3);
}

/// What a window that never ends in between comes to for an output.
#[test]
fn a_window_makes_one_message_of_a_record_or_none() {
    for (asked, calls) in [
        (["a v1", "a v2", "a v3"], "put 1"),
        (["a v1", "a gone", "a gone"], ""),
        (["a v1", "a gone", "a v2"], "put 1"),
    ] {
        let steps =
            asked.map(|asked| format!("push docs {asked}\nclock 1s\nrun docs minimal pass\n")).concat();
        let text = format!(
            "output one\njob docs over=push to=one access=open buffer=10000/600000\nwatch\n{steps}clock 10s\nrun docs minimal pass\nexpect calls one: {calls}\n"
        );
        let found = play_on(Kind::Sqlite, &text);
        assert!(found.is_empty(), "{found:#?} in\n{text}");
    }
}
