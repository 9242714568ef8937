//! ZIP files: by their directory, or member by member when it is damaged.

mod facts;
mod protection;
mod scan;

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use flate2::read::DeflateDecoder;
use ingather_model::limits;

use self::facts::{extra_field, large_fields, unicode_name};
use self::protection::Strong;
use self::scan::scan;
use crate::Input;
use crate::page::{Budget, Expanding, ParseError, Stated};

/// Members that are listed.
const MEMBERS_MAX: usize = 100_000;
/// Bytes of the record that ends a directory, without its comment.
const END_BYTES: usize = 22;
/// Bytes of a directory.
const DIRECTORY_BYTES_MAX: u64 = 32 << 20;
/// Ways to pack that have no reader, by number.
const PACKED: &[(u16, &str)] = &[
    (1, "(shrunk)"),
    (2, "(reduced)"),
    (3, "(reduced)"),
    (4, "(reduced)"),
    (5, "(reduced)"),
    (6, "(imploded)"),
    (9, "(Deflate64)"),
    (14, "(LZMA)"),
    (93, "(Zstandard)"),
    (95, "(XZ)"),
    (98, "(PPMd)"),
];

struct Member {
    name: String,
    raw_name: Vec<u8>,
    encrypted: bool,
    method: u16,
    /// How AES protects it, if it does.
    strong: Option<Strong>,
    /// Bytes as stored; nothing when they are only known after reading.
    packed: Option<u64>,
    /// What is said of it.
    stated: Stated,
    /// Where its own header begins.
    at: u64,
    /// Its bytes, where somebody else had to open it.
    opened: Option<Vec<u8>>,
}

/// A ZIP file.
pub(crate) struct Zip {
    input: Input,
    members: Vec<Member>,
    damaged: bool,
}

fn u16_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 2).map_or(0, |two| u64::from(u16::from_le_bytes([two[0], two[1]])))
}

fn u32_at(bytes: &[u8], at: usize) -> u64 {
    u16_at(bytes, at) | u16_at(bytes, at + 2) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u32_at(bytes, at) | u32_at(bytes, at + 4) << 32
}

impl Zip {
    /// Reads the directory, or looks for members from the beginning.
    pub(crate) fn open(mut input: Input) -> Result<Self, ParseError> {
        let (members, damaged) = match directory(&mut input) {
            Ok(Some(members)) if !members.is_empty() => (members, false),
            listed => {
                let members = scan(&mut input)?;
                // A directory that lists nothing is whole: whatever was in the archive before is gone.
                let is_empty = members.is_empty() && matches!(listed, Ok(Some(_)));
                (members, !is_empty)
            }
        };
        if members.is_empty() && damaged {
            return Err("it begins as a ZIP file and has no members".into());
        }
        let mut zip = Self { input, members, damaged };
        zip.decode_names();
        Ok(zip)
    }

    /// Whether its directory could not be read, so that members may be missing.
    pub(crate) fn is_damaged(&self) -> bool {
        self.damaged
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn name(&self, index: usize) -> &str {
        &self.members[index].name
    }

    /// Size and time of a member.
    pub(crate) fn stated(&self, index: usize) -> Stated {
        self.members[index].stated
    }

    /// All names, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| member.name.as_str())
    }

