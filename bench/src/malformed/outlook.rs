//! A store of Outlook ([MS-PST], version 23, not scrambled) with very many messages in one folder.

use std::io::Write;

use crate::{Result, trees};

/// The head of a store, and a page of its trees.
const HEAD_BYTES: usize = 1_024;
const PAGE_BYTES: usize = 512;
/// Entries of a page take at most so many bytes.
const ENTRIES_BYTES: usize = 488;
/// A block ends at a multiple of so many bytes, behind its footer.
const BLOCK_STEP: usize = 64;
const FOOTER_BYTES: usize = 16;
/// The folder that holds all others, the one that is called by the name of the store, and the one of the messages.
const FOLDERS: [(u32, u32, &str); 3] =
    [(0x122, 0x122, ""), (0x8022, 0x122, "Store"), (0x8042, 0x8022, "Inbox")];
/// Number of the first message; the lower bits say what it is.
const MESSAGES: u32 = 0x1_0000;
const MESSAGE: u32 = 4;

/// An entry of a tree, with the number that it is found by.
type Entry = (u64, Vec<u8>);

/// Writes what follows, and knows where it stands.
struct Writer<'o> {
    out: &'o mut dyn Write,
    at: u64,
}

impl Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.at += bytes.len() as u64;
        Ok(self.out.write_all(bytes)?)
    }

    /// Writes a block; its entry.
    fn block(&mut self, number: u64, content: &[u8]) -> Result<Entry> {
        let length = u16::try_from(content.len())?;
        let entry =
            [&number.to_le_bytes()[..], &self.at.to_le_bytes(), &length.to_le_bytes(), &[0; 6]].concat();
        let mut block = content.to_vec();
        block.resize((content.len() + FOOTER_BYTES).next_multiple_of(BLOCK_STEP), 0);
        self.write(&block)?;
        Ok((number, entry))
    }

    /// Writes a tree from its leaves upwards; where its first page is.
    fn tree(&mut self, leaves: Vec<Entry>) -> Result<u64> {
        let (mut entries, mut level) = (leaves, 0u8);
        loop {
            let mut above = Vec::new();
            let bytes = entries.first().map_or(1, |(_, entry)| entry.len());
            for page in entries.chunks(ENTRIES_BYTES / bytes) {
                above.push((page[0].0, [page[0].0.to_le_bytes(), [0; 8], self.at.to_le_bytes()].concat()));
                let mut content: Vec<u8> = page.iter().flat_map(|(_, entry)| entry).copied().collect();
                content.resize(PAGE_BYTES, 0);
                content[ENTRIES_BYTES] = page.len() as u8;
                content[ENTRIES_BYTES + 2..ENTRIES_BYTES + 4].copy_from_slice(&[bytes as u8, level]);
                self.write(&content)?;
            }
            if above.len() <= 1 {
                return Ok(self.at - PAGE_BYTES as u64);
            }
            (entries, level) = (above, level + 1);
        }
    }
}

/// Texts by their properties, as a node keeps them.
fn heap(texts: &[(u16, &str)]) -> Vec<u8> {
    let place = |item: usize| (item as u32) << 5;
    let mut items = vec![[&[0xb5, 2, 6, 0], &place(2).to_le_bytes()[..]].concat(), Vec::new()];
    for (property, text) in texts {
        items.push(text.encode_utf16().flat_map(u16::to_le_bytes).collect());
        let item = place(items.len()).to_le_bytes();
        items[1].extend([&property.to_le_bytes()[..], &[0x1f, 0], &item].concat());
    }
    let mut bytes = [&[0, 0, 0xec, 0xbc], &place(1).to_le_bytes()[..], &[0; 4]].concat();
    let mut map = vec![items.len() as u16, 0, bytes.len() as u16];
    for item in &items {
        bytes.extend(item);
        map.push(bytes.len() as u16);
    }
    let map_at = (bytes.len() as u16).to_le_bytes();
    bytes[..2].copy_from_slice(&map_at);
    bytes.extend(map.iter().flat_map(|number| number.to_le_bytes()));
    bytes
}

/// Writes a store with so many messages. What the head says is known last, so it comes back for its place.
pub(super) fn store(out: &mut dyn Write, messages: usize) -> Result<Vec<u8>> {
    let mut writer = Writer { out, at: 0 };
    writer.write(&[0; HEAD_BYTES])?;
    let (mut nodes, mut blocks) = (Vec::new(), Vec::new());
    let mut add = |writer: &mut Writer<'_>, number: u32, parent: u32, content: &[u8]| -> Result<()> {
        let block = (blocks.len() as u64 + 1) * 4;
        blocks.push(writer.block(block, content)?);
        let number = u64::from(number);
        let entry = [number.to_le_bytes(), block.to_le_bytes(), [0; 8], u64::from(parent).to_le_bytes()];
        nodes.push((number, entry.concat()));
        Ok(())
    };
    for (number, parent, name) in FOLDERS {
        add(&mut writer, number, parent, &heap(&[(0x3001, name)]))?;
    }
    for number in 0..u32::try_from(messages)? {
        let text = trees::text(u64::from(number), 1_500);
        let content = heap(&[(0x0037, &format!("Message {number}")), (0x1000, &text)]);
        add(&mut writer, (MESSAGES + number) << 5 | MESSAGE, FOLDERS[2].0, &content)?;
    }
    let (nodes_at, blocks_at) = (writer.tree(nodes)?, writer.tree(blocks)?);
    let mut head = vec![0; HEAD_BYTES];
    head[..4].copy_from_slice(b"!BDN");
    head[8..11].copy_from_slice(b"SM\x17");
    head[224..232].copy_from_slice(&nodes_at.to_le_bytes());
    head[240..248].copy_from_slice(&blocks_at.to_le_bytes());
    Ok(head)
}
