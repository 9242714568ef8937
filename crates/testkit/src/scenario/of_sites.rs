//! What must hold of a job over a site, by its naive reader: see `reader`.

use std::collections::{BTreeMap, BTreeSet};

use ingather_engine::Report;
use ingather_model::access::{Acl, Tokens};
use ingather_model::fault::Fault;
use ingather_model::job::RunKind;
use ingather_store::jobs::Job;
use ingather_store::runs;

use super::Play;
use super::invariants::{USERS, tokens};
use super::oracle;
use super::reader::Reached;
use super::sight::{Names, Sight};
use crate::script_repository::site::{Answer, Page, Site};
use crate::script_repository::{File, Source};

/// Text and mark of an entry.
type Is = (String, Option<String>);

/// What a job wants of a page in one of its outputs; none where a rule leaves it out.
fn wanted(job: &Job, output: &str, page: &Page) -> Option<Is> {
    let file = File { content: page.text.clone(), ..Source::default().file("page").clone() };
    let entries = oracle::wanted(job, output, &file).entries().into_iter();
    entries.filter(|entry| entry.suffix.is_empty()).find_map(|entry| entry.is)
}

/// Whether the site lets somebody with these tokens read a page.
fn permits(page: &Page, tokens: &Tokens) -> bool {
    page.answer != Answer::Fault(shut()) && page.acl.as_ref().unwrap_or(&Acl::open()).admits(tokens)
}

fn shut() -> Fault {
    Fault::unreadable(super::site::SHUT)
}

/// Every text that somebody may find now, with who.
pub(super) fn permitted(site: &Site) -> impl Iterator<Item = (&'static str, String, String)> {
    let pages = site.pages.iter().filter(|(_, page)| page.has_text());
    pages.flat_map(|(name, page)| {
        let users = USERS.iter().filter(|user| permits(page, &tokens(user)));
        users.map(|user| (*user, name.clone(), page.text.clone()))
    })
}

/// What is asked of a job after a run that came to its end.
struct Asked<'a> {
    job: &'a Job,
    output: &'a str,
    reached: &'a Reached,
    /// What is not there had to go.
    removes: bool,
    /// Nothing has failed: whoever may find something does.
    shows: bool,
}

impl Play {
    /// Why a page had to stay in an output, if it had to.
    pub(super) fn left_wrongly(
        &self,
        (job, output): (&Job, &str),
        name: &str,
        (acts, word): (bool, &str),
    ) -> Option<String> {
        if !acts {
            return Some(format!("which {} still owns", job.name));
        }
        // What a run has held goes whatever it answers: that it was held is asked elsewhere.
        if word == "confirm" {
            return None;
        }
        let Some(reached) = self.readers.reached(&job.name) else {
            return Some(format!("and no run of {} has looked", job.name));
        };
        let is_left_out =
            |sight: &Sight| sight.with_text(name).is_some_and(|page| wanted(job, output, page).is_none());
        let stays = reached.stays(name) && !reached.sights.iter().any(is_left_out);
        stays.then(|| format!("which can be reached by {}", job.name))
    }

    /// A run that came to its end leaves its outputs exact for what it reached, whatever failed of the rest, where no output hindered it.
    pub(super) fn exact_of_a_site(&self, job: &Job, report: &Report, found: &mut Vec<String>) {
        let Some(reached) = self.readers.reached(&job.name).filter(|reached| reached.is_done) else { return };
        let counts = &report.counts;
        if reached.hindered && (counts.has_failures() || reached.sights.len() > 2) {
            return;
        }
        let last = self.world.engine().reader.read(|sql| runs::list(sql, job.id, 1));
        let is_full = last.expect("the store answers").first().is_some_and(|run| run.kind == RunKind::Full);
        let removes = is_full && report.blind.is_empty() && counts.held + counts.kept == 0;
        let shows = removes && !counts.has_failures();
        for output in &job.definition.outputs {
            self.exact_in(&Asked { job, output, reached, removes, shows }, found);
        }
    }

