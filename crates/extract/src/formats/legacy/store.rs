//! Stores of Outlook (PST and OST, [MS-PST]): each message is a part, named by its folder and subject. Nothing is written,
//! and no more is held than one message.

mod heap;
mod nodes;
mod scramble;

use std::collections::HashMap;

use self::heap::Bag;
use self::nodes::{Node, Nodes};
use crate::Input;
use crate::formats;
use crate::formats::legacy::message::{self, BINARY, Properties};
use crate::page::{Outcome, TextSink};

/// Kinds of nodes, in the lower bits of their numbers.
const KIND: u32 = 0x1f;
const FOLDER: u32 = 2;
const MESSAGE: u32 = 4;
const ATTACHMENT: u32 = 5;
/// Folders of one store, and folders inside each other.
const FOLDERS_MAX: usize = 100_000;
const DEPTH_MAX: usize = 64;
/// The folder that holds all others, and is shown to nobody.
const ROOT: u32 = 0x122;

/// Reads a store.
pub(crate) fn read(input: Input, page: &mut TextSink<'_>) -> Outcome {
    let nodes = Nodes::open(input)?;
    page.series(|page| messages(&nodes, page))
}

fn messages(nodes: &Nodes, page: &mut TextSink<'_>) -> Outcome {
    let mut folders: HashMap<u32, (u32, String)> = HashMap::new();
    nodes.each(&mut |node| {
        if node.number & KIND == FOLDER && folders.len() < FOLDERS_MAX {
            // A damaged folder has no name, and its messages are read all the same.
            let name = Bag::open(nodes, node).map(|bag| bag.text(0x3001)).unwrap_or_default();
            folders.insert(node.number, (node.parent, name));
        }
        true
    })?;
    let mut damaged = 0;
    nodes.each(&mut |node| {
        let is_message = node.number & KIND == MESSAGE;
        if is_message && !page.goes_on() {
            return false;
        }
        damaged += usize::from(is_message && !one(nodes, node, &path(&folders, node.parent), page));
        true
    })?;
    if damaged > 0 { Err(format!("{damaged} of its messages are damaged").as_str().into()) } else { Ok(()) }
}

/// The folders around a message, without the two that Outlook puts around all of them.
fn path(folders: &HashMap<u32, (u32, String)>, folder: u32) -> String {
    let (mut names, mut at) = (Vec::new(), folder);
    while let Some((parent, name)) = folders.get(&at).filter(|_| at != ROOT && names.len() < DEPTH_MAX) {
        names.push(name.replace('/', "_"));
        if *parent == at {
            break;
        }
        at = *parent;
    }
    names.pop();
    names.iter().rev().map(|name| format!("{name}/")).collect()
}

/// Reads one message; whether it could be read.
fn one(nodes: &Nodes, node: Node, path: &str, page: &mut TextSink<'_>) -> bool {
    let Ok(bag) = Bag::open(nodes, node) else { return false };
    let subject = bag.text(0x0037);
    let subject = message::subject(&subject).replace('/', "_");
    let name = if subject.trim().is_empty() { format!("{:x}", node.number) } else { subject };
    page.part_by(&format!("{path}{}", name.trim()), |page| {
        page.set_media_type("application/vnd.ms-outlook");
        write(nodes, &bag, page);
        page.note_if_empty();
    });
    true
}

fn write(nodes: &Nodes, bag: &Bag<'_>, page: &mut TextSink<'_>) {
    message::write(bag, &[], page);
    for node in bag.below().iter().filter(|node| node.number & KIND == ATTACHMENT) {
        match Bag::open(nodes, *node) {
            Ok(attachment) => attached(nodes, &attachment, page),
            Err(error) => page.lost_part("", &error.to_string()),
        }
    }
}

