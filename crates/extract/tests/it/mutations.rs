//! Files that are cut, flipped and spliced at random: each one ends with text or a reason, in bounded time.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ingather_extract::{Extracted, Input, Pool, Request, extract};

use super::misdeeds::readers;

/// A sequence of numbers that looks random and is the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below.max(1) as u64).unwrap()
    }
}

/// Damages a file: cuts it, flips bytes, or copies a piece over another one.
fn damage(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=dice.roll(4) {
        let length = bytes.len();
        match dice.roll(4) {
            0 => bytes.truncate(dice.roll(length + 1)),
            1 => {
                for _ in 0..=dice.roll(16) {
                    let at = dice.roll(length);
                    let value = dice.roll(256) as u8;
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte = value;
                    }
                }
            }
            2 => {
                let (from, to, piece) = (dice.roll(length), dice.roll(length), dice.roll(64));
                let piece: Vec<u8> = bytes.iter().skip(from).take(piece).copied().collect();
                bytes.splice(to.min(length)..to.min(length), piece);
            }
            _ => {
                // Numbers at their ends are where lengths go wrong.
                let at = dice.roll(length);
                let value = [0u8, 0xff, 0x7f, 0x80][dice.roll(4)];
                bytes.iter_mut().skip(at).take(4).for_each(|byte| *byte = value);
            }
        }
    }
    bytes
}

/// A ZIP file of members that are not packed.
fn stored(members: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, content) in members {
        bytes.extend(b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0");
        bytes.extend((content.len() as u32).to_le_bytes());
        bytes.extend((content.len() as u32).to_le_bytes());
        bytes.extend((name.len() as u16).to_le_bytes());
        bytes.extend([0, 0]);
        bytes.extend(name.as_bytes());
        bytes.extend(content.as_bytes());
    }
    bytes
}

