//! What people filled into the forms of a PDF.

use hayro_syntax::object::{Array, Dict, Name, Object};

use super::{DEPTH_MAX, ITEMS_MAX, text_of, words};
use crate::page::TextSink;

/// What a signature tells in words: who signed, why and where.
const SIGNATURE: [&str; 4] = ["Name", "Reason", "Location", "ContactInfo"];

/// Writes the fields of a form as `name: value`.
pub(super) fn read(catalog: &Dict<'_>, page: &mut TextSink<'_>) {
    let Some(form) = catalog.get::<Dict<'_>>("AcroForm") else { return };
    let Some(fields) = form.get::<Array<'_>>("Fields") else { return };
    let mut open: Vec<(Dict<'_>, usize)> =
        fields.iter::<Dict<'_>>().take(ITEMS_MAX).map(|field| (field, 0)).collect();
    open.reverse();
    let mut count = 0;
    while let Some((field, depth)) = open.pop() {
        count += 1;
        if count > ITEMS_MAX || page.is_full() {
            return;
        }
        write(&field, page);
        if let Some(kids) = field.get::<Array<'_>>("Kids").filter(|_| depth < DEPTH_MAX) {
            let mut kids: Vec<(Dict<'_>, usize)> =
                kids.iter::<Dict<'_>>().take(ITEMS_MAX).map(|kid| (kid, depth + 1)).collect();
            kids.reverse();
            open.extend(kids);
        }
    }
}

fn write(field: &Dict<'_>, page: &mut TextSink<'_>) {
    let value = match field.get::<Object<'_>>("V") {
        Some(Object::String(value)) => words(value.as_bytes()),
        Some(Object::Name(value)) => words(name_bytes(&value)),
        Some(Object::Stream(stream)) => stream.decoded().map(|bytes| words(&bytes)).unwrap_or_default(),
        Some(Object::Array(values)) => {
            let values = values.iter::<Object<'_>>().take(100).filter_map(Object::into_string);
            values.map(|value| words(value.as_bytes())).collect::<Vec<_>>().join(", ")
        }
        Some(Object::Dict(signature)) => {
            let told = SIGNATURE.map(|key| text_of(&signature, key));
            let told: Vec<String> = told.into_iter().filter(|text| !text.is_empty()).collect();
            if told.is_empty() {
                return;
            }
            told.join(", ")
        }
        _ => return,
    };
    // The name that is shown to people, or the one of the field.
    let shown = text_of(field, "TU");
    let name = if shown.is_empty() { text_of(field, "T") } else { shown };
    let line = if name.is_empty() { value } else { format!("{name}: {value}") };
    page.line(&line);
}

fn name_bytes<'n>(name: &'n Name<'_>) -> &'n [u8] {
    name.as_ref()
}
