//! An entry of the index: how a change becomes a document of it, and how everything is read back.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ingather_contract::output::{Change, OutputEntry};
use ingather_model::document::{ENTRY_LINK, INSIDE, component_of};
use ingather_model::fault::Fault;
use ingather_model::ids::{AclId, ContainerId, Digest};
use serde::{Deserialize, Serialize};
use tantivy::columnar::Column;
use tantivy::schema::Value;
use tantivy::schema::document::{CompactDocValue, Document};
use tantivy::{DocId, SegmentReader, TantivyDocument};

use crate::byte_budget::Load;
use crate::damage::DAMAGED;
use crate::schema::{Fields, StoredSchema};
use crate::search::copies;
use crate::stemming::Stemming;
use crate::tokenizers;

/// Longer names of metadata, media types and language codes are stored but cannot be searched for, bytes.
const NAME_BYTES_MAX: usize = 256;
/// Longer endings of file names are not endings, bytes.
const EXT_BYTES_MAX: usize = 16;

/// What is stored beside the body and the numbers, so that the whole record can be told again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredFields<'a> {
    #[serde(rename = "i")]
    pub(crate) id: Cow<'a, str>,
    /// None: the id up to its last `#`-part, see `uri_bytes`.
    #[serde(rename = "u", default, skip_serializing_if = "Option::is_none")]
    foreign_uri: Option<Cow<'a, str>>,
    #[serde(rename = "n", default)]
    uri_bytes: usize,
    #[serde(rename = "d")]
    pub(crate) document: Cow<'a, str>,
    #[serde(rename = "j")]
    pub(crate) job_name: Cow<'a, str>,
    #[serde(rename = "t", default, skip_serializing_if = "str::is_empty")]
    pub(crate) title: Cow<'a, str>,
    #[serde(rename = "p", default, skip_serializing_if = "str::is_empty")]
    pub(crate) path: Cow<'a, str>,
    #[serde(rename = "l", default, skip_serializing_if = "Option::is_none")]
    pub(crate) language: Option<Cow<'a, str>>,
    #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
    pub(crate) media_type: Option<Cow<'a, str>>,
    #[serde(rename = "a", default, skip_serializing_if = "Option::is_none")]
    pub(crate) author: Option<Cow<'a, str>>,
    #[serde(rename = "f", default, skip_serializing_if = "no_fields")]
    pub(crate) fields: Cow<'a, BTreeMap<String, Vec<String>>>,
}

#[expect(clippy::ptr_arg, reason = "serde calls it with the field as it is")]
fn no_fields(fields: &Cow<'_, BTreeMap<String, Vec<String>>>) -> bool {
    fields.is_empty()
}

impl<'a> StoredFields<'a> {
    /// What is stored of a put; `language` is that of the record or the one that was detected.
    pub(crate) fn of(
        change: &'a Change,
        record: &'a ingather_model::document::Record,
        language: Option<&'a str>,
    ) -> StoredFields<'a> {
        let begins = change.id.strip_prefix(record.uri.as_str());
        let own = begins.is_some_and(|rest| rest.is_empty() || rest.starts_with('#'));
        StoredFields {
            id: Cow::Borrowed(&change.id),
            foreign_uri: (!own).then_some(Cow::Borrowed(&record.uri)),
            uri_bytes: if own { record.uri.len() } else { change.id.len() },
            document: Cow::Borrowed(&change.document),
            job_name: Cow::Borrowed(&change.job_name),
            title: Cow::Borrowed(&record.title),
            path: Cow::Borrowed(&record.path),
            language: language.map(Cow::Borrowed),
            media_type: record.media_type.as_deref().map(Cow::Borrowed),
            author: record.author.as_deref().map(Cow::Borrowed),
            fields: Cow::Borrowed(&record.fields),
        }
    }

    /// The same as the entry of whoever changes its access.
    pub(crate) fn taken_over(self, change: &'a Change) -> StoredFields<'a> {
        StoredFields {
            document: Cow::Borrowed(&change.document),
            job_name: Cow::Borrowed(&change.job_name),
            ..self
        }
    }

    /// Where a person finds it.
    pub(crate) fn uri(&self) -> &str {
        self.foreign_uri.as_deref().or_else(|| self.id.get(..self.uri_bytes)).unwrap_or(&self.id)
    }

    /// Of an entry of a feed, the page that it is about.
    pub(crate) fn link(&self) -> Option<&str> {
        let link = self.fields.get(ENTRY_LINK)?.first()?.as_str();
        let is_inside = self.id.len() > self.uri_bytes;
        let is_page = ["http://", "https://"].iter().any(|scheme| link.starts_with(scheme));
        (is_inside && is_page).then_some(link)
    }

    /// Name of the component; empty for the document itself.
    pub(crate) fn component(&self) -> String {
        let written = self.id.get(self.uri_bytes..).unwrap_or_default();
        component_of(written).map(|(_, name)| name).unwrap_or_default()
    }

    /// Last part of the path.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// All of the path but that part.
    fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Title, or the file name when it has none.
    pub(crate) fn shown_title(&self) -> &str {
        if self.title.is_empty() { self.name() } else { &self.title }
    }

    /// Path below the root of the job; the whole one where the document is named in another way.
    fn path_below_root(&self) -> &str {
        let component = self.component();
        let inside = self.path.strip_suffix(component.as_str()).and_then(|rest| rest.strip_suffix(INSIDE));
        let whole = inside.filter(|_| !component.is_empty()).unwrap_or(&self.path);
        match whole.strip_suffix(&*self.document) {
            Some(root) if root.is_empty() || root.ends_with('/') => &self.path[root.len()..],
            _ => &self.path,
        }
    }

    fn ext(&self) -> Option<String> {
        let (stem, ext) = self.name().rsplit_once('.')?;
        (!stem.is_empty() && !ext.is_empty() && ext.len() <= EXT_BYTES_MAX).then(|| ext.to_lowercase())
    }

    fn stemming(&self) -> Stemming {
        self.language.as_deref().map_or(Stemming::PLAIN, Stemming::of_code)
    }
}

