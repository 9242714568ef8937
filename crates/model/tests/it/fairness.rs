//! The observable rules of coverage S3.113–S3.134, as examples and as properties.

use std::collections::HashMap;

use proptest::prelude::*;

use ingather_model::fairness::*;

const WIDE: Limits = Limits { items: 10_000, bins: 1_000 };

fn filled(lines: &[(Priority, u32, usize)]) -> Queue<u32, usize> {
    let mut queue = Queue::new(WIDE);
    for (priority, bin, count) in lines {
        for number in 0..*count {
            queue.push(*priority, &[*bin], number).expect("the queue is wide enough");
        }
    }
    queue
}

fn bins(queue: &mut Queue<u32, usize>, now: i64, count: usize) -> Vec<u32> {
    std::iter::from_fn(|| queue.pop(now)).take(count).map(|taken| taken.bins[0]).collect()
}

#[test]
fn bins_take_turns_and_each_keeps_its_order() {
    let mut queue = filled(&[(5, 1, 3), (5, 2, 2), (5, 3, 1)]);
    let taken: Vec<_> =
        std::iter::from_fn(|| queue.pop(0)).map(|taken| (taken.bins[0], taken.item)).collect();
    assert_eq!(taken, [(1, 0), (2, 0), (3, 0), (1, 1), (2, 1), (1, 2)]);
    assert!(queue.is_empty() && queue.bins() <= 1);
}

#[test]
fn a_late_bin_starts_where_the_others_are() {
    let mut queue = filled(&[(5, 1, 100), (5, 2, 100)]);
    bins(&mut queue, 0, 50);
    for number in 0..100 {
        queue.push(5, &[3], number).unwrap();
    }
    let next = bins(&mut queue, 0, 30);
    assert_eq!(next.iter().filter(|bin| **bin == 3).count(), 10, "{next:?}");
}

#[test]
fn a_bin_that_runs_empty_and_comes_back_gains_nothing() {
    let mut queue = filled(&[(5, 1, 1), (5, 2, 50)]);
    let mut turns = Vec::new();
    for _ in 0..20 {
        let taken = queue.pop(0).unwrap();
        turns.push(taken.bins[0]);
        if taken.bins[0] == 1 {
            queue.push(5, &[1], 0).unwrap();
        }
    }
    assert_eq!(turns.iter().filter(|bin| **bin == 1).count(), 10, "{turns:?}");
}

#[test]
fn a_bin_that_was_parked_gains_nothing() {
    let mut queue = filled(&[(5, 1, 100), (5, 2, 100)]);
    queue.park(&1, 100);
    assert_eq!(bins(&mut queue, 0, 50), [2; 50]);
    let next = bins(&mut queue, 100, 20);
    assert_eq!(next.iter().filter(|bin| **bin == 1).count(), 10, "{next:?}");
}

#[test]
fn a_better_priority_is_served_alone() {
    let mut queue = filled(&[(9, 1, 2), (1, 2, 2), (1, 1, 1)]);
    assert_eq!(bins(&mut queue, 0, 9), [2, 1, 2, 1, 1]);
}

#[test]
fn a_parked_bin_blocks_nobody_and_wakes_at_its_time() {
    let mut queue = filled(&[(1, 1, 3), (9, 2, 2), (9, 1, 1)]);
    assert!(queue.park(&1, 100));
    assert_eq!(bins(&mut queue, 99, 9), [2, 2], "also not its documents of another priority");
    assert_eq!((queue.pop(99), queue.next_wake()), (None, Some(100)));
    assert_eq!(bins(&mut queue, 100, 9), [1, 1, 1, 1]);
    assert_eq!(queue.next_wake(), None);
}

#[test]
fn a_rate_of_zero_waits_without_a_wake_until_it_is_lifted() {
    let mut queue = filled(&[(5, 1, 1), (5, 2, 1)]);
    assert!(queue.park(&1, NEVER));
    assert_eq!(bins(&mut queue, NEVER - 1, 9), [2]);
    assert_eq!((queue.next_wake(), queue.pop(NEVER), queue.len()), (None, None, 1));
    assert!(queue.park(&1, 0));
    assert_eq!(bins(&mut queue, 0, 9), [1]);
}

