//! Values made of other fields: text with `${field}`, `${field|regex}` and `${field|regex|group}` in it.

use ingather_model::document::Record;
use regex::{Regex, RegexBuilder};

use super::properties;

/// Values that one expression may have.
const VALUES_MAX: usize = 1_000;
/// Bytes of the values of one expression.
const VALUES_BYTES_MAX: usize = 16 << 20;
/// Bytes that one compiled regular expression may take. Its time is linear in the text that it searches.
const REGEX_BYTES_MAX: usize = 1 << 20;

/// Text with references to fields.
#[derive(Debug)]
pub(super) struct Expression(Vec<Piece>);

#[derive(Debug)]
enum Piece {
    Text(String),
    Field { name: String, take: Option<Take> },
}

/// What is taken of each value.
#[derive(Debug)]
struct Take {
    regex: Regex,
    group: usize,
    case: Case,
}

#[derive(Clone, Copy, Debug)]
enum Case {
    AsItIs,
    Lower,
    Upper,
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// A sentence about what is wrong with it.
    pub(super) fn read(text: &str) -> Result<Expression, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            plain.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(after) = rest.strip_prefix("$${") {
                plain.push_str("${");
                rest = after;
            } else if let Some(inner) = rest.strip_prefix("${") {
                let end = closing(inner).ok_or_else(|| "a `${` has no closing brace".to_owned())?;
                if !plain.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                }
                pieces.push(reference(&inner[..end])?);
                rest = &inner[end + 1..];
            } else {
                plain.push('$');
                rest = &rest[1..];
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() || pieces.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Expression(pieces))
    }

    /// Its values for a record: the text once for each combination of values of the fields in it, in order; none when one
    /// of the fields has no value that counts.
    ///
    /// # Errors
    /// A sentence when there are too many, or they are too long.
    pub(super) fn values(&self, record: &Record) -> Result<Vec<String>, String> {
        let mut values = vec![String::new()];
        for piece in &self.0 {
            let more: Vec<&str>;
            let made: Vec<String>;
            match piece {
                Piece::Text(text) => more = vec![text],
                Piece::Field { name, take } => {
                    made = properties::values(record, name);
                    more = made.iter().filter_map(|value| take_of(take.as_ref(), value)).collect();
                }
            }
            let case = piece.case();
            let count = values.len().saturating_mul(more.len());
            let lengths = |of: &[&str]| of.iter().map(|value| value.len()).sum::<usize>();
            let before: usize = values.iter().map(String::len).sum();
            let bytes = before.saturating_mul(more.len()) + lengths(&more).saturating_mul(values.len());
            if count > VALUES_MAX || bytes > VALUES_BYTES_MAX {
                return Err(format!(
                    "has {count} values of {bytes} bytes together; the most are {VALUES_MAX} of {VALUES_BYTES_MAX} bytes"
                ));
            }
            let combine = |value: &String| -> Vec<String> {
                more.iter().map(|end| format!("{value}{}", case.of(end))).collect()
            };
            values = values.iter().flat_map(combine).collect();
        }
        values.retain(|value| !value.is_empty());
        Ok(values)
    }
}

impl Piece {
    fn case(&self) -> Case {
        match self {
            Piece::Field { take: Some(take), .. } => take.case,
            _ => Case::AsItIs,
        }
    }
}

impl Case {
    fn of(self, text: &str) -> String {
        match self {
            Case::AsItIs => text.to_owned(),
            Case::Lower => text.to_lowercase(),
            Case::Upper => text.to_uppercase(),
        }
    }
}

/// The part of a value that counts; a value without a match counts for nothing.
fn take_of<'v>(take: Option<&Take>, value: &'v str) -> Option<&'v str> {
    let Some(take) = take else { return Some(value) };
    let found = take.regex.captures(value)?.get(take.group)?;
    Some(found.as_str())
}

