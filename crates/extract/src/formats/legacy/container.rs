//! OLE compound files: storages and streams, as a small file system in sectors ([MS-CFB]). Damage costs streams, not
//! the file.

use std::collections::HashSet;

use crate::page::ParseError;

use super::{u16_at, u32_at, utf16};

/// How each one begins.
pub(crate) const MAGIC: [u8; 8] = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];
/// Numbers above this are marks and no sectors.
const SECTOR_MAX: u32 = 0xffff_fffa;
/// No entry.
const NONE: u32 = u32::MAX;

struct Entry {
    name: String,
    kind: u8,
    left: u32,
    right: u32,
    child: u32,
    start: u32,
    size: u64,
}

/// An opened file.
pub(super) struct Container {
    bytes: Vec<u8>,
    sector: usize,
    /// The sector after each sector.
    table: Vec<u32>,
    small_table: Vec<u32>,
    /// The stream that holds small streams.
    small: Vec<u8>,
    /// Streams below this size are small.
    small_max: u64,
    entries: Vec<Entry>,
}

impl Container {
    pub(super) fn open(bytes: Vec<u8>) -> Result<Self, ParseError> {
        let shift = u16_at(&bytes, 30);
        if bytes.len() < 512 || !(7..=16).contains(&shift) {
            return Err("the header of the container is damaged".into());
        }
        let sector = 1usize << shift;
        let mut container = Self {
            sector,
            table: Vec::new(),
            small_table: Vec::new(),
            small: Vec::new(),
            small_max: u64::from(u32_at(&bytes, 56)),
            entries: Vec::new(),
            bytes,
        };
        container.read_table();
        let directory = container.chain(u32_at(&container.bytes, 48), usize::MAX);
        container.entries = directory.chunks_exact(128).map(|entry| read_entry(entry, sector)).collect();
        if container.entries.is_empty() {
            return Err("the directory of the container is damaged".into());
        }
        let small_table = container.chain(u32_at(&container.bytes, 60), usize::MAX);
        container.small_table = small_table.chunks_exact(4).map(|four| u32_at(four, 0)).collect();
        let root = &container.entries[0];
        container.small = container.chain(root.start, usize::try_from(root.size).unwrap_or(usize::MAX));
        Ok(container)
    }

    pub(super) fn root(&self) -> Storage<'_> {
        Storage { container: self, index: 0 }
    }

    fn sector_bytes(&self, number: u32) -> Option<&[u8]> {
        let at = (number as usize).checked_add(1)?.checked_mul(self.sector)?;
        let end = (at + self.sector).min(self.bytes.len());
        self.bytes.get(at..end).filter(|bytes| !bytes.is_empty())
    }

    /// Reads the table of sectors, whose own sectors are listed in the header and in a chain after it.
    fn read_table(&mut self) {
        let mut sectors: Vec<u32> = (0..109).map(|at| u32_at(&self.bytes, 76 + at * 4)).collect();
        let mut next = u32_at(&self.bytes, 68);
        let most = self.bytes.len() / self.sector + 1;
        for _ in 0..most {
            if next >= SECTOR_MAX {
                break;
            }
            let Some(list) = self.sector_bytes(next) else { break };
            let numbers: Vec<u32> = list.chunks_exact(4).map(|four| u32_at(four, 0)).collect();
            let Some((last, numbers)) = numbers.split_last() else { break };
            sectors.extend(numbers);
            next = *last;
        }
        let mut table = Vec::new();
        for number in sectors.into_iter().filter(|number| *number < SECTOR_MAX).take(most) {
            match self.sector_bytes(number) {
                Some(bytes) => {
                    table.extend(bytes.chunks_exact(4).map(|four| u32_at(four, 0)));
                    table.resize(table.len().next_multiple_of(self.sector / 4), NONE);
                }
                None => table.resize(table.len() + self.sector / 4, NONE),
            }
        }
        self.table = table;
    }

    /// The bytes of a chain of sectors, at most `most`; a chain that bites its tail ends.
    fn chain(&self, start: u32, most: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut number = start;
        let sectors = self.bytes.len() / self.sector + 1;
        for _ in 0..sectors {
            if number >= SECTOR_MAX || bytes.len() >= most {
                break;
            }
            let Some(sector) = self.sector_bytes(number) else { break };
            bytes.extend_from_slice(sector);
            number = self.table.get(number as usize).copied().unwrap_or(NONE);
        }
        bytes.truncate(most);
        bytes
    }

    fn small_chain(&self, start: u32, most: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut number = start;
        while number < SECTOR_MAX && bytes.len() < most && bytes.len() <= self.small.len() {
            let at = number as usize * 64;
            let Some(piece) =
                self.small.get(at..(at + 64).min(self.small.len())).filter(|piece| !piece.is_empty())
            else {
                break;
            };
            bytes.extend_from_slice(piece);
            number = self.small_table.get(number as usize).copied().unwrap_or(NONE);
        }
        bytes.truncate(most);
        bytes
    }
}

