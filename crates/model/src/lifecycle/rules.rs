//! How a table of moves is read, and how it is judged.

use std::fmt::Display;

use super::{Actor, Move, Since};

/// The state after `event` in `state`; none: the event is refused, which is an ordinary answer.
pub fn after<S: Copy + Eq, E: Copy + Eq>(moves: &[Move<S, E>], state: S, event: E) -> Option<S> {
    row(moves, state, event).map(|row| row.to)
}

/// The row that answers `event` in `state`.
pub fn row<S: Copy + Eq, E: Copy + Eq>(moves: &[Move<S, E>], state: S, event: E) -> Option<&Move<S, E>> {
    moves.iter().find(|row| row.on == event && row.from.contains(&state))
}

/// The events that are possible in `state`, in the order of the table: what a refusal names.
pub fn possible<S: Copy + Eq, E: Copy>(moves: &[Move<S, E>], state: S) -> impl Iterator<Item = E> {
    moves.iter().filter(move |row| row.from.contains(&state)).map(|row| row.on)
}

/// The events that `actor` may cause in `state`: the buttons that a person sees.
pub fn asked_by<S: Copy + Eq, E: Copy>(moves: &[Move<S, E>], state: S, actor: Actor) -> Vec<E> {
    moves
        .iter()
        .filter(|row| row.from.contains(&state) && row.by.contains(&actor))
        .map(|row| row.on)
        .collect()
}

/// How many rows are lived, and how many are planned.
pub fn lived_and_planned<S, E>(moves: &[Move<S, E>]) -> (usize, usize) {
    let lived = moves.iter().filter(|row| row.since == Since::Now).count();
    (lived, moves.len() - lived)
}

/// Everything that is wrong with a table in itself, one sentence each; `gone` is its beginning and its only end.
pub fn faults<S, E>(moves: &[Move<S, E>], states: &[S], events: &[E], gone: S) -> Vec<String>
where
    S: Copy + Eq + Display,
    E: Copy + Eq + Display,
{
    let mut faults = Vec::new();
    for &state in states {
        for &event in events {
            let answers = moves.iter().filter(|row| row.on == event && row.from.contains(&state)).count();
            if answers > 1 {
                faults.push(format!("{state} on {event} has {answers} answers"));
            }
        }
        if !reaches(moves, states, gone, state) {
            faults.push(format!("{state} is never reached"));
        }
        if !reaches(moves, states, state, gone) {
            faults.push(format!("{state} has no way to the end"));
        }
    }
    for &event in events {
        if !moves.iter().any(|row| row.on == event) {
            faults.push(format!("{event} has no row"));
        }
    }
    for row in moves {
        let event = row.on;
        if row.from.is_empty() || row.by.is_empty() || row.why.is_empty() {
            faults.push(format!("{event} lacks a state to start from, somebody who causes it, or a reason"));
        }
        if row.from.iter().enumerate().any(|(at, state)| row.from[..at].contains(state)) {
            faults.push(format!("{event} names a state twice"));
        }
        if row.from.contains(&row.to) {
            faults.push(format!("{event} leads to where it starts: that is a fact, not a move"));
        }
    }
    faults
}

/// Whether `to` can be reached from `from` by one move or more.
fn reaches<S: Copy + Eq, E>(moves: &[Move<S, E>], states: &[S], from: S, to: S) -> bool {
    let mut reached = vec![from];
    let mut fresh = vec![from];
    // Each round reaches another state or ends, so there are no more rounds than states.
    for _ in 0..=states.len() {
        let next: Vec<S> =
            moves.iter().filter(|row| fresh.iter().any(|s| row.from.contains(s))).map(|row| row.to).collect();
        if next.contains(&to) {
            return true;
        }
        fresh.clear();
        for state in next {
            if !reached.contains(&state) {
                reached.push(state);
                fresh.push(state);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::{channel, document, job};
    use super::*;

    #[test]
    fn all_tables_are_sound() {
        assert_eq!(
            faults(job::MOVES, job::State::ALL, job::Event::ALL, job::State::Gone),
            Vec::<String>::new()
        );
        let found =
            faults(document::MOVES, document::State::ALL, document::Event::ALL, document::State::Gone);
        assert_eq!(found, Vec::<String>::new());
        let found = faults(channel::MOVES, channel::State::ALL, channel::Event::ALL, channel::State::Gone);
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn each_kind_of_fault_is_found() {
        use job::{Event, State};
        let good =
            |from, on, to| Move { from, on, to, by: &[Actor::Person], why: "asked", since: Since::Now };
        let judge = |moves: &[Move<State, Event>], states: &[State], events: &[Event]| {
            faults(moves, states, events, State::Gone).join(" | ")
        };
        let circle = [
            good(&[State::Gone], Event::Create, State::Resting),
            good(&[State::Resting], Event::Forget, State::Gone),
        ];
        let states = [State::Gone, State::Resting];
        let events = [Event::Create, Event::Forget];
        assert_eq!(judge(&circle, &states, &events), "");

        let twice = [circle[0], circle[1], good(&[State::Resting], Event::Forget, State::Gone)];
        assert_eq!(judge(&twice, &states, &events), "resting on forget has 2 answers");
        let unreached = judge(&circle, &[State::Gone, State::Resting, State::Ending], &events);
        assert_eq!(unreached, "ending is never reached | ending has no way to the end");
        let trap = [circle[0], circle[1], good(&[State::Resting], Event::Stop, State::Stopping)];
        let found = judge(
            &trap,
            &[State::Gone, State::Resting, State::Stopping],
            &[Event::Create, Event::Forget, Event::Stop],
        );
        assert_eq!(found, "stopping has no way to the end");
        assert_eq!(judge(&circle, &states, &[Event::Create, Event::Forget, Event::Note]), "note has no row");
        let idle = [circle[0], circle[1], good(&[State::Resting], Event::Note, State::Resting)];
        assert!(
            judge(&idle, &states, &[Event::Create, Event::Forget, Event::Note])
                .contains("leads to where it starts")
        );
        let nobody = [circle[0], Move { by: &[], ..circle[1] }];
        assert!(judge(&nobody, &states, &events).contains("lacks"));
    }

    #[test]
    fn a_refusal_is_none_and_buttons_are_what_a_person_may_ask() {
        use job::{Event, State};
        assert_eq!(after(job::MOVES, State::Resting, Event::Start), Some(State::Starting));
        assert_eq!(after(job::MOVES, State::Working, Event::Delete), None);
        assert_eq!(asked_by(job::MOVES, State::Resting, Actor::Person), [Event::Start, Event::Delete]);
        assert_eq!(asked_by(job::MOVES, State::Working, Actor::Person), [Event::Stop]);
        assert_eq!(possible(job::MOVES, State::Deleting).collect::<Vec<_>>(), [Event::Forget]);
        assert_eq!(row(job::MOVES, State::Ending, Event::Note).unwrap().by, [Actor::Finisher]);
    }

    #[test]
    fn planned_rows_are_counted() {
        let (lived, planned) = lived_and_planned(document::MOVES);
        assert_eq!(lived + planned, document::MOVES.len());
        assert!(planned > 0 && lived > planned);
    }
}
