//! Conditions over a record: which way an item goes in a pipeline, and a sentence for what decided it.
//!
//! A condition is data: `{"field": "size", "above": 1000}`, `{"all": [...]}`, `{"any": [...]}`, `{"not": {...}}`. It is judged by the
//! record as it is where the condition stands, without a clock and without anything outside the record, so that an equal record
//! goes the same way at every visit.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::document::Record;
use crate::limits;

/// A condition, checked and within its bounds: made by [`Condition::read`] alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition(Node);

#[derive(Clone, Debug, PartialEq)]
enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    Field(String, Test),
}

/// What is asked of the values of a field. Of several values one is enough.
#[derive(Clone, Debug, PartialEq)]
enum Test {
    /// It is this text, or this number.
    Equals(Value),
    /// This text is in it.
    Contains(String),
    /// All of it is as the pattern says.
    Matches(String),
    /// It is a larger number than this.
    Above(f64),
    /// It is a smaller number than this.
    Below(f64),
    /// There is a value; or there is none.
    Exists(bool),
}

/// Names of the tests, as they are written.
const TESTS: [&str; 6] = ["equals", "contains", "matches", "above", "below", "exists"];
/// Fields that are known of what could not be read, and that no stage changes.
const NAMING: [&str; 2] = ["uri", "path"];
/// Characters of a value that a sentence shows.
const SHOWN: usize = 60;

impl Condition {
    /// Reads a condition.
    ///
    /// # Errors
    /// A sentence that names the place, such as `all[2].not`.
    pub fn read(value: &Value) -> Result<Condition, String> {
        let mut left = limits::CONDITION_TESTS_MAX;
        node(value, "", limits::CONDITION_DEPTH_MAX, &mut left).map(Condition)
    }

    /// The same as it is written.
    pub fn to_value(&self) -> Value {
        written(&self.0)
    }

    /// Whether a record is as the condition says.
    pub fn holds(&self, record: &Record) -> bool {
        holds(&self.0, record)
    }

    /// Whether something of which only the address and the path are known, since it could not be read, is as the condition says; none
    /// where other fields decide.
    pub fn holds_unread(&self, uri: &str, path: &str) -> Option<bool> {
        let named = Record { uri: uri.to_owned(), path: path.to_owned(), ..Record::default() };
        holds_named(&self.0, &named)
    }

    /// Why a record is not as the condition says, by the part that decides; none when it is.
    pub fn refusal(&self, record: &Record) -> Option<String> {
        (!self.holds(record)).then(|| refusal(&self.0, record, false))
    }
}

/// In the words of sentences: `` `size` is above 1000 and `path` matches `sales/**` ``.
impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&in_words(&self.0, false))
    }
}