/// The numbers of an entry; they are columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbers {
    pub(crate) address: i64,
    pub(crate) job: i64,
    pub(crate) seq: i64,
    pub(crate) version: i64,
    pub(crate) acl_id: Option<i64>,
    pub(crate) container: Option<i64>,
    pub(crate) size: Option<u64>,
    pub(crate) modified: Option<i64>,
    pub(crate) created: Option<i64>,
}

/// An entry on its way into the index.
pub(crate) struct Entry {
    document: TantivyDocument,
    _load: Option<Load>,
}

impl Document for Entry {
    type Value<'a> = CompactDocValue<'a>;
    type FieldsValuesIter<'a> = <TantivyDocument as Document>::FieldsValuesIter<'a>;

    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        self.document.iter_fields_and_values()
    }
}

impl Entry {
    /// Makes the entry; `body` is the text with its mark in front, see [`marked`].
    pub(crate) fn new(
        fields: &Fields,
        stored_fields: &StoredFields<'_>,
        numbers: &Numbers,
        body: Option<&str>,
        load: Option<Load>,
    ) -> Entry {
        let mut document = TantivyDocument::with_capacity(body.map_or(0, str::len) + 1_024);
        document.add_text(fields.id, &*stored_fields.id);
        if !stored_fields.title.is_empty() {
            document.add_text(fields.title, marked(stored_fields.stemming(), &stored_fields.title));
        }
        if let Some(body) = body {
            document.add_text(fields.body, body);
            if let (Some(text), Some(bucket)) = (fields.text, fields.text_bucket)
                && let Some(digest) = copies::digest(body)
            {
                document.add_i64(text, digest);
                document.add_i64(bucket, copies::bucket(digest));
            }
        }
        let stored = serde_json::to_vec(stored_fields).expect("strings and a map of strings are always JSON");
        document.add_bytes(fields.stored_fields, &stored);
        if !stored_fields.path.is_empty() {
            document.add_text(fields.name, stored_fields.name());
            document.add_text(fields.path, stored_fields.path_below_root());
        }
        let orders = [
            (fields.path_order, stored_fields.folder()),
            (fields.name_order, stored_fields.name()),
            (fields.title_order, &*stored_fields.title),
        ];
        for (order, text) in orders {
            if let (Some(order), false) = (order, text.is_empty()) {
                document.add_text(order, tokenizers::for_order(text));
            }
        }
        if let Some(ext) = stored_fields.ext() {
            document.add_text(fields.ext, ext);
        }
        if let Some(author) = &stored_fields.author {
            document.add_text(fields.author, &**author);
        }
        for (field, text) in
            [(fields.lang, &stored_fields.language), (fields.media_type, &stored_fields.media_type)]
        {
            if let Some(text) = text.as_deref().filter(|text| text.len() <= NAME_BYTES_MAX) {
                document.add_text(field, text.to_lowercase());
            }
        }
        add_meta(&mut document, fields, stored_fields);
        add_numbers(&mut document, fields, numbers);
        Entry { document, _load: load }
    }
}

fn add_meta(document: &mut TantivyDocument, fields: &Fields, stored_fields: &StoredFields<'_>) {
    if stored_fields.fields.is_empty() {
        return;
    }
    let searchable = stored_fields.fields.iter().filter(|(name, _)| name.len() <= NAME_BYTES_MAX);
    let object = searchable
        .map(|(name, values)| {
            let values = values.iter().map(|value| tantivy::schema::OwnedValue::Str(value.clone())).collect();
            (name.to_lowercase(), tantivy::schema::OwnedValue::Array(values))
        })
        .collect();
    document.add_object(fields.meta, object);
}

