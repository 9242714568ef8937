//! Records as they are sent.

use std::collections::BTreeMap;

use ingather_contract::inbox::About;
use ingather_engine::inbox::Put;
use ingather_model::access::{Acl, is_misspelled};
use ingather_model::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The word of `access` for everybody.
const EVERYBODY: &str = "everybody";
/// Bytes of an access token.
const TOKEN_BYTES_MAX: usize = 1_024;
/// What a record is made of inside each other.
const DEPTH_MAX: usize = 16;

/// What becomes of a compound itself: a record that others are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Compound {
    /// It is found as any other record.
    Keep,
    /// It stands for what is in it: outputs hear nothing of itself.
    Drop,
}

/// One record, in place of all that was pushed of it before; or the end of one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PushedItem {
    /// What names it in its source: an address, or any text. Slashes make folders of it.
    pub key: String,
    /// It is deleted; nothing but its key and its version counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delete: bool,
    /// Tells its versions; only compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// What its client counts its versions by: what has a lower number than what was taken of it before is stale, and changes nothing. For several clients
    /// that may overtake each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub version: Option<i64>,
    /// Nothing is done where it is there with this hash already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub if_changed: bool,
    /// Others are in it, such as of an archive or a folder: while its hash stays, so do they; when it is deleted, so are they. In a delta run its hash counts once
    /// that is finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compound: Option<Compound>,
    /// Keys of the compounds that it is in; these need not be there. In a delta run they are added to those that it was in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::RECORD_PARENTS_MAX))]
    pub parents: Vec<String>,
    /// Who may see it: access tokens, or `everybody` alone; nobody, where the list is empty. As the source says when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<Vec<String>>,
    /// Who may not, whatever else they hold. Only with `access`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deny: Option<Vec<String>>,
    /// Title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its content as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its content as bytes of any format that is read, in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Its content as a file of the machine of the service, below the folder of the source (`files`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Media type of the content; `text/plain` of a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// ISO 639-1 code of its language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Author or owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Last change: milliseconds since 1970 UTC, or a text such as `2026-11-27T09:00:00Z`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified: Option<Value>,
    /// When it was made, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Value>,
    /// What comes back with each report of a channel; only handed through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_ref: Option<String>,
    /// Everything else: texts, numbers, truth values, lists of them, and objects of them, whose names are joined by dots.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub fields: Map<String, Value>,
}

type Result<T> = std::result::Result<T, String>;

impl PushedItem {
    /// A record as it was sent, or why it is none. What one may be is said of each record by itself: the others of a call are not touched by it.
    pub(super) fn read(value: Value) -> Result<PushedItem> {
        if !value.is_object() {
            return Err("a record is an object of JSON".to_owned());
        }
        if has_nul(&value) {
            return Err("a record has no text with the character U+0000".to_owned());
        }
        serde_json::from_value(value).map_err(|error| format!("it cannot be meant: {error}"))
    }

    /// What it says, or why it cannot be kept.
    pub(super) fn put(mut self) -> Result<Put> {
        if self.hash.as_ref().is_some_and(|hash| hash.len() > limits::RECORD_HASH_BYTES_MAX) {
            return Err(format!("a hash has at most {} bytes", limits::RECORD_HASH_BYTES_MAX));
        }
        if self.user_ref.as_ref().is_some_and(|text| text.len() > limits::USER_REF_BYTES_MAX) {
            return Err(format!("a `user_ref` has at most {} bytes", limits::USER_REF_BYTES_MAX));
        }
        are_keys(&self.parents)?;
        if self.parents.contains(&self.key) {
            return Err("a record is not in itself; leave its own key out of `parents`".to_owned());
        }
        let acl = self.acl()?;
        let (content, media_type) = self.content()?;
        let file = self.file.take();
        let mut fields = BTreeMap::new();
        for (name, value) in &self.fields {
            add(&mut fields, name, value, 0)?;
        }
        let about = About {
            title: self.title.unwrap_or_default(),
            media_type,
            language: self.language,
            author: self.author,
            modified: time("modified", self.modified.as_ref())?,
            created: time("created", self.created.as_ref())?,
            is_dropped: self.compound == Some(Compound::Drop),
            fields,
        };
        let bytes = serde_json::to_string(&about).map_err(|error| error.to_string())?.len();
        if bytes > limits::RECORD_ABOUT_BYTES_MAX {
            return Err(format!(
                "what is said of it beside its content has {bytes} bytes; {} are kept",
                limits::RECORD_ABOUT_BYTES_MAX
            ));
        }
        Ok(Put {
            hash: self.hash,
            acl,
            about,
            content,
            file,
            if_changed: self.if_changed,
            is_compound: self.compound.is_some(),
            parents: self.parents,
        })
    }

