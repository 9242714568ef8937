//! What clients ask, read from the words of a scenario.

use super::super::steps::{acl, number};
use super::Pushes;
use crate::together::pushing::{Ask, Claimed, Is, Pushed, Request, Version};

/// How long a delta run is its client's where a scenario says nothing else, seconds.
const LEASE_SECONDS: i64 = 300;

impl Pushes {
    /// A call, from the line of a scenario without its first word.
    pub(super) fn read(&mut self, word: &str, rest: &str) -> Result<Request, String> {
        let (source, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let ask = match word {
            "push" => Ask::Push(records(rest)?),
            "unlock" => Ask::Unlock,
            "clear" => Ask::Clear,
            "renew" => Ask::Renew,
            _ => self.of_delta(source, rest)?,
        };
        Ok(Request { source: source.to_owned(), ask })
    }

    fn of_delta(&mut self, source: &str, rest: &str) -> Result<Ask, String> {
        let mut words = rest.splitn(3, ' ');
        let client = words.next().ok_or("which client?")?;
        let word = words.next().ok_or("what does it ask?")?;
        let rest = words.next().unwrap_or_default();
        let claimed = self.claimed(source, client);
        Ok(match word {
            "open" => {
                let lease = rest.split_whitespace().find_map(|word| word.strip_prefix("lease:"));
                let lease_ms = 1_000 * lease.map_or(Ok(LEASE_SECONDS), number)?;
                self.tokens += 1;
                let token = format!("{client} {}", self.tokens);
                Ask::Open { is_additive: rest.contains("additive"), lease_ms, token }
            }
            "check" => {
                let of = |item: &str| {
                    let (key, hash) = item.split_once(':').unwrap_or((item, ""));
                    (key.to_owned(), Some(hash.to_owned()).filter(|hash| !hash.is_empty()))
                };
                Ask::Check(claimed, items(rest).map(of).collect())
            }
            "push" => Ask::PushWithin(claimed, records(rest)?),
            "touch" => Ask::Touch(claimed, items(rest).flat_map(keys).collect()),
            "finish" => Ask::Finish(claimed, !rest.contains("incomplete"), rest.contains("confirm")),
            "delete" => Ask::DeleteObsolete(claimed, rest.contains("confirm")),
            "rollback" => Ask::RollBack(claimed),
            _ => return Err(format!("a client has no `{word}`")),
        })
    }

    /// What a client shows: of its last delta run, or of none.
    fn claimed(&self, source: &str, client: &str) -> Claimed {
        let (client, how) = client.split_once(':').unwrap_or((client, ""));
        let none = || Claimed { epoch: 1, token: "none".to_owned() };
        let known = self.claims.get(&(source.to_owned(), client.to_owned()));
        let nth = |back: usize| known.and_then(|known| known.iter().rev().nth(back)).cloned();
        match how {
            "old" => nth(1).or_else(|| nth(0)).unwrap_or_else(none),
            "wrong" => Claimed { token: "wrong".to_owned(), ..nth(0).unwrap_or_else(none) },
            _ => nth(0).unwrap_or_else(none),
        }
    }
}

fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(", ").filter(|item| !item.is_empty())
}

/// `a`, or `a[1-3]` for `a1`, `a2` and `a3`.
fn keys(text: &str) -> Vec<String> {
    let range = text.strip_suffix(']').and_then(|text| text.split_once('['));
    let range = range.and_then(|(name, range)| Some((name, range.split_once('-')?)));
    let range = range.and_then(|(name, (from, to))| Some((name, from.parse().ok()?, to.parse().ok()?)));
    match range {
        Some((name, from, to)) => (from..=to).map(|n: u32| format!("{name}{n}")).collect(),
        None => vec![text.to_owned()],
    }
}

fn records(text: &str) -> Result<Vec<Pushed>, String> {
    let mut records = Vec::new();
    for item in items(text) {
        let mut words = item.split_whitespace();
        let name = words.next().ok_or("a record has a key")?;
        let mut version = Version { text: String::new(), acl: None, hash: None, if_changed: false };
        let (mut is, mut number_of) = (None, None);
        for word in words {
            match word.split_once(':') {
                Some(("access", who)) => version.acl = Some(acl(who)),
                Some(("version", number)) => number_of = Some(super::super::steps::number(number)?),
                Some(("hash", hash)) => version.hash = Some(hash.to_owned()),
                None if word == "if_changed" => version.if_changed = true,
                None if word == "gone" => is = Some(Is::Gone),
                None if word == "bad" => is = Some(Is::Bad),
                None if word.starts_with('v') => version.text = word.to_owned(),
                _ => return Err(format!("a record has no `{word}`")),
            }
        }
        let is = is.unwrap_or(Is::There(version));
        let of = |key| Pushed { key, is: is.clone(), version: number_of };
        records.extend(keys(name).into_iter().map(of));
    }
    Ok(records)
}
