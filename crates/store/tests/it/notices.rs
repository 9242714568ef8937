//! Notices as they are noted, found, tried and forgotten.

use ingather_model::ids::JobId;
use ingather_model::job::notify::NotifyEvent;
use ingather_store::runs::notices::{self, NewNotice, NoticeState, StoredNotice};
use ingather_store::{Durability, Store};

use crate::world::on_both;

fn add(store: &Store, run: i64, event: NotifyEvent, notifier: &str) {
    let notice = NewNotice { at: run * 10, job: JobId(1), run, event, notifier, body: "{}" };
    store.write(Durability::Relaxed, |sql| notices::add(sql, notice)).unwrap();
}

fn due(store: &Store, now: i64) -> Vec<StoredNotice> {
    store.reader().read(|sql| notices::due(sql, now, 99)).unwrap()
}

#[test]
fn the_same_is_noted_once_and_tried_until_it_is_sent_or_given_up() {
    on_both("notices", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        // However a run ended, its end is told once; that it does not go on is another thing.
        add(&store, 1, NotifyEvent::Failed, "ops");
        add(&store, 1, NotifyEvent::Finished, "ops");
        add(&store, 1, NotifyEvent::Interrupted, "ops");
        add(&store, 1, NotifyEvent::Failed, "log");
        add(&store, 2, NotifyEvent::Failed, "ops");
        let all = due(&store, 99);
        assert_eq!(all.len(), 4);
        assert!(all.windows(2).all(|two| two[0].due <= two[1].due && two[0].id != two[1].id));
        assert_eq!((due(&store, 9).len(), due(&store, 10).len()), (0, 3));
        let next = || store.reader().read(notices::next_due).unwrap();
        assert_eq!(next(), Some(10));
        let tried = |of: usize, state, due, error| {
            store
                .write(Durability::Relaxed, |sql| notices::tried(sql, &all[of].id, state, due, error))
                .unwrap();
        };
        tried(0, NoticeState::Sent, 5, None);
        tried(1, NoticeState::Waiting, 500, Some("it is away"));
        tried(2, NoticeState::Failed, 5, Some("it is gone"));
        // What is told is not untold by whoever comes late.
        tried(0, NoticeState::Failed, 5, Some("late"));
        assert_eq!((due(&store, 99).len(), due(&store, 500).len(), next()), (1, 2, Some(20)));
        let listed = store.reader().read(|sql| notices::list(sql, (i64::MAX, ""), 99)).unwrap();
        let first = listed.iter().find(|notice| notice.id == all[0].id).unwrap();
        assert_eq!((first.state, first.attempts, &first.error), (NoticeState::Sent, 1, &None));
        let untold = |before| store.reader().read(|sql| notices::untold(sql, JobId(1), before, 9)).unwrap();
        assert_eq!(untold(i64::MAX).len(), 3, "one waits that nobody has tried to tell");
        let untold = untold(0);
        let errors: Vec<Option<&str>> = untold.iter().map(|notice| notice.error.as_deref()).collect();
        assert_eq!(errors.len(), 2, "{untold:?}");
        assert!(errors.contains(&Some("it is away")) && errors.contains(&Some("it is gone")));
        assert_eq!(store.write(Durability::Relaxed, |sql| notices::hasten(sql, 50)).unwrap(), 1);
        assert_eq!(due(&store, 50).len(), 2);
        assert_eq!(store.reader().read(notices::oldest).unwrap(), Some(10));
        assert_eq!(store.reader().read(|sql| notices::nth(sql, 3)).unwrap(), Some(10));
        assert_eq!(store.reader().read(|sql| notices::nth(sql, 4)).unwrap(), None);
        let forget = || store.write(Durability::Relaxed, |sql| notices::forget(sql, 20, 2)).unwrap();
        assert_eq!([forget(), forget(), forget()], [2, 1, 0]);
    });
}

#[test]
fn pages_of_notices_lead_through_all_of_one_time() {
    on_both("notice_pages", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        ["a", "b", "c", "d", "e"].iter().for_each(|notifier| add(&store, 1, NotifyEvent::Held, notifier));
        add(&store, 2, NotifyEvent::Held, "a");
        let (mut place, mut found) = ((i64::MAX, String::new()), Vec::new());
        loop {
            let page = store.reader().read(|sql| notices::list(sql, (place.0, &place.1), 2)).unwrap();
            let Some(last) = page.last() else { break };
            place = (last.at, last.id.clone());
            found.extend(page.into_iter().map(|notice| (notice.run, notice.notifier)));
        }
        let mut sorted = found.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!((sorted.len(), found[0].0), (6, 2));
    });
}
