//! What the small clients of the push side know of the service: types of records and answers, and bounds of calls. They stand between two
//! lines of each client, from the schemas of the operations that they ask for.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ingather_model::limits;
use ingather_operations::OPERATIONS;
use serde_json::Value;

/// The clients.
const CLIENTS: &[(&str, Language)] = &[
    ("clients/python/ingather.py", Language::Python),
    ("clients/typescript/ingather.ts", Language::TypeScript),
];
/// The types, in an order in which each stands behind those that it names.
const TYPES: &[&str] = &[
    "PushedItem",
    "PushResult",
    "TicketReport",
    "TicketLook",
    "ListedReport",
    "DeltaMode",
    "CheckedItem",
    "HeldObsolete",
    "EndedDeltaRun",
    "DeltaRunLook",
];
/// What the lines begin with, behind the sign of a comment, that generated text stands between.
const BEGIN: &str =
    "generated: types and bounds of the service; `cargo x generate` writes them, and changes here are lost";
const END: &str = "end of what is generated";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Python,
    TypeScript,
}

/// The clients with their generated part as it should be, by path.
///
/// # Errors
/// When a client cannot be read, or has no place for it.
pub(crate) fn pages() -> Result<Vec<(String, String)>, String> {
    let types = types();
    let made = |(path, language): &(&str, Language)| {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        let text = language.with_generated(&text, &types).map_err(|why| format!("{path}: {why}"))?;
        Ok(((*path).to_owned(), text))
    };
    CLIENTS.iter().map(made).collect()
}

/// Schemas of all types that operations of the push side name.
fn types() -> BTreeMap<String, Value> {
    let mut types = BTreeMap::new();
    for one in OPERATIONS.iter().filter(|one| one.name.starts_with("push.")) {
        for shape in [&one.request, &one.answer] {
            let schema = (shape.schema)().to_value();
            for (name, of) in schema["$defs"].as_object().into_iter().flatten() {
                types.insert(name.clone(), of.clone());
            }
            types.insert(shape.name.to_owned(), schema);
        }
    }
    types
}

/// A field of an object: name, type, whether it may be left out, and what it means.
type Field = (String, String, bool, String);

