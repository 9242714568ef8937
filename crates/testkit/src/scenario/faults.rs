//! Deeds that make things go wrong: outputs that misbehave, and places where a process dies, stops or is replaced.

use ingather_model::fault::{Exhausted, Fault, Reason};

use super::Play;
use super::steps::number;
use crate::crash::POINTS;
use crate::memory_output::{Effect, InjectedFault, Shelf, locked};

impl Play {
    /// `fault one passing a.txt 2`, `fault one refused a.txt`, `fault one busy`, `fault one busy:SECONDS`, `fault one short | double | commit | forgets | forgets:N |
    /// gone | back | older | cut | rotated | slow:MS | fine`; `timeout` and `late` are taken all the same, at once or later; `missed` is answered,
    /// and whoever follows an output that is told who may see lacks it.
    pub(super) fn fault(&mut self, rest: &str) -> Result<(), String> {
        let words: Vec<&str> = rest.split_whitespace().collect();
        let shelf = self.world.shelves.get(words[0]).ok_or("there is no such output")?;
        let mut shelf = locked(shelf);
        let what = *words.get(1).ok_or("what goes wrong?")?;
        let mut effect = Effect::None;
        let fault = match what {
            "short" => {
                shelf.short_answers += 1;
                return Ok(());
            }
            "double" => {
                shelf.double_answers += 1;
                return Ok(());
            }
            "commit" => {
                shelf.failing_commits += 1;
                return Ok(());
            }
            "forgets" | "cut" | "rotated" | "older" => {
                become_another(&mut shelf, what);
                return Ok(());
            }
            "gone" | "back" => {
                shelf.is_away = what == "gone";
                return Ok(());
            }
            "fine" => {
                shelf.faults.clear();
                return Ok(());
            }
            "timeout" | "late" => {
                effect = if what == "late" { Effect::Late } else { Effect::AtOnce };
                Fault::passing("timeout", "the output did not answer in time")
            }
            "missed" => {
                effect = Effect::Missed;
                Fault::passing("missed", "nobody is told of this")
            }
            "passing" => Fault::passing("away", "the output is away"),
            "keeping" => Fault::Passing {
                reason: Reason::new("away", "the output is away"),
                retry_in_ms: None,
                attempts_max: None,
                give_up_at: None,
                when_exhausted: Exhausted::Keep,
            },
            "busy" => busy(2),
            "refused" => Fault::refused("mapping", "the output does not take it"),
            "broken" => Fault::broken("mapping", "the output does not understand it"),
            word if word.starts_with("busy:") => busy(number(&word["busy:".len()..])?),
            word if word.starts_with("forgets:") => {
                shelf.forgets_after = Some(number(&word["forgets:".len()..])?);
                return Ok(());
            }
            slow => {
                let millis =
                    slow.strip_prefix("slow:").ok_or_else(|| format!("an output has no `{slow}`"))?;
                shelf.slow_ms = number(millis)?;
                return Ok(());
            }
        };
        let name = words.get(2).copied().filter(|name| *name != "*").unwrap_or_default().to_owned();
        let times = words.get(3).map_or(Ok(u32::MAX), |times| number(times))?;
        shelf.faults.push(InjectedFault { name, fault, times, effect });
        Ok(())
    }

    pub(super) fn arm(&mut self, word: &str, rest: &str) -> Result<(), String> {
        let words: Vec<&str> = rest.split_whitespace().collect();
        let (when, point) = match words[..] {
            [when, point, ..] if ["before", "mid", "after"].contains(&when) => (when, point),
            _ => return Err("before, mid or after what?".to_owned()),
        };
        // One page of a site: `read:a`.
        if !POINTS.contains(&point.split(':').next().unwrap_or_default()) {
            return Err(format!("there is no place `{point}`"));
        }
        let nth = words.get(2).map_or(Ok(1), |nth| number(nth))?;
        let point = format!("{when} {point}");
        let keep = match words[..] {
            [_, _, _, "power", keep] => Some(number(keep)?),
            [_, _] | [_, _, _] => None,
            _ => return Err("a place has a number, and `power` one more".to_owned()),
        };
        match (word, keep) {
            ("crash", Some(keep)) => self.world.crash.lose_power(&point, nth, keep),
            ("crash", None) => self.world.crash.arm(&point, nth),
            ("takeover" | "standstill", _) => self.world.crash.take_over(&point, nth, word == "standstill"),
            _ => self.world.crash.stop_at(&point, nth, self.world.engine().cancel.clone()),
        }
        Ok(())
    }
}

/// An output that names the time of the next attempt, seconds from now.
fn busy(seconds: i64) -> Fault {
    Fault::Passing {
        reason: Reason::new("busy", "too many requests"),
        retry_in_ms: Some(seconds * 1_000),
        attempts_max: None,
        give_up_at: None,
        when_exhausted: Exhausted::Keep,
    }
}

/// It is not the output any more that it was.
fn become_another(shelf: &mut Shelf, how: &str) {
    match how {
        "forgets" => shelf.forget(),
        "cut" => shelf.cut(),
        "rotated" => shelf.rotate(),
        _ => shelf.go_back(),
    }
}
