//! What Outlook wraps its mails in for other programs ([MS-OXTNEF]): `winmail.dat`, with a body and attachments.

use super::message::{self, BINARY, NARROW, Properties, WIDE};
use super::{u16_at, u32_at};
use crate::Input;
use crate::page::{Outcome, TextSink};

/// What a file begins with, before the number that ties its attributes to those of the mail.
const MAGIC: &[u8] = b"\x78\x9f\x3e\x22";
const HEADER_BYTES: usize = 6;
/// Attributes of the mail.
const SUBJECT: u32 = 0x0001_8004;
const BODY: u32 = 0x0002_800c;
const CODE_PAGE: u32 = 0x0006_9007;
const MESSAGE: u32 = 0x0006_9003;
/// Attributes of an attachment; the first one begins it.
const ATTACHMENT: u32 = 0x0006_9002;
const TITLE: u32 = 0x0001_8010;
const DATA: u32 = 0x0006_800f;
const FACTS: u32 = 0x0006_9005;
/// Attachments of one mail, and properties of each.
const ITEMS_MAX: usize = 10_000;

/// Reads a mail.
pub(crate) fn read(input: Input, sink: &mut TextSink<'_>) -> Outcome {
    let bytes = input.into_bytes()?;
    let mut mail = Bag::default();
    let mut attachments: Vec<Bag<'_>> = Vec::new();
    let mut rest = bytes.get(HEADER_BYTES..).unwrap_or_default();
    let mut whole = true;
    // A level, a name and a length come before an attribute, and a sum behind it.
    while rest.len() > 9 && whole {
        let (name, length) = (u32_at(rest, 1), u32_at(rest, 5) as usize);
        let behind = &rest[9..];
        whole = behind.len() >= length.saturating_add(2);
        let data = &behind[..length.min(behind.len())];
        match name {
            SUBJECT => mail.texts.push((0x0037, NARROW, data)),
            BODY => mail.texts.push((0x1000, NARROW, data)),
            CODE_PAGE => mail.numbers.push((0x3ffd, u64::from(u32_at(data, 0)))),
            MESSAGE => mail.take(data),
            ATTACHMENT if attachments.len() < ITEMS_MAX => attachments.push(Bag::default()),
            _ => {
                if let Some(attachment) = attachments.last_mut() {
                    match name {
                        TITLE => attachment.texts.push((0x3704, NARROW, data)),
                        DATA => attachment.texts.push((0x3701, BINARY, data)),
                        FACTS => attachment.take(data),
                        _ => {}
                    }
                }
            }
        }
        rest = behind.get(length.saturating_add(2)..).unwrap_or_default();
    }
    message::write(&mail, &[], sink);
    for mut attachment in attachments {
        attachment.numbers.extend(mail.numbers.iter().filter(|(tag, _)| *tag == 0x3ffd));
        attachment.open(sink);
    }
    if whole { Ok(()) } else { Err("the file is cut off".into()) }
}

/// The properties of a mail or an attachment.
#[derive(Default)]
struct Bag<'m> {
    numbers: Vec<(u16, u64)>,
    /// By number and type.
    texts: Vec<(u16, u16, &'m [u8])>,
}

/// A mail that is attached: its property has the type of an object.
const OBJECT: u16 = 0x0d;

impl<'m> Bag<'m> {
    /// Takes a list of properties, up to where it is damaged.
    fn take(&mut self, data: &'m [u8]) {
        let count = (u32_at(data, 0) as usize).min(ITEMS_MAX);
        let mut list = List(data.get(4..).unwrap_or_default());
        for _ in 0..count {
            if list.property(self).is_none() {
                break;
            }
        }
    }

    /// Reads it as an attachment.
    fn open(&self, sink: &mut TextSink<'_>) {
        let name = message::attachment_name(self);
        // An object begins with what it is.
        let inner = self.bytes(0x3701, OBJECT).and_then(|bytes| bytes.get(16..).map(<[u8]>::to_vec));
        if let Some(bytes) = inner.filter(|bytes| bytes.starts_with(MAGIC)) {
            return sink.member(&name, message::stated(self, bytes.len()), None, bytes);
        }
        if let Some(bytes) = self.bytes(0x3701, BINARY) {
            let declared = self.text(0x370e);
            let declared = Some(declared.as_str()).filter(|media| !media.is_empty());
            sink.member(&name, message::stated(self, bytes.len()), declared, bytes);
        }
    }
}

impl Properties for Bag<'_> {
    fn number(&self, tag: u16) -> Option<u64> {
        self.numbers.iter().find(|(known, _)| *known == tag).map(|(_, value)| *value)
    }

    fn bytes(&self, tag: u16, kind: u16) -> Option<Vec<u8>> {
        let mut found = self.texts.iter().filter(|(known, of, _)| (*known, *of) == (tag, kind));
        found.next().map(|(_, _, bytes)| bytes.to_vec())
    }
}

/// What is left of a list of properties.
struct List<'m>(&'m [u8]);

