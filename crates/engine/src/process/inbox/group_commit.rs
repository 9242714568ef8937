//! Group commit: what is pushed while a transaction is written is written by the next one, all of it together. Many clients with a record each share one
//! wait for the disk, and one set of statements.
//!
//! One call of a group leads: it writes for all. Refused: a thread of its own that writes, which would have to be started, stopped and watched; and commits
//! that wait for more to come, since one client alone would wait for nobody.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use ingather_model::ids::JobId;
use ingather_model::limits;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::turns::{Monitor, lock};

use super::{Accepted, Ask, Push};
use crate::error::Result;

/// What calls have in common that can share a transaction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shared {
    /// Whose source it is.
    pub(super) job: JobId,
    /// The run of it, and the revision of its definition, that its caller has seen: a group is written by what its leader has seen.
    pub(super) seen: (i64, i64),
    /// Who asks: tickets say so.
    pub(super) by: String,
}

/// Calls that wait to be written. Where there is an entry, one of its calls leads, or has just been told to.
#[derive(Debug, Default)]
pub(crate) struct GroupCommits {
    waiting: Mutex<BTreeMap<Shared, VecDeque<Arc<Member>>>>,
}

#[derive(Debug)]
struct Member {
    pushes: Vec<Push>,
    stands: Monitor<Stands>,
}

#[derive(Debug)]
enum Stands {
    /// Another one leads.
    Waits,
    /// It writes for those that wait, itself among them.
    Leads,
    /// It is written.
    Accepted(Vec<Accepted>),
    /// What it was to be written with failed: it is written on its own, so that its answer says what is wrong with it and not with others.
    Alone,
}

/// Calls that are written together. When this is dropped, whoever has no answer is alone, and the next one that waits leads.
struct Group<'g> {
    commits: &'g GroupCommits,
    shared: &'g Shared,
    calls: Vec<Arc<Member>>,
}

impl GroupCommits {
    /// Accepts pushes by `write`, which does so in one transaction, together with those of calls that wait; what became of each.
    ///
    /// # Errors
    /// What `write` says of these alone.
    pub(super) fn accept(
        &self,
        shared: &Shared,
        pushes: Vec<Push>,
        write: impl Fn(&[&Push]) -> Result<Vec<Accepted>>,
    ) -> Result<Vec<Accepted>> {
        let call = Arc::new(Member { pushes, stands: Monitor::new(Stands::Waits) });
        self.join(shared, &call);
        if call.waits_to_lead() {
            let group = self.next(shared);
            let pushes: Vec<&Push> = group.calls.iter().flat_map(|call| &call.pushes).collect();
            let written = write(&pushes);
            if group.calls.len() == 1 {
                return written;
            }
            if let Ok(accepted) = written {
                let mut accepted = accepted.into_iter();
                let mut calls: Vec<&Arc<Member>> = group.calls.iter().collect();
                if failpoint(Failpoint::GroupAnswersTurned) {
                    calls.reverse();
                }
                for call in calls {
                    call.becomes(Stands::Accepted(accepted.by_ref().take(call.pushes.len()).collect()));
                }
            }
        }
        let stands = std::mem::replace(&mut *call.stands.lock(), Stands::Alone);
        match stands {
            Stands::Accepted(accepted) => Ok(accepted),
            Stands::Waits | Stands::Leads | Stands::Alone => write(&call.pushes.iter().collect::<Vec<_>>()),
        }
    }

    fn join(&self, shared: &Shared, call: &Arc<Member>) {
        let mut waiting = lock(&self.waiting);
        match waiting.get_mut(shared) {
            Some(line) => line.push_back(call.clone()),
            None => {
                waiting.insert(shared.clone(), VecDeque::from([call.clone()]));
                *call.stands.lock() = Stands::Leads;
            }
        }
    }

