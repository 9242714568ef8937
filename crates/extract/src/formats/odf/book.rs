//! EPUB books: chapters in the order of reading, what else is written in them, and their pictures.

use std::collections::HashSet;

use super::properties;
use crate::formats::archives::zip::Zip;
use crate::formats::html;
use crate::page::{Outcome, ParseError, TextSink};
use crate::xml::{self, Go, Met};

/// What a book is made of, by its own list.
#[derive(Default)]
struct Package {
    items: Vec<Item>,
    /// The items in the order of reading, by their ids.
    order: Vec<String>,
}

struct Item {
    id: String,
    /// Where it is in the file.
    path: String,
    media_type: String,
}

/// Kinds of items that are written as chapters are.
const WRITTEN: &[&str] =
    &["application/xhtml+xml", "application/x-dtbook+xml", "text/html", "text/x-oeb1-document"];
/// Kinds of other items with words in them: captions, what tables and pictures are made from, and documents of their own. Style
/// sheets, scripts, fonts and the order in which something is spoken are none.
const WORDED: &[&str] = &[
    "text/vtt",
    "application/ttml+xml",
    "text/plain",
    "text/csv",
    "application/xml",
    "text/xml",
    "application/pdf",
];

/// Reads a book.
pub(super) fn read(zip: &mut Zip, page: &mut TextSink<'_>) -> Outcome {
    let container = zip.find_read("META-INF/container.xml", page.budget()).unwrap_or_default();
    let mut package = None;
    xml::walk(container.as_slice(), |met| {
        if let Met::Open(tag) = met
            && tag.name() == "rootfile"
        {
            package = package.take().or(tag.attribute("full-path"));
        }
        Go::On
    })?;
    let path = package.ok_or("it does not say where its content is")?;
    let bytes = zip.find_read(&path, page.budget()).ok_or("its list of content is missing")?;
    properties(&bytes, page);
    let package = Package::parse(&bytes, path.rsplit_once('/').map_or("", |(folder, _)| folder))?;
    let locked = locked(zip, page);
    let (mut read, mut closed) = (HashSet::new(), 0usize);
    for item in package.in_order() {
        if !read.insert(item.path.as_str()) {
            continue;
        }
        if locked.contains(&item.path) {
            closed += 1;
        } else if item.is_part() {
            part(zip, &item.path, page);
        } else if let Some(bytes) = zip.find_read(&item.path, page.budget()) {
            page.line_break();
            html::fragment_bytes(&bytes, page);
        }
        if page.is_full() {
            break;
        }
    }
    for item in &package.items {
        let is_open = !locked.contains(&item.path);
        if (item.is_picture() || item.is_worded()) && is_open && read.insert(&item.path) {
            part(zip, &item.path, page);
        }
    }
    match closed {
        0 => Ok(()),
        closed => Err(format!("unsupported: {closed} of its chapters are encrypted").as_str().into()),
    }
}

impl Item {
    fn is_picture(&self) -> bool {
        self.media_type.starts_with("image/")
    }

    fn is_worded(&self) -> bool {
        WORDED.contains(&self.media_type.as_str())
    }

    /// Whether it is a document of its own where a chapter stands, such as a scanned page. Drawings are read as chapters are.
    fn is_part(&self) -> bool {
        self.media_type != "image/svg+xml" && (self.is_picture() || self.is_worded())
    }
}

impl Package {
    fn parse(bytes: &[u8], folder: &str) -> Result<Self, ParseError> {
        let mut package = Package::default();
        xml::walk(bytes, |met| {
            if let Met::Open(tag) = met {
                match tag.name() {
                    "item" => package.items.push(Item {
                        id: tag.attribute("id").unwrap_or_default(),
                        path: path(folder, &tag.attribute("href").unwrap_or_default()),
                        media_type: tag.attribute("media-type").unwrap_or_default(),
                    }),
                    "itemref" => package.order.extend(tag.attribute("idref")),
                    _ => {}
                }
            }
            Go::On
        })?;
        Ok(package)
    }

    /// Chapters as they follow each other, then what else is written, such as the table of contents.
    fn in_order(&self) -> impl Iterator<Item = &Item> {
        let chapters = self.order.iter().filter_map(|id| self.items.iter().find(|item| item.id == *id));
        chapters.chain(self.items.iter().filter(|item| WRITTEN.contains(&item.media_type.as_str())))
    }
}

/// Opens a picture, or what else is a document of its own. Its name may be that of somebody's file, so it is text as elsewhere.
fn part(zip: &mut Zip, path: &str, page: &mut TextSink<'_>) {
    let Some(index) = zip.find(path) else { return };
    match zip.part(index, page.budget()) {
        Ok(input) if input.is_empty() => {}
        Ok(input) => page.part(path.rsplit('/').next().unwrap_or(path), None, input),
        Err(error) => page.lost_part(path, &error.to_string()),
    }
}

/// The paths of what only the shop's own program can open.
fn locked(zip: &mut Zip, page: &mut TextSink<'_>) -> HashSet<String> {
    let mut locked = HashSet::new();
    let Some(bytes) = zip.find_read("META-INF/encryption.xml", page.budget()) else { return locked };
    // Damage there costs what it names behind the damage.
    let _ = xml::walk(bytes.as_slice(), |met| {
        if let Met::Open(tag) = met
            && tag.name() == "CipherReference"
        {
            locked.extend(tag.attribute("URI").map(|address| path("", &address)));
        }
        Go::On
    });
    locked
}

