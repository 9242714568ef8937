//! The members of a ZIP file whose directory is missing or damaged.

use std::io::{self, BufReader, Read, Seek, SeekFrom};

use flate2::read::DeflateDecoder;
use ingather_model::limits;

use super::{MEMBERS_MAX, Member, facts, u16_at, u32_at};
use crate::Input;
use crate::page::Stated;

/// The members by their own headers, for files that are cut off or damaged.
pub(super) fn scan(input: &mut Input) -> io::Result<Vec<Member>> {
    let mut members = Vec::new();
    let mut at = 0;
    while let Some(found) = find_header(input, at)? {
        let header = input.range(found, 30)?;
        let (name, extra) = (u16_at(&header, 26), u16_at(&header, 28));
        let Ok(raw_name) = input.range(found + 30, name as usize) else { break };
        let extras = input.range(found + 30 + name, extra as usize).unwrap_or_default();
        let data = found + 30 + name + extra;
        let (flags, method) = (u16_at(&header, 6), u16_at(&header, 8) as u16);
        let mut packed = Some(u32_at(&header, 18));
        if flags & 8 != 0 || packed.is_some_and(|packed| data + packed > input.len()) {
            packed = None;
        }
        let end = match (packed, method) {
            (Some(packed), _) => data + packed,
            (None, 8) => data + inflated_length(input, data)?.max(1),
            (None, _) => data + 1,
        };
        members.push(Member {
            name: String::new(),
            raw_name,
            encrypted: flags & 1 == 1,
            method,
            strong: None,
            packed,
            stated: Stated {
                // One that is written as a stream says so only after its content.
                size: Some(u32_at(&header, 22)).filter(|size| flags & 8 == 0 && *size != 0xffff_ffff),
                modified: facts::modified(&extras, u16_at(&header, 12), u16_at(&header, 10)),
            },
            at: found,
            opened: None,
        });
        if members.len() >= MEMBERS_MAX {
            break;
        }
        at = end;
    }
    Ok(members)
}

/// Where the next header of a member begins.
fn find_header(input: &mut Input, from: u64) -> io::Result<Option<u64>> {
    let mut at = from;
    while at + 30 <= input.len() {
        let length = (input.len() - at).min(64 << 10);
        // At most 64 KiB.
        let piece = input.range(at, length as usize)?;
        if let Some(found) = piece.windows(4).position(|four| four == b"PK\x03\x04") {
            let found = at + found as u64;
            return Ok((found + 30 <= input.len()).then_some(found));
        }
        at += length.saturating_sub(3).max(1);
    }
    Ok(None)
}

/// Packed bytes of a deflated stream whose header does not say.
fn inflated_length(input: &mut Input, at: u64) -> io::Result<u64> {
    input.seek(SeekFrom::Start(at))?;
    let mut decoder = DeflateDecoder::new(BufReader::new(&mut *input));
    let most = limits::EXTRACT_WHOLE_BYTES_MAX;
    let _ = io::copy(&mut (&mut decoder).take(most), &mut io::sink());
    Ok(decoder.total_in())
}
