//! Deeds around a site, whose pages are found by following links.
//!
//! ```text
//! job docs over=site to=one        a job over the site; its pages have addresses as files have
//! site seeds a+b                   where to begin; `seeds broken_off:1`: naming them breaks off after one, `seeds whole`
//! site a v1 leads:b+c, b v1        pages with texts and links; one that was never put is missing
//! site a leads:, b access:anna     a page changes; what is not said stays
//! site a failing:3 | broken | missing | gone | shut | no_entry | cut_off | sound
//!                                  so often it cannot be read, it is no page, 404, 410, 401, it leads on without an entry, half of its
//!                                  links are found, it is there
//! site all forgetful               no page says that it is as before; `all remembering`
//! crash before read:a              the process dies when it asks for that page
//! expect visited: a, b, b          pages that were asked for since this was asked last; `expect as_before: 1`: so many said so
//! ```

use ingather_model::fault::Fault;

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

    /// Pages that were asked for since this was asked last, each as often as it was.
    pub(super) fn visited(&self) -> Vec<String> {
        let mut visited = site(&self.world, |site| std::mem::take(&mut site.visited));
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
        Some(("access", who)) => page.acl = Some(acl(who)),
        Some(("failing", times)) => page.failing = number(times)?,
        Some(_) => return Err(format!("a page has no `{word}`")),
        None if word.starts_with('v') => page.text = word.to_owned(),
        None => {
            page.answer = match word {
                "broken" => Answer::Fault(Fault::broken("html", "it is no page")),
                "missing" => Answer::Fault(Fault::missing()),
                "gone" => Answer::Fault(Fault::Gone),
                "shut" => Answer::Fault(Fault::unreadable(SHUT)),
                "no_entry" => Answer::NoEntry,
                "cut_off" => Answer::CutOff,
                "sound" => Answer::Text,
                _ => return Err(format!("a page has no `{word}`")),
            };
            page.failing = 0;
        }
    }
    Ok(())
}
