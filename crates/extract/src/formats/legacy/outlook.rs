//! Messages of Outlook ([MS-OXMSG]): who, what, and what is attached.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

use super::container::Storage;
use super::word::of_language;
use super::{codepage, narrow, u32_at, utf16};
use crate::dates;
use crate::formats::{html, rtf};
use crate::page::{Outcome, Page};

/// Bytes that packed rich text may become.
const RICH_TEXT_BYTES_MAX: usize = 64 << 20;

/// Reads a message.
pub(super) fn read(storage: &Storage<'_>, page: &mut Page<'_>) -> Outcome {
    message(storage, 32, page);
    Ok(())
}

/// Reads a message whose properties begin after `header` bytes.
fn message(storage: &Storage<'_>, header: usize, page: &mut Page<'_>) {
    let message = Message::new(storage, header);
    page.field("title", &message.text(0x0037));
    people(&message, page);
    for (field, tag) in [("created", 0x0039), ("created", 0x0e06), ("modified", 0x3008)] {
        if let Some(date) = message.number(tag).and_then(dates::from_file_time)
            && (field != "created" || !page.has_field("created"))
        {
            page.field(field, &date);
        }
    }
    page.field("message_id", &message.text(0x1035));
    body(&message, page);
    for child in storage.storages() {
        if child.name().starts_with("__attach_version1.0_") {
            attachment(&child, page);
        }
    }
}

/// Properties of a message, attachment or recipient.
struct Message<'s, 'c> {
    storage: &'s Storage<'c>,
    encoding: &'static Encoding,
    /// The charset of its language: some say UTF-8 and write that.
    fallback: &'static Encoding,
    /// Those of fixed size: tag and value.
    fixed: Vec<(u32, u64)>,
}

impl<'s, 'c> Message<'s, 'c> {
    /// `header` bytes come before the properties.
    fn new(storage: &'s Storage<'c>, header: usize) -> Self {
        let bytes = storage.stream("__properties_version1.0").unwrap_or_default();
        let entries = bytes.get(header..).unwrap_or_default().chunks_exact(16);
        let fixed: Vec<(u32, u64)> = entries
            .map(|entry| (u32_at(entry, 0), u64::from(u32_at(entry, 8)) | u64::from(u32_at(entry, 12)) << 32))
            .collect();
        let number =
            |tag: u32| fixed.iter().find(|(known, _)| known >> 16 == tag).map(|(_, value)| *value as i32);
        let encoding = number(0x3fde).or(number(0x3ffd)).and_then(codepage).unwrap_or(WINDOWS_1252);
        // The language is in the lower bits.
        let fallback = number(0x3ff1).map_or(WINDOWS_1252, |language| of_language(language as u16));
        Self { storage, encoding, fallback, fixed }
    }

    fn number(&self, tag: u32) -> Option<u64> {
        self.fixed.iter().find(|(known, _)| known >> 16 == tag).map(|(_, value)| *value)
    }

    fn bytes(&self, tag: u32, kind: &str) -> Option<Vec<u8>> {
        self.storage.stream(&format!("__substg1.0_{tag:04X}{kind}"))
    }

    /// A property of text; empty when there is none.
    fn text(&self, tag: u32) -> String {
        let wide = self.bytes(tag, "001F").map(|bytes| utf16(&bytes));
        let text = wide.or_else(|| {
            let bytes = self.bytes(tag, "001E")?;
            let is_other = self.encoding == UTF_8 && std::str::from_utf8(&bytes).is_err();
            Some(narrow(&bytes, if is_other { self.fallback } else { self.encoding }))
        });
        text.unwrap_or_default().trim_end_matches('\0').to_owned()
    }
}

fn people(message: &Message<'_, '_>, page: &mut Page<'_>) {
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
    page.field("author", &author);
    let mut line = |word: &str, names: &str| {
        if !names.is_empty() {
            page.line(&format!("{word}: {names}"));
        }
    };
    line("From", &author);
    let (to, cc) = (message.text(0x0e04), message.text(0x0e03));
    line("To", &to);
    line("Cc", &cc);
    let mut addresses = Vec::new();
    for child in message.storage.storages() {
        if child.name().starts_with("__recip_version1.0_") {
            let recipient = Message::new(&child, 8);
            let address = [0x39fe, 0x3003]
                .into_iter()
                .map(|tag| recipient.text(tag))
                .find(|address| address.contains('@'));
            addresses.extend(address);
        }
    }
    line("Recipients", &addresses.join(", "));
    for name in to.split(';') {
        page.field("to", name);
    }
    for name in cc.split(';') {
        page.field("cc", name);
    }
}

