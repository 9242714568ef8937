//! The fields of the index and their formats; raise [`FORMAT`] when one changes, and old indexes rebuild themselves.

use tantivy::schema::{
    BytesOptions, Field, IndexRecordOption, JsonObjectOptions, NumericOptions, Schema, TextFieldIndexing,
    TextOptions,
};

use crate::tokenizers::{BY_STEMMING, PLAIN};

/// Version of schema, terms and stored texts. What [`crate::rebuild`] reads must stay readable in all later ones:
/// stored `body` and `kept`, and the numbers.
pub(crate) const FORMAT: u32 = 7;
/// Indexes since this format answer searches until they are rebuilt: they have all fields but those that are optional.
pub(crate) const FORMAT_SEARCHED_MIN: u32 = 2;

/// Handles of the fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    /// The id, whole: the term by which entries are replaced, and the order of listings.
    pub(crate) id: Field,
    /// Words of the title by language.
    pub(crate) title: Field,
    /// Words of the body by language; stored.
    pub(crate) body: Field,
    /// What else of the record is kept, as JSON; stored only.
    pub(crate) stored_fields: Field,
    /// Words of the last part of the path.
    pub(crate) name: Field,
    /// Words of the path below the root of the job.
    pub(crate) path: Field,
    /// What entries with a title are ordered by when by title, all until format 6; a column only, since format 3.
    pub(crate) title_order: Option<Field>,
    /// What entries are ordered by first when by path: all but its last part, the whole one until format 6; a column only, since format 3.
    /// A folder's name costs little to write again for each of its entries, a path that nobody shares costs much.
    pub(crate) path_order: Option<Field>,
    /// The last part of the path, which orders those of one folder, and stands for the title of those without; a column only, since
    /// format 7.
    pub(crate) name_order: Option<Field>,
    /// Words of the author.
    pub(crate) author: Field,
    /// Media type, whole; also a column, for facets.
    pub(crate) media_type: Field,
    /// Ending of the file name, whole, lower case.
    pub(crate) ext: Field,
    /// Language code, whole.
    pub(crate) lang: Field,
    /// Words of everything else, by name.
    pub(crate) meta: Field,
    /// Hash of the id.
    pub(crate) address: Field,
    /// Class; missing = nobody may see the entry.
    pub(crate) acl_id: Field,
    /// Place; missing = nobody may see the entry.
    pub(crate) container: Field,
    /// Digest of the version.
    pub(crate) version: Field,
    /// Sequence number of the change.
    pub(crate) seq: Field,
    /// Job that sent it.
    pub(crate) job: Field,
    /// Digest of the text; a column only, since format 3.
    pub(crate) text: Option<Field>,
    /// The last bits of that digest, by which others that have the same text are found; since format 7. Terms that hardly two entries
    /// share would cost twenty times as much to write.
    pub(crate) text_bucket: Option<Field>,
    /// Size, bytes.
    pub(crate) size: Field,
    /// Last change, milliseconds since 1970.
    pub(crate) modified: Field,
    /// Creation, milliseconds since 1970.
    pub(crate) created: Field,
}

/// The fields of the schema that hold what is stored of an entry; every format has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredSchema {
    /// As in [`Fields::body`].
    pub(crate) body: Field,
    /// As in [`Fields::stored_fields`].
    pub(crate) stored_fields: Field,
}

impl Fields {
    /// Those of an index since [`FORMAT_SEARCHED_MIN`].
    pub(crate) fn of(schema: &Schema) -> tantivy::Result<Fields> {
        let field = |name| schema.get_field(name);
        Ok(Fields {
            id: field("id")?,
            title: field("title")?,
            body: field("body")?,
            stored_fields: field("kept")?,
            name: field("name")?,
            path: field("path")?,
            title_order: field("title_order").ok(),
            path_order: field("path_order").ok(),
            name_order: field("name_order").ok(),
            author: field("author")?,
            media_type: field("type")?,
            ext: field("ext")?,
            lang: field("lang")?,
            meta: field("meta")?,
            address: field("address")?,
            acl_id: field("class")?,
            container: field("place")?,
            version: field("version")?,
            seq: field("seq")?,
            job: field("job")?,
            text: field("text").ok(),
            text_bucket: field("text_bucket").ok(),
            size: field("size")?,
            modified: field("modified")?,
            created: field("created")?,
        })
    }

    /// Those that hold what is stored of an entry.
    pub(crate) fn stored_schema(&self) -> StoredSchema {
        StoredSchema { body: self.body, stored_fields: self.stored_fields }
    }
}

impl StoredSchema {
    /// Those of an index of any format.
    pub(crate) fn of(schema: &Schema) -> tantivy::Result<StoredSchema> {
        Ok(StoredSchema { body: schema.get_field("body")?, stored_fields: schema.get_field("kept")? })
    }
}

fn whole() -> TextOptions {
    TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_index_option(IndexRecordOption::Basic)
            .set_fieldnorms(false),
    )
}

fn words(tokenizer: &str) -> TextFieldIndexing {
    TextFieldIndexing::default()
        .set_tokenizer(tokenizer)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions)
}

/// The schema of [`FORMAT`] with its handles.
pub(crate) fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let text = |tokenizer| TextOptions::default().set_indexing_options(words(tokenizer));
    let order = || TextOptions::default().set_fast("raw");
    let column = NumericOptions::default().set_fast();
    let fields = Fields {
        id: builder.add_text_field("id", whole()),
        title: builder.add_text_field("title", text(BY_STEMMING)),
        body: builder.add_text_field("body", text(BY_STEMMING).set_stored()),
        stored_fields: builder.add_bytes_field("kept", BytesOptions::default().set_stored()),
        name: builder.add_text_field("name", text(PLAIN)),
        path: builder.add_text_field("path", text(PLAIN)),
        title_order: Some(builder.add_text_field("title_order", order())),
        path_order: Some(builder.add_text_field("path_order", order())),
        name_order: Some(builder.add_text_field("name_order", order())),
        author: builder.add_text_field("author", text(PLAIN)),
        media_type: builder.add_text_field("type", whole().set_fast("raw")),
        ext: builder.add_text_field("ext", whole()),
        lang: builder.add_text_field("lang", whole()),
        meta: builder.add_json_field("meta", JsonObjectOptions::default().set_indexing_options(words(PLAIN))),
        address: builder.add_i64_field("address", column.clone()),
        acl_id: builder.add_i64_field("class", column.clone()),
        container: builder.add_i64_field("place", column.clone()),
        version: builder.add_i64_field("version", column.clone()),
        seq: builder.add_i64_field("seq", column.clone()),
        job: builder.add_i64_field("job", column.clone()),
        text: Some(builder.add_i64_field("text", column.clone())),
        text_bucket: Some(builder.add_i64_field("text_bucket", NumericOptions::default().set_indexed())),
        size: builder.add_u64_field("size", column.clone()),
        modified: builder.add_i64_field("modified", column.clone()),
        created: builder.add_i64_field("created", column),
    };
    (builder.build(), fields)
}
