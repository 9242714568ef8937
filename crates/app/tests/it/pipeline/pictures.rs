//! Words in pictures, by a real `tesseract` (`scripts/install.sh` brings it).

use serde_json::json;

use super::pipeline;
use crate::files;
use crate::sandbox::Sandbox;

/// Letters of five by seven dots.
const LETTERS: &[(char, [u8; 7])] = &[
    ('H', [0b10001, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001]),
    ('E', [0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b11111]),
    ('L', [0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b11111]),
    ('O', [0b01110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110]),
    ('T', [0b11111, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100]),
    ('A', [0b01110, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001]),
    ('I', [0b01110, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110]),
];
/// Pixels of a dot, and dots around the letters.
const DOT: usize = 5;
const MARGIN: usize = 4;

/// Shades of a picture with these words, from its upper left on, its width and its height.
fn shades(words: &str) -> (Vec<u8>, usize, usize) {
    let (columns, rows) = (words.len() * 6 + MARGIN * 2, 7 + MARGIN * 2);
    let mut dots = vec![vec![255u8; columns]; rows];
    for (at, letter) in words.chars().enumerate() {
        let shape = LETTERS.iter().find(|(known, _)| *known == letter).map_or([0; 7], |(_, shape)| *shape);
        for (y, row) in shape.into_iter().enumerate() {
            for x in (0..5).filter(|x| row >> (4 - x) & 1 == 1) {
                dots[y + MARGIN][at * 6 + x + MARGIN] = 0;
            }
        }
    }
    let (width, height) = (columns * DOT, rows * DOT);
    let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    (places.map(|(x, y)| dots[y / DOT][x / DOT]).collect(), width, height)
}

/// A picture (BMP, a byte for each pixel) with these words.
fn picture(words: &str) -> Vec<u8> {
    let (shades, width, height) = shades(words);
    let mut pixels = Vec::new();
    // The lowest row comes first, and each one is filled up to four bytes.
    for row in shades.chunks_exact(width).rev() {
        pixels.extend(row);
        pixels.resize(pixels.len().next_multiple_of(4), 0);
    }
    let begin = 54 + 1_024;
    let mut bytes = b"BM".to_vec();
    let numbers =
        [begin + pixels.len(), 0, begin, 40, width, height, 1 | 8 << 16, 0, pixels.len(), 0, 0, 256, 0];
    bytes.extend(numbers.iter().flat_map(|number| (*number as u32).to_le_bytes()));
    bytes.extend((0..=255u8).flat_map(|gray| [gray, gray, gray, 0]));
    bytes.extend(pixels);
    bytes
}

/// A document (PDF) of pages that are pictures, each lying on its side, with these words.
fn scans(pages: &[&str]) -> Vec<u8> {
    let numbers = |from: usize| (0..pages.len()).map(move |page| page * 3 + from);
    let kids: String = numbers(3).map(|number| format!("{number} 0 R ")).collect();
    let mut objects: Vec<Vec<u8>> = vec![
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        format!("<</Type/Pages/Count {}/Kids[{kids}]>>", pages.len()).into_bytes(),
    ];
    for (words, number) in pages.iter().zip(numbers(3)) {
        let (shades, width, height) = shades(words);
        let content = format!("q 0 {width} -{height} 0 {height} 0 cm /I Do Q");
        objects.push(
            format!(
                "<</Type/Page/Parent 2 0 R/MediaBox[0 0 {height} {width}]/Rotate 90/Contents {} 0 R\
                /Resources<</XObject<</I {} 0 R>>>>>>",
                number + 1,
                number + 2
            )
            .into_bytes(),
        );
        objects.push(format!("<</Length {}>>stream\n{content}\nendstream", content.len()).into_bytes());
        let about = format!(
            "<</Type/XObject/Subtype/Image/Width {width}/Height {height}/ColorSpace/DeviceGray/BitsPerComponent 8/Length {}>>stream\n",
            shades.len()
        );
        objects.push([about.as_bytes(), &shades, b"\nendstream"].concat());
    }
    let mut bytes = b"%PDF-1.4\n".to_vec();
    let mut places = String::new();
    for (at, object) in objects.iter().enumerate() {
        places.push_str(&format!("{:010} 00000 n \n", bytes.len()));
        bytes.extend(
            format!("{} 0 obj\n", at + 1).bytes().chain(object.iter().copied()).chain(*b"\nendobj\n"),
        );
    }
    let (count, xref) = (objects.len() + 1, bytes.len());
    let end = format!(
        "xref\n0 {count}\n0000000000 65535 f \n{places}trailer<</Size {count}/Root 1 0 R>>\nstartxref\n{xref}\n%%EOF"
    );
    bytes.extend(end.bytes());
    bytes
}