#[test]
fn a_bin_parked_while_empty_keeps_what_comes_before_its_time() {
    let mut queue = filled(&[(5, 1, 1)]);
    assert_eq!(queue.pop(0).unwrap().bins[0], 1);
    assert!(queue.park(&1, 50), "it was served last");
    queue.push(5, &[1], 7).unwrap();
    assert_eq!((queue.pop(49), queue.next_wake()), (None, Some(50)));
    assert_eq!(queue.pop(50).unwrap().item, 7);
    assert_eq!(queue.bins(), 1);
    queue.pop(51);
    assert_eq!(queue.bins(), 0, "nothing is remembered of a bin that is not needed");
}

#[test]
fn a_full_queue_gives_back_what_it_refuses() {
    let mut queue = Queue::new(Limits { items: 3, bins: 2 });
    queue.push(5, &[1], 10).unwrap();
    queue.push(5, &[2], 20).unwrap();
    assert_eq!(queue.push(5, &[3], 30), Err(Full(30)), "no room for another bin");
    assert!(!queue.park(&3, 9));
    queue.push(5, &[2], 21).unwrap();
    assert_eq!(queue.push(5, &[2], 22), Err(Full(22)), "no room for another document");
    assert_eq!(queue.pop(0).unwrap().item, 10);
    assert!(queue.park(&1, 9), "the bin served last can always be parked");
    queue.push(5, &[2], 22).unwrap();
    assert_eq!(bins_left(&mut queue), [20, 21, 22]);
    queue.pop(9);
    assert!(queue.push(5, &[3], 30).is_ok(), "the park is over");
}

fn bins_left(queue: &mut Queue<u32, i32>) -> Vec<i32> {
    std::iter::from_fn(|| queue.pop(0)).map(|taken| taken.item).collect()
}

#[test]
fn the_documents_of_one_job_can_be_taken_out() {
    let mut queue = filled(&[(5, 1, 4), (5, 2, 1), (7, 3, 2)]);
    queue.park(&2, 10);
    let mut out = queue.take_out(|number| *number == 0);
    out.sort_unstable();
    assert_eq!((out, queue.len(), queue.len_of(&[1]), queue.len_of(&[2])), (vec![0, 0, 0], 4, 3, 0));
    assert_eq!(queue.next_wake(), None);
    assert_eq!(bins(&mut queue, 0, 9), [1, 1, 1, 3]);
}

#[test]
fn a_document_of_several_bins_has_the_largest_of_their_turns_and_takes_a_turn_of_each() {
    let mut queue = Queue::new(WIDE);
    for number in 0..4 {
        queue.push(5, &[1], number).unwrap();
        queue.push(5, &[2, 1, 2], 10 + number).unwrap();
        queue.push(5, &[3], 20 + number).unwrap();
    }
    let taken: Vec<i32> = std::iter::from_fn(|| queue.pop(0)).take(8).map(|taken| taken.item).collect();
    // Bin 1 has every other of the turns that bin 3 has all of.
    assert_eq!(taken, [0, 20, 10, 21, 1, 22, 11, 23]);
    assert_eq!((queue.len_of(&[1, 2]), queue.len_of(&[2])), (2, 0));
}

#[test]
fn a_document_waits_while_any_of_its_bins_does_and_holds_up_none_of_the_others() {
    let mut queue = Queue::new(WIDE);
    queue.push(5, &[1, 2], "both").unwrap();
    queue.push(5, &[1], "one").unwrap();
    queue.push(5, &[2], "two").unwrap();
    assert!(queue.park(&1, 100) && queue.park(&2, 50));
    assert_eq!((queue.pop(0), queue.next_wake()), (None, Some(50)));
    assert_eq!(queue.pop(50).unwrap().item, "two");
    assert_eq!((queue.pop(99), queue.next_wake()), (None, Some(100)));
    assert!(queue.park(&2, 200));
    assert_eq!(queue.pop(100).unwrap().item, "one");
    assert_eq!((queue.pop(100), queue.next_wake()), (None, Some(200)));
    assert_eq!(queue.pop(200).unwrap().item, "both");
}

