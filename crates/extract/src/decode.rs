//! Bytes to text, piece by piece: byte order marks, UTF-8, then the best guess; malformed bytes become U+FFFD.

pub(crate) mod codepages;
mod ebcdic;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Decoder, Encoding, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use ingather_model::limits;

/// Share of control characters from which on bytes are no text: one in twenty.
const CONTROL_SHARE: usize = 20;

/// Whether the first bytes of something are those of data and not of text.
pub fn is_binary(head: &[u8]) -> bool {
    if Mark::of(head).is_some() {
        return false;
    }
    // Comparisons without branches and sums in one byte, which the compiler turns into many at once.
    let odd = |byte: u8| ((byte < 0x20) & (byte.wrapping_sub(8) > 5) & (byte != 0x1b)) | (byte == 0x7f);
    let odd_bytes = |block: &[u8]| usize::from(block.iter().map(|byte| u8::from(odd(*byte))).sum::<u8>());
    head.contains(&0) || head.chunks(255).map(odd_bytes).sum::<usize>() * CONTROL_SHARE > head.len()
}

/// Without control characters, which are nobody's words, take six bytes each in an answer, and are orders to a terminal.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// With this many good characters beyond ASCII for each bad one, UTF-8 is damaged and not another charset.
const DAMAGE_SHARE: usize = 20;
/// Bytes from the first that is not ASCII on by which a charset is guessed, unless the text ends before.
const GUESS_BYTES_MIN: usize = 4_096;

/// Bytes of the beginning by which text of a mainframe is told.
const LOOK_BYTES: usize = 4_096;

/// A byte order mark.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Utf8,
    Utf16(&'static Encoding),
    /// Whether the most significant byte comes first.
    Utf32(bool),
}

impl Mark {
    /// The mark at the beginning, and its length.
    fn of(head: &[u8]) -> Option<(Mark, usize)> {
        match head {
            [0xff, 0xfe, 0, 0, ..] => Some((Mark::Utf32(false), 4)),
            [0, 0, 0xfe, 0xff, ..] => Some((Mark::Utf32(true), 4)),
            [0xef, 0xbb, 0xbf, ..] => Some((Mark::Utf8, 3)),
            [0xff, 0xfe, ..] => Some((Mark::Utf16(UTF_16LE), 2)),
            [0xfe, 0xff, ..] => Some((Mark::Utf16(UTF_16BE), 2)),
            _ => None,
        }
    }
}

enum State {
    /// Only ASCII so far, which nearly every charset reads alike; and bytes beyond it, too few to guess by.
    Ascii(Vec<u8>),
    Known(Box<Decoder>),
    /// Of a mainframe.
    Ebcdic,
    Utf32 {
        big: bool,
        /// Bytes of a character that is not complete yet.
        rest: Vec<u8>,
    },
}

/// Decodes a stream of bytes; the text never grows beyond [`limits::BODY_BYTES_MAX`].
pub struct Text {
    state: State,
    /// What was decoded so far.
    pub text: String,
    begun: bool,
    /// The charset that somebody names.
    said: Option<&'static Encoding>,
    /// There was more than fits.
    pub truncated: bool,
    /// A zero byte came after all, in a charset that has none.
    pub binary: bool,
}

impl Default for Text {
    fn default() -> Self {
        Self::new()
    }
}

impl Text {
    /// Nothing yet.
    pub fn new() -> Text {
        Text {
            state: State::Ascii(Vec::new()),
            text: String::new(),
            begun: false,
            said: None,
            truncated: false,
            binary: false,
        }
    }

    /// Nothing yet, of a source that names a charset: it counts where the bytes do not tell of themselves that they are UTF-8.
    pub fn said(label: Option<&str>) -> Text {
        Text { said: label.and_then(labelled).filter(|said| *said != UTF_8), ..Text::new() }
    }

    /// Whether more bytes would change anything.
    pub fn is_full(&self) -> bool {
        self.truncated || self.binary
    }

    /// Takes the next piece, of at most [`limits::READ_BUFFER_BYTES`]; `last` when none follows.
    pub fn push(&mut self, piece: &[u8], last: bool) {
        let mut piece = piece;
        if !self.begun {
            self.begun = true;
            if let Some((mark, length)) = Mark::of(piece) {
                piece = &piece[length..];
                self.state = match mark {
                    Mark::Utf8 => known(UTF_8),
                    Mark::Utf16(encoding) => known(encoding),
                    Mark::Utf32(big) => State::Utf32 { big, rest: Vec::new() },
                };
            } else if self.said.is_none() && ebcdic::is_ebcdic(&piece[..piece.len().min(LOOK_BYTES)]) {
                self.state = State::Ebcdic;
            }
        }
        self.step(piece, last);
        if self.text.len() > limits::BODY_BYTES_MAX {
            self.text.truncate(boundary(&self.text, limits::BODY_BYTES_MAX));
            self.truncated = true;
        }
    }

