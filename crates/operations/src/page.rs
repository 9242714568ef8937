//! Pages of lists: how long one is, and the cursor that says where the next one begins.

use ingather_model::limits;

use crate::problem::{Problem, Result};

/// Characters that a digest of a list takes at the beginning of a cursor.
const DIGEST_DIGITS: usize = 8;

/// Members of a page where nobody says how many.
pub(crate) fn size() -> u32 {
    limits::LIST_PAGE
}

/// Members of a page that was asked for with `limit`: whoever asks for more than there may be gets a full one and a cursor.
pub(crate) fn length(limit: u32) -> usize {
    limit.clamp(1, limits::LIST_PAGE_MAX) as usize
}

/// The cursor for what comes behind `place` in a list. `list` is what was asked for: a cursor of another list is refused, since
/// its place would mean something else.
pub(crate) fn cursor(list: &[&str], place: &str) -> String {
    let hex: String = place.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{}{hex}", digest(list))
}

/// The place that a cursor stands for; none without one.
///
/// # Errors
/// `WrongUse` for a text that is no cursor of this list.
pub(crate) fn place(list: &[&str], cursor: Option<&str>) -> Result<Option<String>> {
    let Some(cursor) = cursor else { return Ok(None) };
    let hex = cursor.strip_prefix(&digest(list)).filter(|hex| hex.is_ascii() && hex.len() % 2 == 0);
    let bytes = hex.and_then(|hex| {
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).ok();
        (0..hex.len()).step_by(2).map(byte).collect::<Option<Vec<u8>>>()
    });
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).map(Some).ok_or_else(unknown)
}

/// The place of a list whose members are numbered.
///
/// # Errors
/// As [`place`].
pub(crate) fn number(list: &[&str], cursor: Option<&str>) -> Result<Option<i64>> {
    place(list, cursor)?.map(|place| place.parse().map_err(|_| unknown())).transpose()
}

/// The refusal of a cursor.
pub(crate) fn unknown() -> Problem {
    Problem::usage("the cursor is not one of this list; leave it out to begin at the first page")
}

fn digest(list: &[&str]) -> String {
    blake3::hash(list.join("\0").as_bytes()).to_hex()[..DIGEST_DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Code;

    #[test]
    fn a_cursor_leads_back_to_its_place_in_its_own_list_alone() {
        let list = ["documents.list", "share", "failed"];
        for at in ["", "k 7 -9223372036854775808", "größer"] {
            let cursor = cursor(&list, at);
            assert_eq!(place(&list, Some(&cursor)), Ok(Some(at.to_owned())));
            let other = place(&["documents.list", "share", "settled"], Some(&cursor));
            assert_eq!(other.map_err(|problem| problem.code), Err(Code::WrongUse));
        }
        assert_eq!(place(&list, None), Ok(None));
        let whole = cursor(&list, "12");
        assert_eq!(number(&list, Some(&whole)), Ok(Some(12)));
        for wrong in [
            "",
            "7",
            "ü",
            &whole[..whole.len() - 1],
            &format!("{whole}zz"),
            &format!("{whole}ff"),
            &whole[1..],
        ] {
            assert!(place(&list, Some(wrong)).is_err(), "{wrong}");
        }
        assert!(number(&list, Some(&cursor(&list, "x"))).is_err());
    }

    #[test]
    fn a_page_has_a_member_at_least_and_no_more_than_the_bound() {
        assert_eq!([0, 1, 7, u32::MAX].map(length), [1, 1, 7, limits::LIST_PAGE_MAX as usize]);
        assert!((1..=limits::LIST_PAGE_MAX).contains(&size()));
    }
}