/// The path that an address below a folder names: without its fragment, `..` and percent signs.
fn path(folder: &str, address: &str) -> String {
    let decoded = percent_decoded(address.split('#').next().unwrap_or_default());
    let mut steps: Vec<&str> = Vec::new();
    for step in folder.split('/').chain(decoded.split('/')) {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    steps.join("/")
}

fn percent_decoded(address: &str) -> String {
    let mut out = Vec::new();
    let mut bytes = address.as_bytes().iter();
    while let Some(&byte) = bytes.next() {
        let rest = bytes.as_slice();
        let digits = rest.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match digits.filter(|_| byte == b'%').and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(decoded) => {
                out.push(decoded);
                bytes.nth(1);
            }
            None => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use crate::formats::archives::zip::tests::zip;
    use crate::formats::tests::extract;

    /// A book with this list and these files.
    fn book(package: &str, files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut all: Vec<(&str, &[u8])> = vec![
            ("mimetype", b"application/epub+zip"),
            ("META-INF/container.xml", b"<c><rootfile full-path='O/p.opf'/></c>"),
            ("O/p.opf", package.as_bytes()),
        ];
        all.extend(files);
        zip(&all)
    }

    #[test]
    fn a_book_is_read_in_its_order() {
        let package = "<package><metadata><dc:title>Book</dc:title></metadata><manifest><item id='b' href='two%20.xhtml'/><item id='a' href='../O/one.xhtml'/></manifest>\
            <spine><itemref idref='a'/><itemref idref='b'/></spine></package>";
        let page = extract(
            "a.epub",
            &book(
                package,
                &[
                    ("O/two .xhtml", b"<html><body>second</body></html>"),
                    ("O/one.xhtml", b"<html><head><title>x</title></head><body>first</body></html>"),
                ],
            ),
        );
        assert_eq!((page.text.as_str(), page.field("title")), ("first\nsecond", Some("Book")));
    }

    #[test]
    fn what_is_not_in_the_order_of_reading_follows_with_the_pictures() {
        let package = "<package><manifest><item id='n' href='nav.xhtml' media-type='application/xhtml+xml'/>\
            <item id='a' href='one.xhtml' media-type='application/xhtml+xml'/><item id='p' href='i/map.svg' media-type='image/svg+xml'/>\
            <item id='s' href='look.css' media-type='text/css'/></manifest><spine><itemref idref='a'/></spine></package>";
        let page = extract(
            "a.epub",
            &book(
                package,
                &[
                    ("O/nav.xhtml", b"<html><body>contents</body></html>"),
                    ("O/one.xhtml", b"<html><body>first</body></html>"),
                    ("O/i/map.svg", b"<svg><text>river</text></svg>"),
                    ("O/look.css", b"p { color: red }"),
                ],
            ),
        );
        assert_eq!(page.text, "first\ncontents\nmap.svg");
        let parts: Vec<&str> = page.parts.iter().map(|part| part.text.as_str()).collect();
        assert_eq!(parts, ["river"]);
    }

    #[test]
    fn scanned_pages_and_captions_are_parts() {
        let package = "<package><manifest><item id='a' href='one.jpg' media-type='image/jpeg'/>\
            <item id='b' href='two.svg' media-type='image/svg+xml'/><item id='c' href='c.vtt' media-type='text/vtt'/>\
            <item id='d' href='d.xml' media-type='application/xml'/><item id='e' href='e.smil' media-type='application/smil+xml'/>\
            </manifest><spine><itemref idref='a'/><itemref idref='b'/></spine></package>";
        let picture =
            [b"\xff\xd8\xff\xe0\0\x10JFIF\0".as_slice(), b"<p>never words of the page</p>"].concat();
        let page = extract(
            "a.epub",
            &book(
                package,
                &[
                    ("O/one.jpg", &picture),
                    ("O/two.svg", b"<svg><text>river</text></svg>"),
                    ("O/c.vtt", b"WEBVTT\n\n00:01.000 --> 00:02.000\nspoken words\n"),
                    ("O/d.xml", b"<moon><phase>gibbous</phase></moon>"),
                    ("O/e.smil", b"<smil><par>unread</par></smil>"),
                ],
            ),
        );
        // Names of parts stand at the end.
        assert_eq!(page.text, "river\none.jpg\nc.vtt\nd.xml");
        let parts: Vec<&str> = page.parts.iter().map(|part| part.text.as_str()).collect();
        assert!(parts[1].contains("spoken words"), "{parts:?}");
        assert_eq!((parts.len(), parts[0], parts[2]), (3, "", "gibbous"));
    }

    #[test]
    fn chapters_that_are_encrypted_are_no_text() {
        let package = "<package><manifest><item id='a' href='one.xhtml'/><item id='b' href='two.xhtml'/></manifest>\
            <spine><itemref idref='a'/><itemref idref='b'/></spine></package>";
        let locked = b"<e><EncryptedData><CipherData><CipherReference URI='O/two.xhtml'/></CipherData></EncryptedData></e>";
        let files: &[(&str, &[u8])] = &[
            ("META-INF/encryption.xml", locked),
            ("O/one.xhtml", b"<html><body>open</body></html>"),
            ("O/two.xhtml", b"nonsense"),
        ];
        let page = extract("a.epub", &book(package, files));
        assert_eq!(page.text, "open");
        assert_eq!(page.reason.as_deref(), Some("unsupported: 1 of its chapters are encrypted"));
    }
}