    fn step(&mut self, piece: &[u8], last: bool) {
        match &mut self.state {
            State::Ascii(held) => {
                let joined;
                let piece = match held.is_empty() {
                    true => piece,
                    false => {
                        joined = [std::mem::take(held).as_slice(), piece].concat();
                        joined.as_slice()
                    }
                };
                let (ascii, rest) = split(piece);
                self.binary |= ascii.as_bytes().contains(&0);
                reserve(&mut self.text, ascii.len());
                self.text.push_str(ascii);
                if !last && rest.len() < GUESS_BYTES_MIN {
                    *held = rest.to_vec();
                } else if !rest.is_empty() {
                    self.state = known(guess(rest, last, self.said));
                    self.step(rest, last);
                }
            }
            State::Ebcdic => ebcdic::push(piece, &mut self.text),
            State::Known(decoder) => {
                let wide = [UTF_16LE, UTF_16BE].contains(&decoder.encoding());
                self.binary |= !wide && piece.contains(&0);
                // A piece is far below the sizes at which this could overflow.
                let most = decoder.max_utf8_buffer_length(piece.len()).unwrap_or(piece.len() * 4 + 16);
                reserve(&mut self.text, most);
                let _ = decoder.decode_to_string(piece, &mut self.text, last);
            }
            State::Utf32 { big, rest } => {
                rest.extend_from_slice(piece);
                reserve(&mut self.text, rest.len() + 3);
                let whole = rest.len() / 4 * 4;
                for four in rest[..whole].chunks_exact(4) {
                    let four = [four[0], four[1], four[2], four[3]];
                    let number = if *big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) };
                    self.text.push(char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                rest.drain(..whole);
                if last && !rest.is_empty() {
                    self.text.push(char::REPLACEMENT_CHARACTER);
                }
            }
        }
    }
}

/// ASCII at the beginning, and the rest from its first byte on that may mean anything: beyond ASCII, or an escape.
fn split(bytes: &[u8]) -> (&str, &[u8]) {
    let odd = |byte: u8| (byte >= 0x80) | (byte == 0x1b);
    // Block by block, without a branch for each byte.
    let block = bytes.chunks(64).position(|block| block.iter().fold(false, |found, byte| found | odd(*byte)));
    let begin = block.map_or(bytes.len(), |block| block * 64);
    let end = bytes[begin..].iter().position(|byte| odd(*byte)).map_or(bytes.len(), |at| begin + at);
    let (ascii, rest) = bytes.split_at(end);
    (std::str::from_utf8(ascii).unwrap_or_default(), rest)
}

fn known(encoding: &'static Encoding) -> State {
    State::Known(Box::new(encoding.new_decoder_without_bom_handling()))
}

/// The charset of bytes that are not all ASCII: UTF-8 when they are, but for some damage, else what somebody `said`, else the likeliest.
fn guess(bytes: &[u8], last: bool, said: Option<&'static Encoding>) -> &'static Encoding {
    let (mut good, mut bad) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    // The last character may be cut off by the end of the piece.
    let cut = !last && std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none());
    let utf8 = bad == 0 || (bad == 1 && cut) || good >= bad * DAMAGE_SHARE;
    // To weigh all charsets costs more than to index the text, and only ISO-2022-JP, which has escapes, could still be meant.
    if utf8 && !bytes.contains(&0x1b) {
        return UTF_8;
    }
    if let Some(said) = said.filter(|said| !utf8 || *said == ISO_2022_JP) {
        return said;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, last);
    let likeliest = detector.guess(None, Utf8Detection::Allow);
    if utf8 && likeliest != ISO_2022_JP { UTF_8 } else { likeliest }
}

/// Makes room for `more` bytes; the whole never grows to twice what is kept.
fn reserve(text: &mut String, more: usize) {
    let room = text.capacity() - text.len();
    if room < more {
        let ample = (text.capacity() * 2).min(limits::BODY_BYTES_MAX + limits::READ_BUFFER_BYTES);
        text.reserve_exact(more.max(ample.saturating_sub(text.len())));
    }
}

/// The last place at or before `at` where `text` can be cut.
pub fn boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The charset that a document names by one of the labels of the web. It is no form of UTF-16, because the name could be
/// read byte by byte; and the labels that the web answers with nothing, for the sake of scripts, name none here.
pub(crate) fn labelled(label: &str) -> Option<&'static Encoding> {
    let encoding = Encoding::for_label_no_replacement(label.as_bytes())?;
    Some(match encoding {
        _ if [UTF_16LE, UTF_16BE].contains(&encoding) => UTF_8,
        _ if encoding == X_USER_DEFINED => WINDOWS_1252,
        _ => encoding,
    })
}

