//! Writes the paragraphs of a document of Word with what is said of them: headings, items of lists with their labels, tables.

use super::lists::Lists;
use super::looks::Looks;
use crate::page::TextSink;

/// Writes paragraphs as they come.
pub(super) struct Writer {
    looks: Looks,
    lists: Lists,
    text: String,
    in_table: bool,
}

impl Writer {
    /// With what a document says of its paragraphs.
    pub(super) fn of(bytes: &[u8], table: &[u8], lists: Lists) -> Self {
        Self { looks: Looks::of(bytes, table), lists, text: String::new(), in_table: false }
    }

    pub(super) fn push(&mut self, c: char) {
        self.text.push(c);
    }

    /// Ends a paragraph of which the end stands there, or a cell, and writes it without marks but with its label.
    pub(super) fn end_plain(&mut self, end: Option<usize>, mark: char, page: &mut TextSink<'_>) {
        let text = std::mem::take(&mut self.text);
        let look = self.lists.whole(end.map(|end| self.looks.at(end)).unwrap_or_default());
        let label = Some(look).filter(|_| !text.trim().is_empty()).and_then(|look| self.lists.count(look));
        if let Some(label) = label.filter(|label| !label.is_empty()) {
            page.text(&format!("{label} "));
        }
        page.text(&text);
        page.text(mark.encode_utf8(&mut [0; 4]));
    }

    /// Ends a paragraph of which the end stands there, or a cell.
    pub(super) fn end(&mut self, end: Option<usize>, is_cell: bool, page: &mut TextSink<'_>) {
        let text = std::mem::take(&mut self.text);
        let look = self.lists.whole(end.map(|end| self.looks.at(end)).unwrap_or_default());
        self.table(look.in_table || look.row_end, page);
        if look.row_end {
            return page.row_end();
        }
        if !text.trim().is_empty() {
            match (look.level, self.lists.count(look)) {
                (Some(level), label) => {
                    page.heading(level + 1);
                    if let Some(label) = label.filter(|label| !label.is_empty()) {
                        page.text(&format!("{label} "));
                    }
                }
                (None, Some(label)) => page.item(usize::from(look.depth.unwrap_or(0)), &label),
                (None, None) => page.paragraph(),
            }
            page.text(text.trim());
            page.line_break();
        }
        if is_cell && look.in_table {
            page.cell_end();
        }
    }

    /// Ends the text.
    pub(super) fn finish(mut self, page: &mut TextSink<'_>) {
        match page.is_marked() {
            true => self.end(None, false, page),
            false => page.text(&self.text),
        }
    }

    fn table(&mut self, inside: bool, page: &mut TextSink<'_>) {
        match std::mem::replace(&mut self.in_table, inside) {
            false if inside => page.table_begin(),
            true if !inside => page.table_end(),
            _ => {}
        }
    }
}
