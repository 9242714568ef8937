//! What our reader found in a feed, under the names of feedparser.

use std::collections::BTreeMap;

use ingather_extract::{Extracted, Input, Request, extract};

use super::expressions::Value;

type Fields = BTreeMap<String, Vec<String>>;

/// The feed.
pub(crate) fn feed(found: &Extracted) -> Value {
    thing(&found.fields, None)
}

/// Its entries.
pub(crate) fn entries(found: &Extracted) -> Value {
    let entries = found.parts.iter().map(|part| {
        let mut fields = part.fields.clone();
        // Where there is no title, the record is called by its first words.
        let is_made_up = fields.get("title").is_some_and(|titles| part.text.starts_with(&titles[0]));
        if is_made_up && fields.get("title").is_some_and(|titles| titles[0] == part.text) {
            fields.insert("beginning".to_owned(), fields["title"].clone());
        }
        thing(&fields, Some(&part.text))
    });
    Value::List(entries.collect())
}

/// The version of its format.
pub(crate) fn version(found: &Extracted) -> Value {
    let format = found.field("format").unwrap_or_default();
    let name = match format {
        "RSS 0.91" => "rss091u".to_owned(),
        format => format.to_lowercase().replace([' ', '.'], ""),
    };
    Value::Text(name)
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

fn map(pairs: Vec<(&str, Option<Value>)>) -> Value {
    let pairs = pairs.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Map(pairs.collect())
}

/// A feed, an entry, or the feed that it was taken from.
fn thing(fields: &Fields, body: Option<&str>) -> Value {
    let at =
        |name: &str, at: usize| fields.get(name).and_then(|values| values.get(at)).map(|value| text(value));
    let first = |name: &str| at(name, 0);
    let words = body.filter(|body| !body.is_empty()).map(text);
    let mut all: BTreeMap<String, Value> = BTreeMap::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            all.insert(name.to_owned(), value);
        }
    };
    for (name, field) in NAMES {
        put(name, first(field));
    }
    let description = if body.is_some() { first("summary").or(words.clone()) } else { first("description") };
    for name in ["description", "summary", "tagline", "info", "subtitle"] {
        put(name, first(if name == "subtitle" { "subtitle" } else { "" }).or(description.clone()));
    }
    for (name, field) in [
        ("updated_parsed", "modified"),
        ("published_parsed", "published"),
        ("created_parsed", "created"),
        ("expired_parsed", "expires"),
        ("validity_start_parsed", "valid_from"),
        ("validity_end_parsed", "valid_until"),
    ] {
        put(name, first(field).and_then(|value| parsed(&value)));
    }
    for (name, role) in [("author", "author"), ("contributor", "contributor"), ("publisher", "publisher")] {
        let people = people(fields, role);
        put(name, people.first().map(shown));
        put(&format!("{name}_detail"), people.first().cloned());
        put(&format!("{name}s"), Some(Value::List(people)));
    }
    let content = words.or(description).map(|words| {
        Value::List(vec![map(vec![
            ("value", Some(words)),
            ("language", Some(first("language").unwrap_or(Value::None))),
            ("src", first("content_src")),
        ])])
    });
    let source = first("content_src").map(|source| Value::List(vec![map(vec![("src", Some(source))])]));
    put("content", content.or(source));
    for name in ["title", "summary", "subtitle", "tagline", "info", "copyright", "rights"] {
        let value = all.get(name).cloned();
        let language = Some(first("language").unwrap_or(Value::None));
        put_into(&mut all, &format!("{name}_detail"), map(vec![("value", value), ("language", language)]));
    }
    all.extend(links(fields));
    all.extend(own(fields));
    let of_source = fields.iter().filter_map(|(name, values)| {
        let name = name.strip_prefix("source_")?;
        Some((name.to_owned(), values.clone()))
    });
    let of_source: Fields = of_source.collect();
    if !of_source.is_empty() {
        all.insert("source".to_owned(), thing(&of_source, None));
    }
    Value::Map(all)
}

fn put_into(all: &mut BTreeMap<String, Value>, name: &str, value: Value) {
    all.insert(name.to_owned(), value);
}