    fn content(&mut self) -> Result<(Vec<u8>, Option<String>)> {
        let media_type = self.media_type.take();
        if self.file.is_some() && (self.text.is_some() || self.content.is_some()) {
            return Err("it has a `file` beside a `text` or a `content`; leave one out".to_owned());
        }
        let (content, media_type) = match (self.text.take(), &self.content) {
            (Some(_), Some(_)) => return Err("it has a `text` and a `content`; leave one out".to_owned()),
            (Some(text), None) => {
                let media_type = media_type.unwrap_or_else(|| "text/plain".to_owned());
                (text.into_bytes(), Some(media_type))
            }
            (None, Some(content)) => {
                let bytes = bytes_of(content).ok_or("`content` is no base64")?;
                (bytes, media_type)
            }
            (None, None) => (Vec::new(), media_type),
        };
        match content.len() > limits::RECORD_CONTENT_BYTES_MAX {
            true => Err(format!(
                "its content has {} bytes; at most {} are taken",
                content.len(),
                limits::RECORD_CONTENT_BYTES_MAX
            )),
            false => Ok((content, media_type)),
        }
    }

    fn acl(&self) -> Result<Option<Acl>> {
        let Some(access) = &self.access else {
            return match &self.deny {
                None => Ok(None),
                Some(_) => Err("`deny` says nothing without `access`".to_owned()),
            };
        };
        let deny = self.deny.clone().unwrap_or_default();
        if access.len() + deny.len() > limits::WEB_PATTERNS_MAX {
            return Err(format!("`access` and `deny` name at most {} tokens", limits::WEB_PATTERNS_MAX));
        }
        let is_wrong = |token: &&String| {
            let is_odd = token.trim() != token.as_str() || token.chars().any(char::is_control);
            let is_everybody = token.as_str() != EVERYBODY && token.eq_ignore_ascii_case(EVERYBODY);
            token.is_empty()
                || token.len() > TOKEN_BYTES_MAX
                || is_odd
                || is_everybody
                || is_misspelled(token)
        };
        if let Some(wrong) = access.iter().chain(&deny).find(is_wrong) {
            return Err(format!("`{wrong}` is a token that nobody can hold"));
        }
        let names_everybody = access.iter().any(|token| token == EVERYBODY);
        match (names_everybody, access.as_slice(), deny.is_empty()) {
            (true, [_], true) => Ok(Some(Acl::open())),
            (true, ..) => Err(format!("`{EVERYBODY}` stands alone, and without `deny`")),
            (false, [], _) => Ok(Some(Acl::Ordered(Vec::new()))),
            (false, ..) => Ok(Some(Acl::Flat { allow: access.clone(), deny })),
        }
    }
}