#[test]
fn what_is_refused_stays_first_of_its_line_and_takes_no_turn() {
    let mut queue = filled(&[(5, 1, 2), (5, 2, 2)]);
    let answer = |bins: &[u32], _: &mut usize| if bins == [1] { Answer::Parks(1, 30) } else { Answer::Takes };
    let taken = queue.pop_when(0, answer).unwrap();
    assert_eq!((taken.bins[0], taken.item), (2, 0));
    assert_eq!((queue.pop_when(0, |_, _| Answer::Stops), queue.stirs(0)), (None, true));
    assert_eq!(bins(&mut queue, 0, 9), [2]);
    assert_eq!((queue.stirs(29), queue.stirs(30)), (false, true));
    assert_eq!((queue.pop(30).unwrap().item, queue.len()), (0, 1));
    let ends = queue.pop_when(30, |_, _| Answer::Parks(1, 0));
    assert_eq!((ends, queue.next_wake()), (None, Some(31)), "a park that is over does not go round for ever");
}

/// One thing that happens to a queue.
#[derive(Clone, Debug)]
enum Act {
    Push(Priority, Vec<u32>),
    Pop,
    Park(u32, i64),
    Pass(i64),
    TakeOut(usize),
    Shorten,
}

fn bins_of() -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::btree_set(0u32..6, 1..4).prop_map(|bins| bins.into_iter().collect())
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (0u8..3, bins_of()).prop_map(|(priority, bins)| Act::Push(priority, bins)),
        5 => Just(Act::Pop),
        2 => (0u32..6, 0i64..40).prop_map(|(bin, wait)| Act::Park(bin, wait)),
        1 => Just(Act::Park(0, NEVER)),
        2 => (1i64..20).prop_map(Act::Pass),
        1 => (0usize..7).prop_map(Act::TakeOut),
        1 => Just(Act::Shorten),
    ]
}

