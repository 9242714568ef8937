//! What documents hand down to those that they lead to, and how far a job goes: beside naive readers.

use std::collections::{BTreeMap, BTreeSet};

use ingather_model::fault::Fault;
use ingather_model::job::hops::Hops;
use ingather_testkit::database::Kind;
use ingather_testkit::script_repository::site::{Answer, Page, Site};
use ingather_testkit::together::gate::Gate;
use ingather_testkit::together::site::{site, world_of_a_site};
use ingather_testkit::world::{FULL, World};
use serde_json::json;

fn run(world: &World) {
    assert_eq!(world.run("docs", FULL).unwrap().error, None);
}

/// What each page was handed when it was sent.
fn handed(world: &World) -> BTreeMap<String, Vec<String>> {
    world.entries("one").into_iter().map(|(name, entry)| (name, entry.handed)).collect()
}

/// Who is handed something while its visit is under way is visited once more when that is over (coverage S3.156–S3.158).
#[test]
fn a_page_that_is_being_visited_is_visited_once_more_when_it_is_handed_something() {
    let world = world_of_a_site(Kind::Sqlite);
    let (gate, first) = (Gate::default(), Gate::default());
    site(&world, |site| {
        site.seeds = vec!["x/a".to_owned(), "y/d".to_owned()];
        site.put("x/a", "a", &["y/d"]);
        site.page("x/a").hands = BTreeSet::from(["now".to_owned()]);
        site.put("y/d", "d", &[]);
        site.gates.insert("y/d".to_owned(), gate.clone());
        site.gates.insert("x/a".to_owned(), first.clone());
    });
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // It has asked what it is handed, and `a` hands it something meanwhile.
            gate.wait_for(1);
            first.open();
            let hands = || {
                world.engine().reader.read(|sql| {
                    ingather_store::documents::handed_down::parents(
                        sql,
                        world.find("docs").unwrap().id,
                        i64::MIN,
                        1,
                    )
                })
            };
            while hands().unwrap().is_empty() {
                std::thread::yield_now();
            }
            gate.open();
        });
        run(&world);
    });
    assert_eq!(handed(&world)["y/d"], ["now"]);
    let visits = site(&world, |site| site.visited.iter().filter(|name| *name == "y/d").count());
    assert_eq!(visits, 2);
}

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

fn change(dice: &mut Dice, site: &mut Site) {
    let name = |dice: &mut Dice| format!("h{}/{}", dice.roll(2), dice.roll(6));
    for _ in 0..=dice.roll(4) {
        let links = (0..dice.roll(4)).map(|_| name(dice)).collect();
        let redirects = (0..dice.roll(3) / 2).map(|_| name(dice)).collect();
        let hands = (0..dice.roll(3)).map(|_| format!("v{}", dice.roll(4))).collect();
        let answer = if dice.roll(8) == 0 { Answer::NoEntry } else { Answer::Text };
        let page =
            Page { text: format!("t{}", dice.roll(3)), links, redirects, hands, answer, ..Page::default() };
        match dice.roll(6) {
            0 => site.page(&name(dice)).answer = Answer::Fault(Fault::Gone),
            _ => drop(site.pages.insert(name(dice), page)),
        }
    }
    site.forgetful = dice.roll(4) == 0;
}

/// What a naive reader has: each page that is near enough, with its text and what it is handed.
fn wanted(site: &Site, most: &[(usize, u32)]) -> BTreeMap<String, (String, Vec<String>)> {
    let is_near = |hops: &[u32; 2]| most.iter().all(|(relation, most)| hops[*relation] <= *most);
    let mut hops: BTreeMap<String, [u32; 2]> = site.seeds.iter().map(|name| (name.clone(), [0; 2])).collect();
    // So often that the longest way is measured.
    for _ in 0..24 {
        for (name, from) in hops.clone().into_iter().filter(|(_, hops)| is_near(hops)) {
            let Some(page) = site.pages.get(&name).filter(|page| page.answer != Answer::Fault(Fault::Gone))
            else {
                continue;
            };
            let links = page.links.iter().map(|to| (0, to)).chain(page.redirects.iter().map(|to| (1, to)));
            for (relation, to) in links {
                let mut way = from;
                way[relation] += u32::from(most.iter().any(|(counted, _)| *counted == relation));
                let known = hops.entry(to.clone()).or_insert([u32::MAX; 2]);
                *known = [known[0].min(way[0]), known[1].min(way[1])];
            }
        }
    }
    let near: BTreeSet<&String> =
        hops.iter().filter(|(_, hops)| is_near(hops)).map(|(name, _)| name).collect();
    let mut wanted = BTreeMap::new();
    for name in &near {
        let Some(page) = site.pages.get(*name).filter(|page| page.answer == Answer::Text) else { continue };
        let mut handed = BTreeSet::new();
        for parent in near.iter().filter_map(|parent| site.pages.get(*parent)) {
            let leads = parent.answer != Answer::Fault(Fault::Gone) && parent.all_links().contains(*name);
            handed.extend(parent.hands.iter().filter(|_| leads).cloned());
        }
        wanted.insert((*name).clone(), (page.text.clone(), handed.into_iter().collect()));
    }
    wanted
}

/// Sites that change at random, with bounds of hops that change as well, and processes that die at any read.
#[test]
fn what_is_handed_down_and_what_is_near_enough_is_as_a_naive_reader_has_it() {
    for seed in 1..=60_u64 {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut world = world_of_a_site(if seed % 20 == 0 { Kind::Postgres } else { Kind::Sqlite });
        site(&world, |site| site.seeds = vec!["h0/0".to_owned(), "h1/1".to_owned()]);
        let mut most = Vec::new();
        for round in 0..7 {
            site(&world, |site| change(&mut dice, site));
            // What is missing is kept for an hour: none is.
            site(&world, |site| {
                let linked: BTreeSet<String> = site.pages.values().flat_map(Page::all_links).collect();
                for name in linked.into_iter().chain(site.seeds.clone()) {
                    site.pages
                        .entry(name)
                        .or_insert_with(|| Page { text: "t".to_owned(), ..Page::default() });
                }
            });
            if dice.roll(3) == 0 {
                let counted = [
                    json!({}),
                    json!({"link": 1}),
                    json!({"link": 2, "redirect": 1}),
                    json!({"redirect": 0}),
                ];
                let hops = json!({"most": counted[dice.roll(4) as usize]});
                let hops: Hops = serde_json::from_value(hops).unwrap();
                most = hops.among(&["link", "redirect"]).unwrap();
                let mut definition = world.find("docs").unwrap().definition;
                definition.hops = hops;
                world.job(definition);
            }
            if dice.roll(3) == 0 {
                world.crash.arm("before read", 1 + dice.roll(8));
                drop(world.run("docs", FULL));
                world.reopen();
            }
            run(&world);
            let wanted = site(&world, |site| wanted(site, &most));
            let held: BTreeMap<String, (String, Vec<String>)> = world
                .entries("one")
                .into_iter()
                .map(|(name, entry)| (name, (entry.text, entry.handed)))
                .collect();
            let pages = || site(&world, |site| format!("{:#?}", site.pages));
            assert_eq!(
                held,
                wanted,
                "seed {seed}, round {round}, {most:?}: {}\n{:?}",
                pages(),
                world.documents("docs")
            );
        }
    }
}
