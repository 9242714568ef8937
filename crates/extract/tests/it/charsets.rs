//! Every label of the web (Encoding Standard, `labels.tsv`) in every place where a document can name its charset.

use encoding_rs::Encoding;
use ingather_extract::{Extracted, Input, Request, extract};

/// One of them can be written in each charset.
const SAMPLES: &[&str] = &[
    "Grüße aus Köln für Jürgen",
    "Город приветствует всех жителей",
    "Το σχολείο είναι ανοιχτό",
    "العربية لغة جميلة",
    "עברית שפה יפה",
    "İstanbul güzel bir şehir",
    "Příliš žluťoučký kůň úpěl",
    "Ģimene dzīvo Rīgā šķērsielā",
    "ภาษาไทยเป็นภาษาที่สวยงาม",
    "Tiếng nói",
    "市長は今日、挨拶をしました",
    "市长今天表示热烈的欢迎",
    "市長今天表示熱烈的歡迎",
    "시장은 오늘 시민들에게 인사하고",
];

fn read(name: &str, bytes: Vec<u8>) -> Extracted {
    extract(&Request { name: name.to_owned(), ..Request::default() }, Input::memory(bytes))
}

/// Each charset with its labels.
fn charsets() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    include_str!("labels.tsv").lines().map(|line| {
        let (name, labels) = line.split_once('\t').unwrap();
        (name, labels.split(' ').collect())
    })
}

/// A sample, and its bytes in a charset.
fn sample(encoding: &'static Encoding) -> (&'static str, Vec<u8>) {
    let written = SAMPLES.iter().filter_map(|sample| {
        let (bytes, _, unmappable) = encoding.encode(sample);
        (!unmappable).then(|| (*sample, bytes.into_owned()))
    });
    written.into_iter().next().unwrap_or_else(|| panic!("no sample for {}", encoding.name()))
}

#[test]
fn every_label_of_the_web_is_obeyed_in_pages_and_in_xml() {
    let mut count = 0;
    for (name, labels) in charsets() {
        // These name no charset that a document can be in and say so in ASCII; `x-user-defined` means another one.
        if ["replacement", "UTF-16BE", "UTF-16LE"].contains(&name) {
            continue;
        }
        let name = if name == "x-user-defined" { "windows-1252" } else { name };
        let (text, bytes) = sample(Encoding::for_label(name.as_bytes()).unwrap());
        for label in labels {
            let wrapped =
                |before: String, after: &str| [before.as_bytes(), &bytes, after.as_bytes()].concat();
            for (file, bytes) in [
                ("a.html", wrapped(format!("<!DOCTYPE html><meta charset={label}><p>"), "</p>")),
                (
                    "a.html",
                    wrapped(
                        format!(
                            "<html><!-- <meta charset=koi8-r> --><META content='text/html; charset={label}'><p>"
                        ),
                        "</p>",
                    ),
                ),
                (
                    "a.xml",
                    wrapped(
                        format!("<?xml version='1.0' encoding=\"{}\"?><a>", label.to_uppercase()),
                        "</a>",
                    ),
                ),
                (
                    "a.xhtml",
                    wrapped(format!("<?xml version='1.0' encoding='{label}'?><html><p>"), "</p></html>"),
                ),
            ] {
                assert_eq!(read(file, bytes).text, text, "{label} in {file}");
                count += 1;
            }
        }
    }
    assert!(count > 800, "{count}");
}

#[test]
fn a_byte_order_mark_goes_before_what_a_document_says() {
    let text = SAMPLES[0];
    let units: Vec<u16> =
        format!("\u{feff}<html><meta charset=koi8-r><p>{text}</p>").encode_utf16().collect();
    let wide = [
        units.iter().flat_map(|unit| unit.to_le_bytes()).collect(),
        units.iter().flat_map(|unit| unit.to_be_bytes()).collect(),
    ];
    let narrow = format!("\u{feff}<html><meta charset=koi8-r><p>{text}</p>").into_bytes();
    for bytes in wide.into_iter().chain([narrow]) {
        assert_eq!(read("a.html", bytes).text, text);
    }
    let xml = format!("\u{feff}<?xml version='1.0' encoding='koi8-r'?><a>{text}</a>").into_bytes();
    assert_eq!(read("a.xml", xml).text, text);
}

#[test]
fn labels_that_name_nothing_readable_lose_no_more_than_they_must() {
    for label in ["iso-2022-kr", "hz-gb-2312", "utf-16", "utf-16be", "no-such-charset"] {
        let page = format!("<html><meta charset={label}><p>Plain words of a page</p>");
        assert_eq!(read("a.html", page.into_bytes()).text, "Plain words of a page", "{label}");
        let xml = format!("<?xml version='1.0' encoding='{label}'?><a>Plain words</a>");
        assert_eq!(read("a.xml", xml.into_bytes()).text, "Plain words", "{label}");
    }
}