proptest! {
    /// While all bins have documents, no bin is ever more than one turn ahead of another.
    #[test]
    fn bins_that_always_have_documents_are_served_evenly(
        late in proptest::collection::vec(0usize..60, 1..6), rounds in 1usize..200,
    ) {
        let mut queue: Queue<u32, usize> = Queue::new(WIDE);
        let mut served: HashMap<u32, usize> = HashMap::new();
        let mut since: HashMap<u32, HashMap<u32, usize>> = HashMap::new();
        queue.push(5, &[100], 0).unwrap();
        for round in 0..rounds {
            for (bin, _) in late.iter().enumerate().filter(|(_, at)| **at == round) {
                since.insert(bin as u32, served.clone());
                queue.push(5, &[bin as u32], 0).unwrap();
            }
            let taken = queue.pop(0).unwrap();
            queue.push(5, &[taken.bins[0]], 0).unwrap();
            *served.entry(taken.bins[0]).or_default() += 1;
        }
        // Counted from the moment that the later of two bins came, both were served equally often.
        for (bin, before) in &since {
            let own = served.get(bin).copied().unwrap_or(0);
            let other = served.get(&100).copied().unwrap_or(0) - before.get(&100).copied().unwrap_or(0);
            prop_assert!(own.abs_diff(other) <= 1, "bin {bin}: {own} against {other}");
        }
    }

    /// Between two turns of a bin, each bin that was there at the first is served at most once, and no newcomer is.
    #[test]
    fn no_bin_starves_however_many_come_after_it(others in 0u32..20, newcomers in 0u32..4) {
        let mut queue: Queue<u32, usize> = Queue::new(WIDE);
        for bin in 0..=others {
            queue.push(5, &[bin], 0).unwrap();
        }
        let mut next = others;
        let (mut waited, mut present) = (0, others + 1);
        for _ in 0..500 {
            let taken = queue.pop(0).unwrap();
            queue.push(5, &[taken.bins[0]], 0).unwrap();
            waited += 1;
            if taken.bins[0] == 0 {
                prop_assert!(waited <= present, "{waited} turns with {present} bins");
                (waited, present) = (0, next + 1);
            }
            prop_assert!(waited <= present, "starved");
            for _ in 0..newcomers.min(300 - next.min(300)) {
                next += 1;
                queue.push(5, &[next], 0).unwrap();
            }
        }
    }

    /// Against a plain model: order within a line, priorities, parks of any of its bins, counts and bounds.
    #[test]
    fn it_agrees_with_a_plain_list(acts in proptest::collection::vec(act(), 1..200)) {
        let limits = Limits { items: 30, bins: 5 };
        let mut queue: Queue<u32, usize> = Queue::new(limits);
        let mut list: Vec<(Priority, Vec<u32>, usize)> = Vec::new();
        let mut parked: HashMap<u32, i64> = HashMap::new();
        let mut now = 0;
        for (number, act) in acts.into_iter().enumerate() {
            match act {
                Act::Push(priority, bins) => match queue.push(priority, &bins, number) {
                    Ok(()) => list.push((priority, bins, number)),
                    Err(Full(back)) => {
                        prop_assert_eq!(back, number);
                        prop_assert!(list.len() == limits.items || queue.bins() + bins.len() > limits.bins);
                    }
                },
                Act::Pop => {
                    parked.retain(|_, until| *until == NEVER || *until > now);
                    let free = |entry: &&(Priority, Vec<u32>, usize)| !entry.1.iter().any(|bin| parked.contains_key(bin));
                    let best = list.iter().filter(free).map(|entry| entry.0).min();
                    let taken = queue.pop(now);
                    prop_assert_eq!(taken.as_ref().map(|taken| taken.priority), best);
                    let Some(taken) = taken else {
                        // Nothing can be taken before the first time at which all bins of a document are awake.
                        let wakes = |entry: &(Priority, Vec<u32>, usize)| {
                            entry.1.iter().filter_map(|bin| parked.get(bin)).max().copied()
                        };
                        let wake = list.iter().filter_map(wakes).filter(|until| *until != NEVER).min();
                        let told = queue.next_wake();
                        prop_assert!(told.is_none_or(|told| told > now), "it would be asked again and again");
                        prop_assert!(wake.is_none_or(|wake| told.is_some_and(|told| told <= wake)), "it would be asked too late");
                        continue;
                    };
                    let same = |e: &(Priority, Vec<u32>, usize)| e.0 == taken.priority && e.1[..] == taken.bins[..];
                    let first = list.iter().position(same).unwrap();
                    prop_assert_eq!(list.remove(first).2, taken.item, "first in, first out within a line");
                    prop_assert!(!taken.bins.iter().any(|bin| parked.contains_key(bin)));
                }
                Act::Park(bin, wait) => {
                    let until = if wait == NEVER { NEVER } else { now + wait };
                    if queue.park(&bin, until) {
                        parked.insert(bin, until);
                    } else {
                        prop_assert!(!list.iter().any(|entry| entry.1.contains(&bin)));
                    }
                }
                Act::Pass(wait) => now += wait,
                Act::TakeOut(rest) => {
                    let before = list.len();
                    list.retain(|entry| entry.2 % 7 != rest);
                    prop_assert_eq!(queue.take_out(|item| item % 7 == rest).len(), before - list.len());
                }
                Act::Shorten => {
                    let cut = queue.shorten();
                    prop_assert_eq!(cut.is_empty(), lines(&list).into_values().all(|line| line == 1));
                    list.retain(|entry| !cut.contains(&entry.2));
                }
            }
            prop_assert_eq!(queue.len(), list.len());
            prop_assert!(queue.len() <= limits.items && queue.bins() <= limits.bins);
        }
        // Once no bin is parked, all are served, and nothing of them is remembered.
        (0..6).for_each(|bin| _ = queue.park(&bin, now));
        for _ in 0..list.len() {
            prop_assert!(queue.pop(now).is_some());
        }
        prop_assert!(queue.pop(now).is_none() && queue.bins() == 0);
    }

    /// Documents of several bins: each line that can be served is, within as many turns as there are lines for each of them.
    #[test]
    fn no_line_of_several_bins_starves(shapes in proptest::collection::btree_set(bins_of(), 1..8)) {
        let mut queue: Queue<u32, usize> = Queue::new(WIDE);
        let shapes: Vec<Vec<u32>> = shapes.into_iter().collect();
        for (number, bins) in shapes.iter().enumerate() {
            queue.push(5, bins, number).unwrap();
        }
        let mut since = vec![0; shapes.len()];
        for _ in 0..400 {
            let taken = queue.pop(0).unwrap();
            queue.push(5, &taken.bins, taken.item).unwrap();
            for (number, waited) in since.iter_mut().enumerate() {
                *waited = if number == taken.item { 0 } else { *waited + 1 };
                prop_assert!(*waited <= shapes.len() * shapes.len(), "{:?} of {shapes:?}", shapes[number]);
            }
        }
    }
}

fn lines(list: &[(Priority, Vec<u32>, usize)]) -> HashMap<(Priority, &[u32]), usize> {
    let mut lines = HashMap::new();
    for (priority, bins, _) in list {
        *lines.entry((*priority, &bins[..])).or_insert(0) += 1;
    }
    lines
}
