//! Makes the pages that come from the product's own tables, and prints them as one JSON object: path → text.
#![expect(clippy::print_stdout, reason = "its answer goes to `cargo x generate`")]

mod connectors;
mod settings;

/// A page: where it goes, and what makes it.
type Page = (&'static str, fn() -> String);

/// Pages with a fixed place. A table that wants a page has a function that returns Markdown, and one line here; tables
/// of the model are reached as `ingather_connector::model`.
const PAGES: &[Page] = &[
    ("docs/generated/connectors.md", connectors::overview),
    ("docs/generated/lifecycle.md", ingather_connector::model::lifecycle::markdown),
];

fn main() {
    let fixed = PAGES.iter().map(|(path, make)| ((*path).to_owned(), make()));
    let pages: serde_json::Map<String, serde_json::Value> = fixed
        .chain(connectors::pages())
        .map(|(path, text)| {
            (path, format!("<!-- Made by `cargo x generate`; changes here are lost. -->\n{text}").into())
        })
        .collect();
    println!("{}", serde_json::Value::Object(pages));
}