impl Language {
    fn sign(self) -> &'static str {
        match self {
            Language::Python => "#",
            Language::TypeScript => "//",
        }
    }

    fn with_generated(self, text: &str, types: &BTreeMap<String, Value>) -> Result<String, String> {
        let line = |words: &str| format!("{} {words}\n", self.sign());
        let (begin, end) = (line(BEGIN), line(END));
        let apart =
            text.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
        let Some((before, behind)) = apart else {
            return Err(format!(
                "there is no line `{}` with a line `{}` behind it",
                begin.trim(),
                end.trim()
            ));
        };
        Ok(format!("{before}{begin}{}{end}{behind}", self.generated(types)?))
    }

    fn generated(self, types: &BTreeMap<String, Value>) -> Result<String, String> {
        let bounds = [
            ("RECORDS_AT_ONCE_MAX", limits::RECORDS_AT_ONCE_MAX, "Records in one call."),
            ("RECORDS_BYTES_MAX", limits::RECORDS_BYTES_MAX, "Bytes of the body of one call."),
            ("RECORD_KEY_BYTES_MAX", limits::RECORD_KEY_BYTES_MAX, "Bytes of a key, in UTF-8."),
            ("RECORD_HASH_BYTES_MAX", limits::RECORD_HASH_BYTES_MAX, "Bytes of a hash, in UTF-8."),
        ];
        let mut text = String::new();
        for (name, value, about) in bounds {
            let _ = match self {
                Language::Python => writeln!(text, "{name} = {value}  # {about}"),
                Language::TypeScript => writeln!(text, "const {name} = {value}; // {about}"),
            };
        }
        for name in TYPES {
            let schema =
                types.get(*name).ok_or_else(|| format!("no operation names a type {name} any more"))?;
            text.push_str(&self.definition(name, schema));
        }
        Ok(text)
    }

    /// A type by its name.
    fn definition(self, name: &str, schema: &Value) -> String {
        if schema["properties"].is_object() {
            return self.object(name, schema);
        }
        let forms = schema["oneOf"].as_array().map(Vec::as_slice).unwrap_or_default();
        if !forms.iter().any(|form| form["properties"].is_object()) {
            return self.alias(name, &self.kind(schema), schema);
        }
        // One type for each form, by the word that tells them apart.
        let (mut text, mut names) = (String::new(), Vec::new());
        for form in forms {
            let word = form["properties"]
                .as_object()
                .and_then(|fields| fields.values().find_map(|field| field["const"].as_str()));
            let of = format!("{name}{}", capitalised(word.unwrap_or_default()));
            text.push_str(&self.object(&of, form));
            names.push(of);
        }
        text.push_str(&self.alias(name, &self.any_of(names), schema));
        text
    }

    fn object(self, name: &str, schema: &Value) -> String {
        let (about, fields) = (about(schema), self.fields(schema));
        let mut text = String::new();
        match self {
            Language::Python => {
                let _ = write!(text, "\nclass {name}(TypedDict):\n    \"\"\"{about}\"\"\"\n");
                for (name, kind, is_optional, about) in fields {
                    let kind = if is_optional { format!("NotRequired[{kind}]") } else { kind };
                    let comment = if about.is_empty() { String::new() } else { format!("  # {about}") };
                    let _ = writeln!(text, "    {name}: {kind}{comment}");
                }
            }
            Language::TypeScript => {
                let _ = write!(text, "\n/** {about} */\nexport interface {name} {{\n");
                for (name, kind, is_optional, about) in fields {
                    let mark = if is_optional { "?" } else { "" };
                    let comment = if about.is_empty() { String::new() } else { format!(" // {about}") };
                    let _ = writeln!(text, "  {name}{mark}: {kind};{comment}");
                }
                text.push_str("}\n");
            }
        }
        text
    }

    fn fields(self, schema: &Value) -> Vec<Field> {
        let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
        let field = |(name, of): (&String, &Value)| {
            let is_optional = !required.iter().any(|one| one == name.as_str()) && of["const"].is_null();
            let about = if of["description"].is_string() { about(of) } else { String::new() };
            (name.clone(), self.kind(of), is_optional, about)
        };
        schema["properties"].as_object().into_iter().flatten().map(field).collect()
    }

    fn alias(self, name: &str, kind: &str, schema: &Value) -> String {
        match self {
            Language::Python => format!("\n#: {}\n{name} = {kind}\n", about(schema)),
            Language::TypeScript => format!("\n/** {} */\nexport type {name} = {kind};\n", about(schema)),
        }
    }

    /// What a schema stands for, as a type of the language.
    fn kind(self, schema: &Value) -> String {
        if let Some(place) = schema["$ref"].as_str() {
            return place.rsplit('/').next().unwrap_or_default().to_owned();
        }
        if let Some(word) = schema["const"].as_str() {
            return self.word(word);
        }
        if let Some(words) = schema["enum"].as_array() {
            return self.any_of(words.iter().filter_map(Value::as_str).map(|word| self.word(word)).collect());
        }
        if let Some(forms) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
            return self.any_of(forms.iter().map(|form| self.kind(form)).collect());
        }
        match &schema["type"] {
            Value::Array(kinds) => {
                let of = |kind: &Value| {
                    let mut one = schema.clone();
                    one["type"] = kind.clone();
                    self.kind(&one)
                };
                self.any_of(kinds.iter().map(of).collect())
            }
            Value::String(kind) => self.simple(kind, schema),
            _ => self.pick("Any", "unknown"),
        }
    }

    fn simple(self, kind: &str, schema: &Value) -> String {
        match kind {
            "array" => {
                let of = self.kind(&schema["items"]);
                match self {
                    Language::Python => format!("List[{of}]"),
                    Language::TypeScript => format!("Array<{of}>"),
                }
            }
            "object" => self.pick("Dict[str, Any]", "Record<string, unknown>"),
            "string" => self.pick("str", "string"),
            "boolean" => self.pick("bool", "boolean"),
            "integer" => self.pick("int", "number"),
            "number" => self.pick("float", "number"),
            "null" => self.pick("None", "null"),
            _ => self.pick("Any", "unknown"),
        }
    }

    fn pick(self, python: &str, typescript: &str) -> String {
        match self {
            Language::Python => python.to_owned(),
            Language::TypeScript => typescript.to_owned(),
        }
    }

    fn word(self, word: &str) -> String {
        match self {
            Language::Python => format!("Literal[\"{word}\"]"),
            Language::TypeScript => format!("\"{word}\""),
        }
    }

    fn any_of(self, kinds: Vec<String>) -> String {
        match (self, kinds.as_slice()) {
            (_, [one]) => one.clone(),
            (Language::Python, _) => format!("Union[{}]", kinds.join(", ")),
            (Language::TypeScript, _) => kinds.join(" | "),
        }
    }
}

