//! Sitemaps and indexes of them in XML, read as they come. No entity but those of XML is resolved, and nothing outside is asked for.

use ingather_model::limits::{SITEMAP_DEPTH_MAX, SITEMAP_PIECE_BYTES_MAX};
use quick_xml::Reader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::layers::Layers;
use super::{Changes, Ended, Entry, Reading, dates};

/// Elements from the root to an entry, and to a field of it.
const ENTRY_DEPTH: usize = 2;
const FIELD_DEPTH: usize = 3;

pub(super) fn read(layers: Layers<'_>, reading: &mut Reading<'_>) -> Result<(), Ended> {
    let mut reader = Reader::from_reader(layers);
    let mut walk = Walk::default();
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        reader.get_mut().next_piece();
        let event = match reader.read_event_into(&mut buffer) {
            Ok(event) => event,
            Err(error) => return Err(broken(format!("at byte {}: {error}", reader.error_position()))),
        };
        match event {
            Event::Start(tag) => walk.open(&tag)?,
            Event::Empty(tag) => {
                walk.open(&tag)?;
                walk.close(reading)?;
            }
            Event::End(_) => walk.close(reading)?,
            Event::Text(text) => walk.text(&text)?,
            Event::CData(text) => walk.text(&text)?,
            Event::GeneralRef(name) => walk.text(&resolved(&name))?,
            Event::Eof if walk.depth > 0 => return Err(broken("it ends in the midst of an element".into())),
            Event::Eof => return Ok(()),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
}

fn broken(message: String) -> Ended {
    Ended::Broken(message)
}

/// An entity of XML or a number; any other stays as it is written, so that a text of its own making never grows.
fn resolved(name: &BytesRef<'_>) -> String {
    if let Ok(Some(letter)) = name.resolve_char_ref() {
        return letter.to_string();
    }
    let name: &str = name;
    resolve_xml_entity(name).map_or_else(|| format!("&{name};"), str::to_owned)
}

/// Where the reader is.
#[derive(Default)]
struct Walk {
    depth: usize,
    is_index: bool,
    /// Inside an entry; its prefix tells its fields from those of extensions.
    entry: Option<(String, Fields)>,
    field: Option<Field>,
}

#[derive(Default)]
struct Fields {
    location: String,
    modified: String,
    changes: String,
    priority: String,
}

#[derive(Clone, Copy)]
enum Field {
    Location,
    Modified,
    Changes,
    Priority,
}

impl Walk {
    fn open(&mut self, tag: &BytesStart<'_>) -> Result<(), Ended> {
        self.depth += 1;
        if self.depth > SITEMAP_DEPTH_MAX {
            return Err(Ended::Cut(format!("its elements are nested deeper than {SITEMAP_DEPTH_MAX}")));
        }
        let name = tag.name();
        let name: &str = name.as_ref();
        let (prefix, local) = name.rsplit_once(':').unwrap_or(("", name));
        if self.depth == 1 {
            self.is_index = match local {
                "urlset" => false,
                "sitemapindex" => true,
                other => return Err(broken(format!("`{other}` is no root of a sitemap"))),
            };
        }
        let entry = if self.is_index { "sitemap" } else { "url" };
        if self.depth == ENTRY_DEPTH && local == entry {
            self.entry = Some((prefix.to_owned(), Fields::default()));
        }
        if self.depth == FIELD_DEPTH && self.entry.as_ref().is_some_and(|(of_entry, _)| of_entry == prefix) {
            self.field = match local {
                "loc" => Some(Field::Location),
                "lastmod" => Some(Field::Modified),
                "changefreq" => Some(Field::Changes),
                "priority" => Some(Field::Priority),
                _ => None,
            };
        }
        Ok(())
    }

    fn close(&mut self, reading: &mut Reading<'_>) -> Result<(), Ended> {
        self.depth = self.depth.saturating_sub(1);
        if self.depth < FIELD_DEPTH {
            self.field = None;
        }
        if self.depth >= ENTRY_DEPTH {
            return Ok(());
        }
        let Some((_, fields)) = self.entry.take() else { return Ok(()) };
        reading.take(!self.is_index, &fields.location, |url| Entry {
            url,
            modified: dates::parse(&fields.modified),
            changes: Changes::parse(&fields.changes),
            priority: priority(&fields.priority),
        })
    }

    fn text(&mut self, text: &str) -> Result<(), Ended> {
        // Text of an element inside a field belongs to that element.
        let (Some(field), Some((_, fields)), FIELD_DEPTH) = (self.field, &mut self.entry, self.depth) else {
            return Ok(());
        };
        let place = match field {
            Field::Location => &mut fields.location,
            Field::Modified => &mut fields.modified,
            Field::Changes => &mut fields.changes,
            Field::Priority => &mut fields.priority,
        };
        if place.len() + text.len() > SITEMAP_PIECE_BYTES_MAX {
            return Err(Ended::Cut(format!("a field of it has more than {SITEMAP_PIECE_BYTES_MAX} bytes")));
        }
        place.push_str(text);
        Ok(())
    }
}

fn priority(text: &str) -> Option<f32> {
    text.trim().parse().ok().filter(|priority| (0.0..=1.0).contains(priority))
}
