//! What the headers of a ZIP file say of a member, in their own fields and in the extra ones that follow them.

use super::{u16_at, u32_at, u64_at};
use crate::dates;

/// Packed size, size and place of a member, from the directory or from its extra field for large files.
pub(super) fn large_fields(record: &[u8], extras: &[u8]) -> (u64, u64, u64) {
    let (mut packed, mut size, mut at) = (u32_at(record, 20), u32_at(record, 24), u32_at(record, 42));
    if let Some(large) = extra_field(extras, 1) {
        let mut place = 0;
        for value in [&mut size, &mut packed, &mut at] {
            if *value == 0xffff_ffff {
                *value = u64_at(large, place);
                place += 8;
            }
        }
    }
    (packed, size, at)
}

/// The value of an extra field.
pub(super) fn extra_field(extras: &[u8], wanted: u64) -> Option<&[u8]> {
    let mut rest = extras;
    while rest.len() >= 4 {
        let (id, length) = (u16_at(rest, 0), u16_at(rest, 2) as usize);
        let value = rest.get(4..4 + length)?;
        if id == wanted {
            return Some(value);
        }
        rest = &rest[4 + length..];
    }
    None
}

/// The name in UTF-8 that some programs write beside the other one.
pub(super) fn unicode_name(extras: &[u8]) -> Option<&[u8]> {
    extra_field(extras, 0x7075)?.get(5..).filter(|name| !name.is_empty())
}

/// When a member was changed: by the times that say their zone, those of Unix and of Windows, else by that of DOS.
pub(super) fn modified(extras: &[u8], date: u64, time: u64) -> Option<i64> {
    let unix = extra_field(extras, 0x5455).filter(|field| field.len() >= 5 && field[0] & 1 != 0);
    let older = || extra_field(extras, 0x5855).filter(|field| field.len() >= 8);
    let unix = unix.map(|field| u32_at(field, 1)).or_else(|| older().map(|field| u32_at(field, 4)));
    // Four bytes hold negative times as well.
    let seconds = unix.map(|seconds| i64::from(seconds as u32 as i32));
    // After four bytes of nothing come the number of what follows, its length, and three times.
    let ticks = || {
        let field = extra_field(extras, 0x000a).filter(|field| field.len() >= 16 && u16_at(field, 4) == 1)?;
        dates::stated_file_time(u64_at(field, 8))
    };
    // Both were read from two bytes.
    let local = || dates::stated_dos(date as u16, time as u16);
    seconds.and_then(dates::stated).or_else(ticks).or_else(local)
}
