//! `cargo x release`: what is handed out of a version. A tarball, a Debian package and their checksums, of which two runs over the same
//! program are equal in every byte.

mod debian;
mod licences;
mod program;
mod staged;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::built;
use program::Facts;
use staged::Staged;

/// Where a release goes unless it is told otherwise, below the root.
const INTO: &str = "target/release-files";
/// The time that all files of a release bear, in seconds since 1970; the form of <https://reproducible-builds.org/specs/source-date-epoch/>.
const EPOCH: &str = "SOURCE_DATE_EPOCH";

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// A finished program, instead of building one.
    binary: Option<PathBuf>,
    into: Option<PathBuf>,
}

/// Reads the words behind `release`.
pub(crate) fn read(words: &[&str]) -> Result<Wanted, String> {
    let mut wanted = Wanted::default();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let place = match *word {
            "--binary" => &mut wanted.binary,
            "--into" => &mut wanted.into,
            _ => return Err(format!("`{word}` is not known: use --binary FILE and --into DIR")),
        };
        let path = rest.next().ok_or_else(|| format!("{word} needs a path behind it"))?;
        // The command may be called from anywhere; cargo starts this program where it was called.
        *place = Some(std::path::absolute(path).map_err(|error| format!("{word} {path}: {error}"))?);
    }
    Ok(wanted)
}

/// Makes the release, and says what it is.
pub(crate) fn run(root: &Path, wanted: &Wanted) -> Result<String, String> {
    let time = time(root)?;
    let metadata = metadata(root)?;
    let version = version(&metadata)?;
    let binary = match &wanted.binary {
        Some(binary) => binary.clone(),
        None => build(root)?,
    };
    let facts = program::examine(&binary, &version)?;
    let into = wanted.into.clone().unwrap_or_else(|| root.join(INTO));
    std::fs::create_dir_all(&into).map_err(|error| format!("{}: {error}", into.display()))?;
    // Beside what it becomes, so that each file takes its place in one step and nobody meets half of one.
    let work = tempfile::Builder::new()
        .prefix(".release-")
        .tempdir_in(&into)
        .map_err(|error| format!("{}: {error}", into.display()))?;
    let files = staged::collect(root, &binary, &licences::collect(root, &metadata)?)?;
    let mut names = vec![
        tarball(work.path(), &files, &version, &facts, time)?,
        debian::package(root, work.path(), &files, &version, &facts, time)?,
    ];
    names.push(checksums(work.path(), &names)?);
    for name in &names {
        std::fs::rename(work.path().join(name), into.join(name))
            .map_err(|error| format!("{}: {error}", into.join(name).display()))?;
    }
    Ok(format!("release: {} in {}", names.join(", "), into.display()))
}

/// Builds the program as it is handed out: by the lock file, and without the names of this machine's folders.
fn build(root: &Path) -> Result<PathBuf, String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).ok_or("there is no CARGO_HOME")?;
    let (root_name, home) = (root.display(), home.display());
    // Of its own: other flags would have everything else that is built with `--release` compiled again.
    let target = root.join("target/release-build");
    built::build(
        root,
        &[
            "--release",
            "--locked",
            "--package",
            "ingather-app",
            "--bin",
            "ingather",
            "--target-dir",
            &target.to_string_lossy(),
            "--config",
            &format!(
                "build.rustflags = ['--remap-path-prefix={home}=/cargo', '--remap-path-prefix={root_name}=/ingather']"
            ),
            "--config",
            &format!("env.CFLAGS = '-ffile-prefix-map={home}=/cargo -ffile-prefix-map={root_name}=/ingather'"),
        ],
    )?
    .program("ingather")
}

/// `SOURCE_DATE_EPOCH`, or the time of the commit.
fn time(root: &Path) -> Result<u64, String> {
    let next = format!("set {EPOCH} to the seconds since 1970 that files of the release should bear");
    if let Ok(set) = std::env::var(EPOCH) {
        return set.parse().map_err(|_| format!("{EPOCH} is `{set}`, which is no number: {next}"));
    }
    let told = output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root));
    told.ok()
        .and_then(|text| text.trim().parse().ok())
        .ok_or_else(|| format!("the time of the commit is not known here: {next}"))
}

fn metadata(root: &Path) -> Result<Value, String> {
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let told = output(
        Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()))
            .args(["metadata", "--locked", "--format-version", "1", "--filter-platform", &host])
            .current_dir(root),
    )?;
    serde_json::from_str(&told).map_err(|error| format!("cargo metadata: {error}"))
}

fn version(metadata: &Value) -> Result<String, String> {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    packages
        .iter()
        .find(|package| package["name"] == licences::PROGRAM)
        .and_then(|package| package["version"].as_str())
        .map(str::to_owned)
        .ok_or_else(|| format!("cargo metadata names no {}", licences::PROGRAM))
}

/// Packs the files as they are in the repository, so that paths in its pages hold there, too.
fn tarball(work: &Path, files: &[Staged], version: &str, facts: &Facts, time: u64) -> Result<String, String> {
    let folder = format!("ingather-{version}-{}-linux", facts.machine);
    let name = format!("{folder}.tar.gz");
    staged::write(&work.join("tarball"), files.iter().map(|file| file.below(&folder)), time)?;
    output(
        Command::new("tar")
            .args(["--create", "--format=ustar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
            // Without the name and the time that gzip would write.
            .args(["--use-compress-program=gzip -n", "--directory=tarball"])
            .args(["--file", &name, &folder])
            .env_remove("TAR_OPTIONS")
            .env_remove("GZIP")
            .current_dir(work),
    )?;
    Ok(name)
}

/// In the form that `sha256sum --check` reads.
fn checksums(work: &Path, names: &[String]) -> Result<String, String> {
    let sums = output(Command::new("sha256sum").args(names).current_dir(work))?;
    let name = "SHA256SUMS".to_owned();
    std::fs::write(work.join(&name), sums).map_err(|error| format!("{name}: {error}"))?;
    Ok(name)
}

/// Standard output of a command that has to end well; its messages do not depend on who runs it.
fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .env("LC_ALL", "C")
        .output()
        .map_err(|error| format!("cannot run {name}, which a release needs: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim_end())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_understood_or_refused() {
        let wanted = read(&["--into", "/a", "--binary", "/b"]).unwrap();
        assert_eq!(wanted, Wanted { binary: Some("/b".into()), into: Some("/a".into()) });
        assert_eq!(read(&[]), Ok(Wanted::default()));
        assert!(read(&["--into"]).unwrap_err().contains("--into needs a path"));
        assert!(read(&["--fast"]).unwrap_err().contains("`--fast` is not known"));
    }
}
