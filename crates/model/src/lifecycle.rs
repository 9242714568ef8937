//! The tables: every move that a job, a document and a channel can make, who makes it, and why. Nothing moves without a row here.
//!
//! A state is only what other facts cannot tell (design 4.2); the facts beside it are in [`facts`]. [`rules`] reads and
//! judges the tables, [`steps`] says what a move does to the facts, [`projection`] translates into ManifoldCF's names.

pub mod arrows;
pub mod facts;
pub mod outcome;
pub mod page;
pub mod projection;
pub mod rules;
pub mod steps;
mod words;

pub use page::markdown;
pub(crate) use words::words;

/// One row: from any of these states, on this event, to that state.
#[derive(Clone, Copy, Debug)]
pub struct Move<S: 'static, E> {
    /// States in which the event is possible.
    pub from: &'static [S],
    /// What happens.
    pub on: E,
    /// State afterwards.
    pub to: S,
    /// Who may cause it.
    pub by: &'static [Actor],
    /// Reason, as a person reads it.
    pub why: &'static str,
    /// Whether it happens yet.
    pub since: Since,
}

/// Whether a row is lived or planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// A statement of the store executes it and a scenario takes it.
    Now,
    /// The service that acts is not there yet.
    Later,
}

words! {
    /// Who causes a move or changes a fact.
    pub enum Actor {
        /// A person, by command, API or console.
        Person = "person",
        /// Evaluates schedules, windows and leases.
        Scheduler = "scheduler",
        /// Takes a started job up and opens its run.
        Starter = "starter",
        /// Lists the source, or receives what is pushed.
        Lister = "lister",
        /// Visits documents and sends them.
        Worker = "worker",
        /// Finds that a run or a channel has nothing left to do.
        Finisher = "finisher",
        /// Removes what a whole run did not meet, and the documents of a job that is being deleted.
        Sweeper = "sweeper",
        /// Clears up behind a process that is gone.
        Rescuer = "rescuer",
        /// An application that pushes.
        Client = "client",
    }
}

/// States as the store's constraint on jobs lists them.
pub const JOB_STATES: &[&str] = job::State::WORDS;
/// States as the API and the simulator list them for documents; the store keeps rows that imply them (design store 2.1).
pub const DOCUMENT_STATES: &[&str] = document::State::WORDS;

/// Jobs.
pub mod job {
    use super::Actor::{Finisher, Person, Rescuer, Scheduler, Starter, Sweeper, Worker};
    use super::Since::{Later, Now};
    use super::{Move, words};

    words! {
        /// What a job does, as far as no other fact tells it.
        pub enum State {
            /// Nothing: waits for its schedule or a person.
            Resting = "resting",
            /// Asked to run; no run is open yet.
            Starting = "starting",
            /// A run is open: listing, visiting, sending.
            Working = "working",
            /// Everything was visited; what a whole listing proved absent is being removed.
            Sweeping = "sweeping",
            /// The run is closed; its end is being told.
            Ending = "ending",
            /// Asked to stop; what is in hands is being put down.
            Stopping = "stopping",
            /// Its documents are being removed; cannot be taken back.
            Deleting = "deleting",
            /// Not there: before its creation and after its deletion.
            Gone = "gone",
        }
    }

    words! {
        /// What can happen to a job.
        pub enum Event {
            /// It is made.
            Create = "create",
            /// A run is asked for.
            Start = "start",
            /// The run is opened.
            Begin = "begin",
            /// The run has nothing left to visit.
            Drain = "drain",
            /// Documents want a visit although the run was sweeping.
            Reappear = "reappear",
            /// Nothing is left to remove.
            Sweep = "sweep",
            /// The end of the run was told.
            Note = "note",
            /// It is to end before it is done.
            Stop = "stop",
            /// Everything is put down; the run is closed.
            PutDown = "put_down",
            /// Everything is put down; the next run was asked for with the stop, or goes on when the program is back.
            Restart = "restart",
            /// The process of the run is gone: the run is closed as interrupted.
            Interrupt = "interrupt",
            /// It is to go, with all that outputs hold for it alone.
            Delete = "delete",
            /// Its last document is gone.
            Forget = "forget",
        }
    }