    /// The member of that name, whatever its case and its slashes.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        let name = name.trim_start_matches('/');
        self.members
            .iter()
            .position(|member| member.name == name)
            .or_else(|| self.members.iter().position(|member| is_same(&member.name, name)))
    }

    /// All bytes of a member.
    pub(crate) fn read(&mut self, index: usize, budget: &Budget) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let most = limits::EXTRACT_WHOLE_BYTES_MAX;
        let outcome = self.stream(index, budget)?.take(most + 1).read_to_end(&mut bytes);
        if bytes.len() as u64 > most {
            return Err(io::Error::other("this member is larger than can be read"));
        }
        worth(outcome, bytes.is_empty())?;
        Ok(bytes)
    }

    /// A member that is to be a part.
    pub(crate) fn part(&mut self, index: usize, budget: &Budget) -> io::Result<Input> {
        let name = self.name(index).to_owned();
        let (input, outcome) = budget.collect(&name, self.stream(index, budget)?);
        worth(outcome, input.is_empty())?;
        Ok(input)
    }

    /// All bytes of the member of that name, if there is one that can be read.
    pub(crate) fn find_read(&mut self, name: &str, budget: &Budget) -> Option<Vec<u8>> {
        let index = self.find(name)?;
        self.read(index, budget).ok()
    }

    /// The bytes of a member as a stream that ends with an error at the bounds.
    pub(crate) fn stream<'z>(
        &'z mut self,
        index: usize,
        budget: &'z Budget,
    ) -> io::Result<Box<dyn Read + 'z>> {
        let Self { members, input, .. } = self;
        let member = &members[index];
        if let Some(opened) = &member.opened {
            return Ok(Box::new(Expanding::over(budget, opened.as_slice())));
        }
        let (method, packed) = (member.method, member.packed);
        let header = input.range(member.at, 30)?;
        if !header.starts_with(b"PK\x03\x04") {
            return Err(io::Error::other("its header is damaged"));
        }
        let data = member.at + 30 + u16_at(&header, 26) + u16_at(&header, 28);
        input.seek(SeekFrom::Start(data))?;
        let raw = BufReader::with_capacity(32 << 10, input.take(packed.unwrap_or(u64::MAX)));
        if !member.encrypted {
            return unpacked(raw, method, budget);
        }
        // When a member is written as a stream, its time stands in for its checksum.
        let streamed = u16_at(&header, 6) & 8 != 0;
        let check = header[if streamed { 11 } else { 17 }];
        let strong = member.strong.filter(|_| method == 99);
        let opened = protection::open(raw, packed, strong, check, &budget.options.passwords)?;
        unpacked(BufReader::new(opened), strong.map_or(method, |strong| strong.method), budget)
    }

    /// Gives a member other bytes: those that somebody opened.
    pub(crate) fn replace(&mut self, index: usize, bytes: Vec<u8>) {
        self.members[index].opened = Some(bytes);
    }

    /// Names that are not UTF-8 are in the charset that all of them together look like.
    fn decode_names(&mut self) {
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
        let mut odd = false;
        for member in &self.members {
            if std::str::from_utf8(&member.raw_name).is_err() {
                odd = true;
                detector.feed(&member.raw_name, false);
            }
        }
        let encoding = odd.then(|| {
            detector.feed(b"", true);
            detector.guess(None, Utf8Detection::Deny)
        });
        for member in &mut self.members {
            member.name = match (std::str::from_utf8(&member.raw_name), encoding) {
                (Ok(name), _) => name.to_owned(),
                (Err(_), Some(encoding)) => {
                    encoding.decode_without_bom_handling(&member.raw_name).0.into_owned()
                }
                (Err(_), None) => String::from_utf8_lossy(&member.raw_name).into_owned(),
            };
            // Some programs write the other slash.
            if !member.name.contains('/') {
                member.name = member.name.replace('\\', "/");
            }
        }
    }
}

/// What comes out of the packed bytes of a member.
fn unpacked<'z>(
    packed: impl BufRead + 'z,
    method: u16,
    budget: &'z Budget,
) -> io::Result<Box<dyn Read + 'z>> {
    Ok(match method {
        0 => Box::new(Expanding::over(budget, packed)),
        8 => Box::new(Expanding::over(budget, DeflateDecoder::new(packed))),
        12 => Box::new(Expanding::over(budget, bzip2_rs::DecoderReader::new(packed))),
        method => {
            let name = PACKED.iter().find(|(known, _)| *known == method).map_or("", |(_, name)| name);
            let reason = format!("unsupported: compression method {method} {name}");
            return Err(io::Error::other(reason.trim_end().to_owned()));
        }
    })
}

/// Whether two names are the same but for case and slashes: some programs write packages with the other slash.
fn is_same(one: &str, other: &str) -> bool {
    let plain = |byte: u8| if byte == b'\\' { b'/' } else { byte.to_ascii_lowercase() };
    one.len() == other.len() && one.bytes().map(plain).eq(other.bytes().map(plain))
}

/// What came out of a damaged member is still worth reading, unless a bound was met.
fn worth<T>(outcome: io::Result<T>, nothing: bool) -> io::Result<()> {
    match outcome {
        Err(error) if nothing || error.kind() == io::ErrorKind::Other => Err(error),
        _ => Ok(()),
    }
}

