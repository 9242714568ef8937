//! A request of an operation, made of what a client sent: parts of the path, the query, and a body of JSON. Each names fields of the
//! request; none may be named twice.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::{HeaderMap, HeaderName, Uri, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use ingather_model::limits;
use ingather_operations::operation::{Effect, Operation};
use ingather_operations::problem::{Code, Problem, Result};
use percent_encoding::percent_decode_str;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// What all paths of operations begin with.
pub const API: &str = "/api/v1";

/// Reads a body, up to so many bytes and to its time.
///
/// # Errors
/// `TooLarge`, `TooSlow`, or `WrongUse` when the client broke it off.
pub(crate) async fn body(body: Body, most: usize) -> Result<Bytes> {
    let bounded = Limited::new(body, most);
    let time = Duration::from_millis(limits::HTTP_BODY_MS_MAX);
    let read = tokio::time::timeout(time, bounded.collect()).await.map_err(|_| {
        let sentence =
            format!("the body did not come within {} s; send it at once", limits::HTTP_BODY_MS_MAX / 1_000);
        Problem::new(Code::TooSlow, sentence)
    })?;
    read.map(http_body_util::Collected::to_bytes).map_err(|error| match error.is::<LengthLimitError>() {
        true => too_large(most),
        false => Problem::usage(format!("the body cannot be read: {error}; send it again")),
    })
}

/// How many bytes a body may have, as far as its head says; nothing is read of one that has more than it may.
///
/// # Errors
/// `TooLarge`.
pub(crate) fn refuse_too_large(body: &Body, most: usize) -> Result<usize> {
    let told = body.size_hint();
    match usize::try_from(told.lower()).unwrap_or(usize::MAX) {
        least if least > most => Err(too_large(most)),
        _ => Ok(told.upper().and_then(|bytes| bytes.try_into().ok()).unwrap_or(most)),
    }
}

fn too_large(most: usize) -> Problem {
    Problem::new(Code::TooLarge, format!("a body has at most {most} bytes; send less"))
}

/// The request of an operation as JSON.
///
/// # Errors
/// `WrongUse` for what cannot be read, names a field twice, or has a character that nothing here can have; but for records that are pushed: what is wrong with one
/// is said of it alone.
pub(crate) fn request(
    operation: &Operation,
    parts: Vec<(String, String)>,
    uri: &Uri,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Value> {
    let mut fields = in_body(headers, body)?;
    let schema = schema_of(operation);
    for (name, text) in parts.into_iter().chain(pairs(uri.query().unwrap_or_default())?) {
        let value = value(&schema, &name, text);
        if fields.insert(name.clone(), value).is_some() {
            return Err(twice(&name));
        }
    }
    let records = fields.remove("records").filter(|_| operation.effect == Effect::Pushes);
    let is_wrong = fields.iter().any(|(name, value)| name.contains('\0') || has_nul(value));
    if is_wrong {
        return Err(nul());
    }
    fields.extend(records.map(|records| ("records".to_owned(), records)));
    Ok(Value::Object(fields))
}

/// A request in which no text has the one character that nothing here can have.
///
/// # Errors
/// `WrongUse`.
pub(crate) fn refuse_nul(request: Value) -> Result<Value> {
    if has_nul(&request) { Err(nul()) } else { Ok(request) }
}

/// Whether a text has the one character that no path has, and that one of the databases cannot store.
fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(all) => all.iter().any(has_nul),
        Value::Object(fields) => fields.iter().any(|(name, value)| name.contains('\0') || has_nul(value)),
        _ => false,
    }
}

fn nul() -> Problem {
    Problem::usage(
        "a text in the request has the character U+0000, which nothing here can have; leave it out",
    )
}

fn in_body(headers: &HeaderMap, body: &[u8]) -> Result<Map<String, Value>> {
    if body.is_empty() {
        return Ok(Map::new());
    }
    json(&["application/json"], headers, body)
}