    use Event::{
        Begin, Create, Delete, Drain, Forget, Interrupt, Note, PutDown, Reappear, Restart, Start, Stop, Sweep,
    };
    use State::{Deleting, Ending, Gone, Resting, Starting, Stopping, Sweeping, Working};

    /// States in which a run may be open or wanted.
    const RUNNING: &[State] = &[Starting, Working, Sweeping];
    /// States that a dead process can leave behind.
    const UNFINISHED: &[State] = &[Starting, Working, Sweeping, Ending, Stopping];

    /// Every move of a job.
    #[rustfmt::skip]
    pub const MOVES: &[Move<State, Event>] = &[
        Move { from: &[Gone],     on: Create,    to: Resting,  by: &[Person],            since: Now,   why: "a person made it" },
        Move { from: &[Resting],  on: Start,     to: Starting, by: &[Person, Scheduler], since: Now,   why: "a person or the schedule asked" },
        Move { from: &[Starting], on: Begin,     to: Working,  by: &[Starter],           since: Now,   why: "its run is opened" },
        Move { from: &[Working],  on: Drain,     to: Sweeping, by: &[Finisher],          since: Now,   why: "the listing has ended, nothing is due or held" },
        Move { from: &[Sweeping], on: Reappear,  to: Working,  by: &[Finisher],          since: Later, why: "removals made other documents due, or late ones arrived" },
        Move { from: &[Sweeping], on: Sweep,     to: Ending,   by: &[Sweeper],           since: Now,   why: "nothing is left to remove, or what is left is held or kept" },
        Move { from: &[Ending],   on: Note,      to: Resting,  by: &[Finisher],          since: Now,   why: "everybody who asked was told of the end" },
        Move { from: RUNNING,     on: Stop,      to: Stopping, by: &[Person, Worker],    since: Now,   why: "a person asked, or a fault says that the job must stop" },
        Move { from: &[Stopping], on: PutDown,   to: Ending,   by: &[Finisher],          since: Now,   why: "nothing is held and the listing has let go" },
        Move { from: &[Stopping], on: Restart,   to: Starting, by: &[Finisher],          since: Now,   why: "nothing is held, the listing has let go, and another run goes on" },
        Move { from: UNFINISHED,  on: Interrupt, to: Resting,  by: &[Rescuer],           since: Now,   why: "its process is gone; the run is closed as interrupted, work and deliveries stand" },
        Move { from: &[Resting],  on: Delete,    to: Deleting, by: &[Person],            since: Now,   why: "a person asked" },
        Move { from: &[Deleting], on: Forget,    to: Gone,     by: &[Sweeper],           since: Now,   why: "its last document is gone" },
    ];
}

/// Documents.
pub mod document {
    use super::Actor::{Lister, Person, Rescuer, Scheduler, Sweeper, Worker};
    use super::Since::{Later, Now};
    use super::{Move, words};

    words! {
        /// What happens with a document, as far as no other fact tells it.
        pub enum State {
            /// Wants a visit, now or at a time.
            Waiting = "waiting",
            /// In the hands of a worker; a fact in memory, never written.
            Held = "held",
            /// Visited; outputs hold what they should.
            Settled = "settled",
            /// Every output that holds it is to let it go.
            Leaving = "leaving",
            /// Visited without success, or out of scope: nothing happens until something changes.
            Troubled = "troubled",
            /// Not known: before it was met and after it left.
            Gone = "gone",
        }
    }

