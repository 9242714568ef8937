//! How far words are from each other: letters left out, put in, exchanged, or swapped with their neighbour.

/// The fewest edits that make one word of the other.
pub(crate) fn edits(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    // Edits between beginnings of both words; the last two rows are looked back at.
    let mut earlier = vec![0; other.len() + 1];
    let mut before: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.iter().enumerate() {
        let mut row = vec![at + 1];
        for (column, against) in other.iter().enumerate() {
            let exchanged = before[column] + usize::from(letter != against);
            let mut least = exchanged.min(before[column + 1] + 1).min(row[column] + 1);
            if at > 0 && column > 0 && *letter == other[column - 1] && one[at - 1] == *against {
                least = least.min(earlier[column - 1] + 1);
            }
            row.push(least);
        }
        earlier = std::mem::replace(&mut before, row);
    }
    before[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_slip_is_one_edit() {
        for (one, other, expected) in [
            ("word", "word", 0),
            ("word", "wrod", 1),
            ("word", "wod", 1),
            ("word", "woord", 1),
            ("word", "ward", 1),
            ("word", "", 4),
            ("", "ab", 2),
            ("amplifeirs", "amplifiers", 1),
            ("titel", "title", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(edits(one, other), expected, "{one} {other}");
            assert_eq!(edits(other, one), expected, "{other} {one}");
        }
    }
}
