//! The rules of hosts, kept for as long as they may be gone by: asked for once for each host, and not for each page.

use std::collections::HashMap;
use std::sync::Arc;

use ingather_model::limits::{ROBOTS_HOSTS_MAX, ROBOTS_KEPT_BYTES_MAX, ROBOTS_KEPT_MS, ROBOTS_RETRY_MS};
use parking_lot::Mutex;

use super::{AgentRules, Robots, Verdict};

/// What came of asking a host for its file, redirects followed ([`ROBOTS_REDIRECTS_MAX`](ingather_model::limits::ROBOTS_REDIRECTS_MAX)).
#[derive(Clone, Debug)]
pub enum Answer {
    /// It answered with this status; the body counts where the status is of success.
    Status(u16, Vec<u8>),
    /// It is redirected more often than is followed, which says the same as no file.
    RedirectedTooOften,
    /// It could not be asked, or nobody understands the answer.
    Unreachable {
        /// A sentence that says why.
        why: String,
        /// When it wants to be asked again at the earliest, milliseconds from now.
        retry_in_ms: Option<i64>,
    },
}

/// What goes for one host.
#[derive(Clone, Debug)]
pub enum HostRules {
    /// It has a file; sitemaps as in [`Robots::sitemaps`].
    File {
        /// The rules for our robot.
        rules: AgentRules,
        /// Sitemaps that the file names.
        sitemaps: Vec<String>,
        /// Whether the file was longer than what is read of one.
        cut: bool,
    },
    /// It has none, so that all may be read.
    Open(String),
    /// Nobody can tell now, so that nothing may be read; the sentence says why. It is no rule of the owner: it may pass.
    Unknown(String),
}

impl HostRules {
    /// What an answer says (RFC 9309, 2.3.1): no file for 4xx, nothing allowed for 5xx and for what nobody understands, such as a part of a
    /// file. A host that says 429 does not lack a file, it wants fewer requests, and is not asked for pages instead.
    pub fn of(answer: &Answer, agent: &str) -> HostRules {
        match answer {
            Answer::Status(200 | 203 | 204 | 205, body) => {
                let robots = Robots::parse(body);
                let sitemaps = robots.sitemaps.clone();
                HostRules::File { rules: robots.for_agent(agent), sitemaps, cut: robots.cut }
            }
            // They are about when it is asked, and by whom through which proxy.
            Answer::Status(status @ (407 | 408 | 425 | 429), _) => {
                HostRules::Unknown(format!("its robots.txt was answered with {status}"))
            }
            Answer::Status(status @ 400..=499, _) => {
                HostRules::Open(format!("it has no robots.txt (status {status})"))
            }
            Answer::RedirectedTooOften => {
                HostRules::Open("its robots.txt is redirected again and again".into())
            }
            Answer::Status(status, _) => {
                HostRules::Unknown(format!("its robots.txt was answered with {status}"))
            }
            Answer::Unreachable { why, .. } => {
                HostRules::Unknown(format!("its robots.txt cannot be had: {why}"))
            }
        }
    }

    /// Judges a path with its query.
    pub fn verdict(&self, path: &str) -> Verdict {
        match self {
            HostRules::File { rules, .. } => rules.verdict(path),
            HostRules::Open(_) => Verdict { allowed: true, rule: None, line: None },
            HostRules::Unknown(_) => Verdict { allowed: false, rule: None, line: None },
        }
    }

    /// Pause between two requests, milliseconds.
    pub fn delay_ms(&self) -> Option<i64> {
        match self {
            HostRules::File { rules, .. } => rules.delay_ms(),
            _ => None,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            HostRules::File { rules, sitemaps, .. } => {
                rules.bytes() + sitemaps.iter().map(String::len).sum::<usize>()
            }
            HostRules::Open(why) | HostRules::Unknown(why) => why.len(),
        }
    }
}

/// What goes for the hosts of one job.
#[derive(Debug, Default)]
pub struct RobotsCache {
    hosts: Mutex<HashMap<String, Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    /// Held while the host is asked, so that many threads ask once.
    entry: Arc<Mutex<Option<Entry>>>,
    used_at: i64,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    rules: Arc<HostRules>,
    read_at: i64,
    ask_again_at: i64,
}