    words! {
        /// What can happen to a document.
        pub enum Event {
            /// The source named it for the first time.
            Meet = "meet",
            /// The source named it again, and a visit is needed.
            MeetAgain = "meet_again",
            /// A worker takes it.
            Claim = "claim",
            /// The visit is over and every output confirmed.
            Settle = "settle",
            /// It was wanted once more while it was in hands.
            Rescan = "rescan",
            /// The job does not reach that far.
            Decline = "decline",
            /// A passing fault.
            Retry = "retry",
            /// A lasting fault, or too many passing ones.
            GiveUp = "give_up",
            /// Its worker put it down or died.
            LoseHold = "lose_hold",
            /// The source no longer has it.
            Vanish = "vanish",
            /// Its time is over.
            Expire = "expire",
            /// A whole run did not meet it.
            Miss = "miss",
            /// A whole run did not meet it, and it was never sent.
            Discard = "discard",
            /// The removal is void.
            Return = "return",
            /// Its job is being deleted.
            Disown = "disown",
            /// It is time to look again.
            FallDue = "fall_due",
            /// A person wants it looked at.
            Reset = "reset",
            /// No output holds it for this job any more.
            Forget = "forget",
        }
    }

    use Event::{
        Claim, Decline, Discard, Disown, Expire, FallDue, Forget, GiveUp, LoseHold, Meet, MeetAgain, Miss,
        Rescan, Reset, Retry, Return, Settle, Vanish,
    };
    use State::{Gone, Held, Leaving, Settled, Troubled, Waiting};

    /// States in which nobody works on it and nobody removes it.
    const ASIDE: &[State] = &[Waiting, Settled, Troubled];

    /// Every move of a document.
    #[rustfmt::skip]
    pub const MOVES: &[Move<State, Event>] = &[
        Move { from: &[Gone],                       on: Meet,      to: Waiting,  by: &[Lister, Worker],          since: Now,   why: "listed, pushed, or referred to, for the first time" },
        Move { from: &[Settled, Leaving, Troubled], on: MeetAgain, to: Waiting,  by: &[Lister, Worker, Sweeper], since: Now,   why: "met again and changed, racy, leaving or in trouble; or what it depends on changed" },
        Move { from: &[Waiting],                    on: Claim,     to: Held,     by: &[Worker],                  since: Now,   why: "it is due and first in the line of its bin" },
        Move { from: &[Held],                       on: Settle,    to: Settled,  by: &[Worker],                  since: Now,   why: "every output took it, did not want it, or held just that" },
        Move { from: &[Held],                       on: Rescan,    to: Waiting,  by: &[Worker],                  since: Later, why: "it was wanted once more while it was in hands" },
        Move { from: &[Held],                       on: Decline,   to: Troubled, by: &[Worker],                  since: Later, why: "out of scope: too many hops away; kept as a record" },
        Move { from: &[Held],                       on: Retry,     to: Waiting,  by: &[Worker],                  since: Now,   why: "a passing fault; attempts are left" },
        Move { from: &[Held],                       on: GiveUp,    to: Troubled, by: &[Worker],                  since: Now,   why: "a lasting fault, no attempt left, or no date for another" },
        Move { from: &[Held],                       on: LoseHold,  to: Waiting,  by: &[Worker, Rescuer],         since: Now,   why: "its job stops or is on hold, or the worker is gone; not an attempt" },
        Move { from: &[Held],                       on: Vanish,    to: Leaving,  by: &[Worker],                  since: Now,   why: "the source no longer has it" },
        Move { from: &[Waiting, Settled],           on: Expire,    to: Leaving,  by: &[Scheduler],               since: Later, why: "its time in the job is over" },
        Move { from: ASIDE,                         on: Miss,      to: Leaving,  by: &[Sweeper],                 since: Now,   why: "a whole run looked at its place completely and did not meet it" },
        Move { from: &[Waiting, Troubled],          on: Discard,   to: Gone,     by: &[Sweeper],                 since: Now,   why: "a whole run did not meet it, and no output ever held it" },
        Move { from: &[Leaving],                    on: Return,    to: Settled,  by: &[Lister],                  since: Later, why: "a later run of the job is open; the removal was of an older one" },
        Move { from: ASIDE,                         on: Disown,    to: Leaving,  by: &[Sweeper],                 since: Now,   why: "its job is being deleted" },
        Move { from: &[Settled, Troubled],          on: FallDue,   to: Waiting,  by: &[Scheduler],               since: Later, why: "it is time to look again" },
        Move { from: &[Settled, Leaving, Troubled], on: Reset,     to: Waiting,  by: &[Person],                  since: Later, why: "a person wants it looked at" },
        Move { from: &[Leaving],                    on: Forget,    to: Gone,     by: &[Sweeper, Worker],         since: Now,   why: "no output holds it for this job any more" },
    ];
}

