//! Title, author and dates of a PDF: from its information, and from its XMP packet where that says more.

use hayro_syntax::Pdf;
use hayro_syntax::metadata::Metadata;
use hayro_syntax::object::{DateTime, Dict, Stream};

use super::{text_of, words};
use crate::dates;
use crate::page::TextSink;
use crate::xml::{self, Go, Met};

/// Writes the fields of a file.
pub(super) fn read(pdf: &Pdf, catalog: &Dict<'_>, page: &mut TextSink<'_>) {
    let metadata: &Metadata = pdf.metadata();
    let fields = [
        ("title", &metadata.title),
        ("author", &metadata.author),
        ("subject", &metadata.subject),
        ("keywords", &metadata.keywords),
        ("creator", &metadata.creator),
        ("generator", &metadata.producer),
    ];
    for (field, value) in fields {
        if let Some(value) = value {
            page.field(field, &words(value));
        }
    }
    for (field, date) in [("created", &metadata.creation_date), ("modified", &metadata.modification_date)] {
        if let Some(date) = date.as_ref().and_then(date_text) {
            page.field(field, &date);
        }
    }
    // What readers aloud go by counts before the packet, which programs copy from file to file.
    let language = text_of(catalog, "Lang");
    if !language.is_empty() {
        page.field("language", &language);
    }
    if let Some(packet) = catalog.get::<Stream<'_>>("Metadata").and_then(|stream| stream.decoded().ok()) {
        xmp(&packet, page);
    }
}

fn date_text(date: &DateTime) -> Option<String> {
    let sign = if date.utc_offset_hour < 0 { '-' } else { '+' };
    dates::from_pdf(&format!(
        "{:04}{:02}{:02}{:02}{:02}{:02}{sign}{:02}'{:02}",
        date.year,
        date.month,
        date.day,
        date.hour,
        date.minute,
        date.second,
        date.utc_offset_hour.unsigned_abs(),
        date.utc_offset_minute
    ))
}

/// What the packet says: each field's list of values, only where the information said nothing, but all authors.
fn xmp(packet: &[u8], page: &mut TextSink<'_>) {
    let (mut field, mut value) = (None, String::new());
    let _ = xml::walk(packet, |met| {
        match met {
            Met::Open(tag) => {
                value.clear();
                field = match tag.full_name() {
                    "dc:title" => Some("title"),
                    "dc:creator" => Some("author"),
                    "dc:description" => Some("description"),
                    "dc:subject" => Some("keywords"),
                    "dc:language" => Some("language"),
                    "xmp:CreateDate" => Some("created"),
                    "xmp:ModifyDate" => Some("modified"),
                    "rdf:Alt" | "rdf:Seq" | "rdf:Bag" | "rdf:li" => field,
                    _ => None,
                };
            }
            Met::Text(text) => value.push_str(text),
            Met::Close(_) => {
                if let Some(field) = field
                    && (matches!(field, "author" | "keywords" | "title") || !page.has_field(field))
                {
                    page.field(field, &value);
                }
                value.clear();
            }
        }
        Go::On
    });
}
