//! The Debian package: where its files go, what it needs, and what is done when it comes and goes (`packaging/debian`).

use std::path::Path;
use std::process::Command;

use super::program::Facts;
use super::staged::{self, Content, READ, RUN, Staged};
use super::{EPOCH, output};

/// Files that have a place of their own; all others are documents.
const PLACES: &[(&str, &str)] = &[
    (staged::PROGRAM, "usr/bin/ingather"),
    ("packaging/ingather.service", "usr/lib/systemd/system/ingather.service"),
    ("packaging/ingather.sysusers", "usr/lib/sysusers.d/ingather.conf"),
    ("LICENSE", "usr/share/doc/ingather/copyright"),
];
const DOCUMENTS: &str = "usr/share/doc/ingather";
/// What `dpkg` runs, from `packaging/debian`.
const SCRIPTS: &[&str] = &["postinst", "prerm", "postrm"];

/// Makes the package; its name.
pub(super) fn package(
    root: &Path,
    work: &Path,
    files: &[Staged],
    version: &str,
    facts: &Facts,
    time: u64,
) -> Result<String, String> {
    let mut placed: Vec<Staged> = files.iter().map(place).collect();
    let bytes = placed.iter().map(size).sum::<Result<u64, String>>()?;
    placed.push(Staged {
        path: "DEBIAN/control".to_owned(),
        mode: READ,
        content: Content::Text(control(version, facts, bytes)),
    });
    placed.extend(SCRIPTS.iter().map(|name| Staged {
        path: format!("DEBIAN/{name}"),
        mode: RUN,
        content: Content::Copy(root.join("packaging/debian").join(name)),
    }));
    staged::write(&work.join("debian"), placed.into_iter(), time)?;
    let name = format!("ingather_{version}_{}.deb", facts.architecture);
    output(
        Command::new("dpkg-deb")
            // What xz makes depends on how many threads the machine has; and every dpkg reads gzip.
            .args(["--build", "--root-owner-group", "-Zgzip", "debian", &name])
            .env(EPOCH, time.to_string())
            .env_remove("TAR_OPTIONS")
            .current_dir(work),
    )?;
    Ok(name)
}

fn place(file: &Staged) -> Staged {
    match PLACES.iter().find(|(from, _)| *from == file.path) {
        Some((_, to)) => file.at(*to),
        None => file.below(DOCUMENTS),
    }
}

fn size(file: &Staged) -> Result<u64, String> {
    match &file.content {
        Content::Copy(from) => std::fs::metadata(from)
            .map(|found| found.len())
            .map_err(|error| format!("{}: {error}", from.display())),
        Content::Text(text) => Ok(text.len() as u64),
    }
}

fn control(version: &str, facts: &Facts, bytes: u64) -> String {
    let Facts { architecture, depends, .. } = facts;
    let (depends, kib) = (depends.join(", "), bytes.div_ceil(1024));
    format!(
        "Package: ingather
Version: {version}
Architecture: {architecture}
Maintainer: Ingather
Installed-Size: {kib}
Depends: {depends}
Recommends: ca-certificates
Suggests: tesseract-ocr
Section: utils
Priority: optional
Description: search indexes in sync with the places where content lives
 Keeps search indexes in exact, permission-aware sync with folders: lists a
 source, decides about every document, delivers to an index, and knows for each
 document what each output holds. A search finds what its user may open.
 .
 Nothing is enabled: `systemctl enable --now ingather` begins the service.
 /usr/share/doc/ingather/docs/manual/upgrade.md says what an upgrade does to
 what is stored, and how to go back.
"
    )
}