/// Channels: what applications push through (decision 0052). The states have the names of coverage S2.54.
pub mod channel {
    use super::Actor::{Client, Finisher, Lister, Person, Scheduler, Sweeper};
    use super::Since::Now;
    use super::{Move, words};

    words! {
        /// What a channel does.
        pub enum State {
            /// Takes what is pushed.
            Running = "running",
            /// Takes nothing more for a time: too much is open.
            Throttling = "throttling",
            /// Takes nothing any more; what it took is carried to its end.
            Terminating = "terminating",
            /// Everything that it took has its report; these can be read.
            Terminated = "terminated",
            /// Not there: before it is opened, and after its reports were forgotten.
            Gone = "gone",
        }
    }

    words! {
        /// What can happen to a channel.
        pub enum Event {
            /// A client opens it.
            Open = "open",
            /// Nearly as much is open as may be.
            Throttle = "throttle",
            /// Less than half of that is open again.
            Relax = "relax",
            /// It is to end.
            Terminate = "terminate",
            /// Nothing is open any more.
            Finish = "finish",
            /// Its reports are too old to be kept.
            Forget = "forget",
        }
    }

    use Event::{Finish, Forget, Open, Relax, Terminate, Throttle};
    use State::{Gone, Running, Terminated, Terminating, Throttling};

    /// States in which it may take something, now or later.
    const OPEN: &[State] = &[Running, Throttling];

    /// Every move of a channel.
    #[rustfmt::skip]
    pub const MOVES: &[Move<State, Event>] = &[
        Move { from: &[Gone],        on: Open,      to: Running,     by: &[Client],                             since: Now, why: "its source is there, and everything that it asks for is offered" },
        Move { from: &[Running],     on: Throttle,  to: Throttling,  by: &[Lister],                             since: Now, why: "more than 80 % of what may be open is" },
        Move { from: &[Throttling],  on: Relax,     to: Running,     by: &[Finisher],                           since: Now, why: "less than 50 % of what may be open is" },
        Move { from: OPEN,           on: Terminate, to: Terminating, by: &[Client, Person, Scheduler, Sweeper], since: Now, why: "its client or a person asked, gave no sign of life, was throttled or had no sink that takes reports for too long, or its source is being deleted" },
        Move { from: &[Terminating], on: Finish,    to: Terminated,  by: &[Finisher],                           since: Now, why: "everything that it took has its report" },
        Move { from: &[Terminated],  on: Forget,    to: Gone,        by: &[Sweeper],                            since: Now, why: "its last report is as old as reports are kept" },
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_comes_back_and_none_is_used_twice() {
        for (words, count) in [
            (job::State::WORDS, job::State::ALL.len()),
            (job::Event::WORDS, job::Event::ALL.len()),
            (document::State::WORDS, document::State::ALL.len()),
            (document::Event::WORDS, document::Event::ALL.len()),
            (channel::State::WORDS, channel::State::ALL.len()),
            (channel::Event::WORDS, channel::Event::ALL.len()),
            (Actor::WORDS, Actor::ALL.len()),
        ] {
            let distinct: std::collections::HashSet<_> = words.iter().collect();
            assert_eq!(distinct.len(), count);
            assert!(
                words.iter().all(|w| w.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')),
                "{words:?}"
            );
        }
        for state in document::State::ALL {
            assert_eq!(document::State::parse(state.as_str()), Some(*state));
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
        assert_eq!(job::State::parse("held"), None);
    }
}