/// Whether texts can be the keys of compounds, or why not.
pub(super) fn are_keys(parents: &[String]) -> Result<()> {
    if parents.len() > limits::RECORD_PARENTS_MAX {
        return Err(format!("a record is in at most {} compounds (`parents`)", limits::RECORD_PARENTS_MAX));
    }
    let is_key = |key: &String| !key.is_empty() && key.len() <= limits::RECORD_KEY_BYTES_MAX;
    match parents.iter().all(is_key) {
        true => Ok(()),
        false => Err(format!("a key in `parents` has from 1 to {} bytes", limits::RECORD_KEY_BYTES_MAX)),
    }
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(values) => values.iter().any(has_nul),
        Value::Object(fields) => fields.iter().any(|(name, value)| name.contains('\0') || has_nul(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Adds a value under a name, and what is in it under names that go on behind a dot.
fn add(fields: &mut BTreeMap<String, Vec<String>>, name: &str, value: &Value, depth: usize) -> Result<()> {
    if depth > DEPTH_MAX {
        return Err(format!("field `{name}` has values inside of each other more than {DEPTH_MAX} times"));
    }
    let mut put = |text: String| fields.entry(name.to_owned()).or_default().push(text);
    match value {
        Value::Null => {}
        Value::Bool(flag) => put(flag.to_string()),
        Value::Number(number) => put(number.to_string()),
        Value::String(text) => put(text.clone()),
        Value::Array(values) => {
            for value in values {
                add(fields, name, value, depth + 1)?;
            }
        }
        Value::Object(values) => {
            for (below, value) in values {
                add(fields, &format!("{name}.{below}"), value, depth + 1)?;
            }
        }
    }
    Ok(())
}

fn time(name: &str, value: Option<&Value>) -> Result<Option<i64>> {
    let wrong = || {
        format!(
            "`{name}` is no time; write milliseconds since 1970 UTC, or a text such as 2026-11-27T09:00:00Z"
        )
    };
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) => number.as_i64().map(Some).ok_or_else(wrong),
        Some(Value::String(text)) => {
            let time: jiff::Timestamp = text.parse().map_err(|_| wrong())?;
            Ok(Some(time.as_millisecond()))
        }
        Some(_) => Err(wrong()),
    }
}

/// Bytes of a text in base64, with or without padding.
fn bytes_of(text: &str) -> Option<Vec<u8>> {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
    STANDARD.decode(text).or_else(|_| STANDARD_NO_PAD.decode(text)).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checked(item: Value) -> Result<Put> {
        PushedItem::read(item)?.put()
    }

    #[test]
    fn values_of_any_form_become_fields_and_times_are_read_in_both_forms() {
        let item = checked(json!({"key": "k", "modified": "1970-01-01T00:00:01Z", "created": 7, "text": "t",
            "fields": {"a": 1, "b": ["x", true, null], "c": {"d": {"e": 1.5}, "f": "g"}}}))
        .unwrap();
        let fields = serde_json::to_value(&item.about.fields).unwrap();
        assert_eq!(fields, json!({"a": ["1"], "b": ["x", "true"], "c.d.e": ["1.5"], "c.f": ["g"]}));
        assert_eq!((item.about.modified, item.about.created), (Some(1_000), Some(7)));
        assert_eq!(item.about.media_type.as_deref(), Some("text/plain"));
    }

    #[test]
    fn who_may_see_a_record_is_never_more_than_it_says() {
        let acl = |item: Value| checked(item).map(|checked| checked.acl);
        assert_eq!(acl(json!({"key": "k"})), Ok(None));
        assert_eq!(acl(json!({"key": "k", "access": []})), Ok(Some(Acl::Ordered(Vec::new()))));
        assert_eq!(acl(json!({"key": "k", "access": ["everybody"]})), Ok(Some(Acl::open())));
        let both = Acl::Flat { allow: vec!["a".to_owned()], deny: vec!["b".to_owned()] };
        assert_eq!(acl(json!({"key": "k", "access": ["a"], "deny": ["b"]})), Ok(Some(both)));
        for wrong in [
            json!({"key": "k", "access": ["everybody", "a"]}),
            json!({"key": "k", "access": ["everybody"], "deny": ["b"]}),
            json!({"key": "k", "deny": ["b"]}),
            json!({"key": "k", "access": ["unix:1"]}),
            json!({"key": "k", "access": [""]}),
        ] {
            assert!(acl(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_cannot_be_kept_is_refused_with_why() {
        let deep = (0..40).fold(json!(1), |inner, _| json!([inner]));
        for wrong in [
            json!({"text": "a"}),
            json!({"key": "k", "text": "a", "content": "YQ=="}),
            json!({"key": "k", "text": "a", "file": "a"}),
            json!({"key": "k", "content": "YQ==", "file": "a"}),
            json!({"key": "k", "content": "?"}),
            json!({"key": "k", "modified": "yesterday"}),
            json!({"key": "k", "modified": [1]}),
            json!({"key": "k", "hash": "h".repeat(2_000)}),
            json!({"key": "k", "hash": "\u{0}"}),
            json!({"key": "k", "fields": {"a\u{0}": 1}}),
            json!(["k", false]),
            json!({"key": "k", "access": ["Everybody"]}),
            json!({"key": "k", "access": ["a "]}),
            json!({"key": "k", "text": 5}),
            json!({"key": "k", "title": "t".repeat(2 << 20)}),
            json!({"key": "k", "text": "t".repeat(5 << 20)}),
            json!({"key": "k", "fields": {"a": deep}}),
        ] {
            assert!(checked(wrong).is_err());
        }
        assert_eq!(checked(json!({"key": "k", "content": "YWI"})).unwrap().content, b"ab");
    }
}
