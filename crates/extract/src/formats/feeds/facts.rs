//! What a feed, one of its entries, or the feed that an entry was taken from says of itself, under names that are the same
//! for all kinds of feeds.

use std::collections::BTreeMap;

use super::markup::Element;
use super::moments;
use super::pace::Pace;
use super::people;
use super::texts::Words;
use crate::dates;
use crate::page::TextSink;

/// Elements inside each other whose words become fields; extensions of feeds have two or three.
const DEPTH_MAX: usize = 4;
/// Bytes of the name of a field.
const NAME_BYTES_MAX: usize = 64;
/// A field whose name is the document's own; without these letters it could be taken for one of this program's.
const OWN: &str = "feed:";

/// A link of a feed or entry.
#[derive(Clone, Debug, Default)]
pub(super) struct Reference {
    pub(super) address: String,
    pub(super) rel: String,
    /// Media type, title, language and length of the other document.
    pub(super) about: Vec<(&'static str, String)>,
}

/// What was found so far.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) title: Option<Words>,
    /// A title that counts where there is no other.
    pub(super) other_title: Option<Words>,
    pub(super) id: Option<String>,
    /// The id, where it is an address as well.
    pub(super) permalink: Option<String>,
    pub(super) links: Vec<Reference>,
    pub(super) contents: Vec<Words>,
    pub(super) descriptions: Vec<Words>,
    pub(super) summary: Option<Words>,
    pub(super) created: Option<Moment>,
    pub(super) published: Option<Moment>,
    pub(super) modified: Option<Moment>,
    /// Language that is said to be that of the whole, and that of its words by the mark at them.
    pub(super) language: Option<String>,
    pub(super) marked: Option<(u8, String)>,
    /// All else, by name.
    pub(super) fields: Vec<(String, String)>,
    pub(super) pace: Pace,
    /// When it is not valid any more, seconds since 1970 UTC.
    pub(super) valid_until: Option<i64>,
}

/// A time, in seconds since 1970 UTC where it is understood.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    pub(super) seconds: Option<i64>,
    written: String,
}

impl Moment {
    pub(super) fn of(written: &str) -> Option<Self> {
        let written = written.trim();
        (!written.is_empty()).then(|| Self { seconds: moments::parsed(written), written: written.to_owned() })
    }

    /// As other formats show times; as it was written where nobody understands it.
    pub(super) fn shown(&self) -> String {
        self.seconds.map_or_else(|| self.written.clone(), dates::from_unix)
    }
}

/// Whose words are read, and by whom.
#[derive(Clone, Copy)]
pub(super) struct Around<'s, 'b> {
    /// Words of which nothing is said are plain.
    pub(super) is_atom: bool,
    /// How deep inside of the feed or entry it is.
    pub(super) depth: usize,
    /// Turns pages into text.
    pub(super) page: &'s TextSink<'b>,
}

impl Facts {
    /// Takes what an element says.
    pub(super) fn take(&mut self, element: &Element<'_>, around: Around<'_, '_>) {
        if around.depth > DEPTH_MAX {
            return;
        }
        let around = Around { depth: around.depth + 1, ..around };
        let is_taken = self.take_words(element, around)
            || self.take_time(element)
            || self.take_person(element)
            || self.take_link(element)
            || self.take_rest(element, around);
        if !is_taken {
            self.own(&element.name.clone(), element, 0);
        }
    }

    /// Words that people read.
    fn take_words(&mut self, element: &Element<'_>, around: Around<'_, '_>) -> bool {
        let words = || Words::of(element, around.is_atom);
        let add = |all: &mut Vec<Words>| {
            all.extend(Some(words()).filter(|words| !words.text.is_empty()));
        };
        let name = element.name.as_str();
        match name {
            "title" | "dc:title" => self.title = self.title.take().or_else(|| Some(words())),
            "media:title" | "itunes:title" => self.other_title = Some(words()),
            "summary" => self.summary = self.summary.take().or_else(|| Some(words())),
            "description" | "dc:description" | "abstract" | "tagline" | "info" | "media:description"
            | "itunes:summary" => add(&mut self.descriptions),
            "subtitle" => add(&mut self.descriptions),
            "content" | "content:encoded" | "fullitem" | "xhtml:body" | "xhtml:div" | "body" => {
                add(&mut self.contents);
                if let Some(source) = element.attribute("src") {
                    self.field("content_src", &element.scope.address(&source));
                }
            }
            "rights" | "copyright" | "dc:rights" | "media:copyright" => {
                let rights = words().shown(around.page);
                self.field("rights", &rights);
            }
            "itunes:subtitle" => self.field("subtitle", &element.text()),
            _ => return false,
        }
        self.mark(name, element.scope.language.as_deref());
        true
    }

