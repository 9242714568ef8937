//! Passwords for protected documents that do not stand in a job's settings: in a file of their owner's, or in the environment.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ingather_model::fault::Fault;
use ingather_model::limits;

use super::TextSettings;

/// Adds the passwords that the settings only name to those that they hold.
pub(super) fn gather(settings: &mut TextSettings) -> Result<(), Fault> {
    let refused = |setting: &str, what: String| Fault::refused("settings", format!("{setting}: {what}"));
    if let Some(path) = &settings.password_file {
        let own = of_file(Path::new(path)).map_err(|what| refused("password_file", what))?;
        settings.passwords.extend(own);
    }
    if let Some(name) = &settings.password_variable {
        let text = std::env::var(name).map_err(|_| {
            let what =
                "the environment has nothing of that name that is text; set it, or take the setting out";
            refused("password_variable", what.to_owned())
        })?;
        let own =
            in_lines(&text).map_err(|what| refused("password_variable", format!("what it names {what}")))?;
        settings.passwords.extend(own);
    }
    let most = limits::EXTRACT_PASSWORDS_MAX;
    match settings.passwords.len() > most {
        true => Err(refused(
            "passwords",
            format!("there are more than {most} with those of file and environment; leave some out"),
        )),
        false => Ok(()),
    }
}

/// The passwords in a file that nobody but its owner may read. What is wrong is told without its name, which may be a password that
/// was meant for the setting beside it.
fn of_file(path: &Path) -> Result<Vec<String>, String> {
    if !path.is_absolute() {
        return Err("it is no whole path; name a file with a password in each line, from / on".to_owned());
    }
    let unreadable = |error: std::io::Error| format!("the file cannot be read: {error}");
    let facts = std::fs::metadata(path).map_err(unreadable)?;
    if !facts.is_file() {
        return Err("it is no file; name one with a password in each line".to_owned());
    }
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let facts = file.metadata().map_err(unreadable)?;
    if facts.mode() & 0o077 != 0 {
        return Err("the file may be read by others; make it yours alone: chmod 600".to_owned());
    }
    passwords_in(file).map_err(|what| format!("the file {what}"))
}

/// The passwords in a text with one in each line, of bounded number and length. Else what is wrong with it, without a word of it.
pub fn passwords_in(source: impl Read) -> Result<Vec<String>, String> {
    let most = limits::PASSWORD_FILE_BYTES_MAX;
    let mut text = String::new();
    let length = source.take(most + 1).read_to_string(&mut text);
    if length
        .map_err(|error| format!("cannot be read: {error}; name a text file with a password in each line"))?
        as u64
        > most
    {
        return Err(format!(
            "has more than {} KiB; name a text file with a password in each line",
            most >> 10
        ));
    }
    in_lines(&text)
}

/// The passwords in the lines of a text; empty lines are none.
fn in_lines(text: &str) -> Result<Vec<String>, String> {
    // Some editors begin a text with a mark that nobody sees.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = || text.lines().filter(|line| !line.is_empty());
    if let Some(at) = text.lines().position(|line| line.len() > limits::PASSWORD_BYTES_MAX) {
        let most = limits::PASSWORD_BYTES_MAX;
        return Err(format!(
            "has a password of more than {most} bytes in line {}; shorten it or leave it out",
            at + 1
        ));
    }
    match lines().nth(limits::EXTRACT_PASSWORDS_MAX) {
        Some(_) => Err(format!("has more than {} passwords; leave some out", limits::EXTRACT_PASSWORDS_MAX)),
        None => Ok(lines().map(str::to_owned).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::TRANSFORM;
    use crate::transforms::trial::refused;
    use serde_json::json;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn passwords_that_cannot_be_had_are_refused_without_a_word_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("passwords");
        let words = |setting: &str, value: serde_json::Value| refused(&TRANSFORM, json!({setting: value}));
        assert!(words("password_file", json!(path)).contains("cannot be read"));
        assert!(words("password_file", json!("passwords")).contains("whole path"));
        assert!(words("password_file", json!(folder.path())).contains("is no file"));
        let write = |text: &[u8], mode: u32| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            words("password_file", json!(path))
        };
        assert!(write(b"secret\n", 0o640).contains("chmod 600"));
        let long = format!("a\n\n{}\n", "secret".repeat(200));
        for (text, said) in [
            (b"secret\n".repeat(17), "has more than 16 passwords"),
            (long.into_bytes(), "has a password of more than 1024 bytes in line 3"),
            (b"secret\n".repeat(150_000), "has more than 1024 KiB"),
            (b"secret\xff\n".to_vec(), "cannot be read"),
        ] {
            let told = write(&text, 0o600);
            assert!(told.contains(said) && !told.contains("secret"), "{told}");
        }
        let variable = words("password_variable", json!("INGATHER_TEST_NO_SUCH_NAME"));
        assert!(variable.contains("the environment has nothing of that name"), "{variable}");
    }

    #[test]
    fn passwords_stand_in_lines() {
        let text = "\u{feff}one\r\n\r\n two words \nthree".as_bytes();
        assert_eq!(super::passwords_in(text).unwrap(), ["one", " two words ", "three"]);
        assert!(super::passwords_in(std::io::repeat(b'x')).is_err(), "a device has no end");
    }
}