/// Where the brace closes that was open before `text`: braces of a regular expression come in pairs, or behind `\`.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// `field`, `field|regex` or `field|regex|group`, the group with `l` or `u` at its end.
fn reference(text: &str) -> Result<Piece, String> {
    let (name, rest) = match text.split_once('|') {
        Some((name, rest)) => (name, Some(rest)),
        None => (text, None),
    };
    if name.is_empty() {
        return Err("a `${` names no field".to_owned());
    }
    let Some(rest) = rest else { return Ok(Piece::Field { name: name.to_owned(), take: None }) };
    let (pattern, (group, case)) = match rest.rsplit_once('|').map(|(pattern, end)| (pattern, group(end))) {
        Some((pattern, Some(group))) => (pattern, group),
        _ => (rest, (0, Case::AsItIs)),
    };
    let regex =
        RegexBuilder::new(pattern).size_limit(REGEX_BYTES_MAX).dfa_size_limit(REGEX_BYTES_MAX).build();
    let regex = regex.map_err(|error| {
        let error = error.to_string();
        let last = error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        format!("what is behind `|` is no regular expression: {last}")
    })?;
    if group >= regex.captures_len() {
        let most = regex.captures_len() - 1;
        return Err(format!(
            "the pattern has no group {group}; the last one is {most}, and 0 is the whole match"
        ));
    }
    Ok(Piece::Field { name: name.to_owned(), take: Some(Take { regex, group, case }) })
}

fn group(text: &str) -> Option<(usize, Case)> {
    let digits = text.trim_end_matches(['l', 'u']);
    let case = match &text[digits.len()..] {
        "" => Case::AsItIs,
        "l" => Case::Lower,
        "u" => Case::Upper,
        _ => return None,
    };
    let plain = !digits.is_empty() && digits.len() <= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if plain { digits.parse().ok().map(|group| (group, case)) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(expression: &str) -> Vec<String> {
        let mut record =
            Record { title: "A title".into(), body: Some("body words".into()), ..Record::default() };
        let mut field = |name: &str, values: &[&str]| {
            record.fields.insert(name.into(), values.iter().map(|value| (*value).to_owned()).collect());
        };
        field("a", &["1", "2"]);
        field("b", &["x", "y"]);
        field("mail", &["Ann Lee <ann@Example.org>", "nobody"]);
        Expression::read(expression).unwrap().values(&record).unwrap()
    }

    #[test]
    fn an_expression_has_a_value_for_each_combination() {
        for (expression, expected) in [
            ("constant", &["constant"][..]),
            ("${a}", &["1", "2"]),
            ("${a}-${b}", &["1-x", "1-y", "2-x", "2-y"]),
            ("<${title}>", &["<A title>"]),
            ("${a}${a}", &["11", "12", "21", "22"]),
            ("${missing}", &[]),
            ("text ${missing}", &[]),
            ("", &[]),
            ("5 $ and $${a}", &["5 $ and ${a}"]),
            ("${body|\\w+}", &["body"]),
        ] {
            assert_eq!(values(expression), expected, "{expression}");
        }
    }

    #[test]
    fn a_regular_expression_takes_a_part_of_each_value_that_has_it() {
        for (expression, expected) in [
            ("${mail|@(.*)>|1}", &["Example.org"][..]),
            ("${mail|@(.*)>|1l}", &["example.org"]),
            ("${mail|@(.*)>|1u}", &["EXAMPLE.ORG"]),
            ("${mail|@(.*)>}", &["@Example.org>"]),
            ("${mail|nobody|Ann|0u}", &["ANN", "NOBODY"]),
            ("${mail|nobody|Ann}", &["Ann", "nobody"]),
            ("${mail|n{2}}", &["nn"]),
            ("${mail|[<\\}]|0}", &["<"]),
        ] {
            assert_eq!(values(expression), expected, "{expression}");
        }
    }

    #[test]
    fn what_cannot_work_is_refused_with_the_reason() {
        let wrong = |text: &str| Expression::read(text).unwrap_err();
        assert!(wrong("${a").contains("closing brace"));
        assert!(wrong("${}").contains("no field"));
        assert!(wrong("${a|(|1}").contains("no regular expression"));
        assert!(wrong("${a|x|2}").contains("no group 2"));
        assert!(wrong("${a|(\\w{1000}){1000}}").contains("no regular expression"));
    }

    #[test]
    fn more_values_than_the_bound_are_refused() {
        let mut record = Record::default();
        record.fields.insert("a".into(), vec!["x".to_owned(); 100]);
        let values = |text: &str| Expression::read(text).unwrap().values(&record);
        assert_eq!(values("${a}").unwrap().len(), 100);
        assert!(values("${a}${a}").unwrap_err().contains("10000 values"));
        record.body = Some("x".repeat(9 << 20));
        assert!(Expression::read("${body}${body}").unwrap().values(&record).unwrap_err().contains("bytes"));
    }
}