impl<'m> List<'m> {
    fn bytes(&mut self, length: usize) -> Option<&'m [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn size(&mut self) -> Option<usize> {
        self.bytes(4).map(|four| u32_at(four, 0) as usize)
    }

    /// Bytes behind their length, up to the next four.
    fn counted(&mut self) -> Option<&'m [u8]> {
        let length = self.size()?;
        let taken = self.bytes(length)?;
        self.bytes((4 - length % 4) % 4)?;
        Some(taken)
    }

    /// Takes the next one into a bag.
    fn property(&mut self, into: &mut Bag<'m>) -> Option<()> {
        let head = self.bytes(4)?;
        let (kind, tag) = (u16_at(head, 0), u16_at(head, 2));
        if tag >= 0x8000 {
            // It has a name of its own behind what set of names it belongs to; nobody asks for it.
            let named = u32_at(self.bytes(20)?, 16) == 1;
            if named { self.counted().map(|_| ()) } else { self.bytes(4).map(|_| ()) }?;
        }
        let many = kind & 0x1000 != 0;
        let kind = kind & 0xfff;
        let width = match kind {
            0x02 | 0x03 | 0x04 | 0x0a | 0x0b => 4,
            0x05 | 0x06 | 0x07 | 0x14 | 0x40 => 8,
            0x48 => 16,
            OBJECT | NARROW | WIDE | BINARY => 0,
            _ => return None,
        };
        let count = if many || width == 0 { self.size()? } else { 1 };
        for _ in 0..count {
            if width == 0 {
                let bytes = self.counted()?;
                into.texts.push((tag, kind, bytes));
            } else {
                let value = self.bytes(width)?;
                let high = if width == 8 { u32_at(value, 4) } else { 0 };
                into.numbers.push((tag, u64::from(u32_at(value, 0)) | u64::from(high) << 32));
            }
            if into.texts.len() + into.numbers.len() > ITEMS_MAX {
                return None;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::tests::{extract, survives};

    fn attribute(level: u8, name: u32, data: &[u8]) -> Vec<u8> {
        let sum = data.iter().fold(0u16, |sum, byte| sum.wrapping_add(u16::from(*byte)));
        let head = [&[level][..], &name.to_le_bytes(), &(data.len() as u32).to_le_bytes()].concat();
        [&head, data, &sum.to_le_bytes()].concat()
    }

    fn counted(bytes: &[u8]) -> Vec<u8> {
        let fill = vec![0; (4 - bytes.len() % 4) % 4];
        [&1u32.to_le_bytes()[..], &(bytes.len() as u32).to_le_bytes(), bytes, &fill].concat()
    }

    fn wide(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    fn properties(all: &[Vec<u8>]) -> Vec<u8> {
        [&(all.len() as u32).to_le_bytes()[..], &all.concat()].concat()
    }

    fn file(attributes: &[Vec<u8>]) -> Vec<u8> {
        [MAGIC, &[1, 0], &attributes.concat()].concat()
    }

    fn mail() -> Vec<u8> {
        let named = [
            &[0x1f, 0, 1, 0x80][..],
            &[7; 16],
            &[1, 0, 0, 0, 2, 0, 0, 0, b'x', 0, 0, 0],
            &counted(&wide("skip")),
        ];
        let numbers = [&[3, 0x10, 1, 0x0e, 2, 0, 0, 0][..], &[9; 8]].concat();
        let body = [&[0x1f, 0, 0, 0x10][..], &counted(&wide("plain words"))].concat();
        let long = [&[0x1f, 0, 7, 0x37][..], &counted(&wide("long name.txt"))].concat();
        let time = [&[0x40, 0, 8, 0x30][..], &133_511_760_000_000_000u64.to_le_bytes()].concat();
        let inner = file(&[attribute(1, SUBJECT, b"Inner\0"), attribute(1, BODY, b"inner words\0")]);
        let object = [&[0x0d, 0, 1, 0x37][..], &counted(&[&[1; 16], inner.as_slice()].concat())].concat();
        file(&[
            attribute(1, CODE_PAGE, &[0xe3, 4, 0, 0, 0, 0, 0, 0]),
            attribute(1, SUBJECT, b"\xcf\xf0\xe8\0"),
            attribute(1, MESSAGE, &properties(&[named.concat(), numbers, body])),
            attribute(2, ATTACHMENT, &[0; 14]),
            attribute(2, TITLE, b"LONGNA~1.TXT\0"),
            attribute(2, DATA, b"in it"),
            attribute(2, FACTS, &properties(&[long, time])),
            attribute(2, ATTACHMENT, &[0; 14]),
            attribute(2, FACTS, &properties(&[object])),
        ])
    }

    #[test]
    fn a_wrapped_mail_gives_its_words_and_what_is_attached() {
        let page = extract("winmail.dat", &mail());
        assert_eq!(page.media_type, "application/vnd.ms-tnef");
        assert_eq!((page.field("title"), page.reason.as_deref()), (Some("\u{41f}\u{440}\u{438}"), None));
        assert!(page.text.starts_with("plain words\nlong name.txt"), "{}", page.text);
        let [file, inner] = page.parts.as_slice() else { panic!("{:?}", page.parts) };
        assert_eq!((file.name.as_str(), file.text.as_str(), file.size), ("long name.txt", "in it", Some(5)));
        assert!(file.modified.is_some());
        assert_eq!((inner.field("title"), inner.text.as_str()), (Some("Inner"), "inner words"));
    }

    #[test]
    fn a_damaged_one_gives_what_is_left() {
        let whole = mail();
        survives("winmail.dat", &whole);
        let page = extract("winmail.dat", &whole[..whole.len() - 20]);
        assert_eq!(page.reason.as_deref(), Some("the file is cut off"));
        assert!(page.text.starts_with("plain words"), "{}", page.text);
    }
}
