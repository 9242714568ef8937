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

/// A picture (BMP, a byte for each pixel) with these words.
fn picture(words: &str) -> Vec<u8> {
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
    let mut pixels = Vec::new();
    // The lowest row comes first, and each one is filled up to four bytes.
    for y in (0..height).rev() {
        pixels.extend((0..width).map(|x| dots[y / DOT][x / DOT]));
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
