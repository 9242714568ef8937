//! Deeds around a site, whose pages are found by following links.
//!
//! ```text
//! job docs over=site to=one        a job over the site; its pages have addresses as files have
//! site seeds a+b                   where to begin; `seeds broken_off:1`: naming them breaks off after one, `seeds whole`
//! site a v1 leads:b+c, b v1        pages with texts and links; one that was never put is missing
//! site a leads:, b access:anna     a page changes; what is not said stays
//! site a redirects:b hands:x+y     it leads to a page by the other relation, and hands something down to all that it leads to
//! site a canonical:b | moved:b     it is found at that page, with a text of its own or without
//! site a named                     it names pages with their versions
//! site a failing:3 | broken | missing | gone | shut | no_entry | for_now | left_out | cut_off | sound
//!                                  so often it cannot be read, it is no page, 404, 410, 401, it leads on without an entry, the same for now,
//!                                  a rule leaves it out, half of its links are found, it is there
//! site b after:e+f, a begins:e, c completes:e
//!                                  who leads to `b` says that it comes after these events; the visit of `a` begins one, or comes again
//!                                  after it; that of `c` completes it; `job/e` and `connection/e` are events of one job or connection,
//!                                  and nothing behind the colon takes it back
//! site a again:e | again:          its next visit comes again after that event, or at once
//! free global:e                    a person frees an event, `free all` all that are pending; `expect events: global:e, job:docs:f` are those
//! site all forgetful               no page says that it is as before; `all remembering`
//! site all versioned               versions stand for all that pages say, and not for their texts alone; a page that answers otherwise than
//!                                  with its text is named without one
//! crash before read:a              the process dies when it asks for that page
//! expect visited: a, b, b          pages that were asked for since this was asked last; `expect order: b, a, b`: as they were;
//!                                  `expect as_before: 1`: so many said so
//! ```

use ingather_model::fault::Fault;
use ingather_model::limits;
use ingather_store::events;

use super::Play;
use super::dated;
use super::steps::{acl, number};
use crate::script_repository::site::{Answer, Page, Site};
use crate::together::site::site;

impl Play {
    pub(super) fn change_site(&mut self, rest: &str) -> Result<(), String> {
        site(&self.world, |site| {
            for item in rest.split(", ") {
                let mut words = item.split_whitespace();
                let name = words.next().ok_or("a name is missing")?;
                words.try_for_each(|word| change(site, name, word))?;
            }
            Ok(())
        })
    }

    /// A person frees an event, or all that are pending.
    pub(super) fn free(&self, name: &str) -> Result<(), String> {
        if name == "all" {
            return self.events().iter().try_for_each(|event| self.free(event));
        }
        match self.world.engine().free_event(name).map_err(|error| error.to_string())? {
            true => Ok(()),
            false => Err(format!("the event {name} is not pending")),
        }
    }

    /// Events that are pending.
    pub(super) fn events(&self) -> Vec<String> {
        let pending = self.world.engine().reader.read(|sql| events::list(sql, limits::EVENTS_SHOWN_MAX));
        pending.expect("the store answers").into_iter().map(|event| event.name).collect()
    }

    /// Pages that were asked for since this was asked last, in order.
    pub(super) fn order(&self) -> Vec<String> {
        site(&self.world, |site| std::mem::take(&mut site.visited))
    }

    /// Pages that were asked for since this was asked last, each as often as it was.
    pub(super) fn visited(&self) -> Vec<String> {
        let mut visited = self.order();
        visited.sort();
        visited
    }

    /// How many of them said that they are as before.
    pub(super) fn as_before(&self) -> usize {
        site(&self.world, |site| std::mem::take(&mut site.unchanged))
    }
}

/// Why a page is shut.
pub(super) const SHUT: &str = "it wants a password now";

fn names(text: &str) -> Vec<String> {
    text.split('+').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn change(site: &mut Site, name: &str, word: &str) -> Result<(), String> {
    match (name, word.split_once(':')) {
        ("seeds", Some(("broken_off", after))) => site.seeding_fails_after = Some(number(after)?),
        ("seeds", None) if word == "whole" => site.seeding_fails_after = None,
        ("seeds", None) => site.seeds = names(word),
        ("all", None) if word == "forgetful" => site.forgetful = true,
        ("all", None) if word == "remembering" => site.forgetful = false,
        ("all", None) if word == "versioned" => site.versioned = true,
        ("seeds" | "all", _) => return Err(format!("{name} have no `{word}`")),
        _ => change_page(site.page(name), word)?,
    }
    Ok(())
}

fn change_page(page: &mut Page, word: &str) -> Result<(), String> {
    if dated::change(&mut page.dates, word)? {
        return Ok(());
    }
    match word.split_once(':') {
        Some(("leads", to)) => page.links = names(to),
        Some(("redirects", to)) => page.redirects = names(to),
        Some((word @ ("canonical" | "moved"), to)) => {
            (page.redirects, page.failing) = (names(to), 0);
            page.answer = Answer::InPlace(to.to_owned(), word == "canonical");
        }
        Some(("hands", what)) => page.hands = names(what).into_iter().collect(),
        Some(("access", who)) => page.acl = Some(acl(who)),
        Some(("failing", times)) => page.failing = number(times)?,
        Some(("after", events)) => page.after = names(events),
        Some(("begins", event)) => page.begins = Some(event.to_owned()).filter(|event| !event.is_empty()),
        Some(("completes", event)) => {
            page.completes = Some(event.to_owned()).filter(|event| !event.is_empty())
        }
        Some(("again", event)) => page.again = vec![event.to_owned()],
        Some(_) => return Err(format!("a page has no `{word}`")),
        None if word.starts_with('v') => page.text = word.to_owned(),
        None => {
            page.answer = match word {
                "broken" => Answer::Fault(Fault::broken("html", "it is no page")),
                "missing" => Answer::Fault(Fault::missing()),
                "gone" => Answer::Fault(Fault::Gone),
                "shut" => Answer::Fault(Fault::unreadable(SHUT)),
                "named" => {
                    page.versions = true;
                    return Ok(());
                }
                "no_entry" => Answer::NoEntry,
                "for_now" => Answer::ForNow,
                "left_out" => Answer::Fault(Fault::refused("rule", "a rule leaves it out")),
                "cut_off" => Answer::CutOff,
                "sound" => Answer::Text,
                _ => return Err(format!("a page has no `{word}`")),
            };
            page.failing = 0;
        }
    }
    Ok(())
}
