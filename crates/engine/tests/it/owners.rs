//! Several owners of one entry, in every order (D-13); and more absences at once than are judged in one go.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ingather_testkit::database::{BOTH, Kind};
use ingather_testkit::scenario::play_on;

/// Name, root and outputs of the jobs.
const JOBS: [(&str, &str, &[&str]); 3] =
    [("whole", "", &["shared", "own"]), ("part", "d/sub/", &["shared"]), ("other", "d/", &["own"])];
const FILES: [&str; 4] = ["a", "d/b", "d/sub/c", "d/sub/deep/e"];
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// What an output must hold while these jobs are there.
fn held(output: &str, jobs: &BTreeSet<usize>) -> String {
    let owned = |file: &&&str| {
        jobs.iter().any(|job| JOBS[*job].2.contains(&output) && file.starts_with(JOBS[*job].1))
    };
    FILES.iter().filter(owned).map(|file| format!("{file} v1")).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_last_owner_of_an_output_decides_in_every_order() {
    for (run, delete) in ORDERS.iter().flat_map(|run| ORDERS.map(|delete| (run, delete))) {
        let mut text = "output shared\noutput own committing\n".to_owned();
        for (name, root, outputs) in JOBS {
            writeln!(text, "job {name} root={root} to={}", outputs.join(",")).unwrap();
        }
        writeln!(text, "source {}", FILES.map(|file| format!("{file} v1")).join(", ")).unwrap();
        let mut jobs = BTreeSet::new();
        let told = |text: &mut String, jobs: &BTreeSet<usize>| {
            for output in ["shared", "own"] {
                writeln!(text, "expect output {output}: {}", held(output, jobs)).unwrap();
            }
        };
        for job in run {
            jobs.insert(*job);
            writeln!(text, "run {}\nexpect exit: 0", JOBS[*job].0).unwrap();
            told(&mut text, &jobs);
        }
        for job in delete {
            jobs.remove(&job);
            writeln!(text, "delete {}\nexpect exit: 0", JOBS[job].0).unwrap();
            told(&mut text, &jobs);
        }
        for kind in BOTH.into_iter().filter(|kind| *kind == Kind::Sqlite || run == &ORDERS[3]) {
            let found = play_on(kind, &text);
            assert!(found.is_empty(), "{kind:?}\n{}\nin\n{text}", found.join(""));
        }
    }
}

#[test]
fn more_absences_than_are_judged_at_once_all_go() {
    let names = |from: usize, word: &str| {
        (from..from + 1_500).map(|n| format!("folder{}/{n} {word}", n % 7)).collect::<Vec<_>>().join(", ")
    };
    let text = format!(
        "output one\njob docs to=one\nsource {}\nsource stays v1\nrun docs\nexpect balance: added 1501\n\
         source {}\nrun docs\nexpect balance: unchanged 1, deleted 1500\nexpect output one: stays v1\n\
         source {}\nrun docs\nexpect balance: added 1500, unchanged 1\n",
        names(0, "v1"),
        names(0, "gone"),
        names(5_000, "v1"),
    );
    for kind in BOTH {
        let found = play_on(kind, &text);
        assert!(found.is_empty(), "{kind:?}\n{}", found.join(""));
    }
}
