//! What messages of Outlook say, wherever they are kept: who, to whom, when and what ([MS-OXPROPS]).

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

use super::word::of_language;
use super::{codepage, narrow, u32_at, utf16};
use crate::dates;
use crate::formats::{html, rtf};
use crate::page::{Stated, TextSink};

/// Bytes that packed rich text may become.
const RICH_TEXT_BYTES_MAX: usize = 64 << 20;

// Types of properties.
pub(crate) const NARROW: u16 = 0x1e;
pub(crate) const WIDE: u16 = 0x1f;
pub(crate) const BINARY: u16 = 0x102;

/// Properties of a message, attachment or recipient, by number.
pub(crate) trait Properties {
    /// A number or date.
    fn number(&self, tag: u16) -> Option<u64>;

    /// The bytes of a property of that type.
    fn bytes(&self, tag: u16, kind: u16) -> Option<Vec<u8>>;

    /// Text; empty when there is none.
    fn text(&self, tag: u16) -> String {
        let wide = self.bytes(tag, WIDE).map(|bytes| utf16(&bytes));
        let text = wide.or_else(|| self.bytes(tag, NARROW).map(|bytes| narrow(&bytes, self.charset(&bytes))));
        text.unwrap_or_default().trim_end_matches('\0').to_owned()
    }

    /// The charset of narrow text: some messages say UTF-8 and write that of their language.
    fn charset(&self, bytes: &[u8]) -> &'static Encoding {
        let number = self.number(0x3fde).or_else(|| self.number(0x3ffd));
        let said = number.and_then(|number| codepage(number as i32)).unwrap_or(WINDOWS_1252);
        match said == UTF_8 && std::str::from_utf8(bytes).is_err() {
            // The language is in the lower bits.
            true => self.number(0x3ff1).map_or(WINDOWS_1252, |language| of_language(language as u16)),
            false => said,
        }
    }
}

/// Writes what a message says; `addresses` are those of its recipients.
pub(crate) fn write(message: &dyn Properties, addresses: &[String], sink: &mut TextSink<'_>) {
    sink.field("title", subject(&message.text(0x0037)));
    people(message, addresses, sink);
    let sent = [0x0039, 0x0e06].into_iter().filter_map(|tag| message.number(tag));
    let modified = sent.filter_map(dates::stated_file_time).next();
    sink.stated(Stated { modified, size: message.number(0x0e08) });
    for (field, tag) in [("created", 0x0039), ("created", 0x0e06), ("modified", 0x3008)] {
        if let Some(date) = message.number(tag).and_then(dates::from_file_time)
            && (field != "created" || !sink.has_field("created"))
        {
            sink.field(field, &date);
        }
    }
    sink.field("message_id", &message.text(0x1035));
    body(message, sink);
}

/// The subject: stores put in front of it how long what comes before it is, such as `Re: `.
pub(crate) fn subject(text: &str) -> &str {
    text.strip_prefix('\u{1}').map_or(text, |rest| {
        let mut rest = rest.chars();
        rest.next();
        rest.as_str()
    })
}

/// The address of a recipient.
pub(crate) fn address(recipient: &dyn Properties) -> Option<String> {
    [0x39fe, 0x3003].into_iter().map(|tag| recipient.text(tag)).find(|address| address.contains('@'))
}

/// Size and time of an attachment of so many bytes.
pub(crate) fn stated(attachment: &dyn Properties, bytes: usize) -> Stated {
    let modified = attachment.number(0x3008).and_then(dates::stated_file_time);
    Stated { modified, ..Stated::of_size(bytes) }
}

/// The name of an attachment.
pub(crate) fn attachment_name(attachment: &dyn Properties) -> String {
    let names = [0x3707, 0x3704, 0x3001].into_iter().map(|tag| attachment.text(tag));
    names.into_iter().find(|name| !name.is_empty()).unwrap_or_default()
}

