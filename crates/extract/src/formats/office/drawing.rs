//! Text of drawings: shapes, diagrams and charts, which all office formats share.

use std::collections::HashSet;

use super::relations::Relations;
use crate::formats::archives::zip::Zip;
use crate::page::TextSink;
use crate::xml::{self, Go, Met};

/// Kinds of relation that lead to drawings with text of their own.
const KINDS: &[&str] = &["diagramData", "chart", "drawing", "vmlDrawing", "chartUserShapes"];

/// Writes the text of every drawing that a part leads to, and of those that these lead to, each once.
pub(super) fn all_of(zip: &mut Zip, part: &str, sink: &mut TextSink<'_>, met: &mut HashSet<String>) {
    let relations = Relations::of(zip, part, sink.budget());
    for relation in relations.all {
        if !KINDS.contains(&relation.kind.as_str())
            || relation.external
            || !met.insert(relation.target.clone())
        {
            continue;
        }
        if relation.kind != "vmlDrawing"
            && let Some(bytes) = zip.find_read(&relation.target, sink.budget())
        {
            text(&bytes, sink);
        }
        all_of(zip, &relation.target, sink, met);
    }
}

/// Writes the text of one drawing: paragraphs and the words of charts. Broken ones give what they have.
fn text(bytes: &[u8], sink: &mut TextSink<'_>) {
    let (mut words, mut value, mut formula, mut fallback) = (0, 0, 0, 0);
    let _ = xml::walk(bytes, |met| {
        match met {
            Met::Open(tag) => match tag.name() {
                "t" => words += 1,
                "v" => value += 1,
                "f" => formula += 1,
                "Fallback" => fallback += 1,
                _ => {}
            },
            Met::Close(name) => match name {
                "t" => words -= 1,
                "v" => {
                    value -= 1;
                    sink.line_break();
                }
                "f" => formula -= 1,
                "p" | "br" => sink.line_break(),
                "Fallback" => fallback -= 1,
                _ => {}
            },
            Met::Text(text) if (words > 0 || value > 0) && formula == 0 && fallback == 0 => sink.text(text),
            Met::Text(_) => {}
        }
        if sink.is_full() { Go::Stop } else { Go::On }
    });
    sink.line_break();
}