/// All of some bytes as text. A byte order mark decides; then UTF-8 when they are that; then `said`, which is what a
/// document says of itself; then the likeliest charset.
pub(crate) fn whole(bytes: &[u8], said: Option<&'static Encoding>) -> String {
    match Mark::of(bytes) {
        Some((Mark::Utf32(big), length)) => return utf32(&bytes[length..], big),
        Some((Mark::Utf16(encoding), length)) => {
            return encoding.decode_without_bom_handling(&bytes[length..]).0.into_owned();
        }
        Some((Mark::Utf8, length)) => return String::from_utf8_lossy(&bytes[length..]).into_owned(),
        None => {}
    }
    let escapes = said.is_some_and(|said| [ISO_2022_JP, UTF_16LE, UTF_16BE].contains(&said));
    if !escapes
        && !bytes.contains(&0x1b)
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        return text.to_owned();
    }
    if said.is_none() && ebcdic::is_ebcdic(&bytes[..bytes.len().min(LOOK_BYTES)]) {
        let mut text = String::with_capacity(bytes.len());
        ebcdic::push(bytes, &mut text);
        return text;
    }
    let first = Encoding::ascii_valid_up_to(bytes);
    let sample = &bytes[first..bytes.len().min(first + limits::READ_BUFFER_BYTES)];
    let said = said.filter(|said| *said != UTF_8);
    let encoding = said.unwrap_or_else(|| guess(sample, sample.len() + first == bytes.len(), None));
    encoding.decode_without_bom_handling(bytes).0.into_owned()
}

/// XML in a wide charset that has no byte order mark: it begins with a bracket, whose other bytes are zero.
pub(crate) fn wide(bytes: &[u8]) -> Option<String> {
    let encoding = match bytes {
        [0, 0, 0, b'<', ..] => return Some(utf32(bytes, true)),
        [b'<', 0, 0, 0, ..] => return Some(utf32(bytes, false)),
        [0, b'<', 0, ..] => UTF_16BE,
        [b'<', 0, _, 0, ..] => UTF_16LE,
        _ => return None,
    };
    Some(encoding.decode_without_bom_handling(bytes).0.into_owned())
}

/// Bytes that are written in base 64; other characters are left out.
pub(crate) fn base64(text: &str) -> Vec<u8> {
    let digits = text.bytes().filter_map(|byte| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    });
    let (mut out, mut bits, mut held) = (Vec::new(), 0u32, 0);
    for digit in digits {
        bits = bits << 6 | u32::from(digit);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    out
}

