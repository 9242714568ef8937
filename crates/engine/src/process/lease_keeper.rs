//! The one thread of a process that renews its lease while anything works: visits, removals, repairs.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use ingather_model::limits;
use ingather_store::StoreCode;
use ingather_store::turns::{self, Monitor, Thread};

use crate::delivery::writer::Writer;
use crate::error::{EngineError, Refusal, Result};
use ingather_store::turns::lock;

/// What is told in a sentence: that the lease cannot be renewed for now, and that it can again.
pub(crate) type Tell = Box<dyn Fn(&str) + Send + Sync>;

/// Renews the lease from the first who works until the last one has ended.
#[derive(Default)]
pub(crate) struct LeaseKeeper {
    slot: Arc<Mutex<Slot>>,
    pub(crate) tell: Arc<OnceLock<Tell>>,
}

#[derive(Default)]
struct Slot {
    uses: usize,
    keeping: Option<(Arc<Keeping>, Thread)>,
    /// When it was renewed last, while somebody worked.
    renewed: Option<i64>,
}

/// One time of work without a pause.
#[derive(Default)]
struct Keeping {
    over: Monitor<bool>,
    renewed: Mutex<i64>,
    lost: Mutex<Option<EngineError>>,
}

/// Somebody works: the lease is renewed until the last use is dropped.
pub(crate) struct LeaseUse {
    slot: Arc<Mutex<Slot>>,
}

impl LeaseKeeper {
    /// One more works. `lose` is called when the lease cannot be renewed as long as it lasts.
    ///
    /// # Errors
    /// What it was lost for, while others who worked under it have not ended.
    pub(crate) fn keep(
        &self,
        writer: &Writer,
        lose: impl FnOnce(&EngineError) + Send + 'static,
    ) -> Result<LeaseUse> {
        let mut slot = lock(&self.slot);
        match &slot.keeping {
            Some((keeping, _)) => {
                if let Some(error) = &*lock(&keeping.lost) {
                    return Err(error.clone());
                }
            }
            None => {
                // A process that has rested renews at its first look.
                let renewed = slot.renewed.unwrap_or_else(|| writer.call.now());
                let keeping = Arc::new(Keeping { renewed: Mutex::new(renewed), ..Keeping::default() });
                let (writer, kept, tell) = (writer.clone(), keeping.clone(), self.tell.clone());
                let thread = turns::spawn("lease".to_owned(), move || {
                    let tell = |sentence: String| tell.get().iter().for_each(|tell| tell(&sentence));
                    renew(&writer, &kept, tell, lose);
                });
                let thread = thread.map_err(|error| {
                    EngineError::refused(
                        Refusal::Resources,
                        format!("a thread cannot be started ({error}); give the program more memory, or fewer --threads"),
                    )
                })?;
                slot.keeping = Some((keeping, thread));
            }
        }
        slot.uses += 1;
        drop(slot);
        Ok(LeaseUse { slot: self.slot.clone() })
    }
}

/// A renewal that fails for what may pass is tried again at each look, as long as what is sent meanwhile is sent in time: whoever sends later
/// renews the lease themselves, and sends nothing where that fails.
fn renew(writer: &Writer, keeping: &Keeping, tell: impl Fn(String), lose: impl FnOnce(&EngineError)) {
    let look = Duration::from_millis(limits::LEASE_LOOK_MS);
    let mut fails = false;
    loop {
        if *keeping.over.wait_at_most(keeping.over.lock(), look, |over| !*over).0 {
            return;
        }
        let now = writer.call.now();
        if now - *lock(&keeping.renewed) < limits::LEASE_RENEW_MS {
            continue;
        }
        match writer.extend_lease() {
            Ok(()) => {
                *lock(&keeping.renewed) = now;
                if std::mem::take(&mut fails) {
                    tell("the right to write was renewed after all; the work goes on".to_owned());
                }
            }
            Err(error)
                if may_pass(&error)
                    && writer.lease.outlasts(writer.call.steady(), limits::LEASE_LEFT_MS_MIN) =>
            {
                if !std::mem::replace(&mut fails, true) {
                    tell(format!(
                        "the right to write could not be renewed, and is tried again for some seconds before all work ends: {error}"
                    ));
                }
            }
            Err(error) => {
                *lock(&keeping.lost) = Some(error.clone());
                return lose(&error);
            }
        }
    }
}

/// Whether a renewal may succeed after this: nobody has taken over, and it is for want of room, or of a server that answers.
fn may_pass(error: &EngineError) -> bool {
    let EngineError::Store(error) = error else { return false };
    match error.code() {
        StoreCode::Database
        | StoreCode::Conflict
        | StoreCode::Full
        | StoreCode::Handles
        | StoreCode::Away
        | StoreCode::Stopped => true,
        StoreCode::ReadOnly
        | StoreCode::Damaged
        | StoreCode::Newer
        | StoreCode::Older
        | StoreCode::Held
        | StoreCode::Fenced
        | StoreCode::Refused => false,
    }
}

impl Drop for LeaseUse {
    fn drop(&mut self) {
        // Held until the thread has ended: who begins meanwhile starts another one.
        let mut slot = lock(&self.slot);
        slot.uses -= 1;
        if slot.uses > 0 {
            return;
        }
        if let Some((keeping, thread)) = slot.keeping.take() {
            *keeping.over.lock() = true;
            keeping.over.notify();
            // It holds nothing that a panic would leave in the middle.
            let _ended = thread.join();
            slot.renewed = Some(*lock(&keeping.renewed));
        }
    }
}
