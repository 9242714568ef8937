//! Mails and mailboxes: what they say, to whom, and what is attached.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};

use ingather_model::limits;
use mail_parser::{Address, Message, MessageParser, MessagePart, MimeHeaders, PartType};

use crate::formats::html;
use crate::page::{Outcome, Stated, TextSink};
use crate::{Input, dates, decode};

/// Boundaries of one mail that are looked for at its end, and mails inside each other in which they are.
const BOUNDARIES_MAX: usize = 1_000;
const BOUNDARIES_DEPTH_MAX: usize = 16;

/// Reads one mail.
pub(crate) fn read(input: Input, sink: &mut TextSink<'_>) -> Outcome {
    let mut bytes = input.into_bytes()?;
    // Some programs save a mail like any other text, in sixteen bits.
    if matches!(bytes.as_slice(), [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
        bytes = decode::whole(&bytes, None).into_bytes();
    }
    let start = if bytes.starts_with(b"From ") {
        bytes.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1)
    } else {
        0
    };
    let parse = |bytes| MessageParser::default().parse(bytes).ok_or("it begins as a mail and has no headers");
    let mut message = parse(&bytes[start..])?;
    let ends = missing_ends(&message, &bytes[start..]);
    let closed;
    if !ends.is_empty() {
        closed = [&bytes[start..], &ends].concat();
        message = parse(&closed)?;
    }
    write(&message, sink);
    if !ends.is_empty() {
        sink.broken_off("the mail is cut off");
    }
    Ok(())
}

/// What a mail lacks that is cut off: the lines that end those of its parts that are open at the end, the inner ones first.
/// Without them the last part would be taken for text.
fn missing_ends(message: &Message<'_>, bytes: &[u8]) -> Vec<u8> {
    let mut boundaries = Vec::new();
    boundaries_of(message, 0, &mut boundaries);
    let lines: HashMap<&[u8], usize> = match boundaries.is_empty() {
        true => HashMap::new(),
        false => delimiters(bytes).collect(),
    };
    // The innermost part that is open is that of the last line; parts around it come before it.
    let mut open: Vec<(usize, &str)> = Vec::new();
    for boundary in &boundaries {
        let end = [boundary.as_bytes(), b"--"].concat();
        if let Some(place) = lines.get(boundary.as_bytes())
            && !lines.contains_key(end.as_slice())
            && open.last().is_none_or(|(outer, _)| place > outer)
        {
            open.push((*place, boundary));
        }
    }
    let line: &[u8] = if open.is_empty() || bytes.ends_with(b"\n") { b"" } else { b"\r\n" };
    open.into_iter().rev().fold(line.to_vec(), |ends, (_, boundary)| {
        [ends.as_slice(), b"--", boundary.as_bytes(), b"--\r\n"].concat()
    })
}

/// The boundaries that the parts of a mail say they have, the outer ones first.
fn boundaries_of(message: &Message<'_>, depth: usize, found: &mut Vec<String>) {
    for part in &message.parts {
        if found.len() >= BOUNDARIES_MAX {
            return;
        }
        let boundary = part.content_type().and_then(|media| media.attribute("boundary"));
        found.extend(boundary.map(str::to_owned));
        if let PartType::Message(inner) = &part.body
            && depth < BOUNDARIES_DEPTH_MAX
        {
            boundaries_of(inner, depth + 1, found);
        }
    }
}

/// Lines that begin with two dashes, without these, and where the last one of each stands.
fn delimiters(bytes: &[u8]) -> impl Iterator<Item = (&[u8], usize)> {
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    lines.filter_map(|(at, line)| Some((line.strip_prefix(b"--")?.trim_ascii_end(), at)))
}

/// Reads a mailbox; each message is a part.
pub(crate) fn mailbox(input: Input, sink: &mut TextSink<'_>) -> Outcome {
    sink.series(|sink| messages(input, sink))
}