fn utf32(bytes: &[u8], big: bool) -> String {
    let number = |four: &[u8]| match (big, [four[0], four[1], four[2], four[3]]) {
        (true, four) => u32::from_be_bytes(four),
        (false, four) => u32::from_le_bytes(four),
    };
    bytes
        .chunks_exact(4)
        .map(|four| char::from_u32(number(four)).unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Decodes in pieces of `size`.
    fn decode(bytes: &[u8], size: usize) -> Text {
        let mut text = Text::new();
        let count = bytes.chunks(size).count();
        for (at, piece) in bytes.chunks(size).enumerate() {
            text.push(piece, at + 1 == count);
        }
        text
    }

    fn text(bytes: &[u8]) -> String {
        decode(bytes, limits::READ_BUFFER_BYTES).text
    }

    #[test]
    fn every_byte_is_judged_as_text_or_as_control() {
        for byte in 0..=u8::MAX {
            let data = byte == 0 || matches!(byte, 0x01..=0x07 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f);
            assert_eq!(is_binary(&[b'x', byte]), data, "{byte:#x}");
        }
    }

    #[test]
    fn ascii_ends_where_something_else_begins() {
        for at in 0..200 {
            let mut bytes = vec![b'a'; 200];
            assert_eq!(split(&bytes).0.len(), 200);
            bytes[at] = 0x1b;
            assert_eq!(split(&bytes).0.len(), at);
            bytes[at] = 0xe4;
            assert_eq!(split(&bytes).1.len(), 200 - at);
        }
    }

    #[test]
    fn marks_are_obeyed_and_left_out() {
        let sample = "Grüße, 世界 🎉";
        let utf16: Vec<u16> = sample.encode_utf16().collect();
        let big =
            [0xfeff].iter().chain(&utf16).flat_map(|unit: &u16| unit.to_be_bytes()).collect::<Vec<u8>>();
        let little =
            [0xfeff].iter().chain(&utf16).flat_map(|unit: &u16| unit.to_le_bytes()).collect::<Vec<u8>>();
        let chars = || std::iter::once('\u{feff}').chain(sample.chars()).map(u32::from);
        let big32 = chars().flat_map(u32::to_be_bytes).collect::<Vec<u8>>();
        let little32 = chars().flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
        let utf8 = format!("\u{feff}{sample}").into_bytes();
        for bytes in [big, little, big32, little32, utf8] {
            assert!(!is_binary(&bytes));
            for size in [4, 5, 7, 1_000] {
                assert_eq!(decode(&bytes, size).text, sample, "{size}");
            }
        }
    }

    #[test]
    fn common_charsets_without_a_mark_are_told_apart() {
        use encoding_rs::{EUC_KR, GBK, SHIFT_JIS, WINDOWS_1251, WINDOWS_1252};
        let samples = [
            (WINDOWS_1252, "Der Bürgermeister grüßt die Bürgerinnen und Bürger der Stadt Köln herzlich."),
            (WINDOWS_1251, "Мэр города приветствует всех жителей и гостей нашего города сегодня вечером."),
            (GBK, "市长今天向全市人民表示热烈的欢迎，并宣布新的图书馆正式开放。"),
            (SHIFT_JIS, "市長は今日、市民の皆さんに挨拶をして、新しい図書館が開館しました。"),
            (EUC_KR, "시장은 오늘 시민들에게 인사하고 새로운 도서관이 문을 열었다고 발표했다."),
            (ISO_2022_JP, "市長は今日、市民の皆さんに挨拶をしました。"),
        ];
        for (encoding, sample) in samples {
            // ASCII before it must not settle the charset.
            let sample = format!("{}{sample}", "plain ascii first\n".repeat(5_000));
            let (bytes, _, unmappable) = encoding.encode(&sample);
            assert!(!unmappable, "{}", encoding.name());
            assert_eq!(text(&bytes), sample, "{}", encoding.name());
        }
    }

    #[test]
    fn a_character_that_is_cut_by_a_piece_is_whole_in_the_text() {
        let sample = "aü世🎉".repeat(600);
        for size in 1..20 {
            let mut bytes = vec![b'a'; size];
            bytes.extend_from_slice(sample.as_bytes());
            let text = decode(&bytes, size);
            assert!(text.text.ends_with(&sample), "{size}");
        }
    }

    #[test]
    fn damage_becomes_replacement_characters() {
        assert_eq!(text(b"\xef\xbb\xbfa\xffb"), "a\u{fffd}b");
        assert_eq!(
            text(&[&"äöü€".repeat(10).into_bytes()[..], b"\xff", b"!"].concat()),
            format!("{}\u{fffd}!", "äöü€".repeat(10))
        );
        assert_eq!(text(b"\xff\xfea\0b"), "a\u{fffd}");
        assert_eq!(text(b"\xff\xfe\0\0\0\0\x11\0a"), "\u{fffd}\u{fffd}");
    }

    #[test]
    fn data_is_not_taken_for_text() {
        assert!(is_binary(b"ab\0c"));
        assert!(is_binary(&[1, 2, 3, 4, 200, 201]));
        assert!(!is_binary(b""));
        assert!(!is_binary(b"\x1b[31mred\x1b[0m\ttab\r\n"));
        assert!(decode(&[&b"a".repeat(100_000)[..], b"\0"].concat(), 65_536).binary, "a late zero byte");
    }

    #[test]
    fn long_texts_are_cut_off_at_a_character() {
        let bytes = "ä".repeat(limits::BODY_BYTES_MAX / 2 + 10).into_bytes();
        let text = decode(&[b"a", &bytes[..]].concat(), limits::READ_BUFFER_BYTES);
        assert!(text.truncated);
        assert_eq!(text.text.len(), limits::BODY_BYTES_MAX - 1);
        assert!(text.text.capacity() <= limits::BODY_BYTES_MAX + limits::READ_BUFFER_BYTES * 4);
        let exact = decode(&vec![b'a'; limits::BODY_BYTES_MAX], limits::READ_BUFFER_BYTES);
        assert!(!exact.truncated && exact.text.len() == limits::BODY_BYTES_MAX);
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_give_text(bytes in proptest::collection::vec(any::<u8>(), 0..600), size in 1usize..64) {
            let text = decode(&bytes, size);
            prop_assert!(text.text.len() <= bytes.len() * 3 + 16);
        }

        #[test]
        fn utf8_in_large_pieces_comes_back(sample in "[^\u{0}\u{1b}\u{feff}]{0,200}") {
            prop_assert_eq!(text(sample.as_bytes()), sample);
        }
    }
}
