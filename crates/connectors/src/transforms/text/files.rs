//! What is not plain text is read by confined processes of this program, which the program says how to start.

use std::io::Read;
use std::sync::OnceLock;

use ingather_contract::transform::{Audience, Verdict};
use ingather_extract::pictures::Sight;
use ingather_extract::{DEFAULT_LANGUAGE, Extracted, InForce, Loss, Pool, Request};
use ingather_model::document::{Component, ENTRY_LINK, EXTRACTION, INSIDE, Links, Parts, Record};
use ingather_model::fault::{Fault, Reason};
use ingather_model::limits;
use whatlang::Detector;

use ingather_kit::language;

use super::{Container, FORM, Form, PartsAs, TextSettings};

/// The readers of this process. A stage is opened with its settings only, and how processes are started is none.
static READERS: OnceLock<Pool> = OnceLock::new();

/// Says how files are read from now on; without it only plain text is. The first word counts.
pub fn read_files_with(pool: Pool) {
    // A second pool would be the same: both start this program.
    let _ = READERS.set(pool);
}

/// What holds the processes that read files, once one of them was started.
pub fn readers_in_force() -> Option<InForce> {
    READERS.get()?.in_force()
}

/// Reads a document whose type is known by now; fills the record with what is in it, and `parts` with what are documents
/// of their own. `links` takes what the document says of others, where somebody follows them.
pub(super) fn read(
    settings: &TextSettings,
    sight: Option<&mut Sight<'_>>,
    name: &str,
    (record, audience): (&mut Record, &dyn Fn() -> Audience),
    content: &mut dyn Read,
    parts: &mut Parts,
    links: Option<&mut Links>,
) -> Result<Verdict, Fault> {
    let media = record.media_type.clone().unwrap_or_default();
    let Some(pool) = READERS.get().filter(|_| ingather_extract::is_readable(&media)) else {
        // Without readers nobody knows what links it has.
        links.into_iter().for_each(|links| links.incomplete |= READERS.get().is_none());
        return Ok(Verdict::Pass);
    };
    let mut request = Request {
        name: name.to_owned(),
        declared: Some(media),
        charset: record.charset.take(),
        audience: audience().0,
        links: links.is_some(),
        ..Request::default()
    };
    request.options.hidden = !settings.skip_hidden;
    request.options.boilerplate = !settings.skip_boilerplate;
    request.options.parts = settings.parts != PartsAs::None;
    request.options.markdown = settings.form == Form::Markdown;
    request.options.passwords.clone_from(&settings.passwords);
    if settings.parts == PartsAs::Entries {
        request.limits.text_bytes = limits::PARTS_TEXT_BYTES_MAX;
    }
    request.options.pictures = sight.is_some();
    let found = match sight {
        Some(sight) => pool.extract_seeing(&request, content, &mut |picture| sight.look(picture)),
        None => pool.extract(&request, content),
    };
    let mut found = found
        .map_err(|error| Fault::passing("io", format!("the content cannot be read to its end: {error}")))?;
    if let Some(links) = links {
        *links = found.links.take().map(|links| *links).unwrap_or_default();
        // Whatever is not told of may be there.
        links.incomplete |= found.lost.is_some();
    }
    let Some(loss) = found.lost else {
        let verdict = take((settings.parts, settings.container), record, found, parts);
        if settings.form == Form::Markdown {
            let all = parts.list.iter_mut().filter_map(|part| part.record.as_mut().ok());
            for record in all.chain([record]).filter(|record| record.body.is_some()) {
                record.fields.insert(FORM.to_owned(), vec!["markdown".to_owned()]);
            }
        }
        return Ok(verdict);
    };
    // It is found by its name and fields, and by the reason; whatever was in it before stays.
    let reason = found.reason.unwrap_or_default();
    record.fields.insert(EXTRACTION.to_owned(), vec![reason.clone()]);
    parts.incomplete = true;
    Ok(Verdict::Unread(match loss {
        Loss::ByItself => Fault::broken("extract", reason),
        Loss::ByOthers => Fault::passing_soon("reader", reason, limits::READER_ATTEMPTS_MAX),
    }))
}