fn add_numbers(document: &mut TantivyDocument, fields: &Fields, numbers: &Numbers) {
    document.add_i64(fields.address, numbers.address);
    document.add_i64(fields.job, numbers.job);
    document.add_i64(fields.seq, numbers.seq);
    document.add_i64(fields.version, numbers.version);
    let optional = [
        (fields.acl_id, numbers.acl_id),
        (fields.container, numbers.container),
        (fields.modified, numbers.modified),
        (fields.created, numbers.created),
    ];
    for (field, number) in optional {
        if let Some(number) = number {
            document.add_i64(field, number);
        }
    }
    if let Some(size) = numbers.size {
        document.add_u64(fields.size, size);
    }
}

/// A text with the mark of its stemming in front.
pub(crate) fn marked(stemming: Stemming, text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 1);
    out.push(stemming.mark());
    out.push_str(text);
    out
}

/// The columns of one segment; a column is missing when no entry has a value.
pub(crate) struct Columns {
    pub(crate) address: Option<Column<i64>>,
    pub(crate) acl_id: Option<Column<i64>>,
    pub(crate) container: Option<Column<i64>>,
    job: Option<Column<i64>>,
    seq: Option<Column<i64>>,
    version: Option<Column<i64>>,
    pub(crate) size: Option<Column<u64>>,
    pub(crate) modified: Option<Column<i64>>,
    pub(crate) created: Option<Column<i64>>,
    /// Digest of the text.
    pub(crate) text: Option<Column<i64>>,
}

fn of<T: PartialOrd + Copy + std::fmt::Debug + Send + Sync + 'static>(
    column: &Option<Column<T>>,
    doc: DocId,
) -> Option<T> {
    column.as_ref().and_then(|column| column.first(doc))
}

impl Columns {
    /// Opens the columns.
    pub(crate) fn open(segment: &SegmentReader) -> tantivy::Result<Columns> {
        let columns = segment.fast_fields();
        let column = |name| columns.column_opt::<i64>(name);
        Ok(Columns {
            address: column("address")?,
            acl_id: column("class")?,
            container: column("place")?,
            job: column("job")?,
            seq: column("seq")?,
            version: column("version")?,
            size: columns.column_opt::<u64>("size")?,
            modified: column("modified")?,
            created: column("created")?,
            // Before format 7 there is no way from a text to the others that have it.
            text: if segment.schema().get_field("text_bucket").is_ok() { column("text")? } else { None },
        })
    }

    /// The sequence number of the entry's change.
    pub(crate) fn seq(&self, doc: DocId) -> i64 {
        of(&self.seq, doc).unwrap_or(0)
    }

    /// All numbers of an entry.
    pub(crate) fn numbers(&self, doc: DocId) -> Numbers {
        Numbers {
            address: of(&self.address, doc).unwrap_or(0),
            job: of(&self.job, doc).unwrap_or(0),
            seq: self.seq(doc),
            version: of(&self.version, doc).unwrap_or(0),
            acl_id: of(&self.acl_id, doc),
            container: of(&self.container, doc),
            size: of(&self.size, doc),
            modified: of(&self.modified, doc),
            created: of(&self.created, doc),
        }
    }

    /// The entry of `id`, for listings.
    pub(crate) fn listed(&self, id: String, doc: DocId) -> OutputEntry {
        let numbers = self.numbers(doc);
        OutputEntry {
            id,
            address: numbers.address,
            job: numbers.job,
            version: Digest(numbers.version),
            acl_id: numbers.acl_id.map(AclId),
            container: numbers.container.map(ContainerId),
        }
    }
}

/// An entry as it is stored.
pub(crate) struct Stored {
    /// Everything but body and numbers.
    pub(crate) stored_fields: StoredFields<'static>,
    /// The body with its mark in front.
    pub(crate) body: Option<String>,
}

impl Stored {
    /// Reads a stored document.
    ///
    /// # Errors
    /// `Broken` when it is not what an entry looks like.
    pub(crate) fn of(document: &TantivyDocument, fields: StoredSchema) -> Result<Stored, Fault> {
        let stored_fields =
            document.get_first(fields.stored_fields).and_then(|value| value.as_bytes()).unwrap_or_default();
        let stored_fields = serde_json::from_slice(stored_fields).map_err(|error| {
            let sentence = format!(
                "the search index is damaged: an entry of it cannot be read ({error}); `ingather verify index --repair` makes it \
                 anew and sends everything again"
            );
            Fault::broken(DAMAGED, sentence)
        })?;
        let body = document.get_first(fields.body).and_then(|value| value.as_str().map(str::to_owned));
        Ok(Stored { stored_fields, body })
    }
}
