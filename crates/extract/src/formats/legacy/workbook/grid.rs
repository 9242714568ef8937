//! Where a sheet stands: rows of cells, and lines beside them.

use crate::formats::office;
use crate::page::TextSink;

/// The cells of a sheet as they come.
#[derive(Default)]
pub(super) struct Grid {
    row: Option<u16>,
    /// The column behind the last cell.
    next: usize,
    /// A cell has begun whose text may go on: the result of a formula comes after it.
    open: bool,
    /// A table has begun, where marks are written.
    begun: bool,
}

impl Grid {
    /// Begins a cell; another row is another line.
    pub(super) fn cell(&mut self, row: u16, column: u16, sink: &mut TextSink<'_>) {
        let turns = self.row.replace(row) != Some(row);
        if !sink.is_marked() {
            if turns {
                sink.line_break();
            }
            return sink.tab();
        }
        self.end_cell(sink);
        if !std::mem::replace(&mut self.begun, true) {
            sink.table_begin();
        } else if turns {
            sink.row_end();
        }
        if turns {
            self.next = 0;
        }
        office::gap(Some(usize::from(column)), &mut self.next, sink);
        self.open = true;
    }

    /// Ends the table, if there is one: what follows stands beside it.
    pub(super) fn end(&mut self, sink: &mut TextSink<'_>) {
        self.end_cell(sink);
        if self.begun {
            sink.row_end();
            sink.table_end();
            sink.paragraph();
            *self = Grid::default();
        }
    }

    fn end_cell(&mut self, sink: &mut TextSink<'_>) {
        if std::mem::take(&mut self.open) {
            sink.cell_end();
        }
    }
}