/// Takes what was found into the record and the parts.
pub(crate) fn take(
    (parts_as, container): (PartsAs, Container),
    record: &mut Record,
    found: Extracted,
    parts: &mut Parts,
) -> Verdict {
    let entries = parts_as == PartsAs::Entries;
    let mut inside = Parts::default();
    let (mut found, holds_documents) = unpacked(found);
    if entries && holds_documents {
        inside.incomplete = found.broken_off;
        (found.size, found.modified) = (record.size, record.modified);
        components("", &mut found, &mut inside);
    }
    let over = found.over_limit;
    fill(record, found);
    if entries && over {
        // Half of a container would look like all of it (design parts CMP-6).
        inside = Parts { list: Vec::new(), incomplete: true };
        let reason =
            "it has more parts, or expands to more, than are read (compound limit); none of them are entries";
        record.fields.insert(EXTRACTION.to_owned(), vec![reason.to_owned()]);
    }
    let unread = inside.list.iter().find_map(|part| part.record.as_ref().err().map(|why| (&part.name, why)));
    if let Some((name, why)) = unread {
        record
            .fields
            .entry(EXTRACTION.to_owned())
            .or_insert_with(|| vec![format!("{name}: {}", why.message)]);
    }
    if inside.incomplete {
        let reason = "not all that is in it could be read; what was found before stays";
        record.fields.entry(EXTRACTION.to_owned()).or_insert_with(|| vec![reason.to_owned()]);
    }
    let is_container = !inside.list.is_empty() || inside.incomplete;
    parts.incomplete |= inside.incomplete;
    parts.list.append(&mut inside.list);
    if is_container { container.keep(record) } else { Verdict::Pass }
}

/// Takes the documents out that are in a container, and those in them; `outer` is the container's own name with what
/// sets the names apart. What has no size or time of its own has those of its container.
fn components(outer: &str, container: &mut Extracted, parts: &mut Parts) {
    for found in std::mem::take(&mut container.parts) {
        let (mut found, holds_documents) = unpacked(found);
        if !ingather_extract::is_feed(&container.media_type) {
            // An attachment must not say where its hit leads.
            found.fields.remove(ENTRY_LINK);
        }
        let name = format!("{outer}{}", found.name);
        found.size = found.size.or(container.size);
        found.modified = found.modified.or(container.modified);
        if found.media_type.is_empty() {
            // It could not be had at all: what is known of it stays.
            let reason = Reason::new("unreadable_part", found.reason.unwrap_or_default());
            parts.list.push(Component { name, record: Err(reason) });
            continue;
        }
        if holds_documents {
            parts.incomplete |= found.broken_off;
            let mut inner = Parts::default();
            components(&format!("{name}{INSIDE}"), &mut found, &mut inner);
            parts.incomplete |= inner.incomplete;
            parts.list.push(component(name, found));
            parts.list.append(&mut inner.list);
        } else {
            parts.list.push(component(name, found));
        }
    }
}

/// Media types of files that are packed and nothing else.
const PACKED: &[&str] = &["application/gzip", "application/x-bzip2", "application/x-xz", "application/zstd"];

/// A file that is packed alone is one document to people: what it holds, under its own name and media type, be that a text
/// (`a.txt.gz`) or an archive (`a.tar.gz`). Also whether there are documents in it.
fn unpacked(mut found: Extracted) -> (Extracted, bool) {
    let media_type = found.media_type.clone();
    let is_packed_alone = |found: &Extracted| {
        let inner =
            found.parts.first().filter(|inner| found.parts.len() == 1 && !inner.media_type.is_empty());
        PACKED.contains(&found.media_type.as_str()) && inner.is_some()
    };
    let mut inner_name = None;
    while is_packed_alone(&found) {
        let Some(mut inner) = found.parts.pop() else { break };
        inner_name = Some(std::mem::replace(&mut inner.name, found.name));
        (inner.size, inner.modified) = (found.size, found.modified.or(inner.modified));
        inner.reason = found.reason.or(inner.reason);
        inner.broken_off |= found.broken_off;
        inner.over_limit |= found.over_limit;
        found = inner;
    }
    let holds_documents = ingather_extract::holds_documents(&found.media_type);
    if let Some(name) = inner_name.filter(|_| !holds_documents) {
        found.fields.entry("title".to_owned()).or_insert_with(|| vec![name]);
    }
    (Extracted { media_type, ..found }, holds_documents)
}

