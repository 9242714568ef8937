//! Where rich text stands, for marks: paragraphs with their levels, items of lists, rows of tables.

use crate::page::TextSink;

/// Levels of headings; the next one is that of the body.
const LEVELS: i32 = 9;

/// The paragraph that is being written, and the table that it is in.
#[derive(Default)]
pub(super) struct Marks {
    /// Its level, of a heading.
    level: Option<u8>,
    /// It is in a cell.
    in_cell: bool,
    /// How many lists are around its list.
    depth: usize,
    /// The number or sign of an item, which comes before what is said about its paragraph.
    label: String,
    /// It has words.
    begun: bool,
    /// A table has begun.
    table: bool,
}

impl Marks {
    /// What is said of a paragraph from here on; whether the word was one of these.
    pub(super) fn word(&mut self, name: &str, number: Option<i32>) -> bool {
        match name {
            "pard" => (self.level, self.in_cell, self.depth) = (None, false, 0),
            "outlinelevel" => {
                let level = number.filter(|level| (0..LEVELS).contains(level));
                self.level = level.and_then(|level| u8::try_from(level).ok());
            }
            "intbl" => self.in_cell = true,
            "ilvl" => self.depth = number.and_then(|depth| usize::try_from(depth).ok()).unwrap_or(0),
            _ => return false,
        }
        true
    }

    /// Takes the ends of paragraphs, cells and rows; whether the word was one of these.
    pub(super) fn end(&mut self, name: &str, sink: &mut TextSink<'_>) -> bool {
        match name {
            "par" | "sect" | "page" | "nestcell" => sink.line_break(),
            "cell" => {
                self.table(true, sink);
                sink.cell_end();
            }
            "row" => sink.row_end(),
            _ => return false,
        }
        self.begun = false;
        self.label.clear();
        true
    }

    /// Takes a piece of the number or sign of an item.
    pub(super) fn label(&mut self, text: &str) {
        self.label.push_str(text);
    }

    /// Begins a paragraph, unless it has begun; whether `text` is to be written.
    pub(super) fn begin(&mut self, text: &str, sink: &mut TextSink<'_>) -> bool {
        if self.begun {
            return true;
        }
        if text.trim().is_empty() {
            return false;
        }
        self.begun = true;
        self.table(self.in_cell, sink);
        let label = std::mem::take(&mut self.label);
        match (self.level, label.trim()) {
            (Some(level), label) => {
                sink.heading(level + 1);
                if label.chars().any(char::is_alphanumeric) {
                    sink.text(&format!("{label} "));
                }
            }
            (None, "") => sink.paragraph(),
            // A sign has no name.
            (None, label) if !label.chars().any(char::is_alphanumeric) => sink.item(self.depth, ""),
            (None, label) => sink.item(self.depth, label),
        }
        true
    }

    /// Goes into a table, or out of it.
    pub(super) fn table(&mut self, inside: bool, sink: &mut TextSink<'_>) {
        match std::mem::replace(&mut self.table, inside) {
            false if inside => sink.table_begin(),
            true if !inside => sink.table_end(),
            _ => {}
        }
    }

    /// Goes into text that stands apart, such as a note; what to come back to.
    pub(super) fn apart(&mut self) -> Marks {
        let inner = Marks { table: self.table, in_cell: self.in_cell, ..Marks::default() };
        std::mem::replace(self, inner)
    }
}
