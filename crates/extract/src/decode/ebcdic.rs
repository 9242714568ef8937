//! Text of mainframes: EBCDIC in the form for western languages (code page 500), told by what its letters and spaces are.

/// Bytes that are looked at; fewer tell nothing.
const LOOK_BYTES_MIN: usize = 64;
/// The character of each byte.
const CHARACTERS: &str = "\u{0}\u{1}\u{2}\u{3}\u{9c}\t\u{86}\u{7f}\u{97}\u{8d}\u{8e}\u{b}\u{c}\r\u{e}\u{f}\
    \u{10}\u{11}\u{12}\u{13}\u{9d}\n\u{8}\u{87}\u{18}\u{19}\u{92}\u{8f}\u{1c}\u{1d}\u{1e}\u{1f}\
    \u{80}\u{81}\u{82}\u{83}\u{84}\n\u{17}\u{1b}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{5}\u{6}\u{7}\
    \u{90}\u{91}\u{16}\u{93}\u{94}\u{95}\u{96}\u{4}\u{98}\u{99}\u{9a}\u{9b}\u{14}\u{15}\u{9e}\u{1a}\
    \u{20}\u{a0}âäàáãåçñ[.<(+!\
    &éêëèíîïìß]$*);^\
    -/ÂÄÀÁÃÅÇÑ¦,%_>?\
    øÉÊËÈÍÎÏÌ`:#@'=\"\
    Øabcdefghi«»ðýþ±\
    °jklmnopqrªºæ¸Æ¤\
    µ~stuvwxyz¡¿ÐÝÞ®\
    ¢£¥·©§¶¼½¾¬|¯¨´×\
    {ABCDEFGHI\u{ad}ôöòóõ\
    }JKLMNOPQR¹ûüùúÿ\
    \\÷STUVWXYZ²ÔÖÒÓÕ\
    0123456789³ÛÜÙÚ\u{9f}";
/// What spaces are, and the letters and digits of ASCII that such text has hardly any of.
const SPACE: u8 = 0x40;

/// Whether text that begins so is such text: nearly all of it letters, digits and spaces, and a fair share of spaces.
pub(super) fn is_ebcdic(head: &[u8]) -> bool {
    // Sums in one byte, which the compiler turns into many at once: hardly any other text comes further.
    let spaces_in = |block: &[u8]| usize::from(block.iter().map(|byte| u8::from(*byte == SPACE)).sum::<u8>());
    let spaces: usize = head.chunks(255).map(spaces_in).sum();
    if head.len() < LOOK_BYTES_MIN || spaces * 25 <= head.len() {
        return false;
    }
    let is_letter = |byte: u8| {
        matches!(byte,
            0x81..=0x89 | 0x91..=0x99 | 0xa2..=0xa9 | 0xc1..=0xc9 | 0xd1..=0xd9 | 0xe2..=0xe9 | 0xf0..=0xf9)
    };
    let letters = head.iter().filter(|byte| is_letter(**byte)).count();
    let others = head.len() - letters - spaces;
    // A line ends with one or two bytes, a sentence with one.
    others * 4 < head.len() && letters * 5 > head.len()
}

/// Adds bytes of such text.
pub(super) fn push(bytes: &[u8], text: &mut String) {
    let characters: Vec<char> = CHARACTERS.chars().collect();
    text.extend(bytes.iter().map(|byte| characters[usize::from(*byte)]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_a_character() {
        assert_eq!(CHARACTERS.chars().count(), 256);
        let mut text = String::new();
        push(b"\xc8\x85\x93\x93\x96\x40\xe6\x96\x99\x93\x84\x5a\x25", &mut text);
        assert_eq!(text, "Hello World]\n");
    }

    #[test]
    fn other_charsets_are_not_taken_for_it() {
        let sample = b"\xc8\x85\x93\x93\x96\x40\xe6\x96\x99\x93\x84\x6b\x40\x88\x96\xa6\x40\x81\x99\x85\x40\xa8\x96\xa4\x0d\x25".repeat(4);
        assert!(is_ebcdic(&sample) && !is_ebcdic(&sample[..60]));
        let texts = ["a@b c@d ".repeat(50), "Мэр города приветствует всех жителей ".repeat(9)];
        assert!(texts.iter().all(|text| !is_ebcdic(text.as_bytes())));
        for encoding in [encoding_rs::WINDOWS_1251, encoding_rs::KOI8_R, encoding_rs::ISO_8859_5] {
            assert!(!is_ebcdic(&encoding.encode(&texts[1]).0), "{}", encoding.name());
        }
        let wide = "市长今天向全市人民表示热烈的欢迎，并宣布新的图书馆正式开放。".repeat(9);
        for encoding in [encoding_rs::GBK, encoding_rs::BIG5, encoding_rs::SHIFT_JIS, encoding_rs::EUC_KR] {
            assert!(!is_ebcdic(&encoding.encode(&wide).0), "{}", encoding.name());
        }
    }
}
