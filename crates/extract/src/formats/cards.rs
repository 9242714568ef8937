//! Calendars (iCalendar) and contacts (vCard): both are lines of names and values, some folded, some encoded.

use std::io::Read;

use encoding_rs::Encoding;
use ingather_model::limits;

use crate::Input;
use crate::page::{Outcome, ParseError, Stated, TextSink};
use crate::{dates, decode};

/// Objects inside each other.
const DEPTH_MAX: usize = 16;

/// A line of such a file.
struct Line {
    /// In upper case, without the group that may stand before it.
    name: String,
    parameters: Vec<(String, String)>,
    value: String,
}

impl Line {
    fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A value of words, without the marks that stand for line breaks and signs.
    fn words(&self) -> String {
        let mut out = String::with_capacity(self.value.len());
        let mut chars = self.value.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some('n' | 'N') => out.push('\n'),
                    Some(c) => out.push(c),
                    None => {}
                },
                c => out.push(c),
            }
        }
        out
    }

    /// The parts of a value that has several, set apart by `sign`.
    fn pieces(&self, sign: char) -> Vec<String> {
        let mut pieces = vec![String::new()];
        let mut escaped = false;
        for c in self.value.chars() {
            match (escaped, c) {
                (false, '\\') => {
                    escaped = true;
                    continue;
                }
                (false, c) if c == sign => pieces.push(String::new()),
                (_, c) => pieces.last_mut().expect("there is one from the beginning").push(c),
            }
            escaped = false;
        }
        pieces.retain(|piece| !piece.trim().is_empty());
        pieces.iter_mut().for_each(|piece| *piece = piece.trim().to_owned());
        pieces
    }
}

/// Reads a file of contacts or a calendar. When it holds several, each is a part.
pub(crate) fn read(input: Input, sink: &mut TextSink<'_>) -> Outcome {
    let mut bytes = Vec::new();
    input.take(limits::EXTRACT_WHOLE_BYTES_MAX).read_to_end(&mut bytes)?;
    let lines = lines(&bytes);
    let (items, whole) = items(&lines);
    for line in &lines {
        match line.name.as_str() {
            "X-WR-CALNAME" => sink.field("title", &line.words()),
            "X-WR-CALDESC" => sink.line(&line.words()),
            "PRODID" => sink.field("generator", &line.words()),
            _ => {}
        }
    }
    match items.as_slice() {
        [item] => write(item, sink),
        items => sink.series(|sink| {
            for item in items {
                if !sink.goes_on() {
                    break;
                }
                let name = ["SUMMARY", "FN", "N", "UID"].into_iter().find_map(|name| {
                    item.iter().find(|line| line.name == name).map(|line| line.words().replace(';', " "))
                });
                let media = sink.media_type().to_owned();
                sink.part_by(name.unwrap_or_default().trim(), |sink| {
                    sink.set_media_type(&media);
                    let changed =
                        item.iter().rfind(|line| matches!(line.name.as_str(), "LAST-MODIFIED" | "REV"));
                    let modified = changed.and_then(|line| dates::stated_digits(line.value.trim()));
                    sink.stated(Stated { modified, size: None });
                    write(item, sink);
                    sink.note_if_empty();
                });
            }
            Ok(())
        })?,
    }
    if whole { Ok(()) } else { Err(ParseError("the file is cut off".to_owned())) }
}

/// The lines of each event, task, note or contact; what is inside one of them, such as an alarm, is left out. And
/// whether all of them end.
fn items(lines: &[Line]) -> (Vec<Vec<&Line>>, bool) {
    let (mut items, mut open): (Vec<Vec<&Line>>, Vec<&str>) = (Vec::new(), Vec::new());
    let is_item = |name: &str| matches!(name, "VEVENT" | "VTODO" | "VJOURNAL" | "VFREEBUSY" | "VCARD");
    for line in lines {
        match line.name.as_str() {
            "BEGIN" if open.len() < DEPTH_MAX => {
                let name = line.value.trim();
                if is_item(&name.to_ascii_uppercase()) {
                    items.push(Vec::new());
                }
                open.push(name);
            }
            "END" => drop(open.pop()),
            _ => {
                let inside = open.last().is_some_and(|name| is_item(&name.to_ascii_uppercase()));
                if let Some(item) = items.last_mut().filter(|_| inside) {
                    item.push(line);
                }
            }
        }
    }
    (items, open.is_empty())
}