    /// Notes the language that some of the words are marked as; that of the text counts before that of what is around it.
    fn mark(&mut self, name: &str, language: Option<&str>) {
        let rank = match name {
            "content" | "content:encoded" | "fullitem" | "xhtml:body" | "xhtml:div" | "body" => 0,
            "title" | "dc:title" | "media:title" | "itunes:title" => 2,
            "rights" | "copyright" | "dc:rights" | "media:copyright" => 3,
            _ => 1,
        };
        if let Some(language) = language
            && self.marked.as_ref().is_none_or(|(before, _)| rank < *before)
        {
            self.marked = Some((rank, language.to_owned()));
        }
    }

    fn take_time(&mut self, element: &Element<'_>) -> bool {
        let (time, text) = match element.name.as_str() {
            "created" | "dcterms:created" => (&mut self.created, element.text()),
            "published" | "issued" | "pubdate" | "dcterms:issued" => (&mut self.published, element.text()),
            "updated" | "modified" | "lastbuilddate" | "dcterms:modified" | "dc:date" | "lastmod" => {
                (&mut self.modified, element.text())
            }
            "expirationdate" => {
                Moment::of(&element.text()).into_iter().for_each(|time| self.ends("expires", &time));
                return true;
            }
            "dcterms:valid" => {
                self.validity(&element.text());
                return true;
            }
            _ => return false,
        };
        // One that is understood is not replaced by one that is not.
        let is_better = |new: &Moment, old: &Option<Moment>| {
            new.seconds.is_some() || old.as_ref().is_none_or(|old| old.seconds.is_none())
        };
        if let Some(new) = Moment::of(&text)
            && is_better(&new, time)
        {
            *time = Some(new);
        }
        true
    }

    /// `start=2002-10-13T09:00+01:00;end=…` (Dublin Core).
    fn validity(&mut self, text: &str) {
        for piece in text.split(';') {
            let name = match piece.split_once('=') {
                Some((name, _)) if name.trim() == "start" => "valid_from",
                Some((name, _)) if name.trim() == "end" => "valid_until",
                _ => continue,
            };
            let time = piece.split_once('=').and_then(|(_, written)| Moment::of(written));
            match (name, time) {
                ("valid_until", Some(time)) => self.ends(name, &time),
                (_, Some(time)) => self.field(name, &time.shown()),
                (_, None) => {}
            }
        }
    }

    /// It is not valid any more from a time on; the earliest counts.
    fn ends(&mut self, name: &str, time: &Moment) {
        self.field(name, &time.shown());
        self.valid_until = [self.valid_until, time.seconds].into_iter().flatten().min();
    }

    fn take_person(&mut self, element: &Element<'_>) -> bool {
        let role = match element.name.as_str() {
            "author" | "dc:author" | "dc:creator" | "itunes:author" | "managingeditor" => "author",
            "contributor" | "dc:contributor" => "contributor",
            "publisher" | "dc:publisher" | "webmaster" | "itunes:owner" => "publisher",
            _ => return false,
        };
        self.person(role, &people::of(element));
        true
    }

    pub(super) fn person(&mut self, role: &str, person: &people::Person) {
        self.field(role, person.shown());
        self.field(&format!("{role}_email"), &person.email);
        self.field(&format!("{role}_url"), &person.url);
    }

    fn take_link(&mut self, element: &Element<'_>) -> bool {
        let address = |written: String| element.scope.address(&written);
        match element.name.as_str() {
            "id" | "guid" | "dc:identifier" => {
                let id = element.text();
                if element.name == "guid"
                    && element
                        .attribute("ispermalink")
                        .is_none_or(|value| !value.eq_ignore_ascii_case("false"))
                    && (id.contains("://") || id.starts_with('/'))
                {
                    self.permalink = Some(address(id.clone()));
                }
                self.id = self.id.take().or(Some(id)).filter(|id| !id.is_empty());
            }
            "itunes:link" if element.attribute("rel").is_some_and(|rel| rel == "image") => {
                let image = element.attribute("href").map(address).unwrap_or_default();
                self.field("feed:image_href", &image);
            }
            "link" | "itunes:link" | "l:link" => {
                let written = element.attribute("href").or_else(|| element.attribute("resource"));
                let written = written.or_else(|| Some(element.text()).filter(|text| !text.is_empty()));
                let Some(written) = written else { return true };
                let rel = element.attribute("rel").unwrap_or_default().to_ascii_lowercase();
                let rel = rel.strip_prefix("http://www.iana.org/assignments/relation/").unwrap_or(&rel);
                self.links.push(Reference {
                    address: address(written),
                    rel: if rel.is_empty() { "alternate".to_owned() } else { rel.to_owned() },
                    about: about(element, &["type", "title", "hreflang", "length"]),
                });
            }
            "enclosure" => {
                let written = element.attribute("url").or_else(|| element.attribute("href"));
                let written =
                    written.or_else(|| element.attribute("resource")).unwrap_or_else(|| element.text());
                self.links.push(Reference {
                    address: address(written),
                    rel: "enclosure".to_owned(),
                    about: about(element, &["type", "length"]),
                });
            }
            _ => return false,
        }
        true
    }