/// Names that differ only in what we call them.
const NAMES: &[(&str, &str)] = &[
    ("title", "title"),
    ("id", "id"),
    ("guid", "id"),
    ("link", "link"),
    ("language", "language"),
    ("license", "license"),
    ("rights", "rights"),
    ("copyright", "rights"),
    ("created", "created"),
    ("published", "published"),
    ("updated", "modified"),
    ("expired", "expires"),
    ("validity_start", "valid_from"),
    ("validity_end", "valid_until"),
    ("generator", "generator"),
    ("category", "categories"),
    ("icon", "icon"),
];

fn people(fields: &Fields, role: &str) -> Vec<Value> {
    let values = |name: &str| fields.get(name).cloned().unwrap_or_default();
    let (names, emails, urls) =
        (values(role), values(&format!("{role}_email")), values(&format!("{role}_url")));
    let count = names.len().max(emails.len()).max(urls.len());
    let one = |values: &[String], at: usize| values.get(at).map(|value| text(value));
    (0..count)
        .map(|at| {
            map(vec![
                ("name", one(&names, at)),
                ("email", one(&emails, at)),
                ("url", one(&urls, at)),
                ("href", one(&urls, at)),
            ])
        })
        .collect()
}

/// Name and address as feedparser puts them together.
fn shown(person: &Value) -> Value {
    let Value::Map(person) = person else { return Value::None };
    match (person.get("name"), person.get("email")) {
        (Some(Value::Text(name)), Some(Value::Text(email))) if name != email => {
            text(&format!("{name} ({email})"))
        }
        (Some(name), _) | (None, Some(name)) => name.clone(),
        (None, None) => Value::None,
    }
}

/// Links, tags and what goes with them.
fn links(fields: &Fields) -> BTreeMap<String, Value> {
    let first = |name: &str| fields.get(name).and_then(|values| values.first()).map(|value| text(value));
    let about = ["type", "title", "hreflang", "length"];
    let mut links = Vec::new();
    for (name, values) in fields {
        let rel = match name.as_str() {
            "link" => "alternate",
            "enclosure" => "enclosure",
            name => match name.strip_prefix("link_") {
                Some(rel) if !about.iter().any(|what| name.ends_with(&format!("_{what}"))) => rel,
                _ => continue,
            },
        };
        for value in values {
            let mut pairs = vec![("href", Some(text(value))), ("rel", Some(text(rel)))];
            pairs.extend(about.map(|what| (what, first(&format!("{name}_{what}")))));
            links.push((rel != "alternate", map(pairs)));
        }
    }
    links.sort_by_key(|(is_other, _)| *is_other);
    let links: Vec<Value> = links.into_iter().map(|(_, link)| link).collect();
    let is_enclosure = |link: &&Value| matches!(link, Value::Map(map) if map["rel"] == text("enclosure"));
    let enclosures = links.iter().filter(is_enclosure).map(|link| {
        let Value::Map(mut link) = link.clone() else { return Value::None };
        link.insert("url".to_owned(), link["href"].clone());
        Value::Map(link)
    });
    let enclosures = Value::List(enclosures.collect());
    let values = |name: &str| fields.get(name).cloned().unwrap_or_default();
    let (terms, labels, schemes) =
        (values("categories"), values("category_labels"), values("category_schemes"));
    let one = |values: &[String], at: usize| values.get(at).map(|value| text(value));
    let tags = (0..terms.len().max(labels.len()).max(schemes.len())).map(|at| {
        map(vec![("term", one(&terms, at)), ("label", one(&labels, at)), ("scheme", one(&schemes, at))])
    });
    let is_id = first("link").is_some() && first("link") == first("id");
    let generator = map(vec![
        ("name", first("generator")),
        ("href", first("generator_url")),
        ("version", first("generator_version")),
    ]);
    BTreeMap::from([
        ("tags".to_owned(), Value::List(tags.collect())),
        ("links".to_owned(), Value::List(links)),
        ("enclosures".to_owned(), enclosures),
        ("guidislink".to_owned(), Value::Bool(is_id)),
        ("generator_detail".to_owned(), generator),
    ])
}