/// The object of a body of one of these kinds, the first of which is the usual one.
///
/// # Errors
/// `WrongUse`.
pub(crate) fn json(kinds: &[&str], headers: &HeaderMap, body: &[u8]) -> Result<Map<String, Value>> {
    // A page of somebody else can make a browser send other kinds without asking first.
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kinds.iter().any(|known| known.eq_ignore_ascii_case(kind)) {
        return Err(Problem::usage(format!("a body is JSON; send it with `Content-Type: {}`", kinds[0])));
    }
    let values = commas(body);
    if values > limits::HTTP_VALUES_MAX {
        let sentence =
            format!("the body has {values} values; at most {} are read; send less", limits::HTTP_VALUES_MAX);
        return Err(Problem::new(Code::TooLarge, sentence));
    }
    match serde_json::from_slice(body).map(|Once(value)| value) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(Problem::usage("the body is no object; send one with the fields of the request")),
        Err(error) if error.is_data() => Err(Problem::usage(format!("the body cannot be meant: {error}"))),
        Err(error) => Err(Problem::usage(format!("the body is no JSON: {error}"))),
    }
}

/// Commas outside of texts: about the number of values, which take a hundred times the memory that they take as text.
fn commas(body: &[u8]) -> usize {
    let (mut count, mut in_text, mut escaped) = (0, false, false);
    for byte in body {
        match (in_text, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_text = !in_text,
            (false, b',') => count += 1,
            _ => {}
        }
    }
    count
}

/// Refuses a request that says twice what may decide who asks or what for: something before this service may have gone by the other one.
///
/// # Errors
/// `WrongUse` with the name of the header.
pub(crate) fn refuse_twice(headers: &HeaderMap, names: &[HeaderName]) -> Result<()> {
    match names.iter().find(|name| headers.get_all(*name).iter().count() > 1) {
        None => Ok(()),
        Some(name) => Err(Problem::usage(format!("the header `{name}` is sent twice; send it once"))),
    }
}

/// Fields of a query or a form.
///
/// # Errors
/// `WrongUse` for what is no text, and for a field that is given twice.
pub(crate) fn pairs(query: &str) -> Result<Vec<(String, String)>> {
    let decoded = |text: &str| -> Result<String> {
        let spaced = text.replace('+', " ");
        let decoded = percent_decode_str(&spaced).decode_utf8();
        let text = decoded.map_err(|_| Problem::usage("the query is not in UTF-8"))?.into_owned();
        if text.contains('\0') { Err(nul()) } else { Ok(text) }
    };
    let mut pairs: Vec<(String, String)> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, text) = pair.split_once('=').unwrap_or((pair, "true"));
        let name = decoded(name)?;
        if pairs.iter().any(|(known, _)| *known == name) {
            return Err(twice(&name));
        }
        pairs.push((name, decoded(text)?));
    }
    Ok(pairs)
}

fn twice(name: &str) -> Problem {
    Problem::usage(format!("`{name}` is given twice; give it once"))
}

/// A value of JSON none of whose objects names a field twice: whoever looked at it before may have gone by the other one.
struct Once(Value);

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(read: D) -> std::result::Result<Once, D::Error> {
        read.deserialize_any(Each)
    }
}

struct Each;