/// Small files of many formats, made here.
fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let utf16 = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let pdf = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n\
        3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>endobj\n\
        4 0 obj<</Length 40>>stream\nBT /F 12 Tf 72 700 Td (Hello) Tj ET      \nendstream endobj\ntrailer<</Root 1 0 R>>\n%%EOF";
    let word = stored(&[
        (
            "[Content_Types].xml",
            "<Types><Override PartName='/word/document.xml' ContentType='a.wordprocessingml.main+xml'/></Types>",
        ),
        ("_rels/.rels", "<R><Relationship Id='1' Type='x/officeDocument' Target='word/document.xml'/></R>"),
        ("word/document.xml", "<d><p><r><t>Hello</t></r></p></d>"),
    ]);
    let book = stored(&[
        ("[Content_Types].xml", "<Types/>"),
        ("xl/workbook.xml", "<w><sheets><sheet name='S' r:id='a'/></sheets></w>"),
        ("xl/_rels/workbook.xml.rels", "<R><Relationship Id='a' Type='x/worksheet' Target='s.xml'/></R>"),
        ("xl/s.xml", "<s><row><c><v>1.5</v></c></row></s>"),
    ]);
    let drawing = stored(&[
        (
            "[Content_Types].xml",
            "<Types><Override PartName='/visio/document.xml' ContentType='application/vnd.ms-visio.drawing.main+xml'/></Types>",
        ),
        ("_rels/.rels", "<R><Relationship Id='1' Type='x/officeDocument' Target='visio/document.xml'/></R>"),
        ("visio/document.xml", "<VisioDocument/>"),
        ("visio/_rels/document.xml.rels", "<R><Relationship Id='a' Type='x/pages' Target='pages.xml'/></R>"),
        ("visio/pages.xml", "<Pages><Page ID='0' Name='Plan'><Rel r:id='p'/></Page></Pages>"),
        ("visio/_rels/pages.xml.rels", "<R><Relationship Id='p' Type='x/page' Target='p.xml'/></R>"),
        (
            "visio/p.xml",
            "<P><Shapes><Shape ID='1'><Text>one</Text><Shapes><Shape ID='2' MasterShape='1'/></Shapes></Shape></Shapes></P>",
        ),
    ]);
    vec![
        ("a.vsdx", drawing),
        ("a.txt", "Grüße aus Köln\n".repeat(20).into_bytes()),
        ("a.txt", [vec![0xff, 0xfe], utf16("wide words")].concat()),
        ("a.html", b"<html><head><title>T</title><meta charset=utf-8></head><p>Hello <a href='x'>w</a><script>x</script></p></html>".to_vec()),
        ("a.xml", b"<?xml version='1.0' encoding='utf-8'?><a b='c'>text<!-- x --><![CDATA[y]]>&amp;</a>".to_vec()),
        ("a.rtf", b"{\\rtf1\\ansi{\\fonttbl{\\f0\\fcharset204 A;}}{\\info{\\title T}}\\f0 Hello\\'cf\\u8364?{\\*\\objdata 0102}\\par}".to_vec()),
        ("a.eml", b"From: a@b\nTo: c@d\nSubject: =?utf-8?q?x?=\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\nwords\n--x\nContent-Disposition: attachment; filename=a.txt\n\nz\n--x--".to_vec()),
        ("a.mbox", b"From a\nFrom: a@b\nSubject: s\n\nwords\n\nFrom b\nFrom: a@b\nTo: c\n\nmore\n".to_vec()),
        ("a.pdf", pdf.as_bytes().to_vec()),
        ("a.docx", word),
        ("a.xlsx", book),
        ("a.ics", b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Meeting\\, w\r\nDTSTART:20240131T120000Z\r\nATTENDEE;CN=\"A: B\":mailto:a@b\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n".to_vec()),
        ("a.vcf", b"BEGIN:VCARD\nVERSION:2.1\nN;ENCODING=QUOTED-PRINTABLE:M=FCl=\n=6Cer;J\nADR:;;S;T\nEND:VCARD\nBEGIN:VCARD\nFN:B\nEND:VCARD\n".to_vec()),
        ("a.zst", [b"\x28\xb5\x2f\xfd\x20\x05\x29\0\0words".as_slice(), b"\x50\x2a\x4d\x18\x03\0\0\0abc"].concat()),
        ("a.ar", format!("!<arch>\n{:<16}{:<32}{:<10}`\n{}{:<16}{:<32}{:<10}`\nwords\n", "//", "", 10, "long.txt/\n", "/0", "", 5).into_bytes()),
        ("a.warc", b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a/\r\nContent-Type: application/http\r\nContent-Length: 71\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nwords\r\n0\r\n\r\n\r\n\r\n\r\n".to_vec()),
        ("a.arc", b"filedesc://a 0 1 t 4\n1 x\nhttp://a/ 0 1 text/html 27\nHTTP/1.1 200 OK\r\n\r\n<p>words\n".to_vec()),
        ("a.emf", [b"\x01\0\0\0\x2c\0\0\0".to_vec(), vec![0; 32], b" EMF".to_vec(), vec![84, 0, 0, 0, 60, 0, 0, 0], vec![0; 52]].concat()),
    ]
}

