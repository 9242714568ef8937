//! Lists that come in pages, asked for to their end or to as many as are wanted.

use crate::exit::Result;

/// A page, and the cursor of the next one.
pub(super) type Page<T> = (Vec<T>, Option<String>);

/// Hands out up to `limit` members of a list; whether there are more. `ask` is given how many are still wanted, and the cursor.
pub(super) fn each<T>(
    limit: u32,
    mut ask: impl FnMut(u32, Option<String>) -> Result<Page<T>>,
    mut tell: impl FnMut(T),
) -> Result<bool> {
    let mut left = limit;
    let mut cursor = None;
    loop {
        let (members, next) = ask(left, cursor)?;
        left = left.saturating_sub(u32::try_from(members.len()).unwrap_or(u32::MAX));
        members.into_iter().for_each(&mut tell);
        match next {
            None => return Ok(false),
            Some(_) if left == 0 => return Ok(true),
            next => cursor = next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a list of ten, told in pages of three.
    fn taken(limit: u32) -> (Vec<usize>, bool) {
        let mut found = Vec::new();
        let ask = |left: u32, cursor: Option<String>| {
            let begin: usize = cursor.map_or(0, |cursor| cursor.parse().unwrap());
            let end = (begin + 3.min(left as usize)).min(10);
            Ok(((begin..end).collect(), (end < 10).then(|| end.to_string())))
        };
        let more = each(limit, ask, |member| found.push(member)).unwrap();
        (found, more)
    }

    #[test]
    fn pages_are_asked_for_until_enough_is_told_and_no_member_twice() {
        for (limit, more) in [(1, true), (3, true), (4, true), (9, true), (10, false), (u32::MAX, false)] {
            let told = (0..limit.min(10) as usize).collect();
            assert_eq!(taken(limit), (told, more), "{limit}");
        }
    }
}
