//! What was deleted in a document of Word and is still kept in it ([MS-DOC] 2.4.6.2): changes that nobody accepted so far.

use super::{Piece, u16_at, u32_at};

/// Bytes of a page of runs, whose last one counts them, and runs of one document.
const PAGE_BYTES: usize = 512;
const RUNS_MAX: usize = 1_000_000;
/// What says that a run was deleted.
const DELETED: u16 = 0x0800;
/// Marks of fields stay, or a field that is half deleted would take with it all that follows.
const FIELDS: std::ops::RangeInclusive<u16> = 0x13..=0x15;

/// The pieces without what was deleted in them, and not more than `left` characters of all of them.
pub(super) fn without(pieces: Vec<Piece>, mut left: usize, bytes: &[u8], table: &[u8]) -> Vec<Piece> {
    let deleted = runs(bytes, table);
    let mut kept = Vec::new();
    for mut piece in pieces {
        piece.characters = piece.characters.min(left);
        left -= piece.characters;
        let width = if piece.wide { 2 } else { 1 };
        let end = piece.at.saturating_add(piece.characters.saturating_mul(width));
        let mut at = piece.at;
        let first = deleted.partition_point(|(_, behind)| *behind <= at);
        for &(begin, behind) in deleted[first..].iter().take_while(|(begin, _)| *begin < end) {
            let (begin, behind) = (begin.max(at), behind.min(end));
            kept.push(Piece { at, characters: (begin - at) / width, wide: piece.wide });
            let units = (begin..behind).step_by(width);
            kept.extend(units.filter(|unit| is_field(bytes, *unit, piece.wide)).map(|unit| Piece {
                at: unit,
                characters: 1,
                wide: piece.wide,
            }));
            at = behind.max(at);
        }
        kept.push(Piece { at, characters: (end - at) / width, wide: piece.wide });
    }
    kept.retain(|piece| piece.characters > 0);
    kept
}

fn is_field(bytes: &[u8], at: usize, wide: bool) -> bool {
    let unit = if wide { u16_at(bytes, at) } else { bytes.get(at).map_or(0, |byte| u16::from(*byte)) };
    FIELDS.contains(&unit)
}

/// Where deleted runs begin and end in the file, in order and apart.
fn runs(bytes: &[u8], table: &[u8]) -> Vec<(usize, usize)> {
    let (at, length) = (u32_at(bytes, 0xfa) as usize, u32_at(bytes, 0xfe) as usize);
    let list = table.get(at..).map_or(&[][..], |list| &list[..list.len().min(length)]);
    let count = list.len().saturating_sub(4) / 8;
    let pages = (0..count).map(|page| u32_at(list, (count + 1) * 4 + page * 4) as usize & 0x3f_ffff);
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for page in pages.filter_map(|page| bytes.get(page * PAGE_BYTES..)?.get(..PAGE_BYTES)) {
        let inside = usize::from(page[PAGE_BYTES - 1]);
        for run in (0..inside).take(RUNS_MAX.saturating_sub(runs.len())) {
            let about = page.get((inside + 1) * 4 + run).map_or(0, |at| usize::from(*at) * 2);
            if is_deleted(page, about) {
                runs.push((u32_at(page, run * 4) as usize, u32_at(page, run * 4 + 4) as usize));
            }
        }
    }
    runs.sort_unstable();
    let mut apart: Vec<(usize, usize)> = Vec::new();
    for (begin, end) in runs {
        let begin = apart.last().map_or(begin, |(_, before)| begin.max(*before));
        if end > begin {
            apart.push((begin, end));
        }
    }
    apart
}

/// Whether a place in a page of runs says that its run was deleted.
fn is_deleted(page: &[u8], at: usize) -> bool {
    let length = page.get(at).filter(|_| at > 0).map_or(0, |length| usize::from(*length));
    let about = page.get(at + 1..).map_or(&[][..], |about| &about[..about.len().min(length)]);
    let mut rest = about;
    while rest.len() > 2 {
        let (kind, value) = (u16_at(rest, 0), rest[2]);
        if kind == DELETED {
            // As it is, or as it is not in the style, which never says it.
            return matches!(value, 1 | 0x81);
        }
        rest = rest.get(2 + super::looks::value_bytes(kind, rest)..).unwrap_or_default();
    }
    false
}
