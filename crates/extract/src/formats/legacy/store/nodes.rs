//! The lower half of a store: pages of two trees, nodes by number and blocks by number, and the bytes of a node. Everything is
//! read where it stands, never the file as a whole.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, Read};
use std::rc::Rc;

use flate2::read::ZlibDecoder;

use super::scramble;
use crate::Input;
use crate::formats::legacy::{u16_at, u32_at};
use crate::page::ParseError;

/// Pages that are kept: the upper ones of both trees are asked for again and again.
const PAGES_KEPT: usize = 512;
/// Levels of a tree, and of the lists of blocks of one node.
const LEVELS_MAX: usize = 16;
/// Nodes below one node.
const BELOW_MAX: usize = 100_000;
/// Blocks of one node: 2 GiB in blocks of 8 KiB.
const BLOCKS_MAX: usize = 262_144;
/// Bytes of one block when it is unpacked.
const BLOCK_BYTES_MAX: u64 = 1 << 20;

/// A node: where its bytes are, and what is below it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) number: u32,
    pub(super) parent: u32,
    data: u64,
    below: u64,
}

/// A store.
pub(super) struct Nodes {
    input: RefCell<Input>,
    /// Numbers have eight bytes.
    wide: bool,
    /// Pages of four kilobytes, and blocks that may be packed.
    pub(super) large: bool,
    scrambled: u8,
    nodes_at: u64,
    blocks_at: u64,
    pages: RefCell<HashMap<u64, Rc<Vec<u8>>>>,
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

impl Nodes {
    pub(super) fn open(mut input: Input) -> Result<Self, ParseError> {
        let head = input.range(0, 564.min(usize::try_from(input.len()).unwrap_or(564)))?;
        let version = u16_at(&head, 10);
        let wide = match version {
            14 | 15 => false,
            21.. => true,
            _ => return Err(ParseError(format!("unsupported: version {version} of a store of Outlook"))),
        };
        if head.len() < 564 {
            return Err("the file is cut off".into());
        }
        let (nodes_at, blocks_at, way) = match wide {
            true => (u64_at(&head, 224), u64_at(&head, 240), head[513]),
            false => (u64::from(u32_at(&head, 188)), u64::from(u32_at(&head, 196)), head[461]),
        };
        Ok(Self {
            input: RefCell::new(input),
            wide,
            large: version >= 36,
            scrambled: way,
            nodes_at,
            blocks_at,
            pages: RefCell::default(),
        })
    }

    /// A number or place of the store.
    fn long(&self, bytes: &[u8], at: usize) -> u64 {
        if self.wide { u64_at(bytes, at) } else { u64::from(u32_at(bytes, at)) }
    }

    /// Bytes that a number takes.
    fn width(&self) -> usize {
        if self.wide { 8 } else { 4 }
    }

    fn page(&self, at: u64) -> io::Result<Rc<Vec<u8>>> {
        if let Some(page) = self.pages.borrow().get(&at) {
            return Ok(Rc::clone(page));
        }
        let bytes = if self.large { 4_096 } else { 512 };
        let page = Rc::new(self.input.borrow_mut().range(at, bytes)?);
        let mut pages = self.pages.borrow_mut();
        if pages.len() >= PAGES_KEPT {
            pages.clear();
        }
        pages.insert(at, Rc::clone(&page));
        Ok(page)
    }

    /// The entries of a page: how many, how long each one is, and how many levels are below.
    fn entries(&self, page: &[u8]) -> (usize, usize, u8) {
        let at = match (self.large, self.wide) {
            (true, _) => return (usize::from(u16_at(page, 4_056)), usize::from(page[4_060]), page[4_061]),
            (false, true) => 488,
            (false, false) => 496,
        };
        (usize::from(page[at]), usize::from(page[at + 2]), page[at + 3])
    }