impl RobotsCache {
    /// The rules of a host, by its scheme, name and port as in `https://example.com:8443`, and in how many milliseconds it is asked again;
    /// `ask` is called when none are kept that may be gone by at `now` (milliseconds). A host that cannot be reached goes by what it said last.
    pub fn rules(
        &self,
        host: &str,
        agent: &str,
        now: i64,
        ask: impl FnOnce() -> Answer,
    ) -> (Arc<HostRules>, i64) {
        let slot = self.slot(host, now);
        let mut entry = slot.lock();
        if let Some(entry) = entry.as_ref().filter(|entry| now < entry.ask_again_at && now >= entry.read_at) {
            return (Arc::clone(&entry.rules), entry.ask_again_at - now);
        }
        let answer = ask();
        let told = Arc::new(HostRules::of(&answer, agent));
        let known = !matches!(*told, HostRules::Unknown(_));
        let wanted = match answer {
            Answer::Unreachable { retry_in_ms, .. } => retry_in_ms.unwrap_or(0),
            _ => 0,
        };
        let wait = if known { ROBOTS_KEPT_MS } else { ROBOTS_RETRY_MS.max(wanted).min(ROBOTS_KEPT_MS) };
        let before = entry.take().filter(|before| !known && !matches!(*before.rules, HostRules::Unknown(_)));
        let rules = before.map_or(told, |before| before.rules);
        *entry = Some(Entry { rules: Arc::clone(&rules), read_at: now, ask_again_at: now + wait });
        drop(entry);
        self.weigh(host, rules.bytes());
        (rules, wait)
    }

    fn slot(&self, host: &str, now: i64) -> Arc<Mutex<Option<Entry>>> {
        let mut hosts = self.hosts.lock();
        if !hosts.contains_key(host) && hosts.len() >= ROBOTS_HOSTS_MAX {
            forget_oldest(&mut hosts, host);
        }
        let kept = hosts.entry(host.to_owned()).or_default();
        kept.used_at = kept.used_at.max(now);
        Arc::clone(&kept.entry)
    }

    /// Notes what a host takes, and forgets others until all of them have room.
    fn weigh(&self, host: &str, bytes: usize) {
        let mut hosts = self.hosts.lock();
        if let Some(kept) = hosts.get_mut(host) {
            kept.bytes = bytes;
        }
        let mut total: usize = hosts.values().map(|kept| kept.bytes).sum();
        while total > ROBOTS_KEPT_BYTES_MAX {
            match forget_oldest(&mut hosts, host) {
                Some(freed) => total -= freed,
                None => break,
            }
        }
    }

    /// How many hosts are kept.
    #[cfg(test)]
    fn hosts(&self) -> usize {
        self.hosts.lock().len()
    }
}