/// The members by the directory at the end; none when there is no such directory, or it is damaged.
fn directory(input: &mut Input) -> io::Result<Option<Vec<Member>>> {
    let length = input.len();
    let tail_at = length.saturating_sub(66_000);
    // The tail is at most 66,000 bytes.
    let tail = input.range(tail_at, (length - tail_at) as usize)?;
    let Some(end) = tail.windows(4).rposition(|four| four == b"PK\x05\x06") else { return Ok(None) };
    let record = &tail[end..];
    if record.len() >= END_BYTES && record[8..20].iter().all(|byte| *byte == 0) {
        return Ok(Some(Vec::new()));
    }
    let (mut size, mut at) = (u32_at(record, 12), u32_at(record, 16));
    let mut end_at = tail_at + end as u64;
    if at == 0xffff_ffff || size == 0xffff_ffff {
        let Some(large) = tail[..end].windows(4).rposition(|four| four == b"PK\x06\x06") else {
            return Ok(None);
        };
        let record = &tail[large..];
        (size, at) = (u64_at(record, 40), u64_at(record, 48));
        end_at = tail_at + large as u64;
    }
    if size > DIRECTORY_BYTES_MAX || size > end_at {
        return Ok(None);
    }
    // Bytes before the archive, such as a program that unpacks it, move everything.
    let moved = (end_at - size).saturating_sub(at);
    // Where these are members themselves, the directory is that of an archive in an archive that is cut off.
    if moved > 0 && input.range(0, 4)? == b"PK\x03\x04" {
        return Ok(None);
    }
    // The size was checked.
    let directory = input.range(at + moved, size as usize)?;
    let mut members = Vec::new();
    let mut rest = directory.as_slice();
    while rest.starts_with(b"PK\x01\x02") && rest.len() >= 46 && members.len() < MEMBERS_MAX {
        let (name, extra, comment) =
            (u16_at(rest, 28) as usize, u16_at(rest, 30) as usize, u16_at(rest, 32) as usize);
        let Some(raw_name) = rest.get(46..46 + name) else { break };
        let extras = rest.get(46 + name..46 + name + extra).unwrap_or_default();
        let (packed, size, offset) = large_fields(rest, extras);
        members.push(Member {
            name: String::new(),
            raw_name: unicode_name(extras).unwrap_or(raw_name).to_vec(),
            encrypted: u16_at(rest, 8) & 1 == 1,
            method: u16_at(rest, 10) as u16,
            strong: Strong::read(extras),
            packed: Some(packed),
            stated: Stated {
                size: Some(size),
                modified: facts::modified(extras, u16_at(rest, 14), u16_at(rest, 12)),
            },
            at: offset + moved,
            opened: None,
        });
        rest = rest.get(46 + name + extra + comment..).unwrap_or_default();
    }
    Ok(Some(members).filter(|members| !members.is_empty()))
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::formats::tests::extract;
    use std::io::Write;

    /// A ZIP file with these members, deflated.
    pub(crate) fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
        let (mut bytes, mut directory) = (Vec::new(), Vec::new());
        for (name, content) in members {
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(content).unwrap();
            let packed = encoder.finish().unwrap();
            let at = bytes.len() as u32;
            let mut shared = vec![20, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            shared.extend((packed.len() as u32).to_le_bytes());
            shared.extend((content.len() as u32).to_le_bytes());
            shared.extend((name.len() as u16).to_le_bytes());
            shared.extend([0, 0]);
            bytes.extend(b"PK\x03\x04");
            bytes.extend(&shared);
            bytes.extend(name.as_bytes());
            bytes.extend(packed);
            directory.extend(b"PK\x01\x02\x14\0");
            directory.extend(&shared);
            directory.extend([0; 10]);
            directory.extend(at.to_le_bytes());
            directory.extend(name.as_bytes());
        }
        let at = bytes.len() as u32;
        let count = (members.len() as u16).to_le_bytes();
        bytes.extend(&directory);
        bytes.extend(b"PK\x05\x06\0\0\0\0");
        bytes.extend(count);
        bytes.extend(count);
        bytes.extend((directory.len() as u32).to_le_bytes());
        bytes.extend(at.to_le_bytes());
        bytes.extend([0, 0]);
        bytes
    }

    #[test]
    fn members_are_parts_with_their_path() {
        let inner = zip(&[("deep.txt", b"deep words")]);
        let page = extract("a.zip", &zip(&[("dir/", b""), ("dir/a.txt", b"hello"), ("inner.zip", &inner)]));
        assert_eq!(page.text, "dir/a.txt\ninner.zip");
        assert_eq!(page.parts.len(), 2);
        assert_eq!((page.parts[0].name.as_str(), page.parts[0].text.as_str()), ("dir/a.txt", "hello"));
        assert_eq!(page.parts[1].parts[0].text, "deep words");
    }

    #[test]
    fn a_package_with_other_slashes_and_cases_is_read_whole() {
        let book = crate::formats::office::tests::workbook();
        let other: Vec<(String, Vec<u8>)> = book
            .iter()
            .map(|(name, text)| (name.replace('/', "\\").to_lowercase(), text.clone().into_bytes()))
            .collect();
        let read = |members: &[(&str, &[u8])]| extract("a.xlsx", &zip(members)).text;
        let as_is: Vec<(&str, &[u8])> =
            book.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
        let other: Vec<(&str, &[u8])> =
            other.iter().map(|(name, text)| (name.as_str(), text.as_slice())).collect();
        assert!(read(&as_is).contains("shared words"));
        assert_eq!(read(&other), read(&as_is));
        // Some keep the first slash and turn the others.
        let mixed: Vec<String> = other.iter().map(|(name, _)| name.replacen('\\', "/", 1)).collect();
        let mixed: Vec<(&str, &[u8])> =
            mixed.iter().zip(&other).map(|(name, (_, text))| (name.as_str(), *text)).collect();
        assert_eq!(read(&mixed), read(&as_is));
    }

    #[test]
    fn a_file_without_its_end_gives_what_is_there() {
        let whole = zip(&[("a.txt", b"first words"), ("b.txt", b"second words")]);
        let cut = extract("a.zip", &whole[..whole.len() - 60]);
        assert_eq!(
            cut.parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>(),
            ["first words", "second words"]
        );
        let (inner, outer) = (zip(&[("deep.txt", b"deep words")]), zip(&[("a.txt", b"first words")]));
        // Not packed, and the last that is left.
        let mut head = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        head.extend([(inner.len() as u32).to_le_bytes(), (inner.len() as u32).to_le_bytes()].concat());
        let end = outer.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
        let cut = [&outer[..end], b"PK\x03\x04", &head, &[5, 0, 0, 0], b"i.zip", &inner].concat();
        let cut = extract("a.zip", &cut);
        assert_eq!(
            (cut.text.as_str(), cut.broken_off),
            ("a.txt\ni.zip", true),
            "its directory is not the inner one"
        );
        let prefixed = [b"#!/bin/sh\n".as_slice(), &whole].concat();
        assert_eq!(extract("a.zip", &prefixed[10..]).parts.len(), 2);
    }

    #[test]
    fn an_archive_that_is_empty_is_whole_and_one_that_lost_its_members_is_not() {
        let empty = extract("a.zip", &zip(&[]));
        assert_eq!((empty.broken_off, empty.parts.len()), (false, 0));
        let whole = zip(&[("a.txt", b"words")]);
        let end = whole.len() - 22;
        for lost in [b"PK\x03\x04".as_slice(), &zip(&[])[..20], &whole[end..]] {
            assert!(extract("a.zip", lost).broken_off, "{lost:?}");
        }
        // A directory that says so is not believed when members are there.
        let said_empty = [&whole[..end], &zip(&[])].concat();
        let found = extract("a.zip", &said_empty);
        assert_eq!((found.broken_off, found.parts.len()), (true, 1));
    }

    #[test]
    fn bombs_and_endless_nesting_end_with_a_reason() {
        let zeros = vec![0u8; 20 << 20];
        let members: Vec<(String, &[u8])> =
            (0..8).map(|at| (format!("{at}.bin"), zeros.as_slice())).collect();
        let members: Vec<(&str, &[u8])> =
            members.iter().map(|(name, bytes)| (name.as_str(), *bytes)).collect();
        let mut request = crate::Request { name: "bomb.zip".to_owned(), ..crate::Request::default() };
        request.limits.expanded_bytes = 64 << 20;
        let bomb = crate::extract(&request, crate::Input::memory(zip(&members)));
        assert!(
            bomb.parts
                .iter()
                .any(|part| part.reason.as_deref().is_some_and(|reason| reason.contains("bomb"))),
            "{bomb:?}"
        );
        let mut nested = zip(&[("x.txt", b"x")]);
        for _ in 0..20 {
            nested = zip(&[("n.zip", &nested)]);
        }
        let mut page = &extract("n.zip", &nested);
        let mut depth = 0;
        while let Some(part) = page.parts.first() {
            page = part;
            depth += 1;
        }
        assert_eq!(depth, ingather_model::limits::EXTRACT_DEPTH_MAX);
        assert!(page.reason.as_deref().is_some_and(|reason| reason.contains("deeper")));
    }

    #[test]
    fn an_encrypted_member_has_a_reason_and_the_others_are_read() {
        let mut bytes = zip(&[("a.txt", b"secret"), ("b.txt", b"open")]);
        let directory = bytes.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
        bytes[directory + 8] |= 1;
        let page = extract("a.zip", &bytes);
        assert_eq!(page.parts[0].reason.as_deref(), Some("it is protected by a password"));
        assert_eq!(page.parts[1].text, "open");
    }
}