    /// Hands out all nodes in the order of their numbers.
    pub(super) fn each(&self, met: &mut dyn FnMut(Node) -> bool) -> Result<(), ParseError> {
        let most = self.input.borrow().len() / 512 + 1;
        let mut left = most;
        let mut open = vec![(self.nodes_at, 0)];
        while let Some((at, depth)) = open.pop() {
            if left == 0 || depth > LEVELS_MAX {
                return Err("its tree of nodes is damaged".into());
            }
            left -= 1;
            let page = self.page(at)?;
            let (count, length, level) = self.entries(&page);
            let entries = page.chunks_exact(length.max(1)).take(count);
            let width = self.width();
            if level > 0 {
                let mut inner: Vec<(u64, usize)> =
                    entries.map(|entry| (self.long(entry, width * 2), depth + 1)).collect();
                inner.reverse();
                open.extend(inner);
                continue;
            }
            for entry in entries {
                let node = Node {
                    number: u32_at(entry, 0),
                    data: self.long(entry, width),
                    below: self.long(entry, width * 2),
                    parent: u32_at(entry, width * 3),
                };
                if !met(node) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Where a block is, and how long.
    fn find(&self, number: u64) -> io::Result<(u64, usize)> {
        let missing = || io::Error::other("a block of the store is missing");
        let number = number & !1;
        let (mut at, width) = (self.blocks_at, self.width());
        for _ in 0..LEVELS_MAX {
            let page = self.page(at)?;
            let (count, length, level) = self.entries(&page);
            let entries = page.chunks_exact(length.max(1)).take(count);
            if level == 0 {
                let mut same = entries.filter(|entry| self.long(entry, 0) & !1 == number);
                let entry = same.next().ok_or_else(missing)?;
                return Ok((self.long(entry, width), usize::from(u16_at(entry, width * 2))));
            }
            // The last one that begins before it.
            let before = entries.take_while(|entry| self.long(entry, 0) & !1 <= number).last();
            at = self.long(before.ok_or_else(missing)?, width * 2);
        }
        Err(missing())
    }

    /// The bytes of a block, readable.
    fn block(&self, number: u64) -> io::Result<Vec<u8>> {
        let (at, length) = self.find(number)?;
        let mut bytes = self.input.borrow_mut().range(at, length)?;
        // Lists of blocks are never scrambled.
        let is_list = number & 2 != 0;
        let unpacked = match self.large {
            true => {
                let end = at + (length as u64 + 24).next_multiple_of(512);
                usize::from(u16_at(&self.input.borrow_mut().range(end - 6, 2)?, 0))
            }
            false => length,
        };
        if self.large && unpacked != 0 && unpacked != length {
            let mut plain = Vec::new();
            ZlibDecoder::new(bytes.as_slice()).take(BLOCK_BYTES_MAX).read_to_end(&mut plain)?;
            return Ok(plain);
        }
        if !is_list {
            scramble::decode(self.scrambled, number, &mut bytes);
        }
        Ok(bytes)
    }

    /// The numbers of the blocks of a node, in order.
    fn blocks(&self, data: u64) -> io::Result<Vec<u64>> {
        let (mut found, mut open) = (Vec::new(), vec![(data, 0)]);
        while let Some((number, depth)) = open.pop() {
            if number == 0 {
                continue;
            }
            if number & 2 == 0 {
                found.push(number);
            } else if depth < 3 {
                let list = self.block(number)?;
                let count = usize::from(u16_at(&list, 2));
                let mut inner: Vec<(u64, usize)> = list[8.min(list.len())..]
                    .chunks_exact(self.width())
                    .take(count)
                    .map(|entry| (self.long(entry, 0), depth + 1))
                    .collect();
                inner.reverse();
                open.extend(inner);
            }
            if found.len() + open.len() > BLOCKS_MAX {
                return Err(io::Error::other("a node of the store has too many blocks"));
            }
        }
        Ok(found)
    }

    /// The bytes of a node block by block, for heaps.
    pub(super) fn pieces(&self, node: Node, most: usize) -> io::Result<Vec<Vec<u8>>> {
        let (mut pieces, mut total) = (Vec::new(), 0);
        for number in self.blocks(node.data)? {
            let piece = self.block(number)?;
            total += piece.len();
            if total > most {
                return Err(io::Error::other("a node of the store is too large"));
            }
            pieces.push(piece);
        }
        Ok(pieces)
    }

    /// The bytes of a node as a stream.
    pub(super) fn stream(&self, node: Node) -> io::Result<Blocks<'_>> {
        let mut numbers = self.blocks(node.data)?;
        numbers.reverse();
        Ok(Blocks { nodes: self, numbers, block: io::Cursor::new(Vec::new()) })
    }

    /// The nodes below a node.
    pub(super) fn below(&self, node: Node) -> io::Result<Vec<Node>> {
        let (mut found, mut open) = (Vec::new(), vec![(node.below, 0)]);
        let width = self.width();
        while let Some((number, depth)) = open.pop() {
            if number == 0 {
                continue;
            }
            let list = self.block(number)?;
            let (level, count) = (list.get(1).copied().unwrap_or(0), usize::from(u16_at(&list, 2)));
            let entries = list.get(width..).unwrap_or_default();
            if level > 0 && depth < LEVELS_MAX {
                open.extend(
                    entries
                        .chunks_exact(width * 2)
                        .take(count)
                        .map(|entry| (self.long(entry, width), depth + 1)),
                );
            } else {
                found.extend(entries.chunks_exact(width * 3).take(count).map(|entry| Node {
                    number: u32_at(entry, 0),
                    parent: node.number,
                    data: self.long(entry, width),
                    below: self.long(entry, width * 2),
                }));
            }
            if found.len() + open.len() > BELOW_MAX {
                return Err(io::Error::other("a node of the store has too many nodes below it"));
            }
        }
        Ok(found)
    }
}

/// The blocks of a node, one after the other.
pub(super) struct Blocks<'n> {
    nodes: &'n Nodes,
    /// The last one comes first.
    numbers: Vec<u64>,
    block: io::Cursor<Vec<u8>>,
}

impl Read for Blocks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let length = self.block.read(buffer)?;
            if length > 0 || buffer.is_empty() {
                return Ok(length);
            }
            let Some(number) = self.numbers.pop() else { return Ok(0) };
            self.block = io::Cursor::new(self.nodes.block(number)?);
        }
    }
}
