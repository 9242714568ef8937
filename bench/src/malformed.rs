//! Malformed files: archives that unpack to far more than they are, and documents of extraordinary size.

mod outlook;
mod packings;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::{Compression, write::DeflateEncoder};

use crate::{Result, trees};

/// Bytes that are packed once and stand many times in what a bomb unpacks to.
const PIECE_BYTES: usize = 16 << 20;

/// Makes each of them in a folder; `size` makes sizes and counts smaller. Gives what it is, and where.
pub(crate) fn make(folder: &Path, size: impl Fn(usize) -> usize) -> Result<Vec<(String, PathBuf)>> {
    std::fs::create_dir_all(folder)?;
    let mut made = Vec::new();
    let mut add = |what: String, name: &str, write: &dyn Fn(&mut Zip) -> Result<()>| -> Result<()> {
        let path = folder.join(name);
        let mut zip = Zip::create(&path)?;
        write(&mut zip)?;
        zip.finish()?;
        made.push((format!("{what}, {} as a file", bytes(std::fs::metadata(&path)?.len())), path));
        Ok(())
    };
    let pieces = size(4_000).div_ceil(100);
    let (bomb, length) = packed_words(pieces)?;
    let all = |count: usize| bytes(count as u64 * length);
    add(format!("ZIP bomb, 16 members of {} each", all(1)), "flat.zip", &|zip| {
        (0..16).try_for_each(|number| zip.member(&format!("{number}.txt"), &bomb, length))
    })?;
    let overlapping = size(20_000).max(200);
    add(
        format!("ZIP bomb, {overlapping} members in one place, together {}", all(overlapping)),
        "same.zip",
        &|zip| {
            zip.member("0.txt", &bomb, length)?;
            (1..overlapping).for_each(|number| zip.again(&format!("{number}.txt")));
            Ok(())
        },
    )?;
    let nested = nested(&bomb, length)?;
    add("ZIP bomb, 16 members inside each other to a depth of 6".to_owned(), "nested.zip", &|zip| {
        let (packed, length) = pack(&nested)?;
        (0..16).try_for_each(|number| zip.member(&format!("{number}.zip"), &packed, length))
    })?;
    add("workbook".to_owned(), "large.xlsx", &|zip| workbook(zip, size(500) << 20))?;
    let text = folder.join("large.txt");
    let mut out = BufWriter::new(File::create(&text)?);
    let piece = trees::text(1, 1 << 20);
    (0..size(2_048)).try_for_each(|_| out.write_all(piece.as_bytes()))?;
    out.flush()?;
    made.push((format!("text of {}", bytes(std::fs::metadata(&text)?.len())), text));
    made.extend(packings::make(folder, &size)?);
    Ok(made)
}

fn bytes(count: u64) -> String {
    match count {
        count if count >= 10 << 30 => format!("{} GiB", count >> 30),
        count if count >= 10 << 20 => format!("{} MiB", count >> 20),
        count => format!("{} KiB", count >> 10),
    }
}

/// Words that repeat, packed: `pieces` times the same, and how many bytes they are.
fn packed_words(pieces: usize) -> Result<(Vec<u8>, u64)> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&b"words ".repeat(PIECE_BYTES / 6))?;
    // A flush ends at a whole byte and refers to nothing before the piece, so that the piece can be repeated.
    encoder.flush()?;
    let mut packed = encoder.get_ref().repeat(pieces);
    // An empty last block.
    packed.extend([3, 0]);
    Ok((packed, (PIECE_BYTES / 6 * 6 * pieces) as u64))
}

/// An archive in memory whose members are archives, and so on.
fn nested(bomb: &[u8], length: u64) -> Result<Vec<u8>> {
    let mut inner = Zip::memory();
    inner.member("words.txt", bomb, length)?;
    let mut bytes = inner.finish()?;
    for _ in 0..4 {
        let (packed, length) = pack(&bytes)?;
        let mut outer = Zip::memory();
        (0..16).try_for_each(|number| outer.member(&format!("{number}.zip"), &packed, length))?;
        bytes = outer.finish()?;
    }
    Ok(bytes)
}

fn pack(bytes: &[u8]) -> Result<(Vec<u8>, u64)> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok((encoder.finish()?, bytes.len() as u64))
}

