//! Light marks for headings, lists, tables and pages, in the form of Markdown when it is asked for. Without it tables are
//! rows of cells set apart by tabs, and only numbers of lists are written.

use super::TextSink;

/// Levels of headings.
const LEVELS_MAX: u8 = 6;
/// Lists inside each other whose depth is shown.
const DEPTH_MAX: usize = 8;

/// Where a page stands in a table.
#[derive(Default)]
pub(super) struct Table {
    /// Tables inside each other.
    depth: usize,
    /// Cells of the row so far.
    cells: usize,
    /// Rows so far.
    rows: usize,
    /// Whether the last line is an item of a list.
    in_list: bool,
}

impl TextSink<'_> {
    /// Whether marks are written.
    pub(crate) fn is_marked(&self) -> bool {
        self.budget.options.markdown
    }

    /// Whether text goes into a cell that is one line.
    pub(crate) fn is_in_cell(&self) -> bool {
        self.is_marked() && self.table.depth > 0
    }

    /// Begins a paragraph.
    pub(crate) fn paragraph(&mut self) {
        if self.is_in_cell() {
            return self.space();
        }
        self.line_break();
        if self.is_marked() {
            self.table.in_list = false;
            self.blank_line();
        }
    }

    /// Begins a heading, of the first level or a lower one.
    pub(crate) fn heading(&mut self, level: u8) {
        self.paragraph();
        if self.is_marked() && !self.is_in_cell() {
            self.text(&"#".repeat(usize::from(level.clamp(1, LEVELS_MAX))));
            self.text(" ");
        }
    }

    /// A heading of its own.
    pub(crate) fn title_line(&mut self, level: u8, text: &str) {
        if !text.trim().is_empty() {
            self.heading(level);
            self.text(text.trim());
            self.line_break();
        }
    }

    /// Begins an item of a list, so many lists inside others; a label such as `1.` or none.
    pub(crate) fn item(&mut self, depth: usize, label: &str) {
        if !self.is_marked() || self.is_in_cell() {
            self.line_break();
            if !label.is_empty() {
                self.text(label);
                self.text(" ");
            }
            return;
        }
        self.line_break();
        if !std::mem::replace(&mut self.table.in_list, true) {
            self.blank_line();
        }
        self.text(&"  ".repeat(depth.min(DEPTH_MAX)));
        let is_number =
            label.strip_suffix('.').is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        match label {
            "" => self.text("- "),
            label if is_number => self.text(&format!("{label} ")),
            label => self.text(&format!("- {label} ")),
        }
    }

    /// Says that a page of the document begins.
    pub(crate) fn page_mark(&mut self, number: usize) {
        if self.is_marked() {
            self.paragraph();
            self.text(&crate::markdown::page_mark(number));
            self.line_break();
        }
    }

    /// Begins a table.
    pub(crate) fn table_begin(&mut self) {
        if self.table.depth == 0 {
            self.paragraph();
            (self.table.cells, self.table.rows) = (0, 0);
        }
        self.table.depth += 1;
    }

    /// Ends a cell.
    pub(crate) fn cell_end(&mut self) {
        match (self.is_marked(), self.table.depth) {
            (true, 1) => {
                if self.table.cells == 0 {
                    self.begin_row();
                }
                self.table.cells += 1;
                self.trim_spaces();
                self.text_as_it_is(" | ");
            }
            (true, _) => self.space(),
            (false, _) => self.tab(),
        }
    }

    /// Ends a row. The first one is the head of its table.
    pub(crate) fn row_end(&mut self) {
        if self.is_marked() && self.table.depth > 1 {
            return self.space();
        }
        if !self.is_marked() || self.table.depth == 0 {
            return self.line_break();
        }
        if self.table.cells > 0 {
            let cells = std::mem::take(&mut self.table.cells);
            self.table.rows += 1;
            self.trim_spaces();
            let head = if self.table.rows == 1 {
                format!("\n|{}\n", " --- |".repeat(cells))
            } else {
                "\n".to_owned()
            };
            self.text_as_it_is(&head);
        }
    }

    /// Ends a table.
    pub(crate) fn table_end(&mut self) {
        self.table.depth = self.table.depth.saturating_sub(1);
        self.line_break();
    }

    /// Puts the mark before the first cell of a row, whose text is there already.
    fn begin_row(&mut self) {
        let begin = self.out.text.rfind('\n').map_or(0, |at| at + 1);
        let cell = self.out.text.split_off(begin);
        self.out.text.push_str("| ");
        self.out.text.push_str(cell.trim_start());
    }

    fn trim_spaces(&mut self) {
        let length = self.out.text.trim_end_matches(' ').len();
        self.out.text.truncate(length);
    }

    /// Sets what follows apart by an empty line.
    fn blank_line(&mut self) {
        if !self.out.text.is_empty() && !self.out.text.ends_with("\n\n") {
            self.text("\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Budget;
    use super::*;
    use crate::{Input, Request};

    fn write(markdown: bool, fill: impl FnOnce(&mut TextSink<'_>)) -> String {
        let mut request = Request::default();
        request.options.markdown = markdown;
        let budget = Budget::new(&request, &Input::memory(Vec::new()), |_, _, _| ());
        let mut page = TextSink::new(&budget, 0, "a");
        fill(&mut page);
        page.finish().text
    }

    fn example(page: &mut TextSink<'_>) {
        page.page_mark(1);
        page.title_line(1, "Title");
        page.paragraph();
        page.text("words\nmore");
        for (depth, label, words) in [(0, "1.", "one"), (1, "", "inner"), (0, "a)", "other")] {
            page.item(depth, label);
            page.text(words);
            page.line_break();
        }
        page.table_begin();
        for row in [["a", "b|c"], ["1\n2", ""]] {
            for cell in row {
                page.text(cell);
                page.line_break();
                page.cell_end();
            }
            page.row_end();
        }
        page.table_end();
        page.paragraph();
        page.text("end");
    }

    #[test]
    fn marks_are_those_of_markdown() {
        assert_eq!(
            write(true, example),
            "<!-- page 1 -->\n\n# Title\n\nwords\nmore\n\n1. one\n  - inner\n- a) other\n\n\
            | a | b\\|c |\n| --- | --- |\n| 1 2 | |\n\nend"
        );
    }

    #[test]
    fn without_marks_there_are_lines_and_tabs() {
        assert_eq!(write(false, example), "Title\nwords\nmore\n1. one\ninner\na) other\na\nb|c\n1\n2\nend");
    }
}