fn component(name: String, found: Extracted) -> Component {
    let last = found.name.rsplit('/').next().unwrap_or_default().to_owned();
    let mut record =
        Record { title: last.clone(), size: found.size, modified: found.modified, ..Record::default() };
    record.fields.insert("name".to_owned(), vec![last]);
    fill(&mut record, found);
    Component { name, record: Ok(record) }
}

/// Fills a record; the text of parts that are left in the document follows its own.
fn fill(record: &mut Record, mut found: Extracted) {
    let mut body = String::new();
    append(&mut body, &found);
    record.body = Some(body).filter(|body| !body.is_empty());
    record.media_type = Some(found.media_type);
    if let Some(title) = found.fields.remove("title").and_then(|titles| titles.into_iter().next()) {
        let end = ingather_extract::decode::boundary(&title, limits::TITLE_BYTES_MAX);
        title[..end].clone_into(&mut record.title);
    }
    if let Some(authors) = found.fields.remove("author") {
        record.author = Some(authors.join(", "));
    }
    // The first that is one: templates leave empty ones, and the rest stays to be asked for as a field.
    if record.language.is_none() {
        let named = found.fields.get("language").into_iter().flatten();
        record.language = named.filter_map(|text| language::named(text)).map(str::to_owned).next();
    }
    // What holds by default is that of the machine or the template, so that a text that tells otherwise is believed.
    let default = found.fields.remove(DEFAULT_LANGUAGE).into_iter().flatten().next();
    if record.language.is_none()
        && let Some(default) = default.as_deref().and_then(language::named)
    {
        let text = record.body.as_deref().unwrap_or_default();
        let told = language::detect(&Detector::new(), text);
        record.language = Some(told.unwrap_or(default).to_owned());
    }
    // Fields of the source, such as the name, stand before those that a document tells of itself.
    for (name, values) in found.fields {
        record.fields.entry(name).or_insert(values);
    }
    if let Some(reason) = found.reason {
        record.fields.insert(EXTRACTION.to_owned(), vec![reason]);
    }
}

