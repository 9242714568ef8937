//! Passwords for protected documents that do not stand in a job's settings: in a file of their owner's, or in the environment.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ingather_connector::model::fault::Fault;
use ingather_connector::model::limits;

use super::TextSettings;

/// Adds the passwords that the settings only name to those that they hold.
pub(super) fn gather(settings: &mut TextSettings) -> Result<(), Fault> {
    let refused = |setting: &str, what: String| Fault::refused("settings", format!("{setting}: {what}"));
    let mut texts = Vec::new();
    if let Some(path) = &settings.password_file {
        texts.push(of_file(Path::new(path)).map_err(|what| refused("password_file", what))?);
    }
    if let Some(name) = &settings.password_variable {
        let text = std::env::var(name).map_err(|_| {
            let what = format!("the environment has no {name} that is text; set it, or take the setting out");
            refused("password_variable", what)
        })?;
        texts.push(text);
    }
    let lines = texts.iter().flat_map(|text| text.lines()).filter(|line| !line.is_empty());
    settings.passwords.extend(lines.map(str::to_owned));
    let most = limits::EXTRACT_PASSWORDS_MAX;
    match settings.passwords.len() > most {
        true => Err(refused(
            "passwords",
            format!("there are more than {most} with those of file and environment; leave some out"),
        )),
        false => Ok(()),
    }
}

/// What is in a file that nobody but its owner may read.
fn of_file(path: &Path) -> Result<String, String> {
    let name = path.display();
    if !path.is_absolute() {
        return Err(format!("{name} is no whole path; begin it with /"));
    }
    let unreadable = |error: std::io::Error| format!("{name} cannot be read: {error}");
    let facts = std::fs::metadata(path).map_err(unreadable)?;
    if !facts.is_file() {
        return Err(format!("{name} is no file; name one with a password in each line"));
    }
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let facts = file.metadata().map_err(unreadable)?;
    if facts.mode() & 0o077 != 0 {
        return Err(format!("{name} may be read by others; make it yours alone: chmod 600"));
    }
    let mut text = String::new();
    file.take(limits::PASSWORD_FILE_BYTES_MAX).read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::super::TRANSFORM;
    use crate::stages::trial::refused;
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
        let write = |count: usize, mode: u32| {
            std::fs::write(&path, "secret\n".repeat(count)).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            words("password_file", json!(path))
        };
        assert!(write(1, 0o640).contains("chmod 600"));
        let many = write(17, 0o600);
        assert!(many.contains("more than 16") && !many.contains("secret"), "{many}");
        let variable = words("password_variable", json!("INGATHER_TEST_NO_SUCH_NAME"));
        assert!(variable.contains("the environment has no INGATHER_TEST_NO_SUCH_NAME"), "{variable}");
    }
}