/// A workbook of one sheet with strings that sheets share; the sheet takes so many bytes as packed.
fn workbook(zip: &mut Zip, packed_bytes: usize) -> Result<()> {
    let relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let main = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml";
    let relations = |all: &[(&str, &str)]| {
        let each: String = all
            .iter()
            .map(|(kind, target)| {
                format!("<Relationship Id='{kind}' Type='{relation}/{kind}' Target='{target}'/>")
            })
            .collect();
        format!("<Relationships>{each}</Relationships>")
    };
    let small = [
        (
            "[Content_Types].xml",
            format!("<Types><Override PartName='/xl/workbook.xml' ContentType='{main}'/></Types>"),
        ),
        ("_rels/.rels", relations(&[("officeDocument", "xl/workbook.xml")])),
        (
            "xl/workbook.xml",
            "<workbook><sheets><sheet name='S' r:id='worksheet'/></sheets></workbook>".to_owned(),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            relations(&[("worksheet", "sheet.xml"), ("sharedStrings", "strings.xml")]),
        ),
    ];
    for (name, content) in small {
        let (packed, length) = pack(content.as_bytes())?;
        zip.member(name, &packed, length)?;
    }
    let count = packed_bytes / 500;
    let mut strings = DeflateEncoder::new(Vec::new(), Compression::fast());
    (0..count).try_for_each(|number| {
        write!(strings, "<si><t>{}</t></si>", trees::text(number as u64, 60).trim())
    })?;
    let length = strings.total_in();
    zip.member("xl/strings.xml", &strings.finish()?, length)?;
    let mut sheet = DeflateEncoder::new(Vec::new(), Compression::fast());
    sheet.write_all(b"<worksheet><sheetData>")?;
    let mut state = 1u64;
    while sheet.total_out() < packed_bytes as u64 {
        sheet.write_all(b"<row>")?;
        for _ in 0..10 {
            state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5677);
            let (number, string) = (state >> 8, (state >> 32) as usize % count.max(1));
            write!(sheet, "<c><v>{number}</v></c><c t='s'><v>{string}</v></c>")?;
        }
        sheet.write_all(b"</row>")?;
    }
    sheet.write_all(b"</sheetData></worksheet>")?;
    let length = sheet.total_in();
    zip.member("xl/sheet.xml", &sheet.finish()?, length)
}

/// A ZIP file that is written member by member.
struct Zip {
    out: Box<dyn Sink>,
    at: u64,
    directory: Vec<u8>,
    members: usize,
    /// Facts and place of the last member.
    last: (Vec<u8>, u64),
}

/// Where a ZIP file goes.
trait Sink: Write {
    /// What was written, when it is in memory.
    fn end(&mut self) -> std::io::Result<Vec<u8>>;
}

impl Sink for BufWriter<File> {
    fn end(&mut self) -> std::io::Result<Vec<u8>> {
        self.flush()?;
        Ok(Vec::new())
    }
}

impl Sink for Vec<u8> {
    fn end(&mut self) -> std::io::Result<Vec<u8>> {
        Ok(std::mem::take(self))
    }
}

impl Zip {
    fn memory() -> Zip {
        Zip::over(Box::new(Vec::new()))
    }

    fn create(path: &Path) -> Result<Zip> {
        Ok(Zip::over(Box::new(BufWriter::new(File::create(path)?))))
    }

    fn over(out: Box<dyn Sink>) -> Zip {
        Zip { out, at: 0, directory: Vec::new(), members: 0, last: Default::default() }
    }

    fn member(&mut self, name: &str, packed: &[u8], length: u64) -> Result<()> {
        let mut facts = vec![20, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        facts.extend(u32::try_from(packed.len())?.to_le_bytes());
        facts.extend(u32::try_from(length)?.to_le_bytes());
        self.last = (facts, self.at);
        let head = [
            b"PK\x03\x04",
            self.last.0.as_slice(),
            &(name.len() as u16).to_le_bytes(),
            &[0, 0],
            name.as_bytes(),
        ];
        let head = head.concat();
        self.out.write_all(&head)?;
        self.out.write_all(packed)?;
        self.at += (head.len() + packed.len()) as u64;
        self.again(name);
        Ok(())
    }

    /// Lists the last member under another name.
    fn again(&mut self, name: &str) {
        let (facts, at) = &self.last;
        self.directory.extend(b"PK\x01\x02\x14\0");
        self.directory.extend(facts);
        self.directory.extend((name.len() as u16).to_le_bytes());
        self.directory.extend([0; 12]);
        self.directory.extend((*at as u32).to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.members += 1;
    }

    fn finish(mut self) -> Result<Vec<u8>> {
        self.out.write_all(&self.directory)?;
        let count = u16::try_from(self.members)?.to_le_bytes();
        self.out.write_all(&[b"PK\x05\x06\0\0\0\0".as_slice(), &count, &count].concat())?;
        self.out.write_all(&u32::try_from(self.directory.len())?.to_le_bytes())?;
        self.out.write_all(&u32::try_from(self.at)?.to_le_bytes())?;
        self.out.write_all(&[0, 0])?;
        Ok(self.out.end()?)
    }
}
