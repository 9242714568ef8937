//! Just enough reading of Rust for rules about text: code without comments and strings, functions, tests.

use std::ops::Range;

/// A function as it stands in a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// Its name.
    pub(crate) name: String,
    /// Where the word `fn` stands, bytes.
    pub(crate) at: usize,
    /// Lines from there to its closing brace.
    pub(crate) lines: usize,
}

/// The code alone: comments and the insides of strings and characters become spaces; length and lines stay.
pub(crate) fn mask(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let inside = hidden_at(bytes, at);
        match inside {
            Some(range) => {
                for byte in &mut out[range.clone()] {
                    if *byte != b'\n' {
                        *byte = b' ';
                    }
                }
                at = range.end.max(at + 1);
            }
            None => at += 1,
        }
    }
    String::from_utf8(out).unwrap_or_default()
}

/// What is hidden from `at` on: a comment, or a string or character with its quotes.
fn hidden_at(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let rest = &bytes[at..];
    if rest.starts_with(b"//") {
        let end = rest.iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| at + n);
        return Some(at..end);
    }
    if rest.starts_with(b"/*") {
        return Some(at..block_comment_end(bytes, at));
    }
    match rest.first()? {
        b'"' => Some(at..string_end(bytes, at)),
        b'r' if at == 0 || !word(bytes[at - 1]) || bytes[at - 1] == b'b' || bytes[at - 1] == b'c' => {
            raw_string_end(bytes, at).map(|end| at..end)
        }
        b'\'' => character_end(bytes, at).map(|end| at..end),
        _ => None,
    }
}

fn block_comment_end(bytes: &[u8], at: usize) -> usize {
    let (mut depth, mut end) = (0, at);
    while end < bytes.len() {
        if bytes[end..].starts_with(b"/*") {
            depth += 1;
            end += 2;
        } else if bytes[end..].starts_with(b"*/") {
            depth -= 1;
            end += 2;
            if depth == 0 {
                break;
            }
        } else {
            end += 1;
        }
    }
    end.min(bytes.len())
}

fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while end < bytes.len() && bytes[end] != b'"' {
        end += if bytes[end] == b'\\' { 2 } else { 1 };
    }
    (end + 1).min(bytes.len())
}

fn raw_string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let hashes = bytes[at + 1..].iter().take_while(|b| **b == b'#').count();
    let open = at + 1 + hashes;
    if bytes.get(open) != Some(&b'"') {
        return None;
    }
    let close: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    let length = bytes[open + 1..].windows(close.len()).position(|w| w == close);
    Some(length.map_or(bytes.len(), |n| open + 1 + n + close.len()))
}

/// The end of a character literal; none for a lifetime.
fn character_end(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at + 1) == Some(&b'\\') {
        return bytes[at + 3..].iter().position(|b| *b == b'\'').map(|n| at + 4 + n);
    }
    let width = bytes[at + 1..].iter().skip(1).take_while(|b| **b & 0xC0 == 0x80).count() + 1;
    (bytes.get(at + 1 + width) == Some(&b'\'')).then_some(at + 2 + width)
}

/// Whether the byte belongs to a name.
pub(crate) fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Places of `needle` in `code` that are whole words where they begin and end with one.
pub(crate) fn words<'a>(code: &'a str, needle: &'a str) -> impl Iterator<Item = usize> + 'a {
    let (bytes, edge) = (code.as_bytes(), needle.as_bytes());
    code.match_indices(needle).map(|(at, _)| at).filter(move |at| {
        let end = at + needle.len();
        let left = *at == 0 || !word(edge[0]) || !word(bytes[at - 1]);
        let right = end == bytes.len() || !word(edge[edge.len() - 1]) || !word(bytes[end]);
        left && right
    })
}

/// Number of the line, from 1, in which the byte stands.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|b| **b == b'\n').count() + 1
}

