//! The pattern of one rule: text from the start of a path, stars for any text, a dollar for its end.

use super::escapes;

/// A pattern in one spelling.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// What stands between the stars; the first piece is the start of the path.
    pieces: Vec<Vec<u8>>,
    /// Whether the path ends where the pattern does.
    to_the_end: bool,
    octets: usize,
}

impl Pattern {
    /// None for a rule that speaks of no path: an empty one, or one that begins with neither a slash nor a star.
    pub(super) fn parse(text: &[u8]) -> Option<Pattern> {
        if !matches!(text.first(), Some(b'/' | b'*')) {
            return None;
        }
        let to_the_end = text.last() == Some(&b'$');
        let text = if to_the_end { &text[..text.len() - 1] } else { text };
        let mut in_query = false;
        let pieces: Vec<Vec<u8>> =
            text.split(|byte| *byte == b'*').map(|piece| escapes::of_rule(piece, &mut in_query)).collect();
        let stars = pieces.len() - 1;
        let octets = pieces.iter().map(Vec::len).sum::<usize>() + stars + usize::from(to_the_end);
        Some(Pattern { pieces, to_the_end, octets })
    }

    /// How long it is; among rules that fit, the longest decides.
    pub(super) fn octets(&self) -> usize {
        self.octets
    }

    /// Bytes that it takes in memory, about.
    pub(super) fn bytes(&self) -> usize {
        self.pieces.iter().map(|piece| piece.capacity() + std::mem::size_of::<Vec<u8>>()).sum()
    }

    /// Whether a path in its one spelling fits. Each piece is taken where it is met first, which leaves the most room for the next
    /// ones: the time grows with the path and the rule, never with the ways to place stars.
    pub(super) fn fits(&self, path: &[u8]) -> bool {
        let [first, others @ ..] = self.pieces.as_slice() else { return false };
        let Some(mut rest) = path.strip_prefix(first.as_slice()) else { return false };
        let Some((last, between)) = others.split_last() else { return !self.to_the_end || rest.is_empty() };
        for piece in between {
            match find(rest, piece) {
                Some(at) => rest = &rest[at + piece.len()..],
                None => return false,
            }
        }
        match self.to_the_end {
            true => rest.ends_with(last),
            false => find(rest, last).is_some(),
        }
    }
}

fn find(text: &[u8], piece: &[u8]) -> Option<usize> {
    if piece.is_empty() {
        return Some(0);
    }
    text.windows(piece.len()).position(|window| window == piece)
}
