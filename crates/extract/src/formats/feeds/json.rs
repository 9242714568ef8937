//! JSON Feed 1.0 and 1.1. It is read twice, for what is said of the feed may stand behind its entries, and then entry by entry:
//! so no more than one of them is in memory in another form than as text.

use std::fmt;
use std::io::Read;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::facts::{Facts, Moment, Reference};
use super::people::Person;
use super::texts::Words;
use super::{FEED_BYTES_MAX, Make, Writing};
use crate::page::{Outcome, ParseError, TextSink};
use crate::{Input, decode, detect};

/// Authors, tags and attachments of one entry that are read.
const FEW: usize = 256;

/// Reads a feed of JSON.
pub(crate) fn read(input: Input, page: &mut TextSink<'_>) -> Outcome {
    let mut bytes = Vec::new();
    input.take(FEED_BYTES_MAX).read_to_end(&mut bytes)?;
    let source = decode::whole(&bytes, None);
    drop(bytes);
    let mut feed = Feed::default();
    // What is wrong with it is said when the entries are read; what came before it counts.
    let _ = About(&mut feed).deserialize(&mut serde_json::Deserializer::from_str(&source));
    let mut writing = Writing::new(page);
    writing.feed(&feed.facts(detect::feed_format(&source)));
    writing.entries(|add| {
        let mut reading = serde_json::Deserializer::from_str(&source);
        let outcome = Entries(add).deserialize(&mut reading).and_then(|()| reading.end());
        outcome.map_err(|error| ParseError(format!("broken JSON: {error}; there may be more entries")))
    })
}

/// A text, whatever stands in its place.
#[derive(Debug, Default)]
struct Loose(String);

impl<'de> Deserialize<'de> for Loose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LooseVisitor)
    }
}

struct LooseVisitor;

impl<'de> Visitor<'de> for LooseVisitor {
    type Value = Loose;