/// Fields of single values: names, and whether the value is a date.
const FIELDS: &[(&str, &str, bool)] = &[
    ("SUMMARY", "title", false),
    ("FN", "title", false),
    ("LOCATION", "location", false),
    ("DTSTART", "start", true),
    ("DTEND", "end", true),
    ("DUE", "due", true),
    ("CREATED", "created", true),
    ("LAST-MODIFIED", "modified", true),
    ("REV", "modified", true),
    ("BDAY", "birthday", true),
    ("STATUS", "status", false),
    ("UID", "identifier", false),
    ("URL", "url", false),
    ("ORG", "company", false),
    ("TEL", "phone", false),
    ("EMAIL", "email", false),
    ("RRULE", "repeats", false),
];
/// Lines whose values are words for people, after what is written before them.
const WORDS: &[(&str, &str)] = &[
    ("SUMMARY", ""),
    ("FN", ""),
    ("NICKNAME", ""),
    ("ORG", ""),
    ("TITLE", ""),
    ("ROLE", ""),
    ("LOCATION", ""),
    ("DESCRIPTION", ""),
    ("COMMENT", ""),
    ("CONTACT", ""),
    ("NOTE", ""),
    ("EMAIL", ""),
    ("TEL", ""),
    ("ADR", ""),
    ("LABEL", ""),
    ("IMPP", ""),
    ("URL", ""),
    ("CATEGORIES", ""),
    ("ORGANIZER", "From: "),
    ("ATTENDEE", "To: "),
];

fn write(item: &[&Line], sink: &mut TextSink<'_>) {
    for line in item {
        for (_, field, is_date) in FIELDS.iter().filter(|(name, _, _)| *name == line.name) {
            let value = match is_date {
                true => date(line),
                false if line.name == "ORG" => line.pieces(';').join(", "),
                false => address(&line.words()).to_owned(),
            };
            sink.field(field, &value);
        }
        match line.name.as_str() {
            "CATEGORIES" => line.pieces(',').iter().for_each(|word| sink.field("keywords", word)),
            "ORGANIZER" => sink.field("author", &person(line)),
            "ATTENDEE" => sink.field("to", &person(line)),
            "N" if !item.iter().any(|line| line.name == "FN") => {
                let name = line.pieces(';').join(" ");
                sink.field("title", &name);
                sink.line(&name);
            }
            _ => {}
        }
        for (_, before) in WORDS.iter().filter(|(name, _)| *name == line.name) {
            let words = match line.name.as_str() {
                "ORGANIZER" | "ATTENDEE" => person(line),
                "ADR" | "ORG" => line.pieces(';').join(", "),
                "CATEGORIES" => line.pieces(',').join(", "),
                _ => address(&line.words()).to_owned(),
            };
            sink.line(&format!("{before}{words}"));
        }
    }
}

/// An address without the word that says what it is for.
fn address(text: &str) -> &str {
    let begin = text.get(..7).unwrap_or_default();
    if begin.eq_ignore_ascii_case("mailto:") { &text[7..] } else { text.strip_prefix("tel:").unwrap_or(text) }
}

/// Somebody by name and address.
fn person(line: &Line) -> String {
    let words = line.words();
    let address = address(words.trim());
    match line.parameter("CN").map(str::trim).filter(|name| !name.is_empty() && *name != address) {
        Some(name) => format!("{name} <{address}>"),
        None => address.to_owned(),
    }
}