fn messages(input: Input, sink: &mut TextSink<'_>) -> Outcome {
    let mut lines = BufReader::new(input);
    let (mut message, mut line): (Vec<u8>, Vec<u8>) = (Vec::new(), Vec::new());
    let (mut after_blank, mut begun) = (true, false);
    loop {
        line.clear();
        let length = lines.by_ref().take(limits::EXTRACT_WHOLE_BYTES_MAX).read_until(b'\n', &mut line)?;
        if length == 0 || (after_blank && line.starts_with(b"From ")) {
            if begun && !message.trim_ascii().is_empty() {
                if !sink.goes_on() {
                    return Ok(());
                }
                one(std::mem::take(&mut message), sink);
            }
            if length == 0 {
                return Ok(());
            }
            begun = true;
            after_blank = false;
            continue;
        }
        after_blank = line.trim_ascii().is_empty();
        // Lines that begin like a message are quoted by one more bracket.
        let quotes = line.iter().take_while(|byte| **byte == b'>').count();
        let quoted = quotes > 0 && line[quotes..].starts_with(b"From ");
        if (message.len() + line.len()) as u64 <= limits::EXTRACT_WHOLE_BYTES_MAX {
            message.extend_from_slice(if quoted { &line[1..] } else { &line });
        }
    }
}

/// One message of a mailbox, named by its subject.
fn one(bytes: Vec<u8>, sink: &mut TextSink<'_>) {
    let name = MessageParser::default()
        .parse_headers(&bytes)
        .and_then(|message| message.subject().map(str::to_owned));
    sink.part_by(&name.unwrap_or_default(), |sink| {
        sink.set_media_type("message/rfc822");
        sink.stated(Stated::of_size(bytes.len()));
        if let Err(parse_error) = read(Input::memory(bytes), sink) {
            sink.reason(parse_error.0);
        }
        sink.note_if_empty();
    });
}

fn write(message: &Message<'_>, sink: &mut TextSink<'_>) {
    sink.field("title", message.subject().unwrap_or_default());
    people(sink, "author", "From", message.from());
    people(sink, "to", "To", message.to());
    people(sink, "cc", "Cc", message.cc());
    if let Some(seconds) = message.date().map(mail_parser::DateTime::to_timestamp) {
        sink.field("created", &dates::from_unix(seconds));
        sink.stated(Stated { modified: dates::stated(seconds), size: None });
    }
    sink.field("message_id", message.message_id().unwrap_or_default());
    let mut written = Vec::new();
    // Where a mail says the same twice, the richer form is what people see.
    for id in
        message.html_body.iter().chain(message.text_body.iter().filter(|_| message.html_body.is_empty()))
    {
        if let Some(part) = message.part(*id) {
            written.push(*id);
            sink.line_break();
            match &part.body {
                PartType::Html(text) => html::fragment(text, sink),
                PartType::Text(text) => sink.text(text),
                _ => attachment(message, *id, sink),
            }
        }
    }
    for id in &message.attachments {
        if !written.contains(id) {
            attachment(message, *id, sink);
        }
    }
}

/// Writes who it is from or to, as a line and as a field.
fn people(sink: &mut TextSink<'_>, field: &str, word: &str, address: Option<&Address<'_>>) {
    let named = |address: &mail_parser::Addr<'_>| match (address.name(), address.address()) {
        (Some(name), Some(address)) if name != address => Some(format!("{name} <{address}>")),
        (name, address) => address.or(name).map(str::to_owned),
    };
    let all: Vec<String> = address.map(|all| all.iter().filter_map(named).collect()).unwrap_or_default();
    for one in &all {
        sink.field(field, one);
    }
    if !all.is_empty() {
        sink.line(&format!("{word}: {}", all.join(", ")));
    }
}

fn attachment(message: &Message<'_>, id: u32, sink: &mut TextSink<'_>) {
    let Some(part) = message.part(id) else { return };
    let name = part.attachment_name().unwrap_or_default().to_owned();
    let declared = part.content_type().map(|media| match media.subtype() {
        Some(kind) => format!("{}/{kind}", media.ctype()),
        None => media.ctype().to_owned(),
    });
    match &part.body {
        PartType::Message(inner) => {
            let name = if name.is_empty() { inner.subject().unwrap_or_default().to_owned() } else { name };
            sink.part_by(&name, |sink| {
                sink.set_media_type("message/rfc822");
                sink.stated(Stated::of_size(part.offset_end.saturating_sub(part.offset_body) as usize));
                write(inner, sink);
                sink.note_if_empty();
            });
        }
        PartType::Multipart(_) => {}
        _ => {
            let bytes = bytes_of(part);
            sink.member(&name, Stated::of_size(bytes.len()), declared.as_deref(), bytes);
        }
    }
}