    fn expecting(&self, words: &mut fmt::Formatter<'_>) -> fmt::Result {
        words.write_str("a text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Loose, E> {
        Ok(Loose(text.trim().to_owned()))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Loose, E> {
        Ok(Loose(value.to_string()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Loose, E> {
        Ok(Loose(value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Loose, E> {
        Ok(Loose(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Loose, E> {
        Ok(Loose(value.to_string()))
    }

    fn visit_unit<E: Error>(self) -> Result<Loose, E> {
        Ok(Loose::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Loose, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Loose::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Loose, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Loose::default())
    }
}

/// The first of a list.
#[derive(Debug)]
struct Few<T>(Vec<T>);

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Few<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FewVisitor(std::marker::PhantomData))
    }
}

struct FewVisitor<T>(std::marker::PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for FewVisitor<T> {
    type Value = Few<T>;

    fn expecting(&self, words: &mut fmt::Formatter<'_>) -> fmt::Result {
        words.write_str("a list")
    }

    fn visit_unit<E: Error>(self) -> Result<Few<T>, E> {
        Ok(Few::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Few<T>, A::Error> {
        let mut few = Few::default();
        while few.0.len() < FEW {
            match list.next_element()? {
                Some(one) => few.0.push(one),
                None => return Ok(few),
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(few)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Author {
    name: Loose,
    url: Loose,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Attachment {
    url: Loose,
    mime_type: Loose,
    title: Loose,
    size_in_bytes: Loose,
}

#[derive(Debug, Default)]
struct Feed {
    title: Loose,
    home_page_url: Loose,
    feed_url: Loose,
    next_url: Loose,
    description: Loose,
    user_comment: Loose,
    icon: Loose,
    favicon: Loose,
    language: Loose,
    author: Option<Author>,
    authors: Few<Author>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Entry {
    id: Loose,
    url: Loose,
    external_url: Loose,
    title: Loose,
    content_html: Loose,
    content_text: Loose,
    summary: Loose,
    image: Loose,
    banner_image: Loose,
    date_published: Loose,
    date_modified: Loose,
    language: Loose,
    author: Option<Author>,
    authors: Few<Author>,
    tags: Few<Loose>,
    attachments: Few<Attachment>,
}

impl Feed {
    fn facts(self, format: Option<String>) -> Facts {
        let mut facts = Facts {
            title: Some(Words::plain(self.title.0)),
            language: Some(self.language.0).filter(|language| !language.is_empty()),
            ..Facts::default()
        };
        facts
            .descriptions
            .extend(Some(Words::plain(self.description.0)).filter(|words| !words.text.is_empty()));
        link(&mut facts, "alternate", &self.home_page_url, Vec::new());
        link(&mut facts, "self", &self.feed_url, Vec::new());
        link(&mut facts, "next", &self.next_url, Vec::new());
        people(&mut facts, self.author, self.authors);
        facts.field("feed:icon", &self.icon.0);
        facts.field("feed:favicon", &self.favicon.0);
        facts.field("feed:user_comment", &self.user_comment.0);
        facts.field("format", &format.unwrap_or_default());
        facts
    }
}

impl Entry {
    fn facts(&self) -> Facts {
        let plain = |text: &Loose| Some(Words::plain(text.0.clone())).filter(|words| !words.text.is_empty());
        let said = |text: &Loose| Some(text.0.clone()).filter(|text| !text.is_empty());
        let mut facts = Facts {
            title: plain(&self.title),
            id: said(&self.id),
            summary: plain(&self.summary),
            published: Moment::of(&self.date_published.0),
            modified: Moment::of(&self.date_modified.0),
            language: said(&self.language),
            ..Facts::default()
        };
        let page = said(&self.content_html).map(|text| Words { text, is_markup: true });
        facts.contents.extend(page.or_else(|| plain(&self.content_text)));
        link(&mut facts, "alternate", &self.url, Vec::new());
        link(&mut facts, "related", &self.external_url, Vec::new());
        for attachment in &self.attachments.0 {
            let about = vec![
                ("type", attachment.mime_type.0.clone()),
                ("title", attachment.title.0.clone()),
                ("length", attachment.size_in_bytes.0.clone()),
            ];
            link(&mut facts, "enclosure", &attachment.url, about);
        }
        let all = self.authors.0.iter().chain(&self.author);
        all.for_each(|author| person(&mut facts, author));
        self.tags.0.iter().for_each(|tag| facts.field("categories", &tag.0));
        facts.field("feed:image", &self.image.0);
        facts.field("feed:banner_image", &self.banner_image.0);
        facts
    }
}

fn link(facts: &mut Facts, rel: &str, address: &Loose, about: Vec<(&'static str, String)>) {
    if !address.0.is_empty() {
        facts.links.push(Reference { address: address.0.clone(), rel: rel.to_owned(), about });
    }
}

fn people(facts: &mut Facts, author: Option<Author>, authors: Few<Author>) {
    authors.0.iter().chain(&author).for_each(|author| person(facts, author));
}

fn person(facts: &mut Facts, author: &Author) {
    let person = Person { name: author.name.0.clone(), email: String::new(), url: author.url.0.clone() };
    facts.person("author", &person);
}

/// Takes what is said of the feed, one by one.
struct About<'f>(&'f mut Feed);

impl<'de> DeserializeSeed<'de> for About<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for About<'_> {
    type Value = ();

    fn expecting(&self, words: &mut fmt::Formatter<'_>) -> fmt::Result {
        words.write_str("a feed")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let feed = self.0;
        while let Some(name) = map.next_key::<Loose>()? {
            let text = match name.0.as_str() {
                "title" => &mut feed.title,
                "home_page_url" => &mut feed.home_page_url,
                "feed_url" => &mut feed.feed_url,
                "next_url" => &mut feed.next_url,
                "description" => &mut feed.description,
                "user_comment" => &mut feed.user_comment,
                "icon" => &mut feed.icon,
                "favicon" => &mut feed.favicon,
                "language" => &mut feed.language,
                "author" => {
                    feed.author = map.next_value()?;
                    continue;
                }
                "authors" => {
                    feed.authors = map.next_value()?;
                    continue;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *text = map.next_value()?;
        }
        Ok(())
    }
}

/// Gives the entries of a feed one by one.
struct Entries<'f>(&'f mut dyn FnMut(&Make<'_>) -> bool);

impl<'de> DeserializeSeed<'de> for Entries<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Entries<'_> {
    type Value = ();

    fn expecting(&self, words: &mut fmt::Formatter<'_>) -> fmt::Result {
        words.write_str("a feed with a list of items")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<Loose>()? {
            match name.0.as_str() {
                "items" => map.next_value_seed(Entries(self.0))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut goes_on = true;
        while goes_on {
            let Some(entry) = list.next_element::<Entry>()? else { return Ok(()) };
            goes_on = self.0(&|_| entry.facts());
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}
