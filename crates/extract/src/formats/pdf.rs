//! PDF: text in the order of its content, bookmarks, form fields, remarks, properties and attachments.

mod annotations;
mod form;
mod layout;
mod leftward;
mod lines;
mod meanings;
mod properties;
mod protection;
mod scans;

use hayro_interpret::kurbo::{Affine, Rect};
use hayro_interpret::{
    Context, Device, InterpreterCache, InterpreterSettings, RenderContent, interpret_page,
};
use hayro_syntax::Pdf;
use hayro_syntax::object::{Array, Dict, Object, Stream};
use hayro_syntax::page::Page as Leaf;

use self::lines::{Lines, Row};
use self::meanings::Meanings;
use self::scans::Scan;
use crate::Input;
use crate::cipher::Hash;
use crate::page::{Outcome, Stated, TextSink};
use crate::{dates, decode};

/// Attachments, bookmarks and fields of one file.
const ITEMS_MAX: usize = 10_000;
/// Trees of them.
const DEPTH_MAX: usize = 64;

/// Reads a file.
pub(crate) fn read(input: Input, page: &mut TextSink<'_>) -> Outcome {
    let pdf = protection::open(input.into_bytes()?, page)?;
    let catalog: Dict<'_> = pdf.xref().get(pdf.xref().root_id()).unwrap_or_else(Dict::empty);
    properties::read(&pdf, &catalog, page);
    page.field("pages", &pdf.pages().len().to_string());
    let cache = InterpreterCache::new();
    let meanings = Meanings::of(&pdf);
    let mut damaged = 0;
    for (number, leaf) in pdf.pages().iter().enumerate() {
        page.page_mark(number + 1);
        let mut lines = Lines::new(&meanings);
        damaged += usize::from(!draw(&pdf, &cache, leaf, &mut lines));
        let cover = lines.cover();
        let rows = lines.rows();
        layout::write(&rows, page);
        let letters = |row: &Row| row.text.chars().filter(|c| c.is_alphanumeric()).count();
        if page.is_seeing() && cover.is_scan(leaf, rows.iter().map(letters).sum()) {
            let mut scan = Scan::of(leaf, cover);
            draw(&pdf, &cache, leaf, &mut scan);
            match page.look_at(&scan.picture()) {
                // The back of a sheet has no words.
                Some(Ok(words)) if words.trim().is_empty() => {}
                Some(Ok(words)) => page.seen(Ok(words))?,
                Some(Err(reason)) => page.reason(format!("page {}: {reason}", number + 1)),
                None => {}
            }
        }
        annotations::read(leaf.raw(), page);
        if page.is_full() {
            break;
        }
    }
    form::read(&catalog, page);
    bookmarks(&catalog, page);
    attachments(&catalog, page);
    if damaged > 0 {
        Err(format!("{damaged} of its pages could not be read").as_str().into())
    } else {
        Ok(())
    }
}

/// Hands what a page draws to `device`; whether all of it could be had.
fn draw<'p>(
    pdf: &'p Pdf,
    cache: &InterpreterCache<'p>,
    leaf: &'p Leaf<'p>,
    device: &mut impl Device<'p>,
) -> bool {
    let settings =
        InterpreterSettings { render_content: RenderContent::PAGE, ..InterpreterSettings::default() };
    // A mistake in the library costs one page.
    let guarded = std::panic::AssertUnwindSafe(|| {
        let area = Rect::new(0.0, 0.0, 1.0e6, 1.0e6);
        let mut context = Context::new(Affine::IDENTITY, area, cache, pdf.xref(), settings);
        interpret_page(leaf, &mut context, device);
    });
    std::panic::catch_unwind(guarded).is_ok()
}

/// A string of the format: UTF-16 or UTF-8 with its mark, else its own charset, which is close to windows-1252.
fn words(bytes: &[u8]) -> String {
    match bytes {
        [0xfe, 0xff, ..] | [0xff, 0xfe, ..] | [0xef, 0xbb, 0xbf, ..] => decode::whole(bytes, None),
        bytes => encoding_rs::WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned(),
    }
}

/// A string behind a key; empty when there is none.
fn text_of(dict: &Dict<'_>, key: &str) -> String {
    match dict.get::<Object<'_>>(key) {
        Some(Object::String(text)) => words(text.as_bytes()),
        Some(Object::Stream(stream)) => stream.decoded().map(|bytes| words(&bytes)).unwrap_or_default(),
        _ => String::new(),
    }
}

