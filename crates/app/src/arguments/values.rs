//! Values as people type them: numbers, sizes with units, and names in any bytes; what is wrong is said in words of our own.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use ingather_model::names;

/// A whole number from 0 to `MAX`.
pub(super) fn up_to<const MAX: u32>(text: &str) -> Result<u32, String> {
    between(text, 0, MAX)
}

/// A whole number from 1 to `MAX`.
pub(super) fn from_one<const MAX: u32>(text: &str) -> Result<u32, String> {
    between(text, 1, MAX)
}

fn between(text: &str, least: u32, most: u32) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("it must be a whole number from {least} to {most}"))
}

/// Any whole number.
pub(super) fn number(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| "it must be a whole number".to_owned())
}

/// A whole number that is not negative.
pub(super) fn count(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "it must be a whole number, 0 or more".to_owned())
}

/// Bytes, with or without a unit.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let bytes = ingather_kit::literal::bytes(text).filter(|bytes| *bytes > 0);
    bytes.ok_or_else(|| "it must be a size such as 4096, 500kB, 20MB or 1GiB".to_owned())
}

/// A setting by its name; its value is JSON, or a text where it is none.
pub(super) fn setting(text: &str) -> Result<(String, serde_json::Value), String> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if let Some((outer, inner)) = name.split_once('.').filter(|_| text.contains('=')) {
        return Err(format!("a setting inside another is given as JSON: '{outer}={{\"{inner}\": …}}'"));
    }
    if text.contains('=') && name.chars().any(|c| c.is_ascii_uppercase()) {
        return Err(format!("names of settings are in small letters: {}=…", name.to_ascii_lowercase()));
    }
    if !text.contains('=') || name.is_empty() || !name.chars().all(is_name) {
        return Err("it must be NAME=VALUE, such as delay_ms=500".to_owned());
    }
    if name == "root" {
        return Err("the root is the source itself; name that".to_owned());
    }
    let value = match serde_json::from_str(value) {
        Ok(value) => value,
        // Who begins so means a list or a table.
        Err(error) if value.starts_with(['[', '{']) => {
            let at = error.column();
            return Err(format!(
                "{name}: the value begins like JSON and is none, as its letter {at} shows; put it in single quotes"
            ));
        }
        Err(_) => serde_json::Value::String(value.to_owned()),
    };
    Ok((name.to_owned(), value))
}

/// A name as the program writes it, or in the raw bytes that a shell completes it to: those are written out.
pub(crate) fn name(typed: &OsStr) -> Cow<'_, str> {
    match typed.to_str() {
        Some(text) if !text.contains(char::is_control) => Cow::Borrowed(text),
        _ => Cow::Owned(names::escape(typed.as_bytes()).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_value_is_said_in_own_words() {
        assert_eq!(up_to::<9>("9"), Ok(9));
        assert_eq!(up_to::<9>("-1"), Err("it must be a whole number from 0 to 9".to_owned()));
        assert_eq!(from_one::<9>("0"), Err("it must be a whole number from 1 to 9".to_owned()));
        assert_eq!((size("10kb"), size("1.5MiB"), size("7")), (Ok(10_240), Ok(1_572_864), Ok(7)));
        let text = |text: &str| serde_json::Value::String(text.to_owned());
        assert_eq!(setting("contact=me@example.org"), Ok(("contact".to_owned(), text("me@example.org"))));
        assert_eq!(setting("start=[\"https://a/?b=c\"]").unwrap().1, serde_json::json!(["https://a/?b=c"]));
        assert_eq!((setting("delay_ms=5").unwrap().1, setting("contact=").unwrap().1), (5.into(), text("")));
        assert!(["delay", "=1", "A=1", "root=/x", ""].iter().all(|wrong| setting(wrong).is_err()));
        let said = |text: &str| setting(text).unwrap_err();
        assert!(said("traps.depth_max=2").contains("'traps={\"depth_max\": …}'"));
        assert!(said("Contact=a").contains("contact=") && said("a=[\"narwhal\"").contains("JSON"));
        assert!(!said("a=[\"narwhal\"").contains("narwhal"));
        assert!(size("0").is_err() && size("ten").is_err() && size("-1").is_err());
    }

    #[test]
    fn raw_bytes_are_written_out_and_what_is_written_out_stays() {
        assert_eq!(name(OsStr::from_bytes(b"a\xff.txt")), "a\\xFF.txt");
        assert_eq!(name(OsStr::new("a\nb")), "a\\x0Ab");
        assert_eq!(name(OsStr::new("a\\xff.txt")), "a\\xff.txt");
    }
}
