//! The description of the API, OpenAPI 3.1, made of the table: whatever stands here can be asked for, with these types.

use ingather_model::limits;
use ingather_operations::OPERATIONS;
use ingather_operations::operation::{Callable, Effect, Operation, Rest, Role, Shape, Verb};
use ingather_operations::problem::{ALWAYS, Code};
use ingather_operations::search::SEARCH;
use serde_json::{Map, Value, json};

use crate::request::API;

/// Where types stand.
const TYPES: &str = "#/components/schemas/";

/// The document.
pub fn description() -> Value {
    let (mut paths, mut types) = (Map::new(), Map::new());
    for one in OPERATIONS {
        let Rest::At(verb, path) = one.rest else { continue };
        let described = operation(*one, verb, path, &mut types);
        let at = paths.entry(format!("{API}{path}")).or_insert_with(|| json!({}));
        at[verb.as_str().to_ascii_lowercase()] = described;
    }
    types.insert("Problem".to_owned(), problem());
    paths.insert(format!("{API}/stream"), json!({ "get": stream() }));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Ingather",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "What people and programs can ask of an Ingather service. Over its socket, users of its machine need no key.",
        },
        "paths": paths,
        "components": {
            "schemas": types,
            "securitySchemes": { "apiKey": { "type": "http", "scheme": "bearer", "description": "An API key, `ing_…`; or, for whoever searches, a token of a provider that an authority `oidc` is declared for." } },
        },
        "security": [{ "apiKey": [] }],
    })
}

fn operation(one: &dyn Callable, verb: Verb, path: &str, types: &mut Map<String, Value>) -> Value {
    let request = schema(&one.request, types);
    let in_path: Vec<&str> =
        path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
    let answer = answer(one, types);
    let parameters = [parameters(&request, &in_path, verb), headers(one, &in_path)].concat();
    let mut described = json!({
        "operationId": one.name,
        "summary": one.summary,
        "description": format!("Needs the role `{}`.", one.role.as_str()),
        "parameters": parameters,
        "responses": responses(one, &answer),
    });
    if verb == Verb::Post {
        let required = rest_of(&request, &in_path)["required"].as_array().is_some_and(|all| !all.is_empty());
        described["requestBody"] = json!({
            "required": required,
            "content": { "application/json": { "schema": rest_of(&request, &in_path) } },
        });
    }
    described
}