/// Writes the titles of the outline.
fn bookmarks(catalog: &Dict<'_>, page: &mut TextSink<'_>) {
    let Some(outline) = catalog.get::<Dict<'_>>("Outlines") else { return };
    let mut open: Vec<Dict<'_>> = outline.get("First").into_iter().collect();
    for _ in 0..ITEMS_MAX {
        let Some(item) = open.pop() else { break };
        page.line(&text_of(&item, "Title"));
        open.extend(item.get::<Dict<'_>>("Next"));
        open.extend(item.get::<Dict<'_>>("First"));
        if open.len() > ITEMS_MAX {
            break;
        }
    }
}

/// Opens the files that are attached.
fn attachments(catalog: &Dict<'_>, page: &mut TextSink<'_>) {
    let tree = catalog.get::<Dict<'_>>("Names").and_then(|names| names.get::<Dict<'_>>("EmbeddedFiles"));
    let mut open: Vec<(Dict<'_>, usize)> = tree.into_iter().map(|tree| (tree, 0)).collect();
    let mut count = 0;
    while let Some((node, depth)) = open.pop() {
        if let Some(names) = node.get::<Array<'_>>("Names") {
            let items: Vec<Object<'_>> = names.iter::<Object<'_>>().take(ITEMS_MAX).collect();
            for pair in items.chunks_exact(2) {
                if let (Object::String(name), Object::Dict(file)) = (&pair[0], &pair[1]) {
                    attachment(&words(name.as_bytes()), file, page);
                }
            }
        }
        count += 1;
        if let Some(kids) = node.get::<Array<'_>>("Kids").filter(|_| depth < DEPTH_MAX && count < ITEMS_MAX) {
            let mut kids: Vec<(Dict<'_>, usize)> =
                kids.iter::<Dict<'_>>().take(ITEMS_MAX).map(|kid| (kid, depth + 1)).collect();
            kids.reverse();
            open.extend(kids);
        }
    }
}

/// Opens one attached file.
fn attachment(name: &str, file: &Dict<'_>, page: &mut TextSink<'_>) {
    let own = ["UF", "F", "Unix", "DOS", "Mac"]
        .into_iter()
        .map(|key| text_of(file, key))
        .find(|name| !name.is_empty());
    let name = own.unwrap_or_else(|| name.to_owned());
    let Some(files) = file.get::<Dict<'_>>("EF") else { return };
    // The same file for several systems, which may differ.
    let mut met: Vec<Vec<u8>> = Vec::new();
    for stream in ["UF", "F", "Unix", "DOS", "Mac"].into_iter().filter_map(|key| files.get::<Stream<'_>>(key))
    {
        let Ok(bytes) = stream.decoded() else {
            page.lost_part(&name, "it cannot be unpacked");
            continue;
        };
        let digest = Hash::Sha1.of(&[&bytes]);
        if met.contains(&digest) {
            continue;
        }
        met.push(digest);
        match page.budget().expand(bytes.len()) {
            Ok(()) => {
                let date = stream.dict().get::<Dict<'_>>("Params").map(|facts| text_of(&facts, "ModDate"));
                let date = date.and_then(|date| dates::from_pdf(&date));
                let modified = date.and_then(|date| dates::stated_digits(&date));
                let stated = Stated { modified, ..Stated::of_size(bytes.len()) };
                page.member(&name, stated, None, bytes.into_owned());
            }
            Err(error) => page.lost_part(&name, &error.to_string()),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::formats::tests::extract;

    /// A file with one page of this content, and these further objects from number 5 on.
    pub(in super::super) fn pdf(content: &str, catalog: &str, objects: &[&str]) -> Vec<u8> {
        let stream = format!("<</Length {}>>stream\n{content}\nendstream", content.len());
        let catalog = format!("<</Type/Catalog/Pages 2 0 R {catalog}>>");
        let page = "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>";
        let mut all = vec![catalog.as_str(), "<</Type/Pages/Kids[3 0 R]/Count 1>>", page, &stream];
        all.extend(objects);
        let mut bytes = b"%PDF-1.4\n".to_vec();
        let mut places = Vec::new();
        for (at, object) in all.iter().enumerate() {
            places.push(bytes.len());
            bytes.extend(format!("{} 0 obj\n{object}\nendobj\n", at + 1).as_bytes());
        }
        let xref = bytes.len();
        bytes.extend(format!("xref\n0 {}\n0000000000 65535 f \n", all.len() + 1).as_bytes());
        for place in places {
            bytes.extend(format!("{place:010} 00000 n \n").as_bytes());
        }
        bytes.extend(format!("trailer<</Size {}/Root 1 0 R/Info<</Title(The title)/Author(Ann)/CreationDate(D:20240131120000Z)>>>>\nstartxref\n{xref}\n%%EOF", all.len() + 1).as_bytes());
        bytes
    }

    #[test]
    fn words_and_lines_are_told_by_their_places() {
        let content = "BT /F1 12 Tf 72 700 Td (Hel) Tj (lo) Tj 60 0 Td (world) Tj -60 -14 Td [(sec) 5 (ond) -400 (line)] TJ ET";
        let page = extract("a.pdf", &pdf(content, "", &[]));
        assert_eq!(page.text, "Hello world\nsecond line");
        assert_eq!((page.field("title"), page.field("author")), (Some("The title"), Some("Ann")));
        assert_eq!(page.field("created"), Some("2024-01-31T12:00:00Z"));
        assert_eq!(page.field("pages"), Some("1"));
        assert_eq!(page.field("language"), None);
        let named = extract("a.pdf", &pdf(content, "/Lang(de-AT)", &[]));
        assert_eq!(named.field("language"), Some("de-AT"));
    }

    /// The same file with a font that says what its letters mean.
    fn meaning(content: &str, map: &str) -> Vec<u8> {
        let map = format!("1 begincodespacerange <00> <ff> endcodespacerange {map}");
        let map = format!("<</Length {}>>stream\n{map}\nendstream", map.len());
        let bytes = pdf(content, "", &[&map]);
        let text = String::from_utf8(bytes).unwrap();
        text.replace("/BaseFont/Helvetica", "/BaseFont/Helvetica/ToUnicode 5 0 R").into_bytes()
    }

    #[test]
    fn words_that_run_from_right_to_left_come_in_the_order_of_reading() {
        let map = "1 beginbfrange <41> <5a> <05d0> endbfrange";
        // A page shows the last letter at the left, whether it was drawn first or last.
        let drawn = "BT /F1 12 Tf 72 700 Td (FED CBA) Tj ET";
        assert_eq!(
            extract("a.pdf", &meaning(drawn, map)).text,
            "\u{5d0}\u{5d1}\u{5d2} \u{5d3}\u{5d4}\u{5d5}"
        );
        let drawn = "BT /F1 12 Tf 100 700 Td (A) Tj -8 0 Td (B) Tj -8 0 Td (C) Tj -20 -14 Td (a) Tj ET";
        assert_eq!(extract("a.pdf", &meaning(drawn, map)).text, "\u{5d0}\u{5d1}\u{5d2}\na");
    }

    /// A file with a font that has no letters of its own, described by these words.
    fn composite(font: &str, collection: &str, map: &str) -> Vec<u8> {
        let about = format!("<</Registry(Adobe)/Ordering({collection})/Supplement 0>>");
        let below = format!(
            "<</Type/Font/Subtype/CIDFontType2/BaseFont/Arial/CIDSystemInfo{about}/FontDescriptor<</Flags 4>>/DW 1000>>"
        );
        let font = format!(
            "<</Type/Font/Subtype/Type0/BaseFont/Arial/Encoding/Identity-H/DescendantFonts[6 0 R]{font}>>"
        );
        let map = format!("<</Length {}>>stream\n{map}\nendstream", map.len());
        let bytes = pdf("BT /F1 12 Tf 72 700 Td <002b0048> Tj ET", "", &[&font, &below, &map]);
        let simple = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>";
        String::from_utf8(bytes).unwrap().replace(simple, " 5 0 R").into_bytes()
    }

    #[test]
    fn codes_mean_what_the_readable_part_of_a_map_says() {
        let map = "/CMapName /Adobe-Identity-UC> def 1 begincodespacerange <0000> <FFFF> endcodespacerange \
            2 beginbfchar <002B> <0048> <0048> <0065> endbfchar endcmap";
        assert_eq!(extract("a.pdf", &composite("/ToUnicode 7 0 R", "Identity", map)).text, "He");
        // Without a map, the code itself or the number in the collection is what is known.
        assert_eq!(extract("a.pdf", &composite("/ToUnicode/Identity-H", "Identity", "")).text, "+H");
        assert_eq!(extract("a.pdf", &composite("", "Japan1", "")).text, "Jg");
    }

    /// A page in a font of Japanese that is not in the file, whose codes are those of UTF-16.
    fn japanese(content: &str, map: &str) -> Vec<u8> {
        let about = "<</Registry(Adobe)/Ordering(Japan1)/Supplement 2>>";
        let below = format!(
            "<</Type/Font/Subtype/CIDFontType2/BaseFont/Mincho/CIDSystemInfo{about}/FontDescriptor<</Flags 4>>/DW 1000>>"
        );
        let font =
            format!("<</Type/Font/Subtype/Type0/BaseFont/Mincho/Encoding/{map}/DescendantFonts[6 0 R]>>");
        let bytes = pdf(content, "", &[&font, &below]);
        let simple = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>";
        String::from_utf8(bytes).unwrap().replace(simple, " 5 0 R").into_bytes()
    }

    #[test]
    fn japanese_in_columns_is_read_down_and_then_to_the_left() {
        let codes = |text: &str| text.encode_utf16().map(|unit| format!("{unit:04x}")).collect::<String>();
        let columns = [(500, "日本語は縦に"), (480, "書くこともある")];
        let runs = columns.map(|(x, text)| format!("BT /F1 12 Tf {x} 700 Td <{}> Tj ET ", codes(text)));
        let letters = columns.map(|(x, text)| {
            let each = text.chars().enumerate().map(|(at, letter)| {
                let y = 700 - 12 * at;
                format!("BT /F1 12 Tf {x} {y} Td <{}> Tj ET ", codes(&letter.to_string()))
            });
            each.collect::<String>()
        });
        // With a font for columns, and with letters that are placed below each other one by one.
        for (content, map) in [
            (runs.concat(), "UniJIS-UTF16-V"),
            (letters.concat(), "UniJIS-UTF16-V"),
            (letters.concat(), "UniJIS-UTF16-H"),
        ] {
            let page = extract("a.pdf", &japanese(&content, map));
            assert_eq!(page.text, "日本語は縦に\n書くこともある", "{map}");
        }
        let lines = [(700, "日本語"), (686, "は"), (672, "横に")];
        let lines = lines.map(|(y, text)| format!("BT /F1 12 Tf 72 {y} Td <{}> Tj ET ", codes(text)));
        let page = extract("a.pdf", &japanese(&lines.concat(), "UniJIS-UTF16-H"));
        assert_eq!(page.text.split_once('\n').unwrap().0, "日本語", "lines stay lines");
    }

    #[test]
    fn a_word_that_is_cut_by_the_end_of_a_line_is_one_word() {
        let content = "BT /F1 12 Tf 72 700 Td (a copy-) Tj 0 -14 Td (right of X-) Tj 0 -14 Td (Rays) Tj ET";
        assert_eq!(extract("a.pdf", &pdf(content, "", &[])).text, "a copyright of X-\nRays");
    }

    #[test]
    fn what_is_drawn_twice_in_one_place_is_read_once() {
        let text = |content: &str| extract("a.pdf", &pdf(content, "", &[])).text;
        let twice = "BT /F1 12 Tf 72 700 Td (My) Tj 0.4 0 Td (My) Tj 0 -20 Td 2 Tr (all) Tj 0 -20 Td 0 Tr (l) Tj (l) Tj (la) Tj ET";
        assert_eq!(text(twice), "My\nall\nllla");
        let apart = "BT /F1 12 Tf 72 700 Td (My) Tj 0 -20 Td (My) Tj 40 0 Td (My) Tj ET";
        assert_eq!(text(apart), "My\nMy My", "elsewhere it is another one");
    }

    #[test]
    fn headings_paragraphs_and_pages_are_marked() {
        let content = "BT /F1 24 Tf 72 700 Td (The) Tj 0 -26 Td (title) Tj /F1 12 Tf 0 -40 Td (first words of it) Tj \
            0 -14 Td (and more of it) Tj 0 -30 Td (another paragraph) Tj ET";
        assert_eq!(
            crate::formats::tests::marked("a.pdf", &pdf(content, "", &[])),
            "<!-- page 1 -->\n\n# The title\n\nfirst words of it\nand more of it\n\nanother paragraph"
        );
    }

    #[test]
    fn bookmarks_fields_and_attachments_are_read() {
        let catalog = "/Outlines<</First 5 0 R>>/AcroForm<</Fields[6 0 R 10 0 R 11 0 R]>>/Names<</EmbeddedFiles<</Names[(x) 7 0 R]>>>>";
        let page = extract(
            "a.pdf",
            &pdf(
                "",
                catalog,
                &[
                    "<</Title(Chapter)>>",
                    "<</T(Name)/V(Value)>>",
                    "<</Type/Filespec/F(note.txt)/EF<</F 8 0 R/UF 8 0 R/Mac 9 0 R>>>>",
                    "<</Length 5>>stream\nwords\nendstream",
                    "<</Length 9/Params<</Size 9/ModDate(D:20240131120000Z)>>>>stream\nmac words\nendstream",
                    "<</FT/Sig/T(Seal)/V<</Type/Sig/Name(Ann)/Location(Bonn)/Contents<00>>>>>",
                    "<</FT/Sig/T(Later)/V<</Type/Sig/Contents<00>>>>>",
                ],
            ),
        );
        assert_eq!(page.text, "Name: Value\nSeal: Ann, Bonn\nChapter\nnote.txt\nnote.txt");
        let parts: Vec<&str> = page.parts.iter().map(|part| part.text.as_str()).collect();
        assert_eq!(parts, ["words", "mac words"]);
        let stated: Vec<_> = page.parts.iter().map(|part| (part.size, part.modified)).collect();
        assert_eq!(stated, [(Some(5), None), (Some(9), Some(1_706_702_400_000))]);
    }

    #[test]
    fn a_file_without_its_mark_is_read() {
        let whole = pdf("BT /F1 12 Tf 72 700 Td (Hello) Tj ET", "", &[]);
        let page = extract("a", &whole[b"%PDF-1.4\n".len()..]);
        assert_eq!((page.media_type.as_str(), page.text.as_str()), ("application/pdf", "Hello"));
    }

    #[test]
    fn a_password_for_attachments_alone_leaves_the_rest_open() {
        let protected = |filter: &str| {
            let digest = "0".repeat(32);
            let protection = format!(
                "<</Filter/Standard/V 4/R 4/Length 128/P -4/O({digest})/U({digest})\
                /CF<</StdCF<</AuthEvent/EFOpen/CFM/AESV2/Length 16>>>>/StmF/{filter}/StrF/{filter}/EFF/StdCF>>"
            );
            let bytes = pdf("BT /F1 12 Tf 72 700 Td (Hello) Tj ET", "", &[&protection]);
            let text = String::from_utf8(bytes).unwrap();
            let id = "trailer<</Encrypt 5 0 R/ID[(0123456789abcdef)(0123456789abcdef)]";
            extract("a.pdf", text.replace("trailer<<", id).as_bytes())
        };
        let open = protected("Identity");
        assert_eq!(open.text, "Hello", "{open:?}");
        assert!(open.reason.is_some_and(|reason| reason.contains("attachments")));
        let closed = protected("StdCF");
        assert_eq!(
            (closed.text.as_str(), closed.reason.as_deref()),
            ("", Some("it is protected by a password"))
        );
    }

    #[test]
    fn a_protected_file_is_opened_by_its_password() {
        use crate::cipher::{Hash, Rc4};
        const FILL: [u8; 32] = *b"\x28\xbf\x4e\x5e\x4e\x75\x8a\x41\x64\x00\x4e\x56\xff\xfa\x01\x08\x2e\x2e\x00\xb6\xd0\x68\x3e\x80\x2f\x0c\xa9\xfe\x64\x53\x69\x7a";
        let filled = [b"key".as_slice(), &FILL[..29]].concat();
        let key =
            Hash::Md5.of(&[&filled, &[b'0'; 32], &(-4i32).to_le_bytes(), b"0123456789abcdef"])[..5].to_vec();
        let mut user = FILL;
        Rc4::new(&key).apply(&mut user);
        let hex: String = user.iter().map(|byte| format!("{byte:02x}")).collect();
        let protection = format!("<</Filter/Standard/V 1/R 2/P -4/O({})/U<{hex}>>>", "0".repeat(32));
        let content = b"BT /F1 12 Tf 72 700 Td (secret) Tj ET";
        let place = "x".repeat(content.len());
        let mut bytes = pdf(&place, "", &[&protection]);
        let at = bytes.windows(place.len()).position(|piece| piece == place.as_bytes()).unwrap();
        let own = Hash::Md5.of(&[&key, &[4, 0, 0, 0, 0]])[..10].to_vec();
        bytes[at..at + content.len()].copy_from_slice(content);
        Rc4::new(&own).apply(&mut bytes[at..at + content.len()]);
        let trailer = bytes.windows(9).position(|piece| piece == b"trailer<<").unwrap() + 9;
        bytes.splice(trailer..trailer, *b"/Encrypt 5 0 R/ID[(0123456789abcdef)(0123456789abcdef)]");
        assert_eq!(crate::formats::tests::opens("a.pdf", &bytes, "key").text, "secret");
    }

    #[test]
    fn a_file_that_is_cut_off_says_so_or_gives_its_words() {
        let whole = pdf("BT /F1 12 Tf 72 700 Td (Hello) Tj ET", "", &[]);
        for length in (10..whole.len()).step_by(37) {
            let page = extract("a.pdf", &whole[..length]);
            assert!(page.reason.is_some() || page.text.contains("Hello"), "{length}");
        }
    }
}
