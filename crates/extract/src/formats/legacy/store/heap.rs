//! The middle of a store: a heap in the blocks of a node, and properties that stand in a tree on the heap.

use std::collections::HashMap;
use std::io::{self, Read};

use super::nodes::{Node, Nodes};
use crate::formats::legacy::message::Properties;
use crate::formats::legacy::{u16_at, u32_at};

/// Bytes of a heap: what is larger stands in nodes of its own.
const HEAP_BYTES_MAX: usize = 64 << 20;
/// Properties of one node, and levels of their tree.
const PROPERTIES_MAX: usize = 20_000;
const LEVELS_MAX: u8 = 8;
/// Bytes of one property.
const PROPERTY_BYTES_MAX: u64 = 64 << 20;
/// The mark of a heap, and of one with properties.
const HEAP: u8 = 0xec;
const PROPERTIES: u8 = 0xbc;

/// The properties of a folder, message or attachment.
pub(super) struct Bag<'n> {
    nodes: &'n Nodes,
    pieces: Vec<Vec<u8>>,
    /// Type and value, or where the value is.
    values: HashMap<u16, (u16, u32)>,
    below: Vec<Node>,
}

impl<'n> Bag<'n> {
    pub(super) fn open(nodes: &'n Nodes, node: Node) -> io::Result<Self> {
        let pieces = nodes.pieces(node, HEAP_BYTES_MAX)?;
        let below = nodes.below(node)?;
        let mut bag = Self { nodes, pieces, values: HashMap::new(), below };
        let head = bag.pieces.first().map(Vec::as_slice).unwrap_or_default();
        if head.get(2..4) != Some(&[HEAP, PROPERTIES]) {
            return Err(io::Error::other("the properties of a node are damaged"));
        }
        let tree = bag.item(u32_at(head, 4)).unwrap_or_default().to_vec();
        let level = tree.get(3).copied().unwrap_or(0);
        let mut records = Vec::new();
        bag.leaves(u32_at(&tree, 4), level.min(LEVELS_MAX), &mut records);
        let record = |record: &[u8]| (u16_at(record, 0), (u16_at(record, 2), u32_at(record, 4)));
        bag.values = records.as_chunks::<8>().0.iter().map(|bytes| record(bytes)).collect();
        Ok(bag)
    }

    /// Nodes below, such as attachments.
    pub(super) fn below(&self) -> &[Node] {
        &self.below
    }

    /// An item of the heap.
    fn item(&self, id: u32) -> Option<&[u8]> {
        let bits = if self.nodes.large { 14 } else { 11 };
        let (index, piece) = ((id >> 5) & ((1 << bits) - 1), id >> (5 + bits));
        let piece = self.pieces.get(piece as usize)?;
        let map = piece.get(usize::from(u16_at(piece, 0))..)?;
        if index == 0 || index > u32::from(u16_at(map, 0)) {
            return None;
        }
        let at = 4 + (index as usize - 1) * 2;
        piece.get(usize::from(u16_at(map, at))..usize::from(u16_at(map, at + 2)))
    }

    /// The records at the lowest level of a tree: two bytes of the key, six of the record.
    fn leaves(&self, id: u32, level: u8, found: &mut Vec<u8>) {
        let Some(item) = self.item(id).filter(|_| found.len() < PROPERTIES_MAX * 8) else { return };
        if level == 0 {
            found.extend_from_slice(item);
            return;
        }
        for entry in item.chunks_exact(6) {
            self.leaves(u32_at(entry, 2), level - 1, found);
        }
    }

    /// The node that holds a property, when it is too large for the heap.
    fn node_of(&self, value: u32) -> Option<Node> {
        self.below.iter().find(|node| node.number == value && value & 0x1f != 0).copied()
    }

    /// A property as a stream; none when there is no such property of that type.
    pub(super) fn stream(&self, tag: u16, kind: u16) -> Option<io::Result<Box<dyn Read + '_>>> {
        let (own, value) = *self.values.get(&tag)?;
        if own != kind {
            return None;
        }
        if value & 0x1f == 0 {
            return Some(Ok(Box::new(self.item(value).unwrap_or_default())));
        }
        let node = self.node_of(value)?;
        Some(self.nodes.stream(node).map(|blocks| Box::new(blocks) as Box<dyn Read + '_>))
    }

    /// The node of an embedded message.
    pub(super) fn object(&self, tag: u16) -> Option<Node> {
        let (kind, value) = *self.values.get(&tag)?;
        let object = if kind == 0x0d { self.item(value)? } else { return None };
        self.node_of(u32_at(object, 0))
    }
}

impl Properties for Bag<'_> {
    fn number(&self, tag: u16) -> Option<u64> {
        let (kind, value) = *self.values.get(&tag)?;
        match kind {
            // Dates and large numbers stand on the heap.
            0x14 | 0x40 => {
                let bytes = self.item(value)?;
                (bytes.len() == 8).then(|| u64::from(u32_at(bytes, 0)) | u64::from(u32_at(bytes, 4)) << 32)
            }
            2 | 3 | 0x0b => Some(u64::from(value)),
            _ => None,
        }
    }

    fn bytes(&self, tag: u16, kind: u16) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        // What comes before damage is still worth reading.
        let _ = self.stream(tag, kind)?.ok()?.take(PROPERTY_BYTES_MAX).read_to_end(&mut bytes);
        Some(bytes)
    }
}
