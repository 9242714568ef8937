//! The way to the file of a journal, name by name from `/`: a folder that has become a link since the journal was named would lead what is
//! written to where nobody has allowed it. Links that root made are part of the machine, such as `/home` on another disk, and are followed.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use ingather_model::fault::Fault;
use ingather_model::limits;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::{not_a_file, unusable};

/// The folder of a journal, and the last name of its path.
///
/// # Errors
/// `Refused` where it lies behind a link that somebody else than root made, or is one.
pub(super) fn of<'p>(path: &'p Path, name: &str) -> Result<(OwnedFd, &'p OsStr), Fault> {
    let Some(file) = path.file_name() else { return Err(not_a_file(name)) };
    let folder = folder(path.parent().unwrap_or(Path::new("/")), name)?;
    let facts = rustix::fs::statat(&folder, file, AtFlags::SYMLINK_NOFOLLOW);
    if facts.is_ok_and(|facts| FileType::from_raw_mode(facts.st_mode).is_symlink()) {
        let sentence = format!("journal `{name}` is a link; name the file that it leads to");
        return Err(Fault::refused("journal", sentence));
    }
    Ok((folder, file))
}

fn folder(path: &Path, name: &str) -> Result<OwnedFd, Fault> {
    let failed = |errno: Errno| unusable(name, &errno.into());
    let top = || {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open("/", flags, Mode::empty()).map_err(failed)
    };
    let mut left = VecDeque::new();
    put_before(&mut left, path);
    let (mut folder, mut reached, mut links) = (top()?, PathBuf::from("/"), 0);
    while let Some(part) = left.pop_front() {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&folder, &part, flags, Mode::empty()).map_err(failed)?;
        // Of what is open: another one may have its name by now.
        let facts = rustix::fs::fstat(&opened).map_err(failed)?;
        match FileType::from_raw_mode(facts.st_mode) {
            FileType::Symlink => {
                links += 1;
                if facts.st_uid != 0 || links > limits::JOURNAL_LINKS_MAX {
                    let sentence = format!(
                        "journal `{name}`: its folder {} is a link, which is not followed; name the folder that it leads to",
                        reached.join(&part).display()
                    );
                    return Err(Fault::refused("journal", sentence));
                }
                let target = rustix::fs::readlinkat(&opened, "", Vec::new()).map_err(failed)?;
                let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                if target.is_absolute() {
                    (folder, reached) = (top()?, PathBuf::from("/"));
                }
                put_before(&mut left, &target);
            }
            FileType::Directory => {
                reached.push(&part);
                folder = opened;
            }
            _ => return Err(failed(Errno::NOTDIR)),
        }
    }
    Ok(folder)
}

/// The names of a path, before those that are left.
fn put_before(left: &mut VecDeque<OsString>, path: &Path) {
    for part in path.components().rev() {
        if matches!(part, Component::Normal(_) | Component::ParentDir) {
            left.push_front(part.as_os_str().to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Makes a link that is somebody's who is not root.
    fn link(to: &Path, at: &Path) {
        symlink(to, at).unwrap();
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::lchown(at, Some(65_534), None).unwrap();
        }
    }

    #[test]
    fn a_folder_that_has_become_a_link_is_not_followed() {
        let outside = tempfile::tempdir().unwrap();
        let inside = tempfile::tempdir().unwrap();
        let base = inside.path().canonicalize().unwrap();
        let journal = base.join("a/b/j.jsonl");
        std::fs::create_dir_all(base.join("a/b")).unwrap();
        assert!(of(&journal, "j").is_ok_and(|(_, last)| last == "j.jsonl"));
        // The folder itself, and one above it.
        for (folder, kept) in [("a/b", "a/kept"), ("a", "kept")] {
            std::fs::rename(base.join(folder), base.join(kept)).unwrap();
            std::fs::create_dir_all(outside.path().join("b")).unwrap();
            link(outside.path(), &base.join(folder));
            let refused = of(&journal, "j").map(drop).unwrap_err().to_string();
            assert!(refused.contains("is a link, which is not followed"), "{refused}");
            std::fs::remove_file(base.join(folder)).unwrap();
            std::fs::rename(base.join(kept), base.join(folder)).unwrap();
        }
        link(Path::new("/etc/passwd"), &journal);
        assert!(of(&journal, "j").map(drop).unwrap_err().to_string().contains("is a link; name the file"));
        assert!(of(&base.join("none/j.jsonl"), "j").is_err());
    }

    #[test]
    fn a_link_of_root_is_a_part_of_the_machine() {
        // On every system of today that has no folder of its own there.
        let known = ["/bin", "/var/run", "/lib"].iter().map(Path::new);
        for path in known.filter(|path| path.is_symlink()) {
            let (folder, _) = of(&path.join("j.jsonl"), "j").unwrap();
            let facts = rustix::fs::fstat(&folder).unwrap();
            let there = rustix::fs::stat(path).unwrap();
            assert_eq!((facts.st_dev, facts.st_ino), (there.st_dev, there.st_ino), "{}", path.display());
        }
        assert!(folder(Path::new("/"), "j").is_ok());
    }
}
