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

/// Read from a source that names a charset.
fn read_from(name: &str, charset: &str, bytes: &[u8]) -> String {
    let request = Request { name: name.to_owned(), charset: Some(charset.to_owned()), ..Request::default() };
    extract(&request, Input::memory(bytes.to_vec())).text
}

#[test]
fn what_the_source_names_goes_before_what_a_document_says_and_behind_its_byte_order_mark() {
    let (text, label) = (SAMPLES[1], "windows-1251");
    let written = |before: &str| {
        let all = format!("{before}{text}</p>");
        Encoding::for_label(label.as_bytes()).unwrap().encode(&all).0.into_owned()
    };
    for (name, before) in [
        ("a.html", "<!DOCTYPE html><html><p>"),
        ("a.html", "<!DOCTYPE html><html><meta charset=koi8-r><p>"),
        ("a.xhtml", "<?xml version='1.0' encoding='koi8-r'?><html><p>"),
        ("a.xml", "<?xml version='1.0' encoding='koi8-r'?><p>"),
    ] {
        assert_eq!(read_from(name, label, &written(before)), text, "{before}");
        let marked = format!("\u{feff}{before}{text}</p>");
        assert_eq!(read_from(name, label, marked.as_bytes()), text, "{before}");
        // What is UTF-8 is nothing else, and what is not is not, whatever a header says.
        assert_eq!(read_from(name, label, &marked.as_bytes()[3..]), text, "{before}");
    }
    let meta = written("<html><meta charset=windows-1251><p>");
    assert_eq!(read_from("a.html", "utf-8", &meta), text);
    assert_eq!(read_from("a.html", "no-such-charset", &meta), text);
    let plain = Encoding::for_label(b"ibm866").unwrap().encode(text).0.into_owned();
    assert_eq!(read_from("a.txt", "IBM866", &plain), text);
}

#[test]
fn what_is_in_a_document_is_not_in_the_charset_that_its_source_names() {
    let mail =
        "From: a@b\nTo: c@d\nContent-Type: text/html\n\n<meta charset=windows-1251><p>\u{e0}\u{e1}</p>";
    let bytes = Encoding::for_label(b"latin1").unwrap().encode(mail).0.into_owned();
    assert_eq!(read_from("a.eml", "koi8-r", &bytes), read("a.eml", bytes).text);
}