/// The same, of formats that came later.
fn more_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let record = |kind: u16, data: &[u8]| {
        [kind.to_le_bytes().as_slice(), &(data.len() as u16).to_le_bytes(), data].concat()
    };
    let begin = |kind: u8| record(0x809, &[0, 5, kind, 0, 0, 0, 0, 0]);
    let about = |at: usize| record(0x85, &[&(at as u32).to_le_bytes()[..], &[0, 0, 1], b"S"].concat());
    let end = record(0x0a, &[]);
    let globals = [begin(5), record(0x41e, &[164, 0, 5, b'#', b' ', b'?', b'/', b'?'])].concat();
    let place = globals.len() + about(0).len() + end.len();
    let cells = [
        record(0x204, b"\0\0\0\0\0\0\x05\0words"),
        record(0x203, &[&[1, 0, 0, 0, 0, 0][..], &1.5f64.to_le_bytes()].concat()),
    ];
    let sheet = [globals, about(place), end.clone(), begin(16), cells.concat(), end].concat();
    let attribute = |name: u32, data: &[u8]| {
        [&[1][..], &name.to_le_bytes(), &(data.len() as u32).to_le_bytes(), data, &[0, 0]].concat()
    };
    let body = b"\x01\0\0\0\x1f\0\0\x10\x01\0\0\0\x06\0\0\0h\0i\0\0\0\0\0";
    let parts = [
        attribute(0x0001_8004, b"subject\0"),
        attribute(0x0006_9003, body),
        attribute(0x0006_9002, &[0; 14]),
        attribute(0x0001_8010, b"a.txt\0"),
        attribute(0x0006_800f, b"in it"),
    ];
    let mail = [b"\x78\x9f\x3e\x22\x01\0".as_slice(), &parts.concat()].concat();
    let book = stored(&[
        ("mimetype", "application/epub+zip"),
        ("META-INF/container.xml", "<c><rootfile full-path='O/p.opf'/></c>"),
        ("META-INF/encryption.xml", "<e><CipherReference URI='O/c.xhtml'/></e>"),
        (
            "O/p.opf",
            "<p><item id='a' href='a.xhtml'/><item id='n' href='n.xhtml' media-type='text/html'/>\
            <item id='i' href='i.svg' media-type='image/svg+xml'/><itemref idref='a'/></p>",
        ),
        ("O/a.xhtml", "<p>Hello</p>"),
        ("O/n.xhtml", "<p>contents</p>"),
        ("O/i.svg", "<svg><text>drawn</text></svg>"),
    ]);
    vec![("a.xls", sheet), ("winmail.dat", mail), ("a.epub", book), ("a.deb", package())]
        .into_iter()
        .chain(seeds_with_languages())
        .chain([("a.7z", include_bytes!("made/members.7z").to_vec())])
        .chain(feeds())
        .collect()
}

/// Feeds of XML and of JSON.
fn feeds() -> Vec<(&'static str, Vec<u8>)> {
    let rss = b"<?xml version='1.0'?><rss version='2.0' xmlns:d='http://purl.org/dc/elements/1.1/'><channel><title>T</title>\
        <item><guid>1</guid><title>one</title><pubDate>Wed, 31 Dec 2003 10:14:55 GMT</pubDate><d:creator>a@b.c (A)</d:creator>\
        <description><![CDATA[<p>words <b>x</b></p>]]></description><enclosure url='e' type='a/b'/></item></channel></rss>";
    let atom = b"<feed xmlns='http://www.w3.org/2005/Atom' xml:base='http://x/y/'><title type='html'>&lt;i>T&lt;/i></title>\
        <entry><id>1</id><link href='../z'/><updated>2003-12-31T10:14:55Z</updated><author><name>A</name></author>\
        <content type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'><p>words</p></div></content>\
        <source><title>S</title></source></entry></feed>";
    let json = br#"{"version":"https://jsonfeed.org/version/1.1","title":"T","items":[{"id":"1","content_html":"<p>words</p>",
        "date_published":"2003-12-31T10:14:55Z","authors":[{"name":"A"}],"tags":["t"]}]}"#;
    vec![("a.rss", rss.to_vec()), ("a.atom", atom.to_vec()), ("a.json", json.to_vec())]
}

