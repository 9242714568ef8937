//! The file of the key: made once, whole and on disk before anything is sealed with it, and refused where others could read it.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use zeroize::Zeroizing;

use super::sealed::Key;

/// What the file begins with.
const HEAD: &str = "ingather-secrets-key-1:";
/// Digits of the key behind it.
const DIGITS: usize = 64;
/// More of it is not read: it is something else then.
const BYTES_MAX: u64 = 1_024;

/// The key in a file; none where there is no file.
///
/// # Errors
/// A sentence with the file and what to do.
pub(super) fn read(path: &Path) -> Result<Option<Key>, String> {
    let place = path.display();
    let failed = |error: Error| format!("the secrets key {place} cannot be read: {error}; make it readable");
    // What is no file is not waited for.
    let opened = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path);
    let file = match opened {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(failed)?,
    };
    // Of the file that is open: another one may have the name by now.
    let facts = file.metadata().map_err(failed)?;
    if !facts.is_file() {
        return Err(format!("the secrets key {place} is no ordinary file; name one with --secrets-key"));
    }
    if facts.mode() & 0o077 != 0 {
        return Err(format!(
            "others than its owner can read or write the secrets key {place}; whoever may have read it knows the secrets: `chmod 600` it, and \
             change them"
        ));
    }
    let us = rustix::process::geteuid().as_raw();
    if facts.uid() != us && facts.uid() != 0 {
        return Err(format!(
            "the secrets key {place} belongs to user {}, who is neither root nor the one who asks ({us}); `chown` it",
            facts.uid()
        ));
    }
    let mut text = Zeroizing::new(String::with_capacity(BYTES_MAX as usize));
    file.take(BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
    let bytes = text.trim_end().strip_prefix(HEAD).and_then(parse);
    bytes.map(|bytes| Some(Key::of(bytes))).ok_or_else(|| {
        format!("the secrets key {place} is damaged: it does not hold `{HEAD}` and {DIGITS} digits; put its copy in its place")
    })
}

fn parse(digits: &str) -> Option<Zeroizing<[u8; 32]>> {
    let mut bytes = Zeroizing::new([0; 32]);
    if digits.len() != DIGITS || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// Makes the file with a new key, for its owner alone; the one that is there where somebody else was faster. On disk when this returns.
///
/// # Errors
/// As [`read`].
pub(super) fn make(path: &Path) -> Result<Key, String> {
    let failed = |error: Error| format!("the secrets key {} cannot be made: {error}", path.display());
    let key = Key::generate()?;
    let mut text = Zeroizing::new(String::with_capacity(HEAD.len() + DIGITS + 1));
    text.push_str(HEAD);
    key.bytes().iter().for_each(|byte| text.push_str(&Zeroizing::new(format!("{byte:02x}"))));
    text.push('\n');
    // Each has a name of its own for it, so that of two who make it none writes over the other.
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".{}.part", key.id()));
    let part = PathBuf::from(part);
    let made = write(&part, &text)
        .and_then(|()| renameat_with(CWD, &part, CWD, path, RenameFlags::NOREPLACE).map_err(Error::from));
    if made.is_err() {
        // It holds a key that nothing is sealed with.
        let _ = std::fs::remove_file(&part);
    }
    match made {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        made => made.map_err(failed)?,
    }
    sync_folder(path).map_err(failed)?;
    // As everybody will read it from now on.
    read(path)?.ok_or_else(|| failed(Error::from(ErrorKind::NotFound)))
}

/// Puts a key in the place of another one. On disk when this returns.
///
/// # Errors
/// A sentence with the file.
pub(super) fn replace(new: &Path, path: &Path) -> Result<(), String> {
    let failed = |error: Error| format!("the secrets key {} cannot be replaced: {error}", path.display());
    std::fs::rename(new, path).map_err(failed)?;
    sync_folder(path).map_err(failed)
}

/// Removes a key that nothing is sealed with.
///
/// # Errors
/// A sentence with the file.
pub(super) fn discard(path: &Path) -> Result<(), String> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(format!("{} cannot be removed: {error}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Waits until the names beside a file are on the disk.
fn sync_folder(path: &Path) -> Result<(), Error> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

fn write(part: &Path, text: &str) -> Result<(), Error> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(part)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn refused(path: &Path) -> String {
        read(path).err().unwrap_or_else(|| panic!("{} was taken", path.display()))
    }

    #[test]
    fn a_key_is_made_once_for_its_owner_alone_and_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secrets.key");
        assert!(read(&path).unwrap().is_none());
        let made = make(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(read(&path).unwrap().unwrap().bytes(), made.bytes());
        assert_eq!(make(&path).unwrap().bytes(), made.bytes(), "it is never replaced");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing lies beside it");
    }

    #[test]
    fn a_file_that_others_can_read_or_that_is_no_whole_key_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secrets.key");
        make(&path).unwrap();
        for mode in [0o640, 0o604, 0o620, 0o610] {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            assert!(refused(&path).contains("chmod 600"), "{mode:o}");
        }
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for length in 0..whole.len() - 1 {
            std::fs::write(&path, &whole[..length]).unwrap();
            let said = refused(&path);
            assert!(said.contains("damaged") && said.contains("secrets.key"), "{length}: {said}");
        }
        std::fs::write(&path, [&whole[..], b"0"].concat()).unwrap();
        assert!(refused(&path).contains("damaged"));
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
        assert!(refused(&path).contains("no ordinary file"));
    }
}