/// The end (behind the brace) of the block that opens at or after `at` before any `;`; none when there is no block.
pub(crate) fn block_end(code: &str, at: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut round = 0usize;
    for (offset, byte) in code.as_bytes()[at..].iter().enumerate() {
        match byte {
            b'(' | b'[' => round += 1,
            b')' | b']' => round = round.saturating_sub(1),
            b';' if depth == 0 && round == 0 => return None,
            b'{' => depth += 1,
            b'}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + offset + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Functions with a body; `code` is masked.
pub(crate) fn functions(code: &str) -> Vec<Function> {
    words(code, "fn")
        .filter_map(|at| {
            let name: String = code[at + 2..]
                .trim_start()
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            let end = block_end(code, at)?;
            let lines = line_of(code, end) - line_of(code, at) + 1;
            (!name.is_empty()).then_some(Function { name, at, lines })
        })
        .collect()
}

/// Whether the function there is a test: its attributes say so.
pub(crate) fn is_test(code: &str, at: usize) -> bool {
    let start = code[..at].rfind(['{', '}', ';']).map_or(0, |n| n + 1);
    words(&code[start..at], "test").next().is_some()
}

/// What stands where the macros of a file that make tests are asked for: names of tests are among it. `code` is masked.
pub(crate) fn macros_of_tests(code: &str) -> Vec<&str> {
    let block = |at: usize| block_end(code, at).map(|end| &code[at..end]);
    let made = words(code, "macro_rules!").filter_map(|at| {
        let name = code[at + "macro_rules!".len()..].split_whitespace().next()?;
        block(at).filter(|rules| rules.contains("#[test]")).map(|_| format!("{name}!"))
    });
    let made: Vec<String> = made.collect();
    made.iter().flat_map(|asked| words(code, asked).filter_map(block)).collect()
}

/// Whether a word stands there.
pub(crate) fn has_word(code: &str, name: &str) -> bool {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}

/// Modules that exist for tests only; `code` is masked.
pub(crate) fn test_modules(code: &str) -> Vec<Range<usize>> {
    code.match_indices("#[cfg(test)]").filter_map(|(at, _)| block_end(code, at).map(|end| at..end)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_stays() {
        let text = "let a = \"x // \\\" y\"; // fn b() {\nlet c = 'd'; let e: &'static str = r#\"{\"#; /* { /* */ { */ f('\\'', '{', '\u{20ac}')";
        let code = mask(text);
        assert_eq!(code.len(), text.len());
        assert!(code.contains("let e: &'static str ="));
        assert!(!code.contains('{') && !code.contains("fn b") && !code.contains('y') && !code.contains('d'));
        assert_eq!(code.lines().count(), 2);
    }

    #[test]
    fn a_raw_name_is_not_a_raw_string() {
        assert_eq!(mask("let r#type = 1; for x in y {}"), "let r#type = 1; for x in y {}");
    }

    #[test]
    fn functions_are_measured_from_their_first_word_to_their_last_brace() {
        let code =
            mask("trait A { fn none(a: [u8; 2]); }\nfn two(a: [u8; 2]) {\n}\nfn three(\n) -> u8 {\n1 }\n");
        let found: Vec<(String, usize)> = functions(&code).into_iter().map(|f| (f.name, f.lines)).collect();
        assert_eq!(found, [("two".to_owned(), 2), ("three".to_owned(), 3)]);
    }

    #[test]
    fn tests_are_told_from_functions() {
        let code = mask("fn a() {}\n#[test]\nfn b() {}\n#[cfg(test)]\nmod tests { fn c() {} }\n");
        let tests: Vec<bool> = functions(&code).iter().map(|f| is_test(&code, f.at)).collect();
        assert_eq!(tests, [false, true, false]);
        assert!(test_modules(&code)[0].contains(&functions(&code)[2].at));
    }

    #[test]
    fn words_have_edges() {
        assert_eq!(words("sleeper sleep( a_sleep(", "sleep(").collect::<Vec<_>>(), [8]);
        assert_eq!(words("Instant::now()", "Instant::now").count(), 1);
    }
}
