//! Files of other packings and archives that are made to hurt: zstd, packages of Debian, web archives, calendars, drawings,
//! binary workbooks, stores of Outlook.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::{Compression, write::DeflateEncoder};

use super::{Zip, bytes, outlook, pack};
use crate::{Result, trees};

/// Bytes that one block of zstd stands for, which takes four.
const BLOCK_BYTES: usize = 128 << 10;

/// Makes each of them in a folder; `size` makes sizes smaller. Gives what it is, and where.
pub(super) fn make(folder: &Path, size: &dyn Fn(usize) -> usize) -> Result<Vec<(String, PathBuf)>> {
    let mut made = Vec::new();
    let mut add = |what: String, name: &str, write: &dyn Fn(&mut dyn Write) -> Result<()>| -> Result<()> {
        let path = folder.join(name);
        let mut out = BufWriter::new(File::create(&path)?);
        write(&mut out)?;
        out.flush()?;
        made.push((format!("{what}, {} as a file", bytes(std::fs::metadata(&path)?.len())), path));
        Ok(())
    };
    let blocks = size(64 << 10);
    let packed = zstd(blocks);
    let length = bytes((blocks * BLOCK_BYTES) as u64);
    add(format!("zstd bomb of {length}"), "bomb.zst", &|out| Ok(out.write_all(&packed)?))?;
    add(format!("package of Debian with the same bomb of {length}"), "bomb.deb", &|out| {
        out.write_all(b"!<arch>\n")?;
        write!(out, "{:<16}{:<32}{:<10}`\n2.0\n", "debian-binary", "", 4)?;
        writeln!(out, "{:<16}{:<32}{:<10}`", "data.tar.zst", "", packed.len())?;
        Ok(out.write_all(&packed)?)
    })?;
    let records = size(40_000);
    add(format!("web archive of {records} answers"), "large.warc", &|out| {
        (0..records).try_for_each(|number| {
            let text = trees::text(number as u64, 20 << 10);
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{text}");
            write!(
                out,
                "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a/{number}\r\n\
                 Content-Type: application/http\r\nContent-Length: {}\r\n\r\n{answer}\r\n\r\n",
                answer.len()
            )?;
            Ok(())
        })
    })?;
    let events = size(400_000);
    add(format!("calendar of {events} events"), "large.ics", &|out| {
        out.write_all(b"BEGIN:VCALENDAR\r\n")?;
        (0..events).try_for_each(|number| {
            let text = trees::text(number as u64, 500);
            let text = text.replace('\n', " ");
            write!(
                out,
                "BEGIN:VEVENT\r\nSUMMARY:Meeting {number}\r\nDTSTART:20240131T120000Z\r\nDESCRIPTION:{text}\r\nEND:VEVENT\r\n"
            )
        })?;
        Ok(out.write_all(b"END:VCALENDAR\r\n")?)
    })?;
    let messages = size(40_000);
    let path = folder.join("large.pst");
    let mut out = BufWriter::new(File::create(&path)?);
    let head = outlook::store(&mut out, messages)?;
    out.seek(SeekFrom::Start(0))?;
    out.write_all(&head)?;
    out.flush()?;
    let length = bytes(std::fs::metadata(&path)?.len());
    made.push((format!("store of Outlook of {messages} messages, {length} as a file"), path));
    type Writer = fn(&mut Zip, usize) -> Result<()>;
    let packages: [(&str, &str, Writer); 2] =
        [("drawing of Visio", "large.vsdx", drawing), ("binary workbook", "large.xlsb", binary_workbook)];
    for (what, name, write) in packages {
        let path = folder.join(name);
        let mut zip = Zip::create(&path)?;
        write(&mut zip, size(100) << 20)?;
        zip.finish()?;
        made.push((format!("{what}, {} as a file", bytes(std::fs::metadata(&path)?.len())), path));
    }
    Ok(made)
}