impl Serialize for Condition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Condition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Condition, D::Error> {
        Condition::read(&Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

fn node(value: &Value, place: &str, depth: usize, left: &mut usize) -> Result<Node, String> {
    let at = |why: String| match place {
        "" => format!("the condition {why}"),
        place => format!("the condition at `{place}` {why}"),
    };
    let Value::Object(fields) = value else {
        return Err(at(
            "is no object; write one of `field` with a test, `all`, `any` and `not`, such as {\"field\": \"size\", \"above\": 1000}"
                .to_owned(),
        ));
    };
    if depth == 0 {
        return Err(at(format!("is more than {} deep; write it flatter", limits::CONDITION_DEPTH_MAX)));
    }
    let inside = |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
    let only = fields.iter().next().filter(|_| fields.len() == 1);
    match only.map(|(name, value)| (name.as_str(), value)) {
        Some((name @ ("all" | "any"), value)) => {
            let list = value.as_array().filter(|list| !list.is_empty());
            let list = list.ok_or_else(|| at(format!("has no list of conditions in `{name}`")))?;
            let mut nodes = Vec::with_capacity(list.len().min(limits::CONDITION_TESTS_MAX));
            for (number, value) in list.iter().enumerate() {
                nodes.push(node(value, &format!("{}[{number}]", inside(name)), depth - 1, left)?);
            }
            Ok(if name == "all" { Node::All(nodes) } else { Node::Any(nodes) })
        }
        Some(("not", value)) => Ok(Node::Not(Box::new(node(value, &inside("not"), depth - 1, left)?))),
        _ => {
            *left = left
                .checked_sub(1)
                .ok_or_else(|| at(format!("is one more than the {} allowed", limits::CONDITION_TESTS_MAX)))?;
            test(fields).map_err(at)
        }
    }
}

fn test(fields: &Map<String, Value>) -> Result<Node, String> {
    let known = |name: &&String| *name == "field" || TESTS.contains(&name.as_str());
    if let Some(name) = fields.keys().find(|name| !known(name)) {
        let tests = TESTS.join(", ");
        return Err(format!(
            "has `{name}`, which is not known; there is `all`, `any`, `not`, and `field` with one of {tests}"
        ));
    }
    let Some(field) = fields.get("field").and_then(Value::as_str).filter(|field| !field.is_empty()) else {
        return Err("names no `field`".to_owned());
    };
    let mut tests = fields.iter().filter(|(name, _)| *name != "field");
    let (Some((name, value)), None) = (tests.next(), tests.next()) else {
        return Err(format!("needs just one test for `{field}`: one of {}", TESTS.join(", ")));
    };
    let short = |text: &str| match text.len() > limits::CONDITION_TEXT_BYTES_MAX {
        true => Err(format!("has more than {} bytes in `{name}`", limits::CONDITION_TEXT_BYTES_MAX)),
        false => Ok(text.to_owned()),
    };
    let text = || match value.as_str().filter(|text| !text.is_empty()) {
        Some(text) => short(text),
        None => Err(format!("needs a text in `{name}`")),
    };
    let number = || value.as_f64().ok_or_else(|| format!("needs a number in `{name}`"));
    let test = match name.as_str() {
        "equals" if value.is_string() => Test::Equals(short(value.as_str().unwrap_or_default())?.into()),
        "equals" if value.is_number() || value.is_boolean() => Test::Equals(value.clone()),
        "equals" => return Err("needs a text, a number, true or false in `equals`".to_owned()),
        "contains" => Test::Contains(text()?),
        // A pattern costs its length for each character, and a text may have millions.
        "matches" if field == "body" => {
            return Err("compares `body` with a pattern; ask what it `contains`".to_owned());
        }
        "matches" => Test::Matches(text()?),
        "above" => Test::Above(number()?),
        "below" => Test::Below(number()?),
        _ => Test::Exists(value.as_bool().ok_or_else(|| "needs true or false in `exists`".to_owned())?),
    };
    Ok(Node::Field(short(field)?, test))
}

fn written(node: &Node) -> Value {
    let list = |nodes: &[Node]| nodes.iter().map(written).collect::<Vec<_>>();
    match node {
        Node::All(nodes) => json!({ "all": list(nodes) }),
        Node::Any(nodes) => json!({ "any": list(nodes) }),
        Node::Not(inner) => json!({ "not": written(inner) }),
        Node::Field(field, test) => match test {
            Test::Equals(value) => json!({ "field": field, "equals": value }),
            Test::Contains(text) => json!({ "field": field, "contains": text }),
            Test::Matches(pattern) => json!({ "field": field, "matches": pattern }),
            Test::Above(number) => json!({ "field": field, "above": number }),
            Test::Below(number) => json!({ "field": field, "below": number }),
            Test::Exists(there) => json!({ "field": field, "exists": there }),
        },
    }
}

fn holds(node: &Node, record: &Record) -> bool {
    match node {
        Node::All(nodes) => nodes.iter().all(|node| holds(node, record)),
        Node::Any(nodes) => nodes.iter().any(|node| holds(node, record)),
        Node::Not(inner) => !holds(inner, record),
        Node::Field(field, test) => passes(field, test, &record.values(field)),
    }
}

/// Kleene's three-valued logic over the fields that name a record.
fn holds_named(node: &Node, named: &Record) -> Option<bool> {
    let decided = |nodes: &[Node], by: bool| {
        let mut all = Some(!by);
        for node in nodes {
            match holds_named(node, named) {
                Some(holds) if holds == by => return Some(by),
                Some(_) => {}
                None => all = None,
            }
        }
        all
    };
    match node {
        Node::All(nodes) => decided(nodes, false),
        Node::Any(nodes) => decided(nodes, true),
        Node::Not(inner) => holds_named(inner, named).map(|holds| !holds),
        Node::Field(field, _) if NAMING.contains(&field.as_str()) => Some(holds(node, named)),
        Node::Field(..) => None,
    }
}

fn passes(field: &str, test: &Test, values: &[Cow<'_, str>]) -> bool {
    let some = |test: &dyn Fn(&str) -> bool| values.iter().any(|value| test(value));
    // Media types are the same in upper and lower case, and their parameters say how to read, not what it is.
    let plain = |value: &str| match field {
        "media_type" => value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase(),
        _ => value.to_owned(),
    };
    let number = |value: &str| value.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    match test {
        Test::Equals(Value::String(text)) => some(&|value| plain(value) == plain(text)),
        Test::Equals(Value::Number(wanted)) => some(&|value| number(value) == wanted.as_f64()),
        Test::Equals(Value::Bool(true)) => some(&|value| value == "true"),
        Test::Equals(_) => some(&|value| value == "false"),
        Test::Contains(text) => some(&|value| value.contains(text.as_str())),
        Test::Matches(pattern) => some(&|value| matches(&plain(pattern), &plain(value))),
        Test::Above(least) => some(&|value| number(value).is_some_and(|number| number > *least)),
        Test::Below(most) => some(&|value| number(value).is_some_and(|number| number < *most)),
        Test::Exists(there) => values.is_empty() != *there,
    }
}

/// Whether all of a text is as a pattern says: `*` stands for anything but `/`, `**` for anything, `?` for one character but `/`;
/// every other character for itself. Each pair of a pattern's and a text's place is looked at once, so no pattern is slow.
pub fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    // Whether the pattern from each of its places on matches the text from the current place on, beginning at its end.
    let mut after = vec![false; pattern.len() + 1];
    after[pattern.len()] = true;
    for at in (0..pattern.len()).rev() {
        after[at] = pattern[at] == '*' && after[at + 1];
    }
    for character in text.chars().rev() {
        let mut here = vec![false; pattern.len() + 1];
        for at in (0..pattern.len()).rev() {
            here[at] = match pattern[at] {
                // The second one of two takes anything, and the first one takes part in nothing but that.
                '*' if pattern.get(at + 1) == Some(&'*') => here[at + 1] || after[at],
                '*' => {
                    let takes_all = at > 0 && pattern[at - 1] == '*';
                    here[at + 1] || (after[at] && (takes_all || character != '/'))
                }
                '?' => character != '/' && after[at + 1],
                wanted => wanted == character && after[at + 1],
            };
        }
        after = here;
    }
    after[0]
}

fn in_words(node: &Node, inner: bool) -> String {
    let list = |nodes: &[Node], word: &str| {
        let told = nodes.iter().map(|node| in_words(node, true)).collect::<Vec<_>>().join(word);
        if inner && nodes.len() > 1 { format!("({told})") } else { told }
    };
    match node {
        Node::All(nodes) => list(nodes, " and "),
        Node::Any(nodes) => list(nodes, " or "),
        Node::Not(inner) => format!("not {}", in_words(inner, true)),
        Node::Field(field, test) => format!("`{field}` {}", asked(test, true)),
    }
}

/// What a test asks; or the opposite.
fn asked(test: &Test, so: bool) -> String {
    let is = if so { "is" } else { "is not" };
    match test {
        Test::Equals(Value::String(text)) => format!("{is} `{}`", brief(text)),
        Test::Equals(value) => format!("{is} {value}"),
        Test::Contains(text) if so => format!("contains `{}`", brief(text)),
        Test::Contains(text) => format!("does not contain `{}`", brief(text)),
        Test::Matches(pattern) if so => format!("matches `{}`", brief(pattern)),
        Test::Matches(pattern) => format!("does not match `{}`", brief(pattern)),
        Test::Above(number) => format!("{is} above {number}"),
        Test::Below(number) => format!("{is} below {number}"),
        Test::Exists(there) if *there == so => "has a value".to_owned(),
        Test::Exists(_) => "has no value".to_owned(),
    }
}

/// The part of a condition that decides, with what the record has; `negated`: it is inside a `not`, and holds.
fn refusal(node: &Node, record: &Record, negated: bool) -> String {
    let decides = |nodes: &[Node]| {
        nodes.iter().find(|node| holds(node, record) == negated).map(|node| refusal(node, record, negated))
    };
    match node {
        Node::Not(inner) => refusal(inner, record, !negated),
        // One of them decides; else all of them do.
        Node::All(nodes) if !negated => decides(nodes).unwrap_or_default(),
        Node::Any(nodes) if negated => decides(nodes).unwrap_or_default(),
        Node::All(_) if negated => format!("all of this holds: {}", in_words(node, false)),
        Node::All(_) | Node::Any(_) => format!("nothing of this holds: {}", in_words(node, false)),
        Node::Field(field, test) if negated => format!("`{field}` {}", asked(test, true)),
        Node::Field(field, test @ Test::Exists(_)) => format!("`{field}` {}", asked(test, false)),
        Node::Field(field, test) => {
            let values = record.values(field);
            let has = match values.first() {
                None => "has no value".to_owned(),
                Some(value) if values.len() == 1 => format!("is `{}`", brief(value)),
                Some(value) => format!("is `{}` and {} more", brief(value), values.len() - 1),
            };
            format!("`{field}` {}: it {has}", asked(test, false))
        }
    }
}

fn brief(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_judged_by_its_path_where_that_decides() {
        let path = |pattern: &str| json!({"field": "path", "matches": pattern});
        let (in_it, not_in_it) = (path("a.zip!/**"), path("b.zip!/**"));
        let size = json!({"field": "size", "above": 5});
        for (condition, holds) in [
            (in_it.clone(), Some(true)),
            (not_in_it.clone(), Some(false)),
            (size.clone(), None),
            (json!({ "not": size }), None),
            (json!({ "not": not_in_it }), Some(true)),
            (json!({ "all": [size, in_it] }), None),
            (json!({ "all": [size, not_in_it] }), Some(false)),
            (json!({ "any": [size, in_it] }), Some(true)),
            (json!({ "any": [size, not_in_it] }), None),
            (json!({ "any": [not_in_it, {"field": "uri", "equals": "file:///a.zip"}] }), Some(true)),
        ] {
            let read = Condition::read(&condition).unwrap();
            assert_eq!(read.holds_unread("file:///a.zip", "a.zip!/b.txt"), holds, "{condition}");
        }
    }
    use proptest::prelude::*;

    fn record() -> Record {
        let mut record = Record {
            path: "sales/2024/offer.pdf".into(),
            media_type: Some("Application/PDF; version=1".into()),
            size: Some(2_000),
            ..Record::default()
        };
        record.fields.insert("department".into(), vec!["sales".into(), "export".into()]);
        record
    }

    fn judged(value: Value) -> bool {
        Condition::read(&value).unwrap().holds(&record())
    }

    #[test]
    fn each_test_asks_the_values_of_a_field() {
        assert!(judged(json!({"field": "media_type", "equals": "application/pdf"})));
        assert!(judged(json!({"field": "media_type", "matches": "application/*"})));
        assert!(!judged(json!({"field": "media_type", "matches": "text/*"})));
        assert!(judged(json!({"field": "path", "matches": "sales/**"})));
        assert!(!judged(json!({"field": "path", "matches": "sales/*"})), "one star stays in its folder");
        assert!(judged(json!({"field": "size", "above": 1_999})));
        assert!(!judged(json!({"field": "size", "above": 2_000})));
        assert!(judged(json!({"field": "size", "below": 2_000.5})));
        assert!(judged(json!({"field": "size", "equals": 2_000})));
        assert!(judged(json!({"field": "department", "equals": "export"})), "one of several is enough");
        assert!(judged(json!({"field": "department", "contains": "xpo"})));
        assert!(judged(json!({"field": "department", "exists": true})));
        assert!(!judged(json!({"field": "author", "exists": true})));
        assert!(judged(json!({"field": "author", "exists": false})));
        assert!(
            !judged(json!({"field": "department", "above": 0})),
            "a text that is no number is above none"
        );
        assert!(!judged(json!({"field": "author", "below": 9})), "no value is below nothing");
    }

    #[test]
    fn conditions_join() {
        let (yes, no) = (json!({"field": "size", "exists": true}), json!({"field": "size", "exists": false}));
        assert!(judged(json!({"all": [yes, yes]})) && !judged(json!({"all": [yes, no]})));
        assert!(judged(json!({"any": [no, yes]})) && !judged(json!({"any": [no, no]})));
        assert!(judged(json!({"not": no})) && !judged(json!({"not": {"any": [no, yes]}})));
    }

    #[test]
    fn an_error_names_its_place() {
        let refused = |value: Value| Condition::read(&value).unwrap_err();
        let told = refused(json!({"all": [{"field": "a", "exists": true}, {"not": {"field": "b"}}]}));
        assert_eq!(
            told,
            "the condition at `all[1].not` needs just one test for `b`: one of equals, contains, matches, above, below, exists"
        );
        assert!(refused(json!({"field": "a", "above": 1, "below": 2})).contains("just one test"));
        assert!(refused(json!({"any": []})).contains("no list of conditions in `any`"));
        assert!(refused(json!({"field": "a", "is": 1})).contains("`is`, which is not known"));
        assert!(refused(json!({"exists": true})).contains("names no `field`"));
        assert!(refused(json!({"any": ["x"]})).starts_with("the condition at `any[0]` is no object"));
        assert!(refused(json!({"field": "a", "above": "1"})).contains("a number in `above`"));
        assert!(refused(json!({"field": "body", "matches": "*"})).contains("ask what it `contains`"));
    }

    #[test]
    fn depth_size_and_texts_are_bounded() {
        let test = json!({"field": "a", "exists": true});
        let deep = |levels: usize| (0..levels).fold(test.clone(), |inner, _| json!({ "not": inner }));
        assert!(Condition::read(&deep(limits::CONDITION_DEPTH_MAX - 1)).is_ok());
        assert!(Condition::read(&deep(limits::CONDITION_DEPTH_MAX)).unwrap_err().contains("deep"));
        let wide = |tests: usize| json!({ "any": vec![test.clone(); tests] });
        assert!(Condition::read(&wide(limits::CONDITION_TESTS_MAX)).is_ok());
        assert!(Condition::read(&wide(limits::CONDITION_TESTS_MAX + 1)).is_err());
        let long = json!({"field": "a", "matches": "x".repeat(limits::CONDITION_TEXT_BYTES_MAX + 1)});
        assert!(Condition::read(&long).unwrap_err().contains("bytes in `matches`"));
    }

    #[test]
    fn a_sentence_says_what_decides() {
        let condition = json!({"all": [{"field": "size", "above": 1}, {"not": {"field": "department", "equals": "export"}}]});
        let condition = Condition::read(&condition).unwrap();
        assert_eq!(condition.to_string(), "`size` is above 1 and not `department` is `export`");
        assert_eq!(condition.refusal(&record()).unwrap(), "`department` is `export`");
        assert_eq!(condition.refusal(&Record::default()).unwrap(), "`size` is not above 1: it has no value");
    }

    #[test]
    fn what_is_written_is_what_was_read() {
        let value = json!({"any": [{"all": [{"field": "size", "below": 3.5}]}, {"not": {"field": "a", "equals": true}}]});
        let condition = Condition::read(&value).unwrap();
        assert_eq!(condition.to_value(), value);
        assert_eq!(serde_json::from_value::<Condition>(value).unwrap(), condition);
    }

    /// The same as [`matches`], as one would think it.
    fn naive(pattern: &[char], text: &[char]) -> bool {
        match (pattern, text) {
            ([], text) => text.is_empty(),
            (['*', '*', rest @ ..], _) => naive(rest, text) || !text.is_empty() && naive(pattern, &text[1..]),
            (['*', rest @ ..], _) => {
                naive(rest, text) || text.first().is_some_and(|c| *c != '/') && naive(pattern, &text[1..])
            }
            (['?', rest @ ..], [c, text @ ..]) => *c != '/' && naive(rest, text),
            ([wanted, rest @ ..], [c, text @ ..]) => wanted == c && naive(rest, text),
            (_, []) => false,
        }
    }

    proptest! {
        #[test]
        fn a_pattern_matches_what_it_says(pattern in "[a*?/]{0,7}", text in "[ab/]{0,7}") {
            let chars = |text: &str| text.chars().collect::<Vec<char>>();
            prop_assert_eq!(matches(&pattern, &text), naive(&chars(&pattern), &chars(&text)));
        }
    }
}