    fn exact_in(&self, asked: &Asked<'_>, found: &mut Vec<String>) {
        let Asked { job, output, reached, removes, .. } = asked;
        let claims = self.claims();
        let (entries, missed) = (self.world.entries(output), self.world.missed(output));
        let is_shared = |name: &str| {
            claims.iter().any(|claim| claim.job != job.name && claim.entry == name && claim.output == *output)
        };
        let sees: Vec<Vec<String>> = USERS.iter().map(|user| self.world.sees(user, output)).collect();
        for name in reached.certain.iter().filter(|name| !missed.contains(*name)) {
            let pages: Option<Vec<&Page>> = reached.sights.iter().map(|sight| sight.readable(name)).collect();
            self.visible(asked, (name, is_shared(name)), &sees, found);
            let Some(pages) = pages else { continue };
            let wanted: BTreeSet<Option<Is>> = pages.iter().map(|page| wanted(job, output, page)).collect();
            let held = entries.get(name).map(|entry| (entry.text.clone(), entry.mark.clone()));
            let is_as = |one: &Option<Is>| match (one, &held) {
                (Some(one), Some(held)) => one.0 == held.0 && (one.1 == held.1 || is_shared(name)),
                (None, Some(_)) => is_shared(name),
                (one, None) => one.is_none(),
            };
            if !wanted.iter().any(is_as) {
                found.push(format!("{output} holds {name} as {held:?}, and {} has met {wanted:?}", job.name));
            }
            if let Some(entry) = entries.get(name).filter(|_| !is_shared(name)) {
                let handed: Names = entry.handed.iter().cloned().collect();
                let of = |all: &BTreeMap<String, Names>| all.get(name).cloned().unwrap_or_default();
                let (least, most) = (of(&reached.handed.0), of(&reached.handed.1));
                if !(least.is_subset(&handed) && handed.is_subset(&most)) {
                    found
                        .push(format!("{output} holds {name}, handed {handed:?}, not {least:?} to {most:?}"));
                }
            }
        }
        // What is erased goes by itself: see `erased_stay`.
        let goes = |name: &&String| {
            !is_shared(name) && !missed.contains(*name) && !self.erased.is_erased(&job.name, name)
        };
        let is_page = |name: &&String| reached.sights.iter().any(|sight| sight.pages.contains_key(*name));
        let over = entries.keys().filter(|name| *removes && is_page(name) && goes(name));
        found.extend(
            over.filter(|name| !reached.may_be_held(name)).map(|name| format!("{output} still holds {name}")),
        );
    }

    /// Who finds a page that was met just as it is now.
    fn visible(
        &self,
        asked: &Asked<'_>,
        (name, is_shared): (&str, bool),
        sees: &[Vec<String>],
        found: &mut Vec<String>,
    ) {
        let Asked { job, output, reached, shows, .. } = asked;
        let access = |sight: &Sight| {
            let page = sight.pages.get(name)?;
            // What another owner shows it lets go of when it looks itself.
            let is_shut = sight.answer(name) == Answer::Fault(shut()) && page.failing == 0 && !is_shared;
            let is_known = sight.readable(name).is_some() || is_shut;
            is_known.then(|| USERS.iter().map(|user| permits(page, &tokens(user))).collect::<Vec<bool>>())
        };
        let met: Option<BTreeSet<Vec<bool>>> = reached.sights.iter().map(access).collect();
        let Some(met) = met.filter(|met| met.len() == 1) else { return };
        let is_held = self.world.entries(output).contains_key(name);
        for ((user, sees), may) in USERS.iter().zip(sees).zip(met.into_iter().flatten()) {
            // What another owner has not confirmed yet narrows it, and what is erased and still held keeps all closed.
            let is_narrowed = may && (is_shared || !shows || self.erases(job));
            if is_held && may != sees.contains(&name.to_owned()) && !is_narrowed {
                found.push(format!("`{user}` may see {name} in {output}: {may}, and finds it: {}", !may));
            }
        }
    }

    /// What a job over a site has of it once all is put right.
    pub(super) fn wanted_of_a_site(&self, job: &Job, output: &str) -> BTreeMap<String, Is> {
        let sight = self.sight_at_rest(job);
        let of = |name: String| {
            let is = wanted(job, output, sight.readable(&name)?)?;
            Some((name, is))
        };
        sight.reachable().into_iter().filter_map(of).collect()
    }

    /// What may be in outputs besides: it was once near enough, may have expired, or stands for a page that is none.
    pub(super) fn unsure_of_a_site(&self, job: &Job) -> Names {
        let sight = self.sight_at_rest(job);
        let in_place = sight.pages.iter().filter(|(_, page)| matches!(page.answer, Answer::InPlace(..)));
        let mut unsure = &(&sight.reachable_or_kept() - &sight.reachable()) | &sight.perhaps_expired;
        unsure.extend(in_place.map(|(name, _)| name.clone()));
        unsure
    }

    /// Pages that were handed something else than what leads to them hands down.
    pub(super) fn handed_otherwise(&self, job: &Job, output: &str) -> Vec<String> {
        let sight = self.sight_at_rest(job);
        let reached = sight.reachable();
        // What stays although it is too far hands down what it does, too.
        let (least, most) = (sight.handed(&reached), sight.handed(&sight.reachable_or_kept()));
        let entries = self.world.entries(output).into_iter();
        let told = entries.filter(|(name, _)| reached.contains(name)).filter_map(|(name, entry)| {
            let handed: Names = entry.handed.into_iter().collect();
            let of = |all: &BTreeMap<String, Names>| all.get(&name).cloned().unwrap_or_default();
            let (least, most) = (of(&least), of(&most));
            let differs = !(least.is_subset(&handed) && handed.is_subset(&most));
            let wanted = format!("{least:?} to {most:?}");
            differs.then(|| format!("at rest, {output} holds {name}, handed {handed:?}, not {wanted}"))
        });
        told.collect()
    }

    /// Who may see a page that is there now; none where no page is.
    pub(super) fn may_see_page(&self, name: &str, user: &str) -> Option<bool> {
        let page = crate::together::site::site(&self.world, |site| site.pages.get(name).cloned())?;
        Some(permits(&page, &tokens(user)))
    }
}