    /// The calls that its leader, who is the first of them, writes for.
    fn next<'g>(&'g self, shared: &'g Shared) -> Group<'g> {
        let mut waiting = lock(&self.waiting);
        let line = waiting.get_mut(shared).into_iter().flatten();
        let (mut records, mut bytes) = (0, 0);
        let fits = |call: &&mut Arc<Member>| {
            let is_first = records == 0;
            records += call.pushes.len().max(1);
            bytes += call.pushes.iter().map(Push::bytes).sum::<usize>();
            is_first || (records <= limits::GROUP_RECORDS_MAX && bytes <= limits::GROUP_BYTES_MAX)
        };
        let count = line.take_while(fits).count();
        let calls = waiting.get_mut(shared).map(|line| line.drain(..count).collect()).unwrap_or_default();
        Group { commits: self, shared, calls }
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        for call in &self.calls {
            if matches!(*call.stands.lock(), Stands::Waits | Stands::Leads) {
                call.becomes(Stands::Alone);
            }
        }
        let mut waiting = lock(&self.commits.waiting);
        match waiting.get(self.shared).and_then(VecDeque::front) {
            Some(next) => next.becomes(Stands::Leads),
            None => drop(waiting.remove(self.shared)),
        }
    }
}

impl Member {
    /// Waits until it is written, or has to be; whether it leads.
    fn waits_to_lead(&self) -> bool {
        let stands = self.stands.lock();
        matches!(*self.stands.wait_while(stands, |stands| matches!(stands, Stands::Waits)), Stands::Leads)
    }

    fn becomes(&self, stands: Stands) {
        *self.stands.lock() = stands;
        self.stands.notify();
    }
}