/// What is kept under the names of the feed's own.
fn own(fields: &Fields) -> BTreeMap<String, Value> {
    let own: BTreeMap<&str, &Vec<String>> =
        fields.iter().map(|(name, values)| (name.strip_prefix("feed:").unwrap_or(name), values)).collect();
    let mut all = BTreeMap::new();
    for (name, values) in &own {
        if fields.contains_key(&format!("feed:{name}")) {
            all.insert((*name).to_owned(), flag(name, &values[0]));
        }
    }
    for name in [
        "image",
        "cloud",
        "textinput",
        "thr_in-reply-to",
        "media_player",
        "media_license",
        "media_rating",
        "media_restriction",
        "media_credit",
    ] {
        let begin = format!("{name}_");
        let inner = own.iter().filter_map(|(own, values)| Some((own.strip_prefix(&begin)?, *values)));
        let inner: Vec<_> = inner.collect();
        let content = own.get(name).map(|values| (*values).clone()).unwrap_or_default();
        if name == "media_credit" {
            let roles = own.get("media_credit_role").map(|values| (*values).clone()).unwrap_or_default();
            let list = content.iter().zip(roles).map(|(content, role)| {
                map(vec![("content", Some(text(content))), ("role", Some(text(&role)))])
            });
            all.insert(name.to_owned(), Value::List(list.collect()));
        } else if !inner.is_empty() {
            let mut map: BTreeMap<String, Value> =
                inner.into_iter().map(|(key, values)| (key.to_owned(), text(&values[0]))).collect();
            if let Some(content) = content.first() {
                map.insert("content".to_owned(), text(content));
            }
            if let Some(url) = map.get("url").cloned() {
                map.entry("href".to_owned()).or_insert(url);
            }
            all.insert(name.to_owned(), Value::Map(map));
        }
    }
    all
}

/// Words that feedparser takes for yes, no, or neither.
fn flag(name: &str, value: &str) -> Value {
    match (name, value) {
        ("itunes_block", value) => Value::Number(i64::from(value == "yes")),
        ("itunes_explicit", "yes" | "true") => Value::Bool(true),
        ("itunes_explicit", "clean") => Value::Bool(false),
        ("itunes_explicit", _) => Value::None,
        _ => text(value),
    }
}

/// Year, month, day, hour, minute, second, day of the week, day of the year, and no summer time.
fn parsed(value: &Value) -> Option<Value> {
    let Value::Text(text) = value else { return None };
    let numbers: Vec<i64> =
        text.split(['-', 'T', ':', 'Z']).filter_map(|digits| digits.parse().ok()).collect();
    let [year, month, day, hour, minute, second] = numbers[..] else { return None };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, 28 + i64::from(is_leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let of_year = lengths[..usize::try_from(month - 1).ok()?].iter().sum::<i64>() + day;
    let before = year - 1;
    let days = before * 365 + before / 4 - before / 100 + before / 400 + of_year;
    let all = [year, month, day, hour, minute, second, (days - 1) % 7, of_year, 0];
    Some(Value::List(all.map(Value::Number).to_vec()))
}

/// Whether a value is what was expected, to somebody who sees it: markup as its text, times as the moment, and addresses that
/// only whoever knows the address of the document makes whole.
pub(crate) fn same(ours: &Value, expected: &Value) -> bool {
    match (ours, expected) {
        (Value::Text(ours), Value::Text(expected)) => {
            ours == expected || is_shown(ours, expected) || is_shown(expected, ours)
        }
        (Value::Number(number), Value::Text(text)) | (Value::Text(text), Value::Number(number)) => {
            text.parse() == Ok(*number)
        }
        (Value::Map(ours), Value::Map(expected)) => {
            expected.iter().all(|(key, value)| ours.get(key).is_some_and(|ours| same(ours, value)))
        }
        (Value::List(ours), Value::List(expected)) => {
            ours.len() == expected.len()
                && ours.iter().zip(expected).all(|(ours, expected)| same(ours, expected))
        }
        _ => ours == expected,
    }
}

fn is_shown(ours: &str, expected: &str) -> bool {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_whole = ours.starts_with('/') && expected.starts_with("http") && expected.ends_with(ours);
    is_whole
        || words(ours) == words(expected)
        || (expected.contains(['<', '&'])
            && words(ours) == words(&read("a.html", &format!("<p>{expected}"), |found| found.text)))
        || (ours.ends_with('Z') && moment(expected).as_deref() == Some(ours))
}

fn read<T>(name: &str, content: &str, take: impl Fn(Extracted) -> T) -> T {
    let request = Request { name: name.to_owned(), ..Request::default() };
    take(extract(&request, Input::memory(content.as_bytes().to_vec())))
}

/// A date as our reader shows it.
fn moment(date: &str) -> Option<String> {
    let feed = format!("<rss version='2.0'><item><title>t</title><pubDate>{date}</pubDate></item></rss>");
    read("a.xml", &feed, |found| found.parts.first()?.field("published").map(str::to_owned))
}
