//! Declarations in YAML: what is wrong with one, in a sentence.

use ingather_operations::declaration::Declaration;
use serde_saphyr::{DefaultMessageFormatter, Error, MessageFormatter};

/// Values of YAML that begin with one of these are no text: patterns and lines of cron often do.
const NO_TEXT: [char; 6] = ['*', '&', '!', '%', '@', '`'];

/// Reads one.
///
/// # Errors
/// What is wrong with it, and where.
pub(super) fn read(text: &str) -> Result<Declaration, String> {
    serde_saphyr::from_str(text).map_err(|error| in_words(&error, text))
}

fn in_words(error: &Error, text: &str) -> String {
    let error = error.without_snippet();
    let said = match error {
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("`{key}` is there twice; keep one of them")
        }
        Error::SerdeUnknownField { field, expected, .. } => {
            format!("nothing is called `{field}` here; there are {}", expected.join(", "))
        }
        Error::SerdeMissingField { field, .. } => format!("`{field}` is missing"),
        other => DefaultMessageFormatter.format_message(other).lines().collect::<Vec<_>>().join(" "),
    };
    let Some(at) = error.location() else { return said };
    let line = usize::try_from(at.line()).unwrap_or_default();
    let advice = match text.lines().nth(line.saturating_sub(1)).and_then(unquoted) {
        Some(value) => format!("; a text that begins so needs quotes: \"{value}\""),
        None => String::new(),
    };
    format!("line {line}, column {}: {said}{advice}", at.column())
}

/// A value of this line that was meant as a text and is none.
fn unquoted(line: &str) -> Option<&str> {
    let begins = line.char_indices().filter(|(at, _)| {
        line[..*at].ends_with([' ', '[', ',']) && line[..*at].trim_end().ends_with([':', '-', '[', ','])
    });
    let (at, _) = begins.into_iter().find(|(_, first)| NO_TEXT.contains(first))?;
    let value = &line[at..];
    let end = if line[..at].contains('[') { value.find([',', ']']) } else { value.find(" #") };
    Some(value[..end.unwrap_or(value.len())].trim_end())
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn what_is_wrong_is_one_line_that_says_where_and_what_to_write() {
        let job =
            |line: &str| format!("version: 1\njobs:\n  - name: x\n    repository: filesystem\n    {line}\n");
        for (line, said) in [
            ("source:\n      exclude: [a, *.tmp, b]", "needs quotes: \"*.tmp\""),
            ("source:\n      exclude:\n      - *.tmp  # all of them", "needs quotes: \"*.tmp\""),
            ("schedule: */5 * * * *", "needs quotes: \"*/5 * * * *\""),
            ("schedule: @daily", "needs quotes: \"@daily\""),
            ("name: y", "line 5, column 5: `name` is there twice; keep one of them"),
            ("schedul: continuous", "line 5, column 5: nothing is called `schedul` here; there are name, "),
        ] {
            let told = read(&job(line)).unwrap_err();
            assert!(told.contains(said) && told.starts_with("line ") && told.lines().count() == 1, "{told}");
        }
    }
}