fn forget_oldest(hosts: &mut HashMap<String, Kept>, but: &str) -> Option<usize> {
    let others = hosts.iter().filter(|(name, _)| name.as_str() != but);
    let oldest =
        others.min_by_key(|(name, kept)| (kept.used_at, name.as_str())).map(|(name, _)| name.clone())?;
    hosts.remove(&oldest).map(|kept| kept.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "http://example.com";

    fn file(text: &str) -> Answer {
        Answer::Status(200, text.as_bytes().to_vec())
    }

    fn away() -> Answer {
        Answer::Unreachable { why: "it is away".into(), retry_in_ms: None }
    }

    fn allowed(answer: &Answer) -> bool {
        HostRules::of(answer, "Ingather").verdict("/a").allowed
    }

    #[test]
    fn a_host_without_a_file_is_open_and_one_that_fails_is_closed() {
        assert!(allowed(&file("")));
        assert!(allowed(&Answer::RedirectedTooOften));
        assert!(!allowed(&file("User-agent: *\nDisallow: /")));
        for status in [400, 401, 403, 404, 410, 451] {
            assert!(allowed(&Answer::Status(status, b"User-agent: *\nDisallow: /".to_vec())), "{status}");
        }
        for status in [429, 408, 500, 502, 503, 504, 599, 100, 999, 201, 206, 226, 300, 301, 304, 305, 308] {
            assert!(!allowed(&Answer::Status(status, Vec::new())), "{status}");
        }
        assert!(!allowed(&away()));
    }

    #[test]
    fn a_file_is_gone_by_for_a_day_and_then_asked_for_again() {
        let cache = RobotsCache::default();
        let closed = cache.rules(HOST, "a", 0, || file("User-agent: *\nDisallow: /")).0;
        assert!(!closed.verdict("/a").allowed);
        let kept = cache.rules(HOST, "a", ROBOTS_KEPT_MS - 1, || panic!("asked within a day")).0;
        assert!(!kept.verdict("/a").allowed);
        let fresh = cache.rules(HOST, "a", ROBOTS_KEPT_MS, || file("")).0;
        assert!(fresh.verdict("/a").allowed);
        assert!(cache.rules("https://example.com", "a", 0, || file("")).0.verdict("/a").allowed);
    }

    #[test]
    fn a_clock_that_went_back_does_not_keep_a_file_for_longer() {
        let cache = RobotsCache::default();
        cache.rules(HOST, "a", ROBOTS_KEPT_MS * 100, || file("User-agent: *\nDisallow: /"));
        assert!(cache.rules(HOST, "a", 0, || file("")).0.verdict("/a").allowed);
    }

    #[test]
    fn a_host_that_cannot_be_reached_goes_by_what_it_said_last() {
        let cache = RobotsCache::default();
        cache.rules(HOST, "a", 0, || file("User-agent: *\nDisallow: /private"));
        let later = cache.rules(HOST, "a", ROBOTS_KEPT_MS, away).0;
        assert!(later.verdict("/public").allowed);
        assert!(!later.verdict("/private").allowed);
        let again =
            cache.rules(HOST, "a", ROBOTS_KEPT_MS + ROBOTS_RETRY_MS, || file("User-agent: *\nDisallow: /")).0;
        assert!(!again.verdict("/public").allowed);
    }

    #[test]
    fn a_host_that_was_never_reached_is_asked_again_soon() {
        let cache = RobotsCache::default();
        let first = cache.rules(HOST, "a", 0, || Answer::Status(503, Vec::new())).0;
        assert!(matches!(*first, HostRules::Unknown(_)));
        cache.rules(HOST, "a", ROBOTS_RETRY_MS - 1, || panic!("asked too soon"));
        assert!(cache.rules(HOST, "a", ROBOTS_RETRY_MS, || file("")).0.verdict("/a").allowed);
    }

    #[test]
    fn the_host_that_was_used_longest_ago_makes_room() {
        let cache = RobotsCache::default();
        for number in 0..ROBOTS_HOSTS_MAX as i64 {
            cache.rules(&format!("http://h{number}"), "a", number, || file(""));
        }
        cache.rules("http://h0", "a", ROBOTS_HOSTS_MAX as i64, || panic!("h0 is kept"));
        cache.rules("http://new", "a", ROBOTS_HOSTS_MAX as i64, || file(""));
        assert_eq!(cache.hosts(), ROBOTS_HOSTS_MAX);
        cache.rules("http://h0", "a", ROBOTS_HOSTS_MAX as i64, || panic!("h0 was used last"));
        let mut asked = false;
        cache.rules("http://h1", "a", ROBOTS_HOSTS_MAX as i64, || {
            asked = true;
            file("")
        });
        assert!(asked);
    }

    #[test]
    fn large_files_of_many_hosts_do_not_pile_up() {
        let cache = RobotsCache::default();
        let large = format!("User-agent: *\n{}", "Disallow: /aaaaaaaaaaaaaaaa\n".repeat(18_000));
        for number in 0..40 {
            cache.rules(&format!("http://h{number}"), "a", number, || file(&large));
        }
        let kept: usize = cache.hosts.lock().values().map(|kept| kept.bytes).sum();
        assert!(
            kept <= ROBOTS_KEPT_BYTES_MAX && (2..40).contains(&cache.hosts()),
            "{kept} bytes of {} hosts",
            cache.hosts()
        );
    }

    #[test]
    fn many_threads_ask_a_host_once() {
        let cache = RobotsCache::default();
        let asked = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    cache.rules(HOST, "a", 0, || {
                        asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        file("")
                    });
                });
            }
        });
        assert_eq!(asked.into_inner(), 1);
    }
}