fn bytes_of(part: &MessagePart<'_>) -> Vec<u8> {
    match &part.body {
        PartType::Text(text) | PartType::Html(text) => text.as_bytes().to_vec(),
        PartType::Binary(bytes) | PartType::InlineBinary(bytes) => bytes.to_vec(),
        PartType::Message(_) | PartType::Multipart(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::tests::extract;

    const MAIL: &str = "From: =?utf-8?q?J=C3=B6rg?= <j@example.org>\r\nTo: a@example.org, b@example.org\r\nSubject: Hello\r\n\
        Date: Wed, 31 Jan 2024 13:00:00 +0100\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n\
        --x\r\nContent-Type: multipart/alternative; boundary=y\r\n\r\n--y\r\nContent-Type: text/plain\r\n\r\nplain words\r\n\
        --y\r\nContent-Type: text/html\r\n\r\n<p>rich <b>words</b></p>\r\n--y--\r\n\
        --x\r\nContent-Type: text/csv; name=t.csv\r\nContent-Disposition: attachment; filename=t.csv\r\n\
        Content-Transfer-Encoding: base64\r\n\r\nYSxiCg==\r\n\
        --x\r\nContent-Type: message/rfc822\r\n\r\nSubject: Inner\r\nFrom: c@example.org\r\n\r\ninner words\r\n--x--\r\n";

    #[test]
    fn a_mail_gives_its_people_its_richest_text_and_its_attachments() {
        let extracted = extract("a.eml", MAIL.as_bytes());
        assert_eq!(
            extracted.text,
            "From: J\u{f6}rg <j@example.org>\nTo: a@example.org, b@example.org\nrich words\nt.csv\nInner"
        );
        assert_eq!(extracted.field("title"), Some("Hello"));
        assert_eq!(extracted.field("created"), Some("2024-01-31T12:00:00Z"));
        assert_eq!(extracted.fields["to"].len(), 2);
        assert_eq!((extracted.parts[0].name.as_str(), extracted.parts[0].text.as_str()), ("t.csv", "a,b"));
        assert_eq!(extracted.parts[1].text, "From: c@example.org\ninner words");
    }

    #[test]
    fn a_mail_in_sixteen_bits_is_read() {
        let wide: Vec<u8> =
            [0xfeff].into_iter().chain(MAIL.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        let (wide, narrow) = (extract("a.eml", &wide), extract("a.eml", MAIL.as_bytes()));
        assert_eq!((&wide.text, &wide.fields), (&narrow.text, &narrow.fields));
        assert_eq!(wide.media_type, "message/rfc822");
    }

    #[test]
    fn a_mail_that_is_cut_off_keeps_its_attachments() {
        let attached = "--x\r\nContent-Type: text/csv; name=t.csv\r\nContent-Transfer-Encoding: base64\r\n\r\nYSxiCmMsZAo=\r\n";
        let alternative =
            "--x\r\nContent-Type: multipart/alternative; boundary=y\r\n\r\n--y\r\n\r\nwords\r\n";
        let head =
            "From: a@b\r\nTo: c@d\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n";
        // Without the last line, and in the second one without the end of a part inside.
        for body in [format!("{alternative}--y--\r\n{attached}"), format!("{attached}{alternative}")] {
            let extracted = extract("a.eml", format!("{head}{body}").as_bytes());
            assert_eq!(extracted.text, "From: a@b\nTo: c@d\nwords\nt.csv", "{body}");
            assert_eq!(extracted.parts[0].text, "a,b\nc,d", "{body}");
            assert!(extracted.broken_off && extracted.reason.is_some());
        }
        let mailbox = format!("From a\n{head}{attached}\r\nFrom b\n{head}{attached}--x--\r\n");
        let extracted = extract("a.mbox", mailbox.as_bytes());
        assert_eq!(extracted.parts[0].parts[0].text, "a,b\nc,d");
        assert_eq!((extracted.parts[0].broken_off, extracted.parts[1].broken_off), (true, false));
    }

    #[test]
    fn each_message_of_a_mailbox_is_a_part() {
        let mailbox = "From a Mon Jan 1 00:00:00 2024\nSubject: One\nFrom: a@b\n\nfirst\n>From quoted\nFrom the middle\n\n\
            From b Mon Jan 1 00:00:00 2024\nSubject: Two\nFrom: a@b\n\nsecond\n";
        let extracted = extract("a.mbox", mailbox.as_bytes());
        assert_eq!(extracted.media_type, "application/mbox");
        assert_eq!(extracted.text, "One\nTwo");
        assert_eq!(extracted.parts[0].text, "From: a@b\nfirst\nFrom quoted\nFrom the middle");
        assert_eq!(extracted.parts[1].field("title"), Some("Two"));
    }
}