fn people(message: &dyn Properties, addresses: &[String], sink: &mut TextSink<'_>) {
    let name = message.text(0x0c1a);
    let address = Some(message.text(0x5d01))
        .filter(|address| !address.is_empty())
        .unwrap_or_else(|| message.text(0x0c1f));
    // Addresses of a directory begin with a slash and are nobody's words.
    let address = if address.starts_with('/') { String::new() } else { address };
    let author = match (name.is_empty(), address.is_empty() || address == name) {
        (false, false) => format!("{name} <{address}>"),
        (false, true) => name,
        (true, _) => address,
    };
    sink.field("author", &author);
    let mut line = |word: &str, names: &str| {
        if !names.is_empty() {
            sink.line(&format!("{word}: {names}"));
        }
    };
    line("From", &author);
    let (to, cc) = (message.text(0x0e04), message.text(0x0e03));
    line("To", &to);
    line("Cc", &cc);
    line("Bcc", &message.text(0x0e02));
    line("Recipients", &addresses.join(", "));
    for name in to.split(';') {
        sink.field("to", name);
    }
    for name in cc.split(';') {
        sink.field("cc", name);
    }
}

/// The body: as a page, as plain text, or as rich text; the first that has words.
fn body(message: &dyn Properties, sink: &mut TextSink<'_>) {
    if let Some(bytes) = message.bytes(0x1013, BINARY) {
        let encoding = message.number(0x3fde).and_then(|number| codepage(number as i32));
        return match encoding.filter(|_| std::str::from_utf8(&bytes).is_err()) {
            Some(encoding) => html::fragment(&narrow(&bytes, encoding), sink),
            None => html::fragment_bytes(&bytes, sink),
        };
    }
    let html = message.text(0x1013);
    if !html.is_empty() {
        return html::fragment(&html, sink);
    }
    let plain = message.text(0x1000);
    if !plain.trim().is_empty() {
        return sink.text(&plain);
    }
    if let Some(rich) = message.bytes(0x1009, BINARY).and_then(|packed| unpack(&packed)) {
        // A broken body gives the words before the damage.
        let _ = rtf::read(crate::Input::memory(rich), sink);
    }
}

/// Words that packed rich text begins with in memory ([MS-OXRTFCP]).
const DICTIONARY: &[u8] = b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx";

/// Unpacks rich text: single bytes, and copies of what came within the last four kilobytes.
fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let size = (u32_at(packed, 4) as usize).min(RICH_TEXT_BYTES_MAX);
    let content = packed.get(16..)?;
    match u32_at(packed, 8) {
        0x414c_454d => return Some(content[..size.min(content.len())].to_vec()),
        0x7546_5a4c => {}
        _ => return None,
    }
    let mut out = DICTIONARY.to_vec();
    let end = DICTIONARY.len() + size;
    let mut bytes = content.iter().copied();
    'all: while out.len() < end {
        let Some(flags) = bytes.next() else { break };
        for bit in 0..8 {
            if flags >> bit & 1 == 0 {
                let Some(byte) = bytes.next() else { break 'all };
                out.push(byte);
                continue;
            }
            let (Some(high), Some(low)) = (bytes.next(), bytes.next()) else { break 'all };
            let (place, length) = (usize::from(high) << 4 | usize::from(low >> 4), usize::from(low & 15) + 2);
            // The place counts in a ring of four kilobytes; the current one means the end.
            let back = (out.len() + 4_096 - place) % 4_096;
            if back == 0 || back > out.len() {
                break 'all;
            }
            for _ in 0..length {
                out.push(out[out.len() - back]);
            }
        }
    }
    Some(out.split_off(DICTIONARY.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_rich_text_is_unpacked() {
        // The example of the specification.
        let packed: Vec<u8> = "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c0900206277 05b06c647d0a800fa0"
            .replace(' ', "").as_bytes().chunks(2).map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap()).collect();
        let rich = unpack(&packed).unwrap();
        assert_eq!(String::from_utf8(rich).unwrap(), "{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n");
        assert_eq!(unpack(b"short"), None);
    }
}
