//! Ranges of sizes and dates as people write them: `>10kb`, `2024-01..2024-03`, `7d`.

use std::ops::Range;

use ingather_contract::search::Zone;
use ingather_kit::literal;

/// Numbers that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberField {
    /// Bytes.
    Size,
    /// Last change.
    Modified,
    /// Creation.
    Created,
}

/// A date or moment in a zone, as milliseconds since 1970 UTC; one that ends in `Z` is UTC already.
fn date(zone: &Zone, text: &str) -> Option<Range<i64>> {
    let wall = literal::moment(text, zone.now).or_else(|| literal::date(text))?;
    let is_utc = text.ends_with(['Z', 'z']);
    let utc = |at| if is_utc { at } else { (zone.to_utc)(at) };
    let from = utc(wall.start);
    // A moment stays one also where clocks are turned back.
    Some(from..if wall.end - wall.start == 1 { from + 1 } else { utc(wall.end) })
}

/// The first number of a range, and the first after it; none: the range is open there.
pub(crate) type Bounds = (Option<i64>, Option<i64>);

/// Reads a range.
///
/// # Errors
/// What to write instead, when it is none.
pub(crate) fn read(field: NumberField, text: &str, zone: &Zone) -> Result<Bounds, &'static str> {
    let literal = |text: &str| match field {
        NumberField::Size => literal::size(text),
        NumberField::Modified | NumberField::Created => date(zone, text),
    };
    let form = match field {
        NumberField::Size => "write a size such as `>10kb`, `<=2mb` or `1kb..2mb`",
        _ => {
            "write a date such as `2024`, `>2024-01`, `<=2024-01-31`, `2024-01..2024-03`, `2024-01-31T12:00`, \
             `today` or `>7d`"
        }
    };
    let read = |text: &str| literal(text).ok_or(form);
    Ok(if let Some((first, last)) = text.split_once("..") {
        let first = if first.is_empty() { None } else { Some(read(first)?.start) };
        let last = if last.is_empty() { None } else { Some(read(last)?.end) };
        if first.is_none() && last.is_none() {
            return Err(form);
        }
        if first.zip(last).is_some_and(|(first, last)| first >= last) {
            return Err("this range is empty, since it ends before it begins; write the smaller end first");
        }
        (first, last)
    } else if let Some(rest) = text.strip_prefix(">=") {
        (Some(read(rest)?.start), None)
    } else if let Some(rest) = text.strip_prefix("<=") {
        (None, Some(read(rest)?.end))
    } else if let Some(rest) = text.strip_prefix('>') {
        (Some(read(rest)?.end), None)
    } else if let Some(rest) = text.strip_prefix('<') {
        (None, Some(read(rest)?.start))
    } else {
        let range = read(text)?;
        // One moment before now, such as `7d`, means since then.
        let is_moment = range.end - range.start == 1 && field != NumberField::Size;
        (Some(range.start), (!is_moment).then_some(range.end))
    })
}
