//! Calls that wait until a channel has told something more: none of them holds a thread. As long as anybody waits, one task looks at all the channels that are waited for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ingather_model::limits;
use ingather_operations::documents::push::channels::{self, Sign};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout_at};

use super::Answers;

/// All calls of a service that wait.
#[derive(Default)]
pub(crate) struct Waits {
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    next: u64,
    /// Something looks at them.
    is_looked_at: bool,
    by_number: BTreeMap<u64, Wait>,
}

struct Wait {
    channel: i64,
    sign: Sign,
    tell: oneshot::Sender<()>,
}

impl Waits {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those whose callers are still there.
    fn asked(&self) -> Vec<(u64, i64, Sign)> {
        let mut waiting = self.waiting();
        waiting.by_number.retain(|_, wait| !wait.tell.is_closed());
        if waiting.by_number.is_empty() {
            waiting.is_looked_at = false;
        }
        waiting.by_number.iter().map(|(number, wait)| (*number, wait.channel, wait.sign)).collect()
    }

    fn tell(&self, number: u64) {
        if let Some(wait) = self.waiting().by_number.remove(&number) {
            // Its caller may have gone meanwhile.
            let _ = wait.tell.send(());
        }
    }
}

/// Waits until a channel has told what is waited for, or until then, or until the service ends; whether it has.
pub(crate) async fn wait(answers: &Arc<Answers>, (channel, sign): (i64, Sign), until: Instant) -> bool {
    let (tell, told) = oneshot::channel();
    let mut until = until;
    let begins = {
        let mut waiting = answers.waits.waiting();
        if waiting.by_number.len() >= limits::WAITS_MAX {
            let soon = Instant::now() + Duration::from_millis(limits::WAIT_MS_BEYOND); // clock: how long a caller waits, which nothing that is kept goes by
            until = until.min(soon);
        }
        waiting.next += 1;
        let number = waiting.next;
        waiting.by_number.insert(number, Wait { channel, sign, tell });
        !std::mem::replace(&mut waiting.is_looked_at, true)
    };
    if begins {
        tokio::spawn(look(answers.clone()));
    }
    tokio::select! {
        told = timeout_at(until, told) => matches!(told, Ok(Ok(()))),
        () = answers.streams.ended() => false,
    }
}

/// Looks at the channels until nobody waits.
async fn look(answers: Arc<Answers>) {
    loop {
        let asked = answers.waits.asked();
        if asked.is_empty() {
            return;
        }
        let waits: Vec<(i64, Sign)> = asked.iter().map(|(_, channel, sign)| (*channel, *sign)).collect();
        // A store that cannot be read now is looked at again: each call ends by its own time.
        if let Ok(over) = answers.watch(move |context| channels::over(context, &waits)).await {
            let over = asked.iter().zip(over).filter(|(_, is_over)| *is_over);
            over.for_each(|((number, ..), _)| answers.waits.tell(*number));
        }
        sleep(Duration::from_millis(limits::WAITS_LOOK_MS)).await;
    }
}