    fn take_rest(&mut self, element: &Element<'_>, around: Around<'_, '_>) -> bool {
        match element.name.as_str() {
            "category" | "dc:subject" | "itunes:category" | "media:category" => self.category(element, 0),
            "keywords" | "itunes:keywords" | "media:keywords" => {
                element.text().split(',').for_each(|word| self.field("categories", word));
            }
            "language" | "dc:language" => {
                self.language = self.language.take().or(Some(element.text().replace('_', "-")));
            }
            "generator" => {
                self.field("generator", &element.text());
                for (from, to) in [("uri", "url"), ("url", "url"), ("version", "version")] {
                    let value = element.attribute(from).unwrap_or_default();
                    self.field(&format!("generator_{to}"), &value);
                }
            }
            "license" | "cc:license" => {
                let written = element.attribute("resource").unwrap_or_else(|| element.text());
                self.field("license", &written);
            }
            "source" => self.source(element, around),
            "media:group" => element.children().for_each(|child| self.take(&child, around)),
            "media:content" => {
                self.own_attributes("media:content", element);
                element.children().for_each(|child| self.take(&child, around));
            }
            "ttl" => self.pace.minutes = element.text().parse().ok(),
            "sy:updateperiod" => self.pace.period(&element.text()),
            "sy:updatefrequency" => self.pace.frequency = element.text().parse().ok(),
            "schedule" => self.pace.schedule(element),
            "itunes:image" => self.own("image", element, 0),
            "docs" | "comments" | "icon" | "logo" | "wfw:comment" | "wfw:commentrss" => {
                let address = element.scope.address(&element.text());
                self.field(&own_name(&element.name), &address);
            }
            // What the entries are is told by themselves.
            "items" => {}
            _ => return false,
        }
        true
    }

    fn category(&mut self, element: &Element<'_>, depth: usize) {
        let named = element.attribute("term").or_else(|| element.attribute("text"));
        self.field("categories", &named.unwrap_or_else(|| element.text()));
        self.field("category_labels", &element.attribute("label").unwrap_or_default());
        let scheme = element.attribute("scheme").or_else(|| element.attribute("domain"));
        self.field("category_schemes", &scheme.unwrap_or_default());
        if depth < DEPTH_MAX {
            let inner = element.children().filter(|child| child.name == element.name);
            inner.for_each(|child| self.category(&child, depth + 1));
        }
    }

    /// The feed that an entry was taken from.
    fn source(&mut self, element: &Element<'_>, around: Around<'_, '_>) {
        let mut source = Facts::default();
        if element.has_children() {
            let children = element.children().filter(|child| child.name != "source");
            children.for_each(|child| source.take(&child, around));
        } else {
            source.title = Some(Words::plain(element.text()));
            let address = element.attribute("url").map(|written| element.scope.address(&written));
            source.permalink = address;
        }
        for (name, value) in source.all(around.page) {
            self.field(&format!("source_{}", name.strip_prefix(OWN).unwrap_or(&name)), &value);
        }
    }

    /// What an element says that has no meaning here, under its own name.
    fn own(&mut self, path: &str, element: &Element<'_>, depth: usize) {
        self.own_attributes(path, element);
        if depth < DEPTH_MAX && element.has_children() {
            for child in element.children() {
                self.own(&format!("{path}_{}", child.name), &child, depth + 1);
            }
            return;
        }
        self.field(&own_name(path), &element.text());
    }

    fn own_attributes(&mut self, path: &str, element: &Element<'_>) {
        for (name, value) in element.attributes() {
            match name.as_str() {
                "resource" => self.field(&own_name(path), &value),
                "parsetype" => {}
                name => self.field(&own_name(&format!("{path}_{name}")), &value),
            }
        }
    }

    pub(super) fn field(&mut self, name: &str, value: &str) {
        let value = value.trim();
        if !value.is_empty() {
            self.fields.push((name.to_owned(), value.to_owned()));
        }
    }
}

/// What is said of the document that a link leads to.
fn about(element: &Element<'_>, names: &[&'static str]) -> Vec<(&'static str, String)> {
    let values = names.iter().filter_map(|name| Some((*name, element.attribute(name)?)));
    values.filter(|(_, value)| !value.is_empty()).collect()
}