/// What a type or field means, in one line that no comment ends in.
fn about(schema: &Value) -> String {
    let about = schema["description"].as_str().unwrap_or_default();
    let about = about.split_whitespace().collect::<Vec<_>>().join(" ");
    about.replace(['[', ']'], "").replace("*/", "* /").replace('\\', "/")
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_a_type_with_what_may_be_left_out_and_a_choice_has_one_for_each_word() {
        let of = json!({"description": "One.\nOf some.", "required": ["a"], "properties": {
            "a": {"type": "array", "items": {"$ref": "#/$defs/Other"}, "description": "All."},
            "b": {"type": ["string", "null"]}, "c": true}});
        assert_eq!(
            Language::Python.definition("T", &of),
            "\nclass T(TypedDict):\n    \"\"\"One. Of some.\"\"\"\n    a: List[Other]  # All.\n    b: NotRequired[Union[str, None]]\n    c: NotRequired[Any]\n"
        );
        assert_eq!(
            Language::TypeScript.definition("T", &of),
            "\n/** One. Of some. */\nexport interface T {\n  a: Array<Other>; // All.\n  b?: string | null;\n  c?: unknown;\n}\n"
        );
        let choice = json!({"description": "Two.", "oneOf": [
            {"properties": {"is": {"const": "x"}, "n": {"type": "integer"}}, "required": ["is", "n"]},
            {"properties": {"is": {"const": "y"}}, "required": ["is"]}]});
        let text = Language::TypeScript.definition("C", &choice);
        assert!(text.contains("interface CX {\n  is: \"x\";\n  n: number;\n}"), "{text}");
        assert!(text.ends_with("/** Two. */\nexport type C = CX | CY;\n"), "{text}");
        let words = json!({"oneOf": [{"const": "x"}, {"const": "y"}], "description": "W."});
        let text = Language::Python.definition("W", &words);
        assert_eq!(text, "\n#: W.\nW = Union[Literal[\"x\"], Literal[\"y\"]]\n");
    }

    #[test]
    fn only_what_stands_between_the_lines_is_written() {
        let types = types();
        let of = |text: &str| Language::Python.with_generated(text, &types);
        let text = of(&format!("before\n# {BEGIN}\nold\n# {END}\nbehind\n")).expect("it has the lines");
        assert!(text.starts_with("before\n# ") && text.ends_with("\nbehind\n") && !text.contains("\nold\n"));
        assert!(text.contains("class PushedItem(TypedDict)"), "{text}");
        assert_eq!(of(&text).as_deref(), Ok(text.as_str()));
        assert!(of("no lines").is_err());
    }
}
