//! How many threads of a process visit at once, whatever the number of its runs.

use std::sync::Arc;

use ingather_store::turns::Monitor;

/// The threads that visit. One of each run may always: no run waits for the source or the outputs of another one. All others share so many
/// permits as the process has threads beside one, so that a run that is alone has all of them, and ten runs have not ten times as many.
#[derive(Default)]
pub(crate) struct Visitors {
    busy: Monitor<usize>,
}

/// The right to visit; given back when it is dropped, and while [`Permit::rest`] waits.
pub(crate) struct Permit {
    visitors: Arc<Visitors>,
    /// How many may share; none for the one of a run that needs no permit.
    most: Option<usize>,
    has: bool,
}

impl Visitors {
    /// Whoever waits for a permit looks whether it is still wanted.
    pub(crate) fn notify(&self) {
        // Whoever is about to wait has looked before this, or sees what has changed.
        drop(self.busy.lock());
        self.busy.notify();
    }
}

impl Permit {
    /// A permit that is not taken yet, one of `most`.
    pub(crate) fn new(visitors: &Arc<Visitors>, most: Option<usize>) -> Permit {
        Permit { visitors: visitors.clone(), most, has: false }
    }

    /// Waits for it, unless `is_over` says that it is not wanted any more.
    pub(crate) fn take(&mut self, is_over: impl Fn() -> bool) {
        let Some(most) = self.most.filter(|_| !self.has) else { return };
        let busy = &self.visitors.busy;
        let mut busy = busy.wait_while(busy.lock(), |busy| *busy >= most && !is_over());
        if *busy < most {
            *busy += 1;
            self.has = true;
        }
    }

    /// Gives it back.
    pub(crate) fn give_back(&mut self) {
        if std::mem::take(&mut self.has) {
            *self.visitors.busy.lock() -= 1;
            self.visitors.busy.notify();
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn so_many_have_a_permit_at_once_as_there_are_and_one_of_each_run_needs_none() {
        let visitors = Arc::new(Visitors::default());
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let mut permit = Permit::new(&visitors, Some(3));
                        permit.take(|| false);
                        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        now.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(most.load(Ordering::SeqCst) <= 3);
        let all: Vec<Permit> = (0..3)
            .map(|_| {
                let mut permit = Permit::new(&visitors, Some(3));
                permit.take(|| false);
                permit
            })
            .collect();
        let mut another = Permit::new(&visitors, Some(3));
        another.take(|| true);
        assert!(!another.has, "there are three");
        Permit::new(&visitors, None).take(|| false);
        drop(all);
        assert_eq!(*visitors.busy.lock(), 0);
    }
}