/// A date such as `20240131T120000Z` with its signs; others stay as they are written.
fn date(line: &Line) -> String {
    let value = line.value.trim();
    let digits = |from: usize, to: usize| {
        value.get(from..to).filter(|piece| piece.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let (Some(year), Some(month), Some(day)) = (digits(0, 4), digits(4, 6), digits(6, 8)) else {
        return value.to_owned();
    };
    match (value.as_bytes().get(8), digits(9, 11), digits(11, 13), digits(13, 15)) {
        (None, ..) => format!("{year}-{month}-{day}"),
        (Some(b'T'), Some(hour), Some(minute), Some(second)) => {
            format!("{year}-{month}-{day}T{hour}:{minute}:{second}{}", &value[15..])
        }
        _ => value.to_owned(),
    }
}

/// The lines of a file: those that begin with white space go on with the one before, and so do encoded ones whose end is
/// marked.
fn lines(bytes: &[u8]) -> Vec<Line> {
    let wide = matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
    let text;
    let bytes = match wide {
        true => {
            text = decode::whole(bytes, None);
            text.as_bytes()
        }
        false => bytes.strip_prefix(&[0xef, 0xbb, 0xbf]).unwrap_or(bytes),
    };
    let mut lines = Vec::new();
    let mut held: Vec<u8> = Vec::new();
    for raw in bytes.split(|byte| *byte == b'\n') {
        let raw = raw.strip_suffix(b"\r").unwrap_or(raw);
        let encoded = held.ends_with(b"=") && is_quoted(&held);
        match raw {
            raw if encoded => {
                held.pop();
                held.extend(raw);
            }
            [b' ' | b'\t', rest @ ..] => held.extend(rest),
            raw => {
                lines.extend(line(&std::mem::replace(&mut held, raw.to_vec())));
            }
        }
    }
    lines.extend(line(&held));
    lines
}

fn is_quoted(raw: &[u8]) -> bool {
    let head = raw.split(|byte| *byte == b':').next().unwrap_or_default();
    head.to_ascii_uppercase().windows(16).any(|piece| piece == b"QUOTED-PRINTABLE")
}

fn line(raw: &[u8]) -> Option<Line> {
    let mut in_quotes = false;
    let end = raw.iter().position(|byte| {
        in_quotes ^= *byte == b'"';
        *byte == b':' && !in_quotes
    })?;
    let head = decode::whole(&raw[..end], None);
    let mut words = head.split(';');
    let name = words.next()?.rsplit('.').next()?.trim().to_ascii_uppercase();
    let parameters: Vec<(String, String)> = words
        .map(|word| match word.split_once('=') {
            Some((name, value)) => (name.to_ascii_uppercase(), value.trim_matches('"').to_owned()),
            // Old contacts name the encoding alone.
            None => ("ENCODING".to_owned(), word.to_owned()),
        })
        .collect();
    let find =
        |name: &str| parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let charset = find("CHARSET").and_then(|label| Encoding::for_label(label.as_bytes()));
    let value = match find("ENCODING").map(str::to_ascii_uppercase).as_deref() {
        Some("QUOTED-PRINTABLE") => unquoted(&raw[end + 1..]),
        // Pictures and sounds.
        Some("BASE64" | "B") => Vec::new(),
        _ => raw[end + 1..].to_vec(),
    };
    let value = decode::whole(&value, charset);
    Some(Line { name, parameters, value })
}

/// Bytes that are written as two digits after a sign.
fn unquoted(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw.iter();
    while let Some(byte) = rest.next() {
        let digits = rest.as_slice().get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match digits.filter(|_| *byte == b'=').and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(decoded) => {
                out.push(decoded);
                rest.nth(1);
            }
            None => out.push(*byte),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::formats::tests::extract;

    #[test]
    fn an_event_gives_its_words_and_its_dates() {
        let extracted = extract(
            "a.ics",
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nDTSTART:20240131T120000Z\r\nDTEND;VALUE=DATE:20240201\r\n\
            SUMMARY:Meeting\\, weekly\r\nDESCRIPTION:first line\\nsecond\r\n  line\r\nLOCATION:Köln\r\nCATEGORIES:work,plan\r\n\
            ORGANIZER;CN=\"Ann: B\":mailto:ann@example.org\r\nATTENDEE:MAILTO:bob@example.org\r\nBEGIN:VALARM\r\nDESCRIPTION:ring\r\nEND:VALARM\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
                .as_bytes(),
        );
        assert_eq!(
            extracted.text,
            "Meeting, weekly\nfirst line\nsecond line\nKöln\nwork, plan\nFrom: Ann: B <ann@example.org>\nTo: bob@example.org"
        );
        assert_eq!(
            (extracted.field("title"), extracted.field("start")),
            (Some("Meeting, weekly"), Some("2024-01-31T12:00:00Z"))
        );
        assert_eq!(
            (extracted.field("end"), extracted.field("author")),
            (Some("2024-02-01"), Some("Ann: B <ann@example.org>"))
        );
        assert_eq!(extracted.fields["keywords"], ["work", "plan"]);
    }

    #[test]
    fn several_contacts_are_parts_and_old_encodings_are_read() {
        let cards = "BEGIN:VCARD\nVERSION:2.1\nN;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:M=FCller;J=F6rg\nPHOTO;ENCODING=BASE64;TYPE=GIF:\n R0lGODdh\n\
            NOTE;QUOTED-PRINTABLE:first=0D=0A=\nsecond\nEND:VCARD\nBEGIN:VCARD\nitem1.FN:Bob\nitem1.EMAIL;TYPE=work:bob@example.org\nADR:;;Street 1;Town;;12345;\nEND:VCARD\n";
        let extracted = extract("a.vcf", cards.as_bytes());
        assert_eq!(
            extracted.parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>(),
            ["Müller Jörg", "Bob"]
        );
        assert_eq!(
            extracted.parts[0].text.split_whitespace().collect::<Vec<_>>(),
            ["Müller", "Jörg", "first", "second"]
        );
        assert_eq!(extracted.parts[1].text, "Bob\nbob@example.org\nStreet 1, Town, 12345");
        assert_eq!(extracted.parts[1].field("email"), Some("bob@example.org"));
        let cut = extract("a.vcf", &cards.as_bytes()[..cards.len() - 12]);
        assert!(cut.broken_off && cut.parts.len() == 2);
    }
}