impl Push {
    /// About as many bytes as it has in a transaction.
    fn bytes(&self) -> usize {
        let content = match &self.ask {
            Ask::Put(put) => put.content.len(),
            Ask::Delete | Ask::Wrong(_) => 0,
        };
        self.key.len() + content
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::error::{EngineError, Refusal};

    fn pushes(keys: &[&str]) -> Vec<Push> {
        keys.iter()
            .map(|key| Push { key: (*key).to_owned(), ask: Ask::Delete, user_ref: None, version: None })
            .collect()
    }

    fn shared(by: &str) -> Shared {
        Shared { job: JobId(1), seen: (1, 1), by: by.to_owned() }
    }

    /// Tickets are the numbers in the keys, so that an answer tells whose it is.
    fn accepted(pushes: &[&Push]) -> Vec<Accepted> {
        let ticket = |push: &&Push| push.key.parse().expect("a key is a number");
        pushes.iter().map(|push| Accepted::Pending { ticket: ticket(push), was_there: true }).collect()
    }

    /// Waits until so many calls wait behind the one that is written.
    fn gathered(commits: &GroupCommits, by: &str, count: usize) {
        while lock(&commits.waiting).get(&shared(by)).map_or(0, VecDeque::len) < count {
            std::thread::yield_now();
        }
    }

    /// One call, during whose write `others` come; what each write had, and what each call was answered.
    fn together(
        others: &[&[&str]],
        write: impl Fn(&[&Push]) -> Result<Vec<Accepted>> + Sync,
    ) -> (Vec<usize>, Vec<(Vec<Push>, Result<Vec<Accepted>>)>) {
        let commits = GroupCommits::default();
        let (sizes, answers) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
        let first = AtomicUsize::new(1);
        let writes = |pushes: &[&Push]| {
            lock(&sizes).push(pushes.len());
            if first.fetch_sub(1, Ordering::SeqCst) == 1 {
                gathered(&commits, "a", others.len());
            }
            write(pushes)
        };
        std::thread::scope(|scope| {
            let call = |keys: &[&str]| {
                let asked = pushes(keys);
                let answer = commits.accept(&shared("a"), asked.clone(), writes);
                lock(&answers).push((asked, answer));
            };
            scope.spawn(move || call(&["0"]));
            while lock(&sizes).is_empty() {
                std::thread::yield_now();
            }
            others.iter().for_each(|keys| drop(scope.spawn(move || call(keys))));
        });
        assert!(lock(&commits.waiting).is_empty(), "nobody is left to be told that it leads");
        (sizes.into_inner().unwrap(), answers.into_inner().unwrap())
    }

    #[test]
    fn what_comes_while_another_call_is_written_is_written_at_once_and_each_call_has_its_own_answer() {
        let (sizes, answers) =
            together(&[&["1", "2"], &["3"], &[], &["4", "5", "6"]], |pushes| Ok(accepted(pushes)));
        assert_eq!(sizes, [1, 6]);
        assert_eq!(answers.len(), 5);
        for (asked, answer) in answers {
            assert_eq!(answer.unwrap(), accepted(&asked.iter().collect::<Vec<_>>()));
        }
    }

    #[test]
    fn where_one_call_cannot_be_written_the_others_are_and_it_alone_hears_why() {
        let write = |pushes: &[&Push]| match pushes.iter().any(|push| push.key == "13") {
            true => Err(EngineError::refused(Refusal::Resources, "13 is one too many")),
            false => Ok(accepted(pushes)),
        };
        let (sizes, answers) = together(&[&["1"], &["13"], &["2"]], write);
        assert_eq!((sizes.len(), sizes[..2].to_vec()), (5, vec![1, 3]), "the group, and then each alone");
        for (asked, answer) in answers {
            match asked[0].key == "13" {
                true => assert!(answer.unwrap_err().to_string().contains("13 is one too many")),
                false => assert_eq!(answer.unwrap(), accepted(&asked.iter().collect::<Vec<_>>())),
            }
        }
    }

    #[test]
    fn a_group_has_a_bound_and_what_is_beyond_it_is_written_next() {
        let many: Vec<String> = (1..=limits::GROUP_RECORDS_MAX as i64).map(|key| key.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let (sizes, answers) = together(&[&many, &many[..2], &many], |pushes| Ok(accepted(pushes)));
        assert_eq!(sizes.iter().sum::<usize>(), 1 + 2 * many.len() + 2);
        assert!(sizes.iter().all(|size| *size <= limits::GROUP_RECORDS_MAX), "{sizes:?}");
        assert!(answers.iter().all(|(asked, answer)| answer.as_ref().unwrap().len() == asked.len()));
    }

    #[test]
    fn calls_of_two_who_ask_are_not_written_at_once() {
        let commits = GroupCommits::default();
        let writes = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for by in ["a", "b"] {
                let (commits, writes) = (&commits, &writes);
                let write = move |pushes: &[&Push]| {
                    lock(writes).push((by, pushes.len()));
                    Ok(accepted(pushes))
                };
                scope.spawn(move || commits.accept(&shared(by), pushes(&["1"]), write).unwrap());
            }
        });
        let mut writes = writes.into_inner().unwrap();
        writes.sort_unstable();
        assert_eq!(writes, [("a", 1), ("b", 1)]);
    }

    #[test]
    fn whoever_waits_for_a_leader_that_panics_goes_on_alone() {
        let commits = GroupCommits::default();
        let began = AtomicUsize::new(0);
        let write = |pushes: &[&Push]| {
            if began.fetch_add(1, Ordering::SeqCst) == 0 {
                gathered(&commits, "a", 2);
                panic!("the first write dies");
            }
            Ok(accepted(pushes))
        };
        std::thread::scope(|scope| {
            let leader = scope.spawn(|| commits.accept(&shared("a"), pushes(&["1"]), write));
            while began.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            let (commits, write) = (&commits, &write);
            let push = |key| scope.spawn(move || commits.accept(&shared("a"), pushes(&[key]), write));
            let others = ["2", "3"].map(push);
            assert!(leader.join().is_err());
            for other in others {
                assert_eq!(other.join().unwrap().unwrap().len(), 1);
            }
        });
        assert!(lock(&commits.waiting).is_empty());
    }
}
