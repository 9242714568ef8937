//! The file that images are built from: all that it takes is in a release, and its commands are ones that the program takes. No image is
//! built here.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::{Released, said};

/// Longest wait for a service to begin.
const WAIT: Duration = Duration::from_secs(150);

/// Instructions, each in one line, as words behind its name.
fn instructions(text: &str) -> Vec<(String, String)> {
    let joined = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect::<Vec<_>>()
        .join("\n")
        .replace("\\\n", " ");
    let split =
        |line: &str| line.split_once(' ').map(|(name, rest)| (name.to_owned(), rest.trim().to_owned()));
    joined.lines().filter_map(split).collect()
}

/// The words of an instruction that has the form of a list.
fn list(text: &str) -> Vec<String> {
    let inside = text[text.find('[').unwrap() + 1..text.rfind(']').unwrap()].to_owned();
    inside.split("\", \"").map(|word| word.trim_matches('"').to_owned()).collect()
}

fn containerfile(released: &Released) -> Vec<(String, String)> {
    instructions(&std::fs::read_to_string(released.unpacked("packaging/Containerfile")).unwrap())
}

fn instruction(released: &Released, name: &str) -> String {
    let mut found =
        containerfile(released).into_iter().filter(|(known, _)| known == name).map(|(_, rest)| rest);
    let first = found.next().unwrap_or_else(|| panic!("no {name}"));
    assert_eq!(found.next(), None, "two {name}");
    first
}

/// Ends when the test does, however that ends.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn all_that_an_image_takes_is_in_the_release() {
    let released = Released::shared();
    let copies: Vec<String> = containerfile(&released)
        .into_iter()
        .filter(|(name, _)| name == "COPY")
        .map(|(_, rest)| rest)
        .collect();
    let taken: Vec<&str> = copies.iter().flat_map(|copy| copy.split(' ').rev().skip(1)).collect();
    assert!(
        taken.contains(&"ingather") && taken.contains(&"LICENSE") && taken.contains(&"LIBRARIES.txt"),
        "{taken:?}"
    );
    for path in taken {
        assert!(released.unpacked(path).exists(), "{path} is not in the release");
    }
    // Whoever runs in it is nobody of the host, and what it keeps is in the volume.
    assert_eq!(
        (instruction(&released, "USER"), instruction(&released, "VOLUME")),
        ("ingather".to_owned(), "/data".to_owned())
    );
    assert_eq!(instruction(&released, "ENV"), "INGATHER_DATA=/data/ingather");
    let entry = list(&instruction(&released, "ENTRYPOINT"));
    assert_eq!(entry, ["/usr/bin/ingather"]);
    assert!(copies.contains(&"ingather /usr/bin/ingather".to_owned()), "{copies:?}");
}

/// The folder that stands for the volume.
struct Volume(tempfile::TempDir, Arc<Released>);

impl Volume {
    fn new() -> Volume {
        Volume(tempfile::tempdir().unwrap(), Released::shared())
    }

    /// A command as it runs in the image, with the volume elsewhere.
    fn command(&self, words: &[String]) -> Command {
        let here = |word: &str| word.replace("/data", self.0.path().to_str().unwrap());
        let program = self.1.unpacked("ingather");
        let set = instruction(&self.1, "ENV");
        let set = set.split(' ').map(|word| word.split_once('=').unwrap());
        let set = set.map(|(name, value)| (name, here(value)));
        let search = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
        let mut command = Command::new(words[0].replace("/usr/bin/ingather", program.to_str().unwrap()));
        command.args(words[1..].iter().map(|word| here(word)));
        command.env("PATH", search).envs(set).env_remove("INGATHER_STORE");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// What runs in the image: its own command, or that of whoever starts it.
    fn entry(&self, words: &[String]) -> Command {
        self.command(&[list(&instruction(&self.1, "ENTRYPOINT")), words.to_vec()].concat())
    }

    fn is_well(&self) -> bool {
        self.command(&list(&instruction(&self.1, "HEALTHCHECK"))).status().unwrap().success()
    }
}

#[test]
fn an_image_is_well_as_long_as_its_service_answers_and_goes_back_into_a_new_volume() {
    let volume = Volume::new();
    assert!(!volume.is_well(), "nothing answers yet");
    let here = ["--listen", "127.0.0.1:0"].map(str::to_owned);
    let service =
        Ended(volume.entry(&[list(&instruction(&volume.1, "CMD")), here.to_vec()].concat()).spawn().unwrap());
    let end = Instant::now() + WAIT;
    while !volume.is_well() {
        assert!(Instant::now() < end, "the service never answered");
        std::thread::park_timeout(Duration::from_millis(10));
    }
    assert!(volume.entry(&["backup", "/data/before.tar"].map(str::to_owned)).status().unwrap().success());
    let pid = service.0.id().to_string();
    said(Command::new("kill").args(["-KILL", &pid]));
    drop(service);
    assert!(!volume.is_well(), "nothing answers any more");

    let back = Volume::new();
    let backup = volume.0.path().join("before.tar").to_str().unwrap().to_owned();
    assert!(back.entry(&["restore".to_owned(), backup]).status().unwrap().success());
    assert!(back.0.path().join("ingather/store.db").exists());
}
