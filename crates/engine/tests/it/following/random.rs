//! Random sites beside a naive reader, with processes that die at any read.

use std::collections::{BTreeMap, BTreeSet};

use ingather_model::fault::Fault;
use ingather_testkit::database::Kind;
use ingather_testkit::script_repository::site::{Answer, Page, Site};
use ingather_testkit::together::site::{site, world_of_a_site};
use ingather_testkit::world::FULL;

use super::held;

/// Numbers that look drawn.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }
}

/// What a naive reader of the site knows: texts that are to be held, and where pages led when they were visited last.
#[derive(Default)]
struct Naive {
    texts: BTreeMap<String, String>,
    led: BTreeMap<String, BTreeSet<String>>,
}

impl Naive {
    fn run(&mut self, site: &Site) {
        let mut reached: BTreeSet<String> = site.seeds.iter().cloned().collect();
        let mut left: Vec<String> = site.seeds.clone();
        while let Some(name) = left.pop() {
            let before = self.led.get(&name).cloned().unwrap_or_default();
            let page = site.pages.get(&name);
            let now: BTreeSet<String> =
                page.map(|page| page.links.iter().cloned().collect()).unwrap_or_default();
            let leads = match page.map(|page| &page.answer) {
                None => before,
                Some(Answer::Text) => {
                    self.texts.insert(name.clone(), page.unwrap().text.clone());
                    now
                }
                Some(Answer::NoEntry) => {
                    self.texts.remove(&name);
                    now
                }
                // Within the hour: what is held stays, and so do the links.
                Some(Answer::ForNow) => before.union(&now).cloned().collect(),
                Some(Answer::CutOff) => {
                    self.texts.insert(name.clone(), page.unwrap().text.clone());
                    let links = &page.unwrap().links;
                    before.union(&links[..links.len() / 2].iter().cloned().collect()).cloned().collect()
                }
                Some(Answer::Fault(Fault::Gone)) => {
                    self.texts.remove(&name);
                    BTreeSet::new()
                }
                Some(Answer::Fault(_)) => before,
            };
            left.extend(leads.iter().filter(|name| reached.insert((*name).clone())).cloned());
            self.led.insert(name, leads);
        }
        self.texts.retain(|name, _| reached.contains(name));
        self.led.retain(|name, _| reached.contains(name));
    }
}

fn change(dice: &mut Dice, site: &mut Site, round: u64) {
    for _ in 0..dice.roll(6) {
        let name = format!("h{}/{}", dice.roll(2), dice.roll(7));
        let links = (0..dice.roll(4)).map(|_| format!("h{}/{}", dice.roll(2), dice.roll(7))).collect();
        let text = format!("{name} {round} {}", dice.roll(3));
        let answer = match dice.roll(9) {
            0 => Answer::NoEntry,
            1 => Answer::CutOff,
            8 => Answer::ForNow,
            2 => Answer::Fault(Fault::Gone),
            3 => Answer::Fault(Fault::broken("html", "it is no page")),
            4 => Answer::Fault(Fault::passing_soon("away", "the server is away", 2)),
            _ => Answer::Text,
        };
        match dice.roll(5) {
            0 => drop(site.pages.remove(&name)),
            1 => site.page(&name).answer = answer,
            _ => drop(site.pages.insert(name, Page { text, links, answer, ..Page::default() })),
        }
    }
    site.forgetful = dice.roll(4) == 0;
}

/// Sites that change at random, whose pages fail, are cut off, are missing, or gone, and processes that die at any read.
#[test]
fn random_sites_are_held_as_a_naive_reader_has_them() {
    for seed in 1..=80_u64 {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut world = world_of_a_site(if seed % 20 == 0 { Kind::Postgres } else { Kind::Sqlite });
        let mut naive = Naive::default();
        site(&world, |site| site.seeds = vec!["h0/0".to_owned(), "h1/1".to_owned()]);
        for round in 0..6 {
            site(&world, |site| change(&mut dice, site, round));
            if dice.roll(3) == 0 {
                world.crash.arm("before read", 1 + dice.roll(8));
                drop(world.run("docs", FULL));
                world.reopen();
            }
            // Within the hour: what is missing is never believed.
            world.run("docs", FULL).unwrap();
            site(&world, |site| naive.run(site));
            if held(&world) != naive.texts {
                let pages = site(&world, |site| {
                    format!("{:#?}\n{:?} {:?}", site.pages, site.visited, site.forgetful)
                });
                panic!(
                    "seed {seed}, round {round}: {pages}\n{:?}\n{:#?}\n{:?}\n{:?}",
                    world.documents("docs"),
                    naive.led,
                    held(&world),
                    naive.texts
                );
            }
        }
    }
}
