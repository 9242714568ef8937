//! Where a sheet stands: rows of cells, and lines beside them.

use crate::formats::office;
use crate::page::Page;

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
    pub(super) fn cell(&mut self, row: u16, column: u16, page: &mut Page<'_>) {
        let turns = self.row.replace(row) != Some(row);
        if !page.is_marked() {
            if turns {
                page.line_break();
            }
            return page.tab();
        }
        self.end_cell(page);
        if !std::mem::replace(&mut self.begun, true) {
            page.table_begin();
        } else if turns {
            page.row_end();
        }
        if turns {
            self.next = 0;
        }
        office::gap(Some(usize::from(column)), &mut self.next, page);
        self.open = true;
    }

    /// Ends the table, if there is one: what follows stands beside it.
    pub(super) fn end(&mut self, page: &mut Page<'_>) {
        self.end_cell(page);
        if self.begun {
            page.row_end();
            page.table_end();
            page.paragraph();
            *self = Grid::default();
        }
    }

    fn end_cell(&mut self, page: &mut Page<'_>) {
        if std::mem::take(&mut self.open) {
            page.cell_end();
        }
    }
}
