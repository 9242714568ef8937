//! What bounds against sites without end left out: counted, and named when a run ends.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use ingather_model::fault::Reason;
use ingather_model::limits;
use parking_lot::Mutex;
use url::Url;

use crate::scope::TrapSettings;

/// What one bound left out.
#[derive(Debug, Default)]
struct Of {
    /// Digests of the addresses.
    addresses: HashSet<u64>,
    is_more: bool,
    /// The first of them, and why.
    first: Option<(String, String)>,
}

/// All that was left out, by the settings that did it.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    by_setting: Mutex<BTreeMap<&'static str, Of>>,
    hashing: RandomState,
}

impl LeftOut {
    /// Notes an address that is not followed, where a bound is why.
    pub(super) fn note(&self, url: &Url, reason: &Reason) {
        let Some(setting) = TrapSettings::setting_of(&reason.code) else { return };
        let mut all = self.by_setting.lock();
        let of = all.entry(setting).or_default();
        match of.addresses.len() < limits::WEB_LEFT_OUT_COUNTED_MAX {
            true => drop(of.addresses.insert(self.hashing.hash_one(url.as_str()))),
            false => of.is_more = true,
        }
        of.first.get_or_insert_with(|| (url.to_string(), reason.message.clone()));
    }

    /// One sentence for each bound.
    pub(super) fn notes(&self) -> Vec<String> {
        let all = self.by_setting.lock();
        let sentence = |(setting, of): (&&str, &Of)| {
            let (first, why) = of.first.as_ref()?;
            let count = of.addresses.len();
            let many = match (count, of.is_more) {
                (1, false) => "1 address was".to_owned(),
                (_, false) => format!("{count} addresses were"),
                (_, true) => format!("more than {count} addresses were"),
            };
            Some(format!("{many} not followed by the bound `{setting}` of `traps`, such as {first}: {why}"))
        };
        all.iter().filter_map(sentence).collect()
    }
}
