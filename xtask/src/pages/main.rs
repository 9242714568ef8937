//! Makes the pages that come from the product's own tables, and prints them as one JSON object: path → text.
#![expect(clippy::print_stdout, reason = "its answer goes to `cargo x generate`")]

mod clients;
mod connectors;
mod settings;

/// A page: where it goes, and what makes it.
type Page = (&'static str, fn() -> String);

/// Pages with a fixed place. A table that wants a page has a function that returns Markdown, and one line here; tables
/// of the model are reached as `ingather_model`.
const PAGES: &[Page] = &[
    ("docs/generated/connectors.md", connectors::overview),
    ("docs/generated/declaration.md", declaration),
    ("docs/generated/doctor.md", doctor),
    ("docs/generated/lifecycle.md", ingather_model::lifecycle::markdown),
    ("docs/generated/operations.md", ingather_operations::table::markdown),
    ("docs/generated/properties.md", ingather_operations::system::properties::markdown),
];

/// What the doctor finds in the inventory, from the table that it goes by.
fn doctor() -> String {
    let rows = ingather_store::doctor::CHECKS.iter().map(|check| {
        format!("| `{}` | {} | {} | {} |\n", check.name, check.number, check.found, check.advice)
    });
    format!(
        "# What `ingather doctor` finds in the inventory\n\n\
         Each check is a query in `crates/store/sql/doctor`. `ingather doctor` names what it finds with some examples; what \
         `--repair` can repair without a loss it repairs, and the next run sends what has to be sent. What the doctor says \
         about outputs, jobs and the machine is in [Troubleshooting](../manual/troubleshooting.md).\n\n\
         | Check | Number | What it says | What to do |\n|---|---|---|---|\n{}",
        rows.collect::<String>()
    )
}

/// What a declaration may say, from the types that read one.
fn declaration() -> String {
    let schema = ingather_operations::declaration::schema();
    format!(
        "# What a declaration says\n\n\
         `ingather apply -f FILE` reads it, `ingather export` writes it; [Operating](../manual/operating.md) has an example. A text that begins \
         with `*`, `&`, `!`, `%` or `@` needs quotes in YAML. What a `source` and a stage may say has the page of \
         [its connector](connectors.md).\n\n{}",
        settings::table(&schema)
    )
}

fn main() -> Result<(), String> {
    let clients = clients::pages()?;
    let schemas = [
        ("docs/generated/journal.schema.json", ingather_connectors::journal_schema()),
        ("docs/generated/nats.schema.json", ingather_connectors::nats_schema()),
    ];
    let fixed = PAGES.iter().map(|(path, make)| ((*path).to_owned(), make()));
    let pages: serde_json::Map<String, serde_json::Value> = fixed
        .chain(connectors::pages())
        .map(|(path, text)| {
            (path, format!("<!-- Made by `cargo x generate`; changes here are lost. -->\n{text}").into())
        })
        .chain(schemas.map(|(path, schema)| (path.to_owned(), format!("{schema:#}\n").into())))
        .chain(clients.into_iter().map(|(path, text)| (path, text.into())))
        .collect();
    println!("{}", serde_json::Value::Object(pages));
    Ok(())
}