/// A binary workbook with one sheet of words; the sheet takes so many bytes as packed.
fn binary_workbook(zip: &mut Zip, packed_bytes: usize) -> Result<()> {
    let text = |text: &str| {
        let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        [(units.len() as u32 / 2).to_le_bytes().as_slice(), &units].concat()
    };
    let record = |kind: u8, data: &[u8]| {
        // Seven bits of the length in a byte.
        let length = [data.len() as u8 & 0x7f | 0x80, (data.len() >> 7) as u8];
        let kind: &[u8] = if kind > 0x7f { &[kind, 1] } else { &[kind] };
        [kind, &length, data].concat()
    };
    let main = "application/vnd.ms-excel.sheet.binary.macroEnabled.main";
    let relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let relations = |kind: &str, target: &str| {
        format!(
            "<Relationships><Relationship Id='a' Type='{relation}/{kind}' Target='{target}'/></Relationships>"
        )
    };
    let book = record(156, &[&[0, 0, 0, 0, 1, 0, 0, 0], text("a").as_slice(), &text("Sheet")].concat());
    let types = format!("<Types><Override PartName='/xl/workbook.bin' ContentType='{main}'/></Types>");
    for (name, content) in [
        ("[Content_Types].xml", types.into_bytes()),
        ("_rels/.rels", relations("officeDocument", "xl/workbook.bin").into_bytes()),
        ("xl/workbook.bin", book),
        ("xl/_rels/workbook.bin.rels", relations("worksheet", "s.bin").into_bytes()),
    ] {
        let (packed, length) = pack(&content)?;
        zip.member(name, &packed, length)?;
    }
    let mut sheet = DeflateEncoder::new(Vec::new(), Compression::fast());
    let mut number = 0u64;
    while sheet.total_out() < packed_bytes as u64 {
        number += 1;
        sheet.write_all(&record(0, &[0; 17]))?;
        sheet.write_all(&record(6, &[&[0; 8], text(trees::text(number, 60).trim()).as_slice()].concat()))?;
    }
    let length = sheet.total_in();
    zip.member("xl/s.bin", &sheet.finish()?, length)
}

/// Zeros, packed: blocks that say how often one byte comes.
fn zstd(blocks: usize) -> Vec<u8> {
    // No length of the content, and a window as large as a block.
    let mut packed = b"\x28\xb5\x2f\xfd\x00\x38".to_vec();
    for block in 1..=blocks {
        let head = u32::from(block == blocks) | 1 << 1 | (BLOCK_BYTES as u32) << 3;
        packed.extend(&head.to_le_bytes()[..3]);
        packed.push(0);
    }
    packed
}

/// A drawing with one page of shapes; the page takes so many bytes as packed.
fn drawing(zip: &mut Zip, packed_bytes: usize) -> Result<()> {
    let relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let relations = |kind: &str, target: &str| {
        format!(
            "<Relationships><Relationship Id='a' Type='{relation}/{kind}' Target='{target}'/></Relationships>"
        )
    };
    let main = "application/vnd.ms-visio.drawing.main+xml";
    for (name, content) in [
        (
            "[Content_Types].xml",
            format!("<Types><Override PartName='/visio/document.xml' ContentType='{main}'/></Types>"),
        ),
        ("_rels/.rels", relations("officeDocument", "visio/document.xml")),
        ("visio/document.xml", "<VisioDocument/>".to_owned()),
        ("visio/_rels/document.xml.rels", relations("pages", "pages.xml")),
        ("visio/pages.xml", "<Pages><Page ID='0' Name='Plan'><Rel r:id='a'/></Page></Pages>".to_owned()),
        ("visio/_rels/pages.xml.rels", relations("page", "page.xml")),
    ] {
        let (packed, length) = pack(content.as_bytes())?;
        zip.member(name, &packed, length)?;
    }
    let mut page = DeflateEncoder::new(Vec::new(), Compression::fast());
    page.write_all(b"<PageContents><Shapes>")?;
    let mut number = 0u64;
    while page.total_out() < packed_bytes as u64 {
        number += 1;
        write!(page, "<Shape ID='{number}'><Text>{}</Text></Shape>", trees::text(number, 60).trim())?;
    }
    page.write_all(b"</Shapes></PageContents>")?;
    let length = page.total_in();
    zip.member("visio/page.xml", &page.finish()?, length)
}
