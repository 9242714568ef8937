//! Messages of Outlook ([MS-OXMSG]): who, what, and what is attached.

use super::container::Storage;
use super::message::{self, BINARY, Properties};
use super::u32_at;
use crate::page::{Outcome, TextSink};

/// Reads a message.
pub(super) fn read(storage: &Storage<'_>, sink: &mut TextSink<'_>) -> Outcome {
    self::message(storage, 32, sink);
    Ok(())
}

/// Reads a message whose properties begin after `header` bytes.
fn message(storage: &Storage<'_>, header: usize, sink: &mut TextSink<'_>) {
    let recipients = storage.storages().into_iter();
    let recipients = recipients.filter(|child| child.name().starts_with("__recip_version1.0_"));
    let addresses: Vec<String> =
        recipients.filter_map(|child| message::address(&Message::new(&child, 8))).collect();
    message::write(&Message::new(storage, header), &addresses, sink);
    for child in storage.storages() {
        if child.name().starts_with("__attach_version1.0_") {
            attachment(&child, sink);
        }
    }
}

/// Properties of a message, attachment or recipient.
struct Message<'s, 'c> {
    storage: &'s Storage<'c>,
    /// Those of fixed size: tag and value.
    fixed: Vec<(u32, u64)>,
}

impl<'s, 'c> Message<'s, 'c> {
    /// `header` bytes come before the properties.
    fn new(storage: &'s Storage<'c>, header: usize) -> Self {
        let bytes = storage.stream("__properties_version1.0").unwrap_or_default();
        let entries = bytes.get(header..).unwrap_or_default().chunks_exact(16);
        let fixed = entries
            .map(|entry| (u32_at(entry, 0), u64::from(u32_at(entry, 8)) | u64::from(u32_at(entry, 12)) << 32))
            .collect();
        Self { storage, fixed }
    }
}

impl Properties for Message<'_, '_> {
    fn number(&self, tag: u16) -> Option<u64> {
        self.fixed.iter().find(|(known, _)| known >> 16 == u32::from(tag)).map(|(_, value)| *value)
    }

    fn bytes(&self, tag: u16, kind: u16) -> Option<Vec<u8>> {
        self.storage.stream(&format!("__substg1.0_{tag:04X}{kind:04X}"))
    }
}

fn attachment(storage: &Storage<'_>, sink: &mut TextSink<'_>) {
    let attachment = Message::new(storage, 8);
    let name = message::attachment_name(&attachment);
    if let Some(inner) = storage.storage("__substg1.0_3701000D") {
        return sink.part_by(&name, |sink| {
            if inner.stream("__properties_version1.0").is_some() {
                sink.set_media_type("application/vnd.ms-outlook");
                // The header of an inner message is shorter.
                self::message(&inner, 24, sink);
            } else {
                super::storage(&inner, sink).unwrap_or_else(|parse_error| sink.reason(parse_error.0));
            }
            sink.note_if_empty();
        });
    }
    if let Some(bytes) = attachment.bytes(0x3701, BINARY) {
        let declared = attachment.text(0x370e);
        let declared = Some(declared.as_str()).filter(|media| !media.is_empty());
        sink.member(&name, message::stated(&attachment, bytes.len()), declared, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::super::container::tests::container;
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
        let extracted = extract("a.msg", &bytes);
        assert_eq!(extracted.media_type, "application/vnd.ms-outlook");
        assert_eq!(extracted.text, "From: Ann\nTo: Bob; Cid\nplain words");
        assert_eq!(
            (extracted.field("title"), extracted.field("created")),
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
}
