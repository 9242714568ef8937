//! Properties of ManifoldCF as second names of settings: what they set, what they say, and which are refused.

use ingather_operations::system::properties::{Here, PROPERTIES};

use super::surroundings::with_handles;
use crate::sandbox::{Answer, Sandbox};

const THREADS: &str = "org.apache.manifoldcf.crawler.threads";

fn synced() -> Sandbox {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    sandbox
}

/// The properties that have no effect here.
fn without_effect() -> Vec<&'static str> {
    let without = PROPERTIES.iter().filter(|property| property.here != Here::Threads);
    without.map(|property| property.name).collect()
}

/// A run with these flags, where the file handles suffice for a hundred threads.
fn with(sandbox: &Sandbox, flags: &[&str]) -> Answer {
    with_handles(sandbox, 1_200, &[&["sync", "root", "--json"], flags].concat())
}

#[test]
fn the_property_for_workers_is_a_second_name_of_the_threads_of_a_run() {
    let sandbox = synced();
    // Each thread needs handles, so that their number is seen by what is refused for want of them.
    let few = with(&sandbox, &["-D", &format!("{THREADS}=1")]).exits(0);
    assert_eq!(few.err, "", "it means a setting, and nothing is to be said of it");
    let many = with(&sandbox, &[&format!("-D{THREADS}=256")]);
    assert_eq!(many.code, 3, "{many:#?}");
    let own = with(&sandbox, &["--threads", "256"]);
    assert!(many.err.contains("or use fewer --threads"), "{many:#?}");
    assert_eq!((many.code, many.err), (own.code, own.err));
}

#[test]
fn a_property_that_has_nothing_to_set_here_is_named_in_one_notice_and_changes_nothing() {
    let sandbox = synced();
    let plain = sandbox.run(&["sync", "root", "--json"]).exits(0);
    let names = without_effect();
    assert_eq!(names.len(), 4);
    let words: Vec<String> = names.iter().map(|name| format!("{name}=30")).collect();
    let flags: Vec<&str> = words.iter().flat_map(|word| ["-D", word]).collect();
    let told = sandbox.run(&[&["sync", "root", "--json"], flags.as_slice()].concat()).exits(0);
    let lines: Vec<&str> = told.err.lines().collect();
    assert!(lines.len() == 1 && lines[0].starts_with("without effect here: "), "{told:#?}");
    for name in &names {
        assert!(lines[0].contains(name), "{told:#?}");
    }
    assert!(lines[0].contains("--threads alone"), "{told:#?}");
    let counts = |answer: &Answer| answer.json()[0]["counts"].clone();
    assert_eq!(counts(&told), counts(&plain));
    let quiet = sandbox.run(&[&["sync", "root", "-q"], flags.as_slice()].concat()).exits(0);
    assert_eq!(quiet.err, "");
}

#[test]
fn a_property_that_is_not_known_not_positive_given_twice_or_beside_its_setting_is_refused() {
    let sandbox = synced();
    let before = sandbox.snapshot();
    let refused = |words: &[&str], said: &[&str]| {
        sandbox.run(&[&["sync", "root"], words].concat()).refuses(2, said);
        assert!(sandbox.snapshot() == before, "{words:?} changed something");
    };
    for property in PROPERTIES {
        for wrong in ["0", "-1", "257", "", "ten", "1.5", "99999999999999999999"] {
            let word = format!("{}={wrong}", property.name);
            refused(&["-D", &word], &[property.name, "a whole number from 1 to 256"]);
        }
        refused(&["-D", property.name], &[property.name, "NAME=VALUE"]);
        let word = format!("{}=3", property.name);
        refused(&["-D", &word, "--property", &word], &[property.name, "is given twice"]);
    }
    let unknown = [
        ("org.apache.manifoldcf.crawler.thread=3", THREADS),
        ("crawler.expirethreads=3", "org.apache.manifoldcf.crawler.expirethreads"),
        ("org.apache.manifoldcf.crawler.clean-up-threads=3", "org.apache.manifoldcf.crawler.cleanupthreads"),
        ("org.apache.manifoldcf.crawler.DeleteThreads=3", "org.apache.manifoldcf.crawler.deletethreads"),
        ("org.apache.manifoldcf.authorityservice.thread=3", "org.apache.manifoldcf.authorityservice.threads"),
        ("org.apache.manifoldcf.database.maxhandles=3", "docs/generated/properties.md"),
    ];
    for (word, nearest) in unknown {
        refused(&["-D", word], &["is none that this program takes; the nearest one is", nearest]);
    }
    refused(&["-D", &format!("{THREADS}=3"), "--threads", "3"], &["both given"]);
    let server = format!("unix:{}", sandbox.path().join("none.sock").display());
    let plain = sandbox.plain(&["sync", "root", "--server", &server, "-D", &format!("{THREADS}=3")]);
    crate::sandbox::finish(plain, None).refuses(2, &["give them to `ingather serve`"]);
}

#[test]
fn a_service_takes_the_same_properties_and_says_so_in_its_log() {
    let sandbox = synced();
    let threads = format!("{THREADS}=256");
    let many = with_handles(&sandbox, 1_200, &["serve", "--listen", "127.0.0.1:0", "-D", &threads]);
    assert!(many.code == 3 && many.err.contains("or use fewer --threads"), "{many:#?}");
    let without = format!("{}=10", without_effect()[0]);
    // It ends before it listens, since it has no such folder.
    let begun = ["serve", "--listen", "127.0.0.1:0", "--root", "/no/such/folder", "-D", &without];
    let people = sandbox.run(&begun).exits(2);
    let lines: Vec<&str> = people.err.lines().collect();
    assert!(lines.len() == 2 && lines[0].contains("Z without effect here: "), "{people:#?}");
    let programs = sandbox.run(&[&begun[..], &["--log-format", "json"]].concat()).exits(2);
    let first: serde_json::Value = serde_json::from_str(programs.err.lines().next().unwrap()).unwrap();
    assert!(first["message"].as_str().unwrap().starts_with("without effect here: "), "{first}");
}