/// Documents that mark the language of their words, and a drawing whose letters have no widths.
fn seeds_with_languages() -> Vec<(&'static str, Vec<u8>)> {
    let text = stored(&[
        ("mimetype", "application/vnd.oasis.opendocument.text"),
        ("META-INF/manifest.xml", "<m/>"),
        (
            "content.xml",
            "<o><style:style style:name='P' style:family='paragraph' style:parent-style-name='Q'/>\
            <text:p text:style-name='P'>eins <text:span text:style-name='T'>two</text:span></text:p></o>",
        ),
        (
            "styles.xml",
            "<s><style:default-style style:family='paragraph'><style:text-properties fo:language='en'/></style:default-style>\
            <style:style style:name='Q' style:family='paragraph'><style:text-properties fo:language='de'/></style:style></s>",
        ),
    ]);
    let slides = stored(&[
        ("[Content_Types].xml", "<Types/>"),
        ("ppt/presentation.xml", "<p><p:sldId r:id='a'/></p>"),
        ("ppt/_rels/presentation.xml.rels", "<R><Relationship Id='a' Type='x/slide' Target='s.xml'/></R>"),
        (
            "ppt/s.xml",
            "<p:sld><p:sp><a:p><a:r><a:rPr lang='de-DE'/><a:t>eins</a:t></a:r></a:p></p:sp></p:sld>",
        ),
    ]);
    let words = stored(&[
        ("[Content_Types].xml", "<Types/>"),
        (
            "word/document.xml",
            "<d><p><pPr><pStyle val='G'/></pPr><r><rPr><lang val='fr'/></rPr><t>un</t></r></p></d>",
        ),
        ("word/_rels/document.xml.rels", "<R><Relationship Id='a' Type='x/styles' Target='s.xml'/></R>"),
        (
            "word/s.xml",
            "<s><style styleId='G'><basedOn val='G'/><rPr><lang val='de' bidi='he'/></rPr></style></s>",
        ),
    ]);
    let record = |kind: u16, data: &[u8]| {
        let words = (3 + data.len() / 2) as u32;
        [&words.to_le_bytes()[..], &kind.to_le_bytes(), data].concat()
    };
    let font = [&[0x9c, 0xff, 0, 0, 0, 0, 0, 0, 0x90, 1, 0, 0, 0, 204][..], b"\0\0\0\0Any\0"].concat();
    let drawing = [
        [&[1, 0, 9, 0, 0, 3][..], &[0; 12]].concat(),
        record(0x02fb, &font),
        record(0x012d, &[0, 0]),
        record(0x0521, &[1, 0, 0xe0, 0, 9, 0, 0, 0]),
        record(0x0521, &[1, 0, 0xe1, 0, 9, 0, 55, 0]),
        record(0x01f0, &[0, 0]),
    ];
    vec![("a.odt", text), ("a.pptx", slides), ("a.docx", words), ("a.wmf", drawing.concat())]
}

/// A package of Debian with one file.
fn package() -> Vec<u8> {
    let mut tar = vec![0u8; 512];
    tar[..5].copy_from_slice(b"a.txt");
    tar[124..135].copy_from_slice(b"00000000005");
    tar[148..156].copy_from_slice(b"        ");
    tar[156] = b'0';
    tar[257..263].copy_from_slice(b"ustar\0");
    let sum: u32 = tar.iter().map(|byte| u32::from(*byte)).sum();
    tar[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    tar.extend(b"words");
    tar.resize(512 * 4, 0);
    let member = |name: &str, content: &[u8]| {
        let head = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 100_644, content.len());
        [head.as_bytes(), content].concat()
    };
    [b"!<arch>\n".to_vec(), member("debian-binary", b"2.0\n"), member("data.tar", &tar)].concat()
}

/// Reads damaged copies; the number of those that were read.
fn try_all(name: &str, bytes: &[u8], seed: u64, times: usize) -> usize {
    let mut dice = Dice(seed | 1);
    for turn in 0..times {
        let damaged = damage(bytes, &mut dice);
        let mut request = Request { name: name.to_owned(), ..Request::default() };
        request.options.markdown = turn % 2 == 1;
        let found = extract(&request, Input::memory(damaged));
        let told = !found.text.is_empty() || !found.parts.is_empty() || found.reason.is_some();
        assert!(told, "{name}, seed {seed}, turn {turn}: {found:?}");
        assert!(!found.media_type.is_empty(), "{name}, seed {seed}, turn {turn}");
    }
    times
}

#[test]
fn what_is_damaged_is_whole_before() {
    for (name, bytes) in more_seeds() {
        let whole = extract(&Request { name: name.to_owned(), ..Request::default() }, Input::memory(bytes));
        assert!(whole.reason.is_none() && !whole.text.is_empty(), "{name}: {whole:?}");
        assert!(name != "a.deb" || whole.parts[0].parts[0].text == "words", "{whole:?}");
        assert!(name != "a.wmf" || whole.text == "\u{430}\u{431}", "{whole:?}");
        let language = ["language", "default_language"].into_iter().find_map(|field| whole.field(field));
        assert_eq!(language.is_some(), ["a.odt", "a.pptx", "a.docx"].contains(&name), "{whole:?}");
    }
}