/// The name of a field of the document's own.
fn own_name(path: &str) -> String {
    let path: String =
        path.chars().map(|c| if c.is_ascii_alphanumeric() || "-.".contains(c) { c } else { '_' }).collect();
    format!("{OWN}{}", &path[..path.len().min(NAME_BYTES_MAX)])
}

impl Facts {
    /// The title that it has.
    pub(super) fn titled(&self) -> Option<&Words> {
        self.title.as_ref().filter(|title| !title.text.is_empty()).or(self.other_title.as_ref())
    }

    /// Where the page is that it is about: what it calls that, else its id.
    pub(super) fn address(&self) -> Option<&str> {
        let address = self.linked("alternate").or(self.permalink.as_deref());
        address.filter(|address| !address.is_empty())
    }

    /// The first link of a relation.
    pub(super) fn linked(&self, rel: &str) -> Option<&str> {
        self.links.iter().find(|link| link.rel == rel).map(|link| link.address.as_str())
    }

    /// Language of its words.
    pub(super) fn spoken(&self) -> Option<&str> {
        let marked = self.marked.as_ref().map(|(_, language)| language.as_str());
        self.language.as_deref().or(marked).filter(|language| !language.is_empty())
    }

    /// Whether something is said of the language of its words.
    pub(super) fn is_marked(&self) -> bool {
        self.marked.is_some()
    }

    /// The words of an entry, and a shorter form of them where there is one.
    pub(super) fn body(&self) -> (Option<&Words>, Option<&Words>) {
        let longest = |all: &[Words]| {
            all.iter().enumerate().max_by_key(|(_, words)| words.text.len()).map(|(at, _)| at)
        };
        let content = longest(&self.contents).map(|at| &self.contents[at]);
        let description = longest(&self.descriptions).map(|at| &self.descriptions[at]);
        let body = content.or(description).or(self.summary.as_ref());
        let short = self.summary.as_ref().or(description);
        (body, short.filter(|short| body != Some(short)))
    }

    /// When it last changed, seconds since 1970 UTC.
    pub(super) fn changed(&self) -> Option<i64> {
        let times = [&self.modified, &self.published, &self.created];
        times.into_iter().flatten().find_map(|time| time.seconds)
    }

    /// All fields.
    pub(super) fn all(&self, page: &TextSink<'_>) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> = Vec::new();
        let mut add = |name: &str, value: &str| all.push((name.to_owned(), value.to_owned()));
        if let Some(title) = self.titled() {
            add("title", &title.in_one_line(page));
        }
        for description in &self.descriptions {
            add("description", &description.shown(page));
        }
        add("id", self.id.as_deref().unwrap_or_default());
        add("link", self.address().unwrap_or_default());
        for (name, time) in
            [("created", &self.created), ("published", &self.published), ("modified", &self.modified)]
        {
            add(name, &time.as_ref().map(Moment::shown).unwrap_or_default());
        }
        if self.created.is_none()
            && let Some(published) = &self.published
        {
            add("created", &published.shown());
        }
        add("language", self.spoken().unwrap_or_default());
        for link in &self.links {
            let name = link_name(&link.rel);
            add(&name, &link.address);
            link.about.iter().for_each(|(what, value)| add(&format!("{name}_{what}"), value));
        }
        all.extend(self.fields.iter().cloned());
        all
    }

    /// What whoever follows a link is told of the page that an entry is about.
    pub(super) fn told(&self, page: &TextSink<'_>, summary_bytes: usize) -> BTreeMap<String, Vec<String>> {
        let mut told: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut add = |name: &str, value: String| {
            if !value.is_empty() {
                told.entry(name.to_owned()).or_default().push(value);
            }
        };
        add("title", self.titled().map(|title| title.in_one_line(page)).unwrap_or_default());
        for (from, to) in [("author", "author"), ("categories", "categories")] {
            let values = self.fields.iter().filter(|(name, _)| name == from);
            values.for_each(|(_, value)| add(to, value.clone()));
        }
        for (name, time) in [
            ("published", self.published.as_ref().or(self.created.as_ref())),
            ("updated", self.modified.as_ref()),
        ] {
            add(name, time.map(Moment::shown).unwrap_or_default());
        }
        let (body, short) = self.body();
        if let Some(words) = short.or(body) {
            let shown = words.shown(page);
            add("summary", shown[..crate::decode::boundary(&shown, summary_bytes)].to_owned());
        }
        told
    }
}

/// The field for links of a relation.
fn link_name(rel: &str) -> String {
    let rel = rel.rsplit('/').next().unwrap_or_default();
    match rel {
        "alternate" => "link".to_owned(),
        "enclosure" => "enclosure".to_owned(),
        rel => own_name(&format!("link_{rel}")).replacen(OWN, "", 1),
    }
}