fn read_entry(entry: &[u8], sector: usize) -> Entry {
    let length = usize::from(u16_at(entry, 64)).clamp(2, 64) - 2;
    let high = if sector > 512 { u64::from(u32_at(entry, 124)) } else { 0 };
    Entry {
        name: utf16(&entry[..length & !1]),
        kind: entry[66],
        left: u32_at(entry, 68),
        right: u32_at(entry, 72),
        child: u32_at(entry, 76),
        start: u32_at(entry, 116),
        size: u64::from(u32_at(entry, 120)) | high << 32,
    }
}

/// A storage: a folder with streams and storages.
#[derive(Clone, Copy)]
pub(super) struct Storage<'c> {
    container: &'c Container,
    index: usize,
}

impl<'c> Storage<'c> {
    pub(super) fn name(&self) -> &'c str {
        &self.container.entries[self.index].name
    }

    /// What is in it, in the order of names.
    fn children(&self) -> Vec<usize> {
        let entries = &self.container.entries;
        let (mut found, mut met) = (Vec::new(), HashSet::new());
        let mut open = vec![(entries[self.index].child, false)];
        while let Some((number, seen)) = open.pop() {
            let index = number as usize;
            let Some(entry) = entries.get(index).filter(|entry| entry.kind != 0) else { continue };
            if seen {
                found.push(index);
            } else if met.insert(index) {
                open.extend([(entry.right, false), (number, true), (entry.left, false)]);
            }
        }
        found
    }

    /// Storages in it.
    pub(super) fn storages(&self) -> Vec<Storage<'c>> {
        let inside = self.children().into_iter().filter(|index| self.container.entries[*index].kind == 1);
        inside.map(|index| Storage { container: self.container, index }).collect()
    }

    /// Whether a stream or storage of that name is in it.
    pub(super) fn has(&self, name: &str) -> bool {
        self.children().into_iter().any(|index| self.container.entries[index].name.eq_ignore_ascii_case(name))
    }

    /// The storage of that name.
    pub(super) fn storage(&self, name: &str) -> Option<Storage<'c>> {
        self.storages().into_iter().find(|storage| storage.name().eq_ignore_ascii_case(name))
    }

    /// The bytes of the stream of that name, whatever its case.
    pub(super) fn stream(&self, name: &str) -> Option<Vec<u8>> {
        let entries = &self.container.entries;
        let same =
            |index: &usize| entries[*index].kind == 2 && entries[*index].name.eq_ignore_ascii_case(name);
        let entry = &entries[self.children().into_iter().find(same)?];
        let size = usize::try_from(entry.size).ok()?.min(self.container.bytes.len());
        Some(if entry.size < self.container.small_max {
            self.container.small_chain(entry.start, size)
        } else {
            self.container.chain(entry.start, size)
        })
    }

    /// Names of the streams in it.
    pub(super) fn stream_names(&self) -> Vec<&'c str> {
        let entries = &self.container.entries;
        let streams = self.children().into_iter().filter(|index| entries[*index].kind == 2);
        streams.map(|index| entries[index].name.as_str()).collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A compound file with these streams in its root, all kept in sectors of 512 bytes.
    pub(in super::super) fn container(streams: &[(&str, &[u8])]) -> Vec<u8> {
        let mut sectors: Vec<Vec<u8>> = Vec::new();
        let mut table: Vec<u32> = Vec::new();
        let mut add = |bytes: &[u8], table: &mut Vec<u32>| {
            let first = sectors.len() as u32;
            for piece in bytes.chunks(512) {
                let mut sector = piece.to_vec();
                sector.resize(512, 0);
                sectors.push(sector);
                table.push(sectors.len() as u32);
            }
            if let Some(last) = table.last_mut().filter(|_| !bytes.is_empty()) {
                *last = 0xffff_fffe;
            }
            first
        };
        let mut directory = entry("Root Entry", 5, 1, 0xffff_fffe, 0);
        for (at, (name, bytes)) in streams.iter().enumerate() {
            let start = add(bytes, &mut table);
            let mut stream = entry(name, 2, NONE, start, bytes.len() as u32);
            let next = if at + 1 < streams.len() { at as u32 + 2 } else { NONE };
            stream[72..76].copy_from_slice(&next.to_le_bytes());
            directory.extend(stream);
        }
        let directory_at = add(&directory, &mut table);
        let table_at = sectors.len() as u32;
        let count = (table.len() + 1).div_ceil(128).max(1);
        table.resize(table.len() + count, 0xffff_fffd);
        table.resize(count * 128, NONE);
        let mut file = vec![0u8; 512];
        file[..8].copy_from_slice(&MAGIC);
        file[30] = 9;
        file[32] = 6;
        file[44..48].copy_from_slice(&(count as u32).to_le_bytes());
        file[48..52].copy_from_slice(&directory_at.to_le_bytes());
        file[60..64].copy_from_slice(&0xffff_fffeu32.to_le_bytes());
        file[68..72].copy_from_slice(&0xffff_fffeu32.to_le_bytes());
        for at in 0..109u32 {
            let number = if (at as usize) < count { table_at + at } else { NONE };
            file[76 + at as usize * 4..80 + at as usize * 4].copy_from_slice(&number.to_le_bytes());
        }
        file.extend(sectors.concat());
        file.extend(table.iter().flat_map(|number| number.to_le_bytes()));
        file
    }

    /// The same with a storage behind them that has streams of its own.
    pub(in super::super) fn container_with(
        streams: &[(&str, &[u8])],
        storage: &str,
        inner: &[(&str, &[u8])],
    ) -> Vec<u8> {
        let mut bytes = container(&[streams, &[(storage, b"")], inner].concat());
        let at = 512 * (1 + u32_at(&bytes, 48) as usize) + 128 * (streams.len() + 1);
        bytes[at + 66] = 1;
        bytes[at + 72..at + 76].copy_from_slice(&NONE.to_le_bytes());
        bytes[at + 76..at + 80].copy_from_slice(&(streams.len() as u32 + 2).to_le_bytes());
        bytes
    }

    fn entry(name: &str, kind: u8, child: u32, start: u32, size: u32) -> Vec<u8> {
        let mut entry = vec![0u8; 128];
        let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        entry[..name.len()].copy_from_slice(&name);
        entry[64] = name.len() as u8 + 2;
        entry[66] = kind;
        entry[68..72].copy_from_slice(&NONE.to_le_bytes());
        entry[72..76].copy_from_slice(&NONE.to_le_bytes());
        entry[76..80].copy_from_slice(&(if kind == 5 { child } else { NONE }).to_le_bytes());
        entry[116..120].copy_from_slice(&start.to_le_bytes());
        entry[120..124].copy_from_slice(&size.to_le_bytes());
        entry
    }

    #[test]
    fn streams_are_found_whatever_their_case_and_size() {
        let long = vec![7u8; 70_000];
        let container = Container::open(container(&[("One", b"first"), ("Two", &long)])).unwrap();
        let root = container.root();
        assert_eq!(root.stream("ONE").unwrap(), b"first");
        assert_eq!(root.stream("two").unwrap(), long);
        assert_eq!(root.stream("three"), None);
        assert_eq!(root.stream_names(), ["One", "Two"]);
    }

    #[test]
    fn chains_and_trees_that_bite_their_tail_end() {
        let mut bytes = container(&[("One", &[1; 2_000]), ("Two", b"x")]);
        let table = bytes.len() - 512;
        bytes[table..table + 4].copy_from_slice(&0u32.to_le_bytes());
        let directory = 512 * (1 + u32_at(&bytes, 48) as usize);
        bytes[directory + 256 + 72..directory + 256 + 76].copy_from_slice(&1u32.to_le_bytes());
        let container = Container::open(bytes).unwrap();
        assert_eq!(container.root().stream("One").unwrap().len(), 2_000);
    }
}
