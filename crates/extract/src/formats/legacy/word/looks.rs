//! What Word says about paragraphs ([MS-DOC] 2.4.6.1): which are headings, items of lists, and cells of tables.

use super::{u16_at, u32_at};

/// Runs of one page of runs, by its last byte, and bytes of such a page.
const PAGE_BYTES: usize = 512;
/// Bytes for each run behind its places.
const RUN_BYTES: usize = 13;
/// Runs of one document.
const RUNS_MAX: usize = 1_000_000;
/// Level of what is no heading, though its style may be one.
pub(super) const NO_HEADING: u8 = 9;
/// Numbers of lists; those above say that there is none.
const LISTS_MAX: u16 = 0x7fe;
/// Styles of headings: the first nine are these in every document.
const HEADINGS: std::ops::RangeInclusive<u16> = 1..=9;

/// What is said of a paragraph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    /// Its style.
    pub(super) style: u16,
    /// Its level, of a heading, from 0; [`NO_HEADING`] when it is none.
    pub(super) level: Option<u8>,
    /// Its list, from 1 or none of 0, and how many lists are around it.
    pub(super) list: Option<u16>,
    pub(super) depth: Option<u8>,
    pub(super) in_table: bool,
    /// It ends a row, and has no words.
    pub(super) row_end: bool,
}

/// Where paragraphs stand in the file, and what is said of them.
pub(super) struct Looks(Vec<(u32, u32, Look)>);

impl Looks {
    /// Those that the table of a document leads to.
    pub(super) fn of(bytes: &[u8], table: &[u8]) -> Self {
        let (at, length) = (u32_at(bytes, 0x102) as usize, u32_at(bytes, 0x106) as usize);
        let list = table.get(at..).map_or(&[][..], |list| &list[..list.len().min(length)]);
        let count = list.len().saturating_sub(4) / 8;
        let pages = (0..count).map(|page| u32_at(list, (count + 1) * 4 + page * 4) as usize & 0x3f_ffff);
        let mut runs: Vec<(u32, u32, Look)> = Vec::new();
        for page in pages.filter_map(|page| bytes.get(page * PAGE_BYTES..)?.get(..PAGE_BYTES)) {
            let inside = usize::from(page[PAGE_BYTES - 1]);
            for run in (0..inside).take(RUNS_MAX.saturating_sub(runs.len())) {
                let about = page.get((inside + 1) * 4 + run * RUN_BYTES).map_or(0, |at| usize::from(*at) * 2);
                runs.push((u32_at(page, run * 4), u32_at(page, run * 4 + 4), look(page, about)));
            }
        }
        runs.sort_by_key(|(begin, ..)| *begin);
        Self(runs)
    }

    /// What is said of the paragraph whose end stands there.
    pub(super) fn at(&self, place: usize) -> Look {
        let after = self.0.partition_point(|(begin, ..)| *begin as usize <= place);
        let run = after.checked_sub(1).and_then(|run| self.0.get(run));
        run.filter(|(_, end, _)| place < *end as usize).map_or_else(Look::default, |(.., look)| *look)
    }
}

/// What a place in a page of runs says.
fn look(page: &[u8], at: usize) -> Look {
    let (begin, length) = match page.get(at) {
        _ if at == 0 => return Look::default(),
        Some(0) => (at + 2, page.get(at + 1).map_or(0, |half| usize::from(*half) * 2)),
        Some(half) => (at + 1, usize::from(*half) * 2 - 1),
        None => return Look::default(),
    };
    let about = page.get(begin..).map_or(&[][..], |about| &about[..about.len().min(length)]);
    look_of(about)
}

/// What is said behind the number of a style.
pub(super) fn look_of(about: &[u8]) -> Look {
    let style = u16_at(about, 0);
    // A style has a number below sixteen here.
    let level = HEADINGS.contains(&style).then(|| style as u8 - 1);
    let mut look = Look { style, level, ..Look::default() };
    let mut rest = about.get(2..).unwrap_or_default();
    while rest.len() > 2 {
        let kind = u16_at(rest, 0);
        let value = rest[2];
        match kind {
            0x2640 => look.level = Some(value),
            0x260a => look.depth = Some(value),
            0x460b => look.list = Some(u16_at(rest, 2)).map(|list| if list > LISTS_MAX { 0 } else { list }),
            0x2416 => look.in_table = value != 0,
            0x2417 => look.row_end = value != 0,
            _ => {}
        }
        rest = rest.get(2 + value_bytes(kind, rest)..).unwrap_or_default();
    }
    look
}

/// How long what follows a kind is, with which the rest of a description begins.
pub(super) fn value_bytes(kind: u16, rest: &[u8]) -> usize {
    match (kind, kind >> 13) {
        (0xd608, _) => usize::from(u16_at(rest, 2)) + 1,
        (_, 0 | 1) => 1,
        (_, 2 | 4 | 5) => 2,
        (_, 3) => 4,
        (_, 6) => usize::from(rest[2]) + 1,
        _ => 3,
    }
}