/// The body: as a page, as plain text, or as rich text; the first that has words.
fn body(message: &Message<'_, '_>, page: &mut Page<'_>) {
    if let Some(bytes) = message.bytes(0x1013, "0102") {
        let encoding = message.number(0x3fde).and_then(|number| codepage(number as i32));
        return match encoding.filter(|_| std::str::from_utf8(&bytes).is_err()) {
            Some(encoding) => html::fragment(&narrow(&bytes, encoding), page),
            None => html::fragment_bytes(&bytes, page),
        };
    }
    let html = message.text(0x1013);
    if !html.is_empty() {
        return html::fragment(&html, page);
    }
    let plain = message.text(0x1000);
    if !plain.trim().is_empty() {
        return page.text(&plain);
    }
    if let Some(rich) = message.bytes(0x1009, "0102").and_then(|packed| unpack(&packed)) {
        // A broken body gives the words before the damage.
        let _ = rtf::read(crate::Input::memory(rich), page);
    }
}

fn attachment(storage: &Storage<'_>, page: &mut Page<'_>) {
    let attachment = Message::new(storage, 8);
    let name =
        [0x3707, 0x3704, 0x3001].into_iter().map(|tag| attachment.text(tag)).find(|name| !name.is_empty());
    let name = name.unwrap_or_default();
    if let Some(inner) = storage.storage("__substg1.0_3701000D") {
        return page.part_by(&name, |page| {
            if inner.stream("__properties_version1.0").is_some() {
                page.set_media_type("application/vnd.ms-outlook");
                // The header of an inner message is shorter.
                message(&inner, 24, page);
            } else {
                super::storage(&inner, page).unwrap_or_else(|trouble| page.reason(trouble.0));
            }
            page.settle();
        });
    }
    if let Some(bytes) = attachment.bytes(0x3701, "0102") {
        let declared = attachment.text(0x370e);
        page.part(&name, Some(declared.as_str()).filter(|media| !media.is_empty()), bytes);
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
    use super::super::container::tests::container;
    use super::*;
    use crate::formats::tests::extract;

    fn wide(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn a_message_gives_its_people_and_its_text() {
        let mut properties = vec![0u8; 32];
        properties.extend([0x40, 0, 0x39, 0, 0, 0, 0, 0]);
        properties.extend(133_511_760_000_000_000u64.to_le_bytes());
        let bytes = container(&[
            ("__properties_version1.0", &properties),
            ("__substg1.0_0037001F", &wide("Hello")),
            ("__substg1.0_0C1A001F", &wide("Ann")),
            ("__substg1.0_0E04001E", b"Bob; Cid"),
            ("__substg1.0_1000001F", &wide("plain words")),
        ]);
        let page = extract("a.msg", &bytes);
        assert_eq!(page.media_type, "application/vnd.ms-outlook");
        assert_eq!(page.text, "From: Ann\nTo: Bob; Cid\nplain words");
        assert_eq!(
            (page.field("title"), page.field("created")),
            (Some("Hello"), Some("2024-01-31T12:00:00Z"))
        );
    }

    #[test]
    fn words_that_are_not_utf_8_are_in_the_charset_of_the_language() {
        let message = |subject: &[u8]| {
            let mut properties = vec![0u8; 32];
            for (tag, value) in [(0x3fdeu16, 65_001u64), (0x3ff1, 0x419)] {
                properties.extend([3, 0]);
                properties.extend(tag.to_le_bytes());
                properties.extend([0; 4]);
                properties.extend(value.to_le_bytes());
            }
            let streams: [(&str, &[u8]); 2] =
                [("__properties_version1.0", &properties), ("__substg1.0_0037001E", subject)];
            extract("a.msg", &container(&streams)).field("title").map(str::to_owned)
        };
        assert_eq!(message("тема".as_bytes()).as_deref(), Some("тема"));
        assert_eq!(message(&encoding_rs::WINDOWS_1251.encode("тема").0).as_deref(), Some("тема"));
    }

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