fn append(body: &mut String, found: &Extracted) {
    let left = limits::BODY_BYTES_MAX.saturating_sub(body.len() + 1);
    let end = ingather_extract::decode::boundary(&found.text, left);
    if !body.is_empty() && end > 0 {
        body.push('\n');
    }
    body.push_str(&found.text[..end]);
    found.parts.iter().for_each(|part| append(body, part));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(media: &str, name: &str, text: &str) -> Extracted {
        let (name, media_type, text) = (name.to_owned(), media.to_owned(), text.to_owned());
        Extracted { name, media_type, text, ..Extracted::default() }
    }

    fn taken(settings: serde_json::Value, found: Extracted) -> (Record, Parts, Verdict) {
        let settings: TextSettings = serde_json::from_value(settings).unwrap();
        let (mut record, mut parts) = (Record::default(), Parts::default());
        let verdict = take((settings.parts, settings.container), &mut record, found, &mut parts);
        (record, parts, verdict)
    }

    /// `a.txt`, a mail with an attachment, and a member that cannot be had, in an archive.
    fn archive() -> Extracted {
        let mut mail = read("message/rfc822", "in/mail.eml", "mail words");
        mail.parts.push(read("application/pdf", "report.pdf", "report words"));
        let mut archive = read("application/zip", "outer.zip", "names");
        archive.parts.push(read("text/plain", "a.txt", "text words"));
        archive.parts.push(mail);
        archive.parts.push(Extracted {
            name: "secret".to_owned(),
            reason: Some("it is encrypted".to_owned()),
            ..Extracted::default()
        });
        archive
    }

    #[test]
    fn what_is_in_a_container_are_entries_of_their_own() {
        let (record, parts, verdict) = taken(serde_json::json!({}), archive());
        assert_eq!((verdict, record.body.as_deref()), (Verdict::Pass, Some("names")));
        let texts: Vec<_> = parts
            .list
            .iter()
            .map(|part| (part.name.as_str(), part.record.as_ref().ok().and_then(|r| r.body.as_deref())))
            .collect();
        assert_eq!(
            texts,
            [
                ("a.txt", Some("text words")),
                ("in/mail.eml", Some("mail words")),
                ("in/mail.eml!/report.pdf", Some("report words")),
                ("secret", None),
            ]
        );
        assert_eq!(record.fields["extraction"], ["secret: it is encrypted"]);
        assert!(!parts.incomplete);
        assert_eq!(parts.list[2].record.as_ref().unwrap().title, "report.pdf");
    }

    #[test]
    fn what_has_no_size_or_time_has_those_of_its_container() {
        let mut found = archive();
        (found.parts[0].size, found.parts[0].modified) = (Some(10), Some(1_000));
        found.parts[1].modified = Some(2_000);
        let mut record = Record { size: Some(99), modified: Some(9_000), ..Record::default() };
        let mut parts = Parts::default();
        take((PartsAs::Entries, Container::Keep), &mut record, found, &mut parts);
        let told = |at: usize| parts.list[at].record.as_ref().map(|part| (part.size, part.modified)).unwrap();
        assert_eq!(told(0), (Some(10), Some(1_000)));
        assert_eq!([told(1), told(2)], [(Some(99), Some(2_000)); 2], "a mail, and what is attached to it");
        assert_eq!((record.size, record.modified), (Some(99), Some(9_000)), "the document has its own");
    }

    #[test]
    fn a_container_is_kept_without_its_text_or_not_at_all() {
        let (record, parts, verdict) = taken(serde_json::json!({"container": "metadata_only"}), archive());
        assert_eq!((record.body, parts.list.len(), verdict), (None, 4, Verdict::Pass));
        let (_, parts, verdict) = taken(serde_json::json!({"container": "drop"}), archive());
        assert_eq!((parts.list.len(), verdict), (4, Verdict::PartsOnly));
        let (_, _, verdict) =
            taken(serde_json::json!({"container": "drop"}), read("text/html", "a", "words"));
        assert_eq!(verdict, Verdict::Pass, "it is no container");
    }

    #[test]
    fn more_parts_than_allowed_make_none_and_take_none_away() {
        let (record, parts, _) = taken(serde_json::json!({}), Extracted { over_limit: true, ..archive() });
        assert_eq!((parts.list.len(), parts.incomplete), (0, true));
        assert!(record.fields["extraction"][0].contains("compound limit"));
    }

    #[test]
    fn a_container_that_broke_off_does_not_take_away_what_was_not_reached() {
        let (_, parts, _) = taken(serde_json::json!({}), Extracted { broken_off: true, ..archive() });
        assert_eq!((parts.list.len(), parts.incomplete), (4, true));
    }

    #[test]
    fn a_packed_archive_is_one_container() {
        let mut tar = read("application/x-tar", "a.tar", "");
        tar.parts.push(read("text/plain", "b.txt", "words"));
        let mut packed = read("application/gzip", "a.tar.gz", "");
        packed.parts.push(tar);
        let (_, parts, _) = taken(serde_json::json!({}), packed);
        assert_eq!(parts.list.iter().map(|part| part.name.as_str()).collect::<Vec<_>>(), ["b.txt"]);
    }

    #[test]
    fn a_file_that_is_packed_alone_is_one_entry() {
        let packed = |inner: Extracted| {
            let mut packed = read("application/gzip", "b.gz", "inner.txt");
            packed.parts.push(inner);
            packed
        };
        let mut report = read("application/vnd.oasis.opendocument.text", "inner.odt", "words");
        report.parts.push(read("image/png", "picture", "drawn"));
        report.reason = Some("cut".to_owned());
        let (record, parts, verdict) = taken(serde_json::json!({}), packed(packed(report.clone())));
        assert_eq!((parts.list.len(), parts.incomplete, verdict), (0, false, Verdict::Pass));
        assert_eq!(record.body.as_deref(), Some("words\ndrawn"));
        assert_eq!(
            (record.title.as_str(), record.media_type.as_deref()),
            ("inner.odt", Some("application/gzip"))
        );
        assert_eq!(record.fields["extraction"], ["cut"]);
        // In an archive, and holding one.
        let mut zip = read("application/zip", "a.zip", "");
        zip.parts.push(Extracted { size: Some(7), ..packed(report) });
        let mut mailbox = read("application/mbox", "a.mbox", "");
        mailbox.parts.push(read("message/rfc822", "1.eml", "hello"));
        zip.parts.push(packed(mailbox));
        let (_, parts, _) = taken(serde_json::json!({}), zip);
        let told: Vec<_> =
            parts.list.iter().map(|part| (part.name.as_str(), part.record.as_ref().unwrap().size)).collect();
        assert_eq!(told[0], ("b.gz", Some(7)));
        assert_eq!(told[1..].iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["b.gz", "b.gz!/1.eml"]);
        // What could not be unpacked is told of as of any part.
        let (_, parts, _) =
            taken(serde_json::json!({}), packed(Extracted { name: "x".into(), ..Extracted::default() }));
        assert!(parts.list.len() == 1 && parts.list[0].record.is_err());
    }

    #[test]
    fn what_is_embedded_in_a_report_is_part_of_its_text() {
        let mut report = read("application/vnd.oasis.opendocument.text", "a.odt", "outer words");
        report.parts.push(read("application/vnd.oasis.opendocument.spreadsheet", "table", "inner words"));
        let (record, parts, _) = taken(serde_json::json!({}), report);
        assert_eq!((record.body.as_deref(), parts.list.len()), (Some("outer words\ninner words"), 0));
    }

    #[test]
    fn a_language_that_holds_by_default_is_that_of_texts_which_tell_none() {
        const GERMAN: &str = "Die Sitzung wurde auf den Montag verschoben, weil der Raum nicht frei ist.";
        for (text, default, language) in [
            (GERMAN, "en-US", Some("de")),
            ("Montag, 9:30", "de-DE", Some("de")),
            ("Montag, 9:30", "x-none", None),
            (GERMAN, "x-none", None),
        ] {
            let mut found = read("application/vnd.oasis.opendocument.text", "a.odt", text);
            found.fields.insert(DEFAULT_LANGUAGE.to_owned(), vec![default.to_owned()]);
            let (record, _, _) = taken(serde_json::json!({}), found);
            assert_eq!(record.language.as_deref(), language, "{text}");
            assert_eq!(record.fields.get(DEFAULT_LANGUAGE), None);
        }
    }

    #[test]
    fn a_record_may_hold_the_text_of_parts() {
        let part = Extracted { text: "inner words".to_owned(), ..Extracted::default() };
        let mut found = Extracted {
            text: "outer words".to_owned(),
            media_type: "application/zip".to_owned(),
            parts: vec![part],
            reason: Some("cut".to_owned()),
            ..Extracted::default()
        };
        for (name, value) in
            [("title", "T"), ("author", "Ann"), ("name", "other"), ("subject", "s"), ("language", "de-CH")]
        {
            found.fields.insert(name.to_owned(), vec![value.to_owned()]);
        }
        let mut record = Record { title: "a.zip".to_owned(), ..Record::default() };
        record.fields.insert("name".to_owned(), vec!["a.zip".to_owned()]);
        let settings: TextSettings = serde_json::from_value(serde_json::json!({"parts": "text"})).unwrap();
        take((settings.parts, settings.container), &mut record, found, &mut Parts::default());
        assert_eq!(record.body.as_deref(), Some("outer words\ninner words"));
        assert_eq!((record.title.as_str(), record.author.as_deref()), ("T", Some("Ann")));
        assert_eq!(
            (&record.fields["name"], &record.fields["subject"]),
            (&vec!["a.zip".to_owned()], &vec!["s".to_owned()])
        );
        assert_eq!(record.fields["extraction"], ["cut"]);
        assert_eq!(record.language.as_deref(), Some("de"), "what a document names is obeyed");
    }

    #[test]
    fn bodies_stay_bounded_whatever_the_parts() {
        let part = Extracted { text: "x".repeat(limits::BODY_BYTES_MAX / 2), ..Extracted::default() };
        let found = Extracted { parts: vec![part.clone(), part.clone(), part], ..Extracted::default() };
        let mut body = String::new();
        append(&mut body, &found);
        assert!(body.len() <= limits::BODY_BYTES_MAX);
    }
}