impl<'de> Visitor<'de> for Each {
    type Value = Once;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a value of JSON")
    }

    fn visit_bool<E>(self, value: bool) -> std::result::Result<Once, E> {
        Ok(Once(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> std::result::Result<Once, E> {
        Ok(Once(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> std::result::Result<Once, E> {
        Ok(Once(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> std::result::Result<Once, E> {
        Ok(Once(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> std::result::Result<Once, E> {
        Ok(Once(value.into()))
    }

    fn visit_unit<E>(self) -> std::result::Result<Once, E> {
        Ok(Once(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut members: A) -> std::result::Result<Once, A::Error> {
        let mut all = Vec::new();
        while let Some(Once(member)) = members.next_element()? {
            all.push(member);
        }
        Ok(Once(all.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> std::result::Result<Once, A::Error> {
        let mut all = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if all.contains_key(&name) {
                return Err(A::Error::custom(twice(&name)));
            }
            let Once(value) = fields.next_value()?;
            all.insert(name, value);
        }
        Ok(Once(all.into()))
    }
}

/// The schema of the request of an operation, which is made once: that takes longer than many an operation.
fn schema_of(operation: &Operation) -> Arc<Value> {
    static MADE: Mutex<BTreeMap<&str, Arc<Value>>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let schema = made.entry(operation.name);
    schema.or_insert_with(|| Arc::new((operation.request.schema)().to_value())).clone()
}

/// The text of a field as the type that its schema asks for. What does not fit stays a text, which the operation refuses.
fn value(schema: &Value, name: &str, text: String) -> Value {
    let field = &schema["properties"][name];
    let read = serde_json::from_str::<Value>(&text).ok();
    read.filter(|value| takes(schema, field, value)).unwrap_or(Value::String(text))
}

/// Whether a field takes a number or a word of JSON where text could also stand for it.
fn takes(schema: &Value, field: &Value, value: &Value) -> bool {
    if let Some(place) = field["$ref"].as_str() {
        return schema.pointer(place.trim_start_matches('#')).is_some_and(|of| takes(schema, of, value));
    }
    if let Some(forms) = field["anyOf"].as_array() {
        return forms.iter().any(|form| takes(schema, form, value));
    }
    let kind = &field["type"];
    let is_of =
        |word: &str| kind == word || kind.as_array().is_some_and(|all| all.iter().any(|one| one == word));
    match value {
        Value::Bool(_) => is_of("boolean"),
        Value::Number(_) => is_of("integer") || is_of("number"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use ingather_operations::OPERATIONS;
    use serde_json::json;

    use super::*;

    fn made(name: &str, path: &[(&str, &str)], uri: &str, body: &str) -> Result<Value> {
        let operation = OPERATIONS.iter().find(|one| one.name == name).expect("a row");
        let parts = path.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let mut headers = HeaderMap::new();
        headers.insert(
            header::CONTENT_TYPE,
            header::HeaderValue::from_static("application/json; charset=utf-8"),
        );
        request(operation, parts, &uri.parse().expect("a path"), &headers, body.as_bytes())
    }

    #[test]
    fn fields_come_from_path_query_and_body_and_have_the_types_that_the_row_asks_for() {
        let listed = made("documents.list", &[("job", "12")], "/x?limit=7&state=failed", "");
        assert_eq!(listed, Ok(json!({"job": "12", "limit": 7, "state": "failed"})));
        let found = made("search", &[], "/search?query=true+%31%20&limit=3&facets", "");
        assert_eq!(found, Ok(json!({"query": "true 1 ", "limit": 3, "facets": true})));
        let confirmed = made("jobs.confirm", &[("job", "share")], "/x", r#"{"run": 4}"#);
        assert_eq!(confirmed, Ok(json!({"run": 4, "job": "share"})));
        let wrong = made("jobs.list", &[], "/jobs?limit=many", "");
        assert_eq!(wrong, Ok(json!({"limit": "many"})));
    }

    #[test]
    fn what_is_given_twice_is_no_object_or_no_json_is_refused() {
        let refused = [
            made("jobs.confirm", &[("job", "share")], "/x", r#"{"job": "other", "run": 4}"#),
            made("jobs.list", &[], "/jobs?limit=1&limit=2", ""),
            made("jobs.list", &[], "/jobs?cursor=%ff", ""),
            made("jobs.confirm", &[("job", "share")], "/x", "[]"),
            made("jobs.confirm", &[("job", "share")], "/x", "{"),
            made(
                "jobs.confirm",
                &[("job", "share")],
                "/x",
                &format!("{}1{}", "[".repeat(1_000), "]".repeat(1_000)),
            ),
        ];
        for refused in refused {
            assert_eq!(refused.map_err(|problem| problem.code), Err(Code::WrongUse));
        }
        let twice = [
            ("jobs.confirm", "/x", r#"{"run": 4, "run": 5}"#, "`run` is given twice"),
            ("pipeline.try", "/x", r#"{"pipeline": {"stages": [{"a": 1, "a": 1}]}}"#, "`a` is given twice"),
            ("jobs.list", "/x?limit=1&%6cimit=1", "", "`limit` is given twice"),
        ];
        for (name, uri, body, said) in twice {
            let refused = made(name, &[], uri, body).expect_err("it says it twice").to_string();
            assert!(refused.contains(said), "{refused}");
        }
        let operation = OPERATIONS.iter().find(|one| one.name == "jobs.confirm").expect("a row");
        let form = request(operation, Vec::new(), &Uri::from_static("/x"), &HeaderMap::new(), b"{}");
        assert_eq!(form.map_err(|problem| problem.code), Err(Code::WrongUse), "a form of a browser");
    }
}