/// Bytes as mails carry them.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letters = bytes.chunks(3).flat_map(|three| {
        let number =
            three.iter().chain([0, 0].iter().take(3 - three.len())).fold(0, |n, b| n << 8 | usize::from(*b));
        (0..4).map(
            move |at| if at > three.len() { '=' } else { char::from(LETTERS[number >> (18 - at * 6) & 63]) },
        )
    });
    let letters: Vec<char> = letters.collect();
    letters.chunks(76).flat_map(|line| line.iter().copied().chain(['\r', '\n'])).collect()
}

#[test]
fn words_of_scanned_pages_and_of_pictures_in_documents_are_found() {
    let sandbox = Sandbox::sqlite();
    let write = |name: &str, bytes: &[u8]| std::fs::write(sandbox.root().join(name), bytes).unwrap();
    write("scan.pdf", &scans(&["HELLO HATTIE", "TALE TELL"]));
    let mail = format!(
        "From: a@b\r\nSubject: s\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n\
        --x\r\nContent-Type: image/bmp; name=a.bmp\r\nContent-Transfer-Encoding: base64\r\n\r\n{}\r\n--x--\r\n",
        base64(&picture("TEAL HOTEL"))
    );
    write("a.eml", mail.as_bytes());
    files::settle(&sandbox.root());
    let stages = json!([{"transform": "ocr", "settings": {"text": {"form": "markdown"}}}]);
    let stages = pipeline(&sandbox, "ocr.json", &stages);
    assert_eq!(sandbox.synced(&["--pipeline", &stages]).get("added"), 2);
    for (words, document) in [("hello hattie", "scan.pdf"), ("hotel", "a.eml")] {
        assert_eq!(sandbox.find(words), [document]);
    }
    let tried = sandbox.run(&["pipeline", "try", "root", "scan.pdf"]).exits(0).out;
    let (first, second) = (tried.find("HELLO").unwrap(), tried.find("TALE").unwrap());
    let mark = tried.find("<!-- page 2 -->").unwrap();
    assert!(first < mark && mark < second, "{tried}");
}

#[test]
fn the_words_in_a_picture_are_found_and_everything_else_is_read_as_ever() {
    let sandbox = Sandbox::sqlite();
    let write = |name: &str, bytes: &[u8]| std::fs::write(sandbox.root().join(name), bytes).unwrap();
    write("scan.bmp", &picture("HELLO HATTIE"));
    write("broken.png", b"\x89PNG\r\n\x1a\nand nothing that anybody could draw");
    write("a.txt", b"plain words");
    write("a.html", b"<p>marked words");
    files::settle(&sandbox.root());
    let stages = pipeline(&sandbox, "ocr.json", &json!([{"transform": "ocr"}]));
    assert_eq!(sandbox.synced(&["--pipeline", &stages]).get("added"), 4);
    for (words, document) in [("hello hattie", "scan.bmp"), ("plain", "a.txt"), ("marked", "a.html")] {
        assert_eq!(sandbox.find(words), [document]);
    }
    let told = sandbox.run(&["document", "explain", "root", "broken.png"]).exits(0).out;
    assert!(told.contains("the picture cannot be read"), "{told}");
}

#[test]
fn the_program_that_reads_pictures_writes_nothing_and_reaches_nobody() {
    let sandbox = Sandbox::sqlite();
    let script = sandbox.path().join("reader");
    // What stands in for the program tells what it may do; it is no program below `/usr`.
    std::fs::write(&script, "#!/bin/sh\necho words\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(sandbox.root().join("a.bmp"), picture("HELLO")).unwrap();
    files::settle(&sandbox.root());
    let settings = json!([{"transform": "ocr", "settings": {"program": script}}]);
    let stages = pipeline(&sandbox, "ocr.json", &settings);
    assert_eq!(sandbox.synced(&["--pipeline", &stages]).get("added"), 1);
    let told = sandbox.run(&["document", "explain", "root", "a.bmp"]).exits(0).out;
    assert!(told.contains("cannot be started") && told.contains("Permission denied"), "{told}");
}