#[test]
fn damaged_files_end_with_text_or_a_reason() {
    let mut count = 0;
    let all = [seeds(), more_seeds()].concat();
    for (number, (name, bytes)) in all.iter().enumerate() {
        count += try_all(name, bytes, 0x5eed + number as u64, 120);
    }
    assert_eq!(count, all.len() * 120);
}

/// What became of damaged copies that were read in children.
#[derive(Debug, Default)]
struct Tally {
    read: usize,
    /// With text or parts and no reason, with both, and with a reason alone.
    whole: usize,
    partly: usize,
    refused: usize,
    /// Those whose reader came to no end, and those in which it met a mistake of its own; each with what repeats it.
    lost: Vec<String>,
    mistakes: Vec<String>,
    slowest: (Duration, String),
}

/// Reads damaged copies of a file through a pool.
fn tally(pool: &Pool, path: &Path, seed: u64, times: usize) -> Tally {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let bytes = std::fs::read(path).unwrap();
    let mut dice = Dice(seed | 1);
    let mut tally = Tally::default();
    for turn in 0..times {
        let damaged = damage(&bytes, &mut dice);
        let mut request = Request { name: name.clone(), ..Request::default() };
        request.options.markdown = turn % 2 == 1;
        let begin = Instant::now(); // clock: how long the slowest copy took
        let found = pool.extract(&request, &mut damaged.as_slice()).unwrap();
        let what = format!("{name}, seed {seed:#x}, turn {turn}: {:?}", found.reason);
        let told = !found.text.is_empty() || !found.parts.is_empty();
        assert!(told || found.reason.is_some(), "{what}");
        assert!(!found.media_type.is_empty(), "{what}");
        tally.slowest = std::mem::take(&mut tally.slowest).max((begin.elapsed(), what.clone()));
        tally.read += 1;
        match (told, &found.reason) {
            (true, None) => tally.whole += 1,
            (true, Some(_)) => tally.partly += 1,
            (false, _) => tally.refused += 1,
        }
        if found.lost.is_some() {
            tally.lost.push(what);
        } else if says_mistake(&found) {
            tally.mistakes.push(what);
        }
    }
    tally
}

fn says_mistake(found: &Extracted) -> bool {
    found.reason.as_ref().is_some_and(|reason| reason.contains("cannot cope"))
        || found.parts.iter().any(says_mistake)
}

/// The larger run, by hand: `INGATHER_MUTATE=FOLDER INGATHER_MUTATIONS=100 cargo test --release -p ingather-extract
/// mutations -- --nocapture` damages every file of a folder, the first one under the seed `INGATHER_MUTATION_SEED`, each
/// next one under the next number, and reads them in children. Without a folder it damages this crate's manifest.
#[test]
fn damaged_files_of_a_folder_cost_no_reader() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<usize>().ok());
    let (times, seed) =
        (number("INGATHER_MUTATIONS").unwrap_or(10), number("INGATHER_MUTATION_SEED").unwrap_or(1));
    let mut files: Vec<PathBuf> = match std::env::var_os("INGATHER_MUTATE") {
        Some(folder) => std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect(),
        None => vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")],
    };
    files.sort();
    assert!(!files.is_empty());
    let children = std::thread::available_parallelism().map_or(1, usize::from);
    let pool = readers(children);
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    std::thread::scope(|scope| {
        for _ in 0..children {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(path) = files.get(at) else { break };
                    let one = tally(&pool, path, (seed + at) as u64, times);
                    let mut all = all.lock().unwrap();
                    all.read += one.read;
                    all.whole += one.whole;
                    all.partly += one.partly;
                    all.refused += one.refused;
                    all.lost.extend(one.lost);
                    all.mistakes.extend(one.mistakes);
                    all.slowest = std::mem::take(&mut all.slowest).max(one.slowest);
                }
            });
        }
    });
    let waiting = pool.idle();
    drop(pool);
    for child in waiting {
        assert!(!Path::new(&format!("/proc/{child}")).exists(), "{child} is left over");
    }
    let all = all.into_inner().unwrap();
    eprintln!("{all:#?}");
    assert_eq!(all.read, files.len() * times);
    assert!(all.lost.is_empty() && all.mistakes.is_empty(), "{:#?} {:#?}", all.lost, all.mistakes);
}
