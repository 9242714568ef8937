//! File systems that change in ways that no time of a file tells: one takes the place of another, a program behind it changes them, or
//! a person changes his mind about them. Nobody is shown a text that only others could read.

use std::sync::atomic::{AtomicBool, Ordering};

use super::fuse::{self, Node};
use crate::files;
use crate::people::ordinary;
use crate::sandbox::{Answer, Sandbox};

const SECRET: &str = "topsecret plan";
const HARMLESS: &str = "harmless  plan";

/// The text of what this person finds under a word that both texts have.
fn found(sandbox: &Sandbox, person: &str) -> Vec<String> {
    let hits = |word: &str| {
        let answer = sandbox.run(&["search", word, "--as", person, "--json"]).exits(0);
        vec![word.to_owned(); answer.documents().len()]
    };
    [hits("topsecret"), hits("harmless")].concat()
}

fn sync(sandbox: &Sandbox, flags: &[&str]) -> Answer {
    sandbox.run(&[&["sync", "root", "--json", "--threads", "1", "--accept-devices"], flags].concat())
}

/// A folder with a file, as one who makes images would make them: each with the same times and numbers.
fn image(mode: u32, text: &str) -> Vec<Node> {
    vec![
        fuse::open_folder(0, ""),
        Node { mode, ..fuse::open_folder(1, "p") },
        fuse::open_file(2, "f.txt", text),
    ]
}

#[test]
fn a_file_of_an_image_that_took_the_place_of_another_is_read_before_it_is_shown() {
    ingather_testkit::needs!(Fuse);
    ingather_testkit::needs!(Mounts);
    let sandbox = Sandbox::sqlite();
    let mount = |mode, text| fuse::mount(&sandbox.root(), true, image(mode, text), Box::new(|_| ()));
    let first = mount(0o700, SECRET);
    sync(&sandbox, &[]).exits(0);
    assert_eq!(found(&sandbox, ordinary()), [""; 0]);
    let again = sync(&sandbox, &[]).exits(0);
    assert_eq!(again.json()[0]["unchanged"], 1, "as long as it is mounted, its times tell: {again:#?}");
    drop(first);
    let second = mount(0o755, HARMLESS);
    let answer = sync(&sandbox, &[]).exits(0);
    assert_eq!(found(&sandbox, ordinary()), ["harmless"], "{answer:#?}");
    assert_eq!(answer.json()[0]["updated"], 1, "{answer:#?}");
    drop(second);
}

/// An overlay shows the times and numbers of what it lies on.
#[test]
fn a_file_of_an_image_below_an_overlay_is_read_before_it_is_shown_after_another_took_its_place() {
    ingather_testkit::needs!(Fuse);
    ingather_testkit::needs!(Mounts);
    let sandbox = Sandbox::sqlite();
    let below = sandbox.path().join("an image, below");
    let upper = sandbox.path().join("upper");
    std::fs::create_dir(&below).unwrap();
    std::fs::create_dir(&upper).unwrap();
    files::tool("mount", &["-t", "tmpfs", "none"], &upper);
    ["up", "work"].iter().for_each(|name| std::fs::create_dir(upper.join(name)).unwrap());
    let layer = |name: &str| upper.join(name).to_str().unwrap().to_owned();
    let lower = below.to_str().unwrap().replace(',', "\\,");
    let options = format!("lowerdir={lower},upperdir={},workdir={}", layer("up"), layer("work"));
    let mount = |mode, text| {
        let image = fuse::mount(&below, true, image(mode, text), Box::new(|_| ()));
        files::tool("mount", &["-t", "overlay", "-o", &options, "none"], &sandbox.root());
        image
    };
    let first = mount(0o700, SECRET);
    sync(&sandbox, &[]).exits(0);
    assert_eq!(found(&sandbox, ordinary()), [""; 0]);
    let again = sync(&sandbox, &[]).exits(0);
    assert_eq!(again.json()[0]["unchanged"], 1, "as long as it is mounted, its times tell: {again:#?}");
    files::tool("umount", &[], &sandbox.root());
    drop(first);
    let second = mount(0o755, HARMLESS);
    let answer = sync(&sandbox, &[]).exits(0);
    assert_eq!(found(&sandbox, ordinary()), ["harmless"], "{answer:#?}");
    files::tool("umount", &[], &sandbox.root());
    drop(second);
}

#[test]
fn a_folder_that_the_program_behind_it_closes_is_noticed_although_the_kernel_tells_nobody() {
    ingather_testkit::needs!(Fuse);
    ingather_testkit::needs!(Mounts);
    let sandbox = Sandbox::sqlite();
    let closed = AtomicBool::new(false);
    // Above the source, where folders are watched if anywhere.
    let closes = move |nodes: &mut Vec<Node>| {
        if !closed.swap(true, Ordering::Relaxed) {
            nodes[1].mode = 0o700;
            nodes[1].time += 1_000;
            nodes[3].text = Some(SECRET.to_owned());
        }
    };
    let nodes = vec![
        fuse::open_folder(0, ""),
        fuse::open_folder(1, "above"),
        fuse::open_folder(2, "p"),
        fuse::open_file(3, "f.txt", HARMLESS),
    ];
    let mounted = fuse::mount(&sandbox.root(), true, nodes, Box::new(closes));
    let answer = sandbox.run(&["sync", "root/above/p", "--json", "--threads", "1"]);
    assert_eq!(found(&sandbox, ordinary()), [""; 0], "{answer:#?}");
    assert_eq!(found(&sandbox, "root"), ["topsecret"], "{answer:#?}");
    drop(mounted);
}

#[test]
fn one_file_whose_modes_may_be_made_up_is_hidden_and_shown_as_a_person_says() {
    ingather_testkit::needs!(Fuse);
    ingather_testkit::needs!(Mounts);
    let sandbox = Sandbox::sqlite();
    let elsewhere = sandbox.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let mounted = fuse::mount(&elsewhere, false, image(0o755, HARMLESS), Box::new(|_| ()));
    sandbox.write("f.txt", "covered");
    files::settle(&sandbox.root());
    let file = elsewhere.join("p/f.txt");
    files::tool("mount", &["--bind", file.to_str().unwrap()], &sandbox.root().join("f.txt"));
    let first = sync(&sandbox, &[]).exits(0);
    assert!(first.err.contains("1 document on") && first.err.contains("--trust-modes on"), "{first:#?}");
    assert_eq!((found(&sandbox, ordinary()), found(&sandbox, "root").len()), (vec![], 1));
    for (word, shown) in [("on", true), ("off", false), ("on", true)] {
        let answer = sync(&sandbox, &["--trust-modes", word, "--update"]).exits(0);
        assert_eq!(found(&sandbox, ordinary()).len(), usize::from(shown), "{word}: {answer:#?}");
        let again = sync(&sandbox, &[]).exits(0);
        assert_eq!(again.json()[0]["unchanged"], 1, "{word}: {again:#?}");
        assert_eq!(found(&sandbox, ordinary()).len(), usize::from(shown), "{word}");
    }
    files::tool("umount", &[], &sandbox.root().join("f.txt"));
    drop(mounted);
}