/// Fields in the path, and where there is no body, all others in the query.
fn parameters(request: &Value, in_path: &[&str], verb: Verb) -> Vec<Value> {
    let fields = request["properties"].as_object().into_iter().flatten();
    let required =
        |name: &str| request["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    fields
        .filter_map(|(name, schema)| {
            let place = match in_path.contains(&name.as_str()) {
                true => "path",
                false if verb == Verb::Post => return None,
                false => "query",
            };
            let mut described =
                json!({ "name": name, "in": place, "required": required(name), "schema": schema });
            if let Some(said) = schema.get("description") {
                described["description"] = said.clone();
            }
            Some(described)
        })
        .collect()
}

/// Headers that a change may have.
fn headers(one: &Operation, in_path: &[&str]) -> Vec<Value> {
    if one.effect == Effect::Reads {
        return Vec::new();
    }
    let header = |name: &str, schema: Value, description: &str| json!({ "name": name, "in": "header", "required": false, "schema": schema, "description": description });
    let key = "A request with the same key is done once; whoever asks again within an hour gets its answer.";
    let tag =
        "The ETag of `GET /api/v1/jobs/{job}`: refused with 412 when the definition is another one by now.";
    let word = json!({
        "type": "string", "minLength": 1, "maxLength": limits::IDEMPOTENCY_KEY_MAX, "pattern": "^[\\t -~]+$",
    });
    let of_job = in_path.contains(&"job").then(|| header("If-Match", json!({ "type": "string" }), tag));
    std::iter::once(header("Idempotency-Key", word, key)).chain(of_job).collect()
}

/// The request without what stands in the path.
fn rest_of(request: &Value, in_path: &[&str]) -> Value {
    let mut rest = request.clone();
    if let Some(fields) = rest["properties"].as_object_mut() {
        fields.retain(|name, _| !in_path.contains(&name.as_str()));
    }
    if let Some(required) = rest["required"].as_array_mut() {
        required.retain(|name| name.as_str().is_none_or(|name| !in_path.contains(&name)));
    }
    rest
}

fn answer(one: &Operation, types: &mut Map<String, Value>) -> Value {
    let answer = reference(&one.answer, types);
    let Some(item) = &one.item else { return answer };
    json!({
        "type": "object",
        "required": ["items", "left_out", "answer"],
        "properties": {
            "items": { "type": "array", "items": reference(item, types) },
            "left_out": { "type": "integer", "minimum": 0, "description": "Items beyond the bound of an answer." },
            "answer": answer,
        },
    })
}

fn responses(one: &Operation, answer: &Value) -> Value {
    let mut responses = Map::new();
    let ok = json!({ "description": "The answer.", "content": { "application/json": { "schema": answer } } });
    responses.insert("200".to_owned(), ok);
    let of_service = [
        Code::Unauthenticated,
        Code::InvalidToken,
        Code::AuthorityAway,
        Code::NotVouched,
        Code::TooLarge,
        Code::TooSlow,
    ];
    let of_changes: &[Code] = match one.effect {
        Effect::Reads if one.name == SEARCH.operation.name => &[Code::TooMany],
        Effect::Reads => &[],
        Effect::Changes | Effect::Pushes => &[Code::Outdated, Code::KeyReused],
    };
    let mut codes: Vec<Code> =
        ALWAYS.iter().chain(one.problems).chain(&of_service).chain(of_changes).copied().collect();
    codes.sort_unstable_by_key(|code| (code.row().status, code.row().word));
    codes.dedup();
    for status in codes.iter().map(|code| code.row().status) {
        let words = codes.iter().map(|code| code.row()).filter(|row| row.status == status);
        let words: Vec<String> = words.map(|row| format!("`{}`: {}", row.word, row.says)).collect();
        let schema = json!({ "$ref": format!("{TYPES}Problem") });
        let described = json!({
            "description": words.join(" "),
            "content": { "application/problem+json": { "schema": schema } },
        });
        responses.insert(status.to_string(), described);
    }
    Value::Object(responses)
}

/// The one path that answers with no object.
fn stream() -> Value {
    let problem = json!({ "application/problem+json": { "schema": { "$ref": format!("{TYPES}Problem") } } });
    let told = |description: &str| json!({ "description": description, "content": problem });
    json!({
        "operationId": "stream",
        "summary": "What happens to jobs and runs, as server-sent events.",
        "description": format!("Needs the role `{}`.", Role::Operator.as_str()),
        "parameters": [{
            "name": "Last-Event-ID", "in": "header", "required": false, "schema": { "type": "string" },
            "description": "The id of the last event that the client has; the stream goes on behind it.",
        }],
        "responses": {
            "200": { "description": "Events, until one side ends.", "content": { "text/event-stream": { "schema": { "type": "string" } } } },
            "401": told("`unauthenticated`"),
            "403": told("`forbidden`"),
            "503": told("`busy`"),
        },
    })
}

fn problem() -> Value {
    json!({
        "type": "object",
        "description": "Why something was not done (RFC 9457).",
        "required": ["type", "title", "status", "code", "detail", "next"],
        "properties": {
            "type": { "type": "string" },
            "title": { "type": "string", "description": "What the code means." },
            "status": { "type": "integer", "description": "The status of the response." },
            "code": { "type": "string", "description": "The stable word that programs go by." },
            "detail": { "type": "string", "description": "What is wrong here, and what to do." },
            "request": { "type": "string", "description": "The id of the request, as in the header `X-Request-Id` and in the log." },
            "next": { "type": "string", "description": "What to do about problems with this code." },
        },
    })
}

/// A type by its name, among the types of the document.
fn reference(shape: &Shape, types: &mut Map<String, Value>) -> Value {
    let schema = schema(shape, types);
    types.insert(shape.name.to_owned(), schema);
    json!({ "$ref": format!("{TYPES}{}", shape.name) })
}

/// The schema of a type, with bounds of its numbers; those that it names are among the types of the document.
fn schema(shape: &Shape, types: &mut Map<String, Value>) -> Value {
    let mut schema = (shape.schema)().to_value();
    let named = schema.as_object_mut().and_then(|schema| schema.remove("$defs"));
    let fields = schema.as_object_mut();
    if let Some(fields) = fields {
        fields.remove("$schema");
    }
    for (name, mut of) in named.into_iter().flat_map(|named| named.as_object().cloned().unwrap_or_default()) {
        rename(&mut of);
        types.insert(name, of);
    }
    rename(&mut schema);
    schema
}

fn rename(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(place) = fields.get("$ref").and_then(Value::as_str) {
                let here = place.replace("#/$defs/", TYPES);
                fields.insert("$ref".to_owned(), here.into());
            }
            // What is larger is refused; few programs that read descriptions know these formats.
            let most = match fields.get("format").and_then(Value::as_str) {
                Some("uint8") => Some(u64::from(u8::MAX)),
                Some("uint32") => Some(u64::from(u32::MAX)),
                _ => None,
            };
            if let Some(most) = most {
                fields.entry("maximum").or_insert(most.into());
            }
            fields.values_mut().for_each(rename);
        }
        Value::Array(all) => all.iter_mut().for_each(rename),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that a document refers to.
    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str));
                fields.values().for_each(|value| references(value, found));
            }
            Value::Array(all) => all.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn every_row_with_a_path_is_described_and_every_reference_leads_somewhere() {
        let document = description();
        for one in OPERATIONS {
            let Rest::At(verb, path) = one.rest else { continue };
            let verb = verb.as_str().to_ascii_lowercase();
            let described = &document["paths"][format!("{API}{path}")][verb];
            assert_eq!(described["operationId"], one.name);
            for code in ALWAYS.iter().chain(one.problems) {
                assert!(described["responses"][code.row().status.to_string()].is_object(), "{}", one.name);
            }
        }
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 50, "{found:?}");
        for place in found {
            assert!(document.pointer(place.trim_start_matches('#')).is_some(), "{place} leads nowhere");
        }
    }

    #[test]
    fn bounds_of_numbers_and_of_repeated_keys_are_told() {
        let document = description();
        let parameters = |path: &str, verb: &str| document["paths"][path][verb]["parameters"].clone();
        let named = |all: Value, name: &str| {
            let all = all.as_array().expect("a list").clone();
            all.into_iter().find(|one| one["name"] == name).expect("a parameter")["schema"].clone()
        };
        let limit = named(parameters("/api/v1/jobs/{job}/held", "get"), "limit");
        assert_eq!((&limit["minimum"], &limit["maximum"]), (&json!(0), &json!(u32::MAX)));
        let key = named(parameters("/api/v1/jobs/{job}/start", "post"), "Idempotency-Key");
        assert_eq!((&key["minLength"], &key["maxLength"]), (&json!(1), &json!(limits::IDEMPOTENCY_KEY_MAX)));
    }

    #[test]
    fn a_name_of_a_type_stands_for_one_type() {
        let mut types: Map<String, Value> = Map::new();
        for one in OPERATIONS {
            let mut of_row = vec![Map::new()];
            schema(&one.request, &mut of_row[0]);
            for shape in [Some(&one.answer), one.item.as_ref()].into_iter().flatten() {
                let mut of_shape = Map::new();
                reference(shape, &mut of_shape);
                of_row.push(of_shape);
            }
            for (name, schema) in of_row.into_iter().flatten() {
                let known = types.entry(name.clone()).or_insert_with(|| schema.clone());
                // A type says what it is where it stands alone; where another one names it, too.
                assert_eq!(known["properties"], schema["properties"], "{name}");
                assert_eq!(known["enum"], schema["enum"], "{name}");
            }
        }
    }

    #[test]
    fn examples_of_answers_fit_the_types_of_the_document() {
        let document = description();
        for one in OPERATIONS.iter().filter(|one| matches!(one.rest, Rest::At(..))) {
            for shape in [Some(&one.answer), one.item.as_ref()].into_iter().flatten() {
                let schema = json!({
                    "$ref": format!("{TYPES}{}", shape.name),
                    "components": { "schemas": document["components"]["schemas"] },
                });
                let validator = ingather_testkit::suites::schema::of(&schema);
                for example in shape.examples {
                    let example: Value = serde_json::from_str(example).expect("an example");
                    assert!(validator.is_valid(&example), "{}: {example}", one.name);
                }
            }
        }
    }
}