/// Opens what is attached to a message.
fn attached(nodes: &Nodes, attachment: &Bag<'_>, page: &mut TextSink<'_>) {
    let name = message::attachment_name(attachment);
    if let Some(inner) = attachment.object(0x3701) {
        match Bag::open(nodes, inner) {
            Ok(bag) => page.part_by(&name, |page| {
                page.set_media_type("application/vnd.ms-outlook");
                write(nodes, &bag, page);
                page.note_if_empty();
            }),
            Err(error) => page.lost_part(&name, &error.to_string()),
        }
        return;
    }
    let Some(content) = attachment.stream(0x3701, BINARY) else { return };
    let declared = attachment.text(0x370e);
    let content = content.map(|content| page.budget().collect(&name, content));
    match content {
        Ok((input, Err(error))) if input.is_empty() => page.lost_part(&name, &error.to_string()),
        Err(error) => page.lost_part(&name, &error.to_string()),
        Ok((input, outcome)) => page.part_by(&name, |page| {
            let bytes = usize::try_from(input.len()).unwrap_or(usize::MAX);
            page.stated(message::stated(attachment, bytes));
            formats::read(page, Some(declared.as_str()).filter(|media| !media.is_empty()), input);
            if let Err(error) = outcome {
                page.broken_off(error.to_string());
            }
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::scramble::tests::encode;
    use crate::formats::tests::{extract, extract_within};
    use std::io::Write;

    /// A node: number, parent, what is in it, and nodes below it.
    type Made = (u32, u32, Vec<u8>, Vec<(u32, Vec<u8>, Vec<(u32, Vec<u8>)>)>);

    /// Properties on a heap: those of text in sixteen bits, bytes, or a number.
    fn heap(properties: &[(u16, u16, &[u8])], large: bool) -> Vec<u8> {
        let id = |number: usize| (number as u32) << 5;
        let mut items = vec![[&[0xb5, 2, 6, 0], id(2).to_le_bytes().as_slice()].concat(), Vec::new()];
        for (tag, kind, value) in properties {
            let place = match kind {
                3 => u32::from_le_bytes((*value).try_into().unwrap()),
                // The value is the number of a node below.
                0xffff => u32::from_le_bytes((*value).try_into().unwrap()),
                _ => {
                    items.push(value.to_vec());
                    id(items.len())
                }
            };
            let kind = if *kind == 0xffff { 0x102 } else { *kind };
            items[1].extend([tag.to_le_bytes(), kind.to_le_bytes()].concat());
            items[1].extend(place.to_le_bytes());
        }
        assert!(!large || items.len() < 1 << 14);
        let mut bytes = vec![0, 0, 0xec, 0xbc];
        bytes.extend(id(1).to_le_bytes());
        bytes.extend([0; 4]);
        let mut map = vec![items.len() as u16, 0, bytes.len() as u16];
        for item in &items {
            bytes.extend(item);
            map.push(bytes.len() as u16);
        }
        let at = (bytes.len() as u16).to_le_bytes();
        bytes[..2].copy_from_slice(&at);
        bytes.extend(map.iter().flat_map(|number| number.to_le_bytes()));
        bytes
    }

    /// How a store is written.
    #[derive(Clone, Copy, PartialEq)]
    enum Form {
        Narrow,
        Wide,
        Large,
    }

    struct Maker {
        form: Form,
        bytes: Vec<u8>,
        blocks: Vec<(u64, u64, u16)>,
    }

    impl Maker {
        fn long(&self, number: u64) -> Vec<u8> {
            number.to_le_bytes()[..if self.form == Form::Narrow { 4 } else { 8 }].to_vec()
        }

        /// Adds a block; its number has a mark when it is a list.
        fn block(&mut self, content: &[u8], is_list: bool) -> u64 {
            let number = (self.blocks.len() as u64 + 1) * 4 + if is_list { 2 } else { 0 };
            let mut content = content.to_vec();
            let unpacked = content.len();
            let packed = self.form == Form::Large && unpacked > 200 && !is_list;
            if packed {
                let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
                encoder.write_all(&content).unwrap();
                content = encoder.finish().unwrap();
            } else if !is_list {
                encode(&mut content);
            }
            let at = self.bytes.len() as u64;
            self.blocks.push((number, at, content.len() as u16));
            self.bytes.extend(&content);
            let (footer, step) = if self.form == Form::Large { (24, 512) } else { (16, 64) };
            let end = (content.len() + footer).next_multiple_of(step);
            self.bytes.resize(at as usize + end, 0);
            if self.form == Form::Large {
                let place = at as usize + end - 6;
                self.bytes[place..place + 2].copy_from_slice(&(unpacked as u16).to_le_bytes());
            }
            number
        }

        /// Adds a list of the nodes below one.
        fn below(&mut self, nodes: &[(u32, u64, u64)]) -> u64 {
            if nodes.is_empty() {
                return 0;
            }
            let mut list = vec![2, 0, nodes.len() as u8, 0];
            list.resize(if self.form == Form::Narrow { 4 } else { 8 }, 0);
            for (number, data, below) in nodes {
                list.extend([self.long(u64::from(*number)), self.long(*data), self.long(*below)].concat());
            }
            self.block(&list, true)
        }

        fn page(&mut self, entries: &[Vec<u8>]) -> u64 {
            let (bytes, count_at) = match self.form {
                Form::Narrow => (512, 496),
                Form::Wide => (512, 488),
                Form::Large => (4_096, 4_056),
            };
            let at = self.bytes.len() as u64;
            let mut page = entries.concat();
            page.resize(bytes, 0);
            page[count_at] = entries.len() as u8;
            page[if self.form == Form::Large { 4_060 } else { count_at + 2 }] = entries[0].len() as u8;
            self.bytes.extend(page);
            at
        }
    }

    fn store(form: Form, nodes: &[Made]) -> Vec<u8> {
        let mut maker = Maker { form, bytes: vec![0; 1_024], blocks: Vec::new() };
        let mut entries = Vec::new();
        for (number, parent, content, below) in nodes {
            let mut lower = Vec::new();
            for (number, content, inner) in below {
                let inner: Vec<(u32, u64, u64)> =
                    inner.iter().map(|(number, content)| (*number, maker.block(content, false), 0)).collect();
                let inner = maker.below(&inner);
                lower.push((*number, maker.block(content, false), inner));
            }
            let below = maker.below(&lower);
            let data = maker.block(content, false);
            let mut entry = [maker.long(u64::from(*number)), maker.long(data), maker.long(below)].concat();
            entry.extend(parent.to_le_bytes());
            entry.resize(if form == Form::Narrow { 16 } else { 32 }, 0);
            entries.push(entry);
        }
        let nodes_at = maker.page(&entries);
        let blocks: Vec<Vec<u8>> = maker
            .blocks
            .iter()
            .map(|(number, at, length)| {
                let mut entry = [maker.long(*number), maker.long(*at)].concat();
                entry.extend(length.to_le_bytes());
                entry.resize(if form == Form::Narrow { 12 } else { 24 }, 0);
                entry
            })
            .collect();
        let blocks_at = maker.page(&blocks);
        let mut bytes = maker.bytes;
        bytes[..12].copy_from_slice(&[
            b'!',
            b'B',
            b'D',
            b'N',
            0,
            0,
            0,
            0,
            b'S',
            b'M',
            match form {
                Form::Narrow => 14,
                Form::Wide => 23,
                Form::Large => 36,
            },
            0,
        ]);
        if form == Form::Narrow {
            bytes[188..192].copy_from_slice(&(nodes_at as u32).to_le_bytes());
            bytes[196..200].copy_from_slice(&(blocks_at as u32).to_le_bytes());
            bytes[461] = 1;
        } else {
            bytes[224..232].copy_from_slice(&nodes_at.to_le_bytes());
            bytes[240..248].copy_from_slice(&blocks_at.to_le_bytes());
            bytes[513] = 1;
        }
        bytes
    }

    fn wide(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    /// A message with a file and a message attached to it, in a folder.
    fn example(form: Form) -> Vec<u8> {
        let large = form == Form::Large;
        let folder = |name: &str| heap(&[(0x3001, 0x1f, &wide(name))], large);
        let (subject, body) = (wide("\u{1}\u{5}Re: A/B"), wide(&"many words ".repeat(30)));
        let content = b"attached words".to_vec();
        let file = heap(
            &[
                (0x3707, 0x1f, &wide("note.txt")),
                (0x3008, 0x40, &133_511_760_000_000_000u64.to_le_bytes()),
                (0x3701, 0xffff, &0x83fu32.to_le_bytes()),
            ],
            large,
        );
        let inner_message =
            heap(&[(0x0037, 0x1f, &wide("inner")), (0x1000, 0x1f, &wide("inner words"))], large);
        let inner =
            heap(&[(0x3001, 0x1f, &wide("forwarded")), (0x3701, 0x0d, &[0x44, 8, 0, 0, 0, 0, 0, 0])], large);
        let message = heap(
            &[
                (0x0037, 0x1f, &subject),
                (0x0c1a, 0x1e, b"Ann"),
                (0x0039, 0x40, &133_511_760_000_000_000u64.to_le_bytes()),
                (0x1000, 0x1f, &body),
            ],
            large,
        );
        store(
            form,
            &[
                (super::ROOT, super::ROOT, folder(""), vec![]),
                (0x8022, super::ROOT, folder("Top of it all"), vec![]),
                (0x8042, 0x8022, folder("Inbox"), vec![]),
                (
                    0x20_0024,
                    0x8042,
                    message,
                    vec![(0x805, file, vec![(0x83f, content)]), (0x825, inner, vec![(0x844, inner_message)])],
                ),
            ],
        )
    }

    #[test]
    fn messages_are_parts_of_stores_of_all_versions() {
        for form in [Form::Narrow, Form::Wide, Form::Large] {
            let page = extract("a.pst", &example(form));
            assert_eq!(page.media_type, "application/vnd.ms-outlook-pst");
            assert_eq!((page.parts.len(), page.reason.as_deref()), (1, None));
            let message = &page.parts[0];
            assert_eq!(message.name, "Inbox/Re: A_B");
            assert_eq!(message.field("title"), Some("Re: A/B"));
            assert_eq!(message.field("created"), Some("2024-01-31T12:00:00Z"));
            assert_eq!(message.modified, Some(1_706_702_400_000));
            assert!(message.text.starts_with("From: Ann\nmany words"), "{}", message.text);
            assert_eq!(
                (message.parts[0].name.as_str(), message.parts[0].text.as_str()),
                ("note.txt", "attached words")
            );
            assert_eq!(
                (message.parts[0].size, message.parts[0].modified),
                (Some(14), Some(1_706_702_400_000))
            );
            assert_eq!(
                (message.parts[1].name.as_str(), message.parts[1].text.as_str()),
                ("forwarded", "inner words")
            );
        }
    }

    #[test]
    fn of_a_store_with_too_many_messages_the_first_ones_are_read() {
        let message = |number: u32| {
            let subject = wide(&format!("s{number}"));
            let body = wide("words");
            (number << 5 | 4, 0x8042, heap(&[(0x0037, 0x1f, &subject), (0x1000, 0x1f, &body)], false), vec![])
        };
        let bytes = store(Form::Wide, &(0x1_0000..0x1_0004).map(message).collect::<Vec<Made>>());
        let limits = crate::Limits { parts: 3, ..crate::Limits::default() };
        let page = extract_within(limits, "a.pst", &bytes);
        let names: Vec<_> = page.parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["s65536", "s65537", "s65538"]);
        assert_eq!((page.broken_off, page.over_limit), (true, false));
        assert!(page.reason.unwrap().starts_with("only the first 3 of what is in it are read"));
    }

    #[test]
    fn damaged_stores_end_with_messages_or_a_reason() {
        for form in [Form::Narrow, Form::Wide, Form::Large] {
            crate::formats::tests::survives("a.pst", &example(form));
        }
    }

    #[test]
    fn a_store_that_is_cut_off_says_so() {
        let whole = example(Form::Wide);
        for length in [100, 600, whole.len() / 2, whole.len() - 100] {
            let page = extract("a.pst", &whole[..length]);
            assert!(page.reason.is_some(), "{length}");
        }
    }
}
