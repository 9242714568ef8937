//! Tells the language of a text by its small words: sure for prose, and far cheaper than statistics of letters.

use std::sync::LazyLock;

/// Words that are frequent in their language; one may stand under several.
const SMALL_WORDS: &[(&str, &str)] = &[
    (
        "en",
        "the and of to is that for with are this from have not you be by it they which were their has been on at or as \
         but his her was will can all we our your he she would there when who what an if",
    ),
    (
        "de",
        "und der das ist nicht ein eine von mit auf dem den sich auch wird einer einen wurde nach zum zur oder sind bei \
         werden durch für im es wir ich sie aus dass wie noch über haben war aber um",
    ),
    (
        "fr",
        "les des et dans est une pour qui sur avec pas sont aux leurs elles cette nous vous ont mais plus leur la le de \
         du un il elle ce que par ne se au être je",
    ),
    (
        "es",
        "los las una para por del con el su sus pero como que esta desde entre muy fue son la de en un es se lo más al no",
    ),
    (
        "it",
        "il della di che per gli sono nel alla dei questo anche delle dal nella ha un una la le non si con del più è",
    ),
    (
        "pt",
        "os as uma para por do da dos das com não que um em na no ao mais foi são seu sua como mas ou é à",
    ),
    (
        "nl",
        "de het een van en is dat op te zijn met voor niet aan er ook als bij door naar maar om werd hij wij ze",
    ),
    ("sv", "och att det som en är på för av med den till inte har om ett var jag de vi men från kan"),
    (
        "da",
        "og at det som en er på for af med den til ikke har om et var jeg de vi men fra kan blev efter også",
    ),
    (
        "nb",
        "og at det som en er på for av med den til ikke har om et var jeg de vi men fra kan ble etter også",
    ),
    ("fi", "ja on ei että se oli hän mutta myös kun ovat tai sen niin joka ole olla kuin mukaan"),
    ("hu", "a az és hogy nem is egy meg volt ez csak már mint még vagy de ki van"),
    ("ro", "și în de la nu cu pe care din este un o mai pentru sunt că au fost prin dar lui"),
    ("tr", "ve bir bu da de için ile olarak çok daha gibi kadar olan ne var sonra"),
    ("pl", "i w na nie się z do to że jest o jak po ale od za przez są dla był oraz"),
    ("cs", "a se v na je že to s z do o jako pro ale by jsou nebo po od který byl"),
    ("id", "yang dan di itu dengan untuk ini dari dalam tidak pada adalah ke akan juga oleh"),
];
/// Most bytes of a small word: they are compared as one number.
const WORD_BYTES_MAX: usize = 8;
/// Fewer small words tell nothing.
const HITS_MIN: u32 = 3;

/// Slots of the table, more than twice as many as there are small words, so that most looks end at the first one.
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 10;

/// Every small word with the set of its languages, in its slot or the next free one; free slots hold zeros.
static TABLE: LazyLock<[(u64, u32); SLOTS]> = LazyLock::new(|| {
    let mut table = [(0, 0); SLOTS];
    for (position, (_, words)) in SMALL_WORDS.iter().enumerate() {
        for word in words.split_whitespace().map(packed) {
            let slot = slot(&table, word);
            table[slot] = (word, table[slot].1 | 1 << position);
        }
    }
    table
});

/// Where a word stands, or the free slot where it would.
fn slot(table: &[(u64, u32); SLOTS], word: u64) -> usize {
    let mut at = (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SLOT_BITS)) as usize;
    while table[at].0 != word && table[at].0 != 0 {
        at = (at + 1) % SLOTS;
    }
    at
}

fn packed(word: &str) -> u64 {
    let mut bytes = [0u8; WORD_BYTES_MAX];
    for (to, from) in bytes.iter_mut().zip(word.bytes()) {
        *to = from.to_ascii_lowercase();
    }
    u64::from_le_bytes(bytes)
}

/// What the small words of a text say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// This language, by its ISO 639-1 code.
    Sure(&'static str),
    /// Some language that has words like these.
    Unsure,
    /// No prose of any of these languages.
    Nothing,
}

/// Judges a text: sure when the small words of one language lead those of every other clearly.
pub(super) fn judge(sample: &str) -> Verdict {
    let mut hits = [0u32; SMALL_WORDS.len()];
    let table = &*TABLE;
    let words =
        sample.split(|c: char| if c.is_ascii() { !c.is_ascii_alphabetic() } else { !c.is_alphabetic() });
    for word in words.filter(|word| (1..=WORD_BYTES_MAX).contains(&word.len())) {
        let mut languages = table[slot(table, packed(word))].1;
        while languages != 0 {
            hits[languages.trailing_zeros() as usize] += 1;
            languages &= languages - 1;
        }
    }
    let mut positions: [usize; SMALL_WORDS.len()] = std::array::from_fn(|position| position);
    positions.sort_by_key(|position| std::cmp::Reverse(hits[*position]));
    let (most, next) = (hits[positions[0]], hits[positions[1]]);
    if most < HITS_MIN {
        return Verdict::Nothing;
    }
    // A lead of more than a quarter.
    if most * 4 > next * 5 { Verdict::Sure(SMALL_WORDS[positions[0]].0) } else { Verdict::Unsure }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_told_and_other_text_is_not() {
        let cases = [
            (
                "en",
                "The minutes of the meeting were sent to all members, and they will be discussed on Monday.",
            ),
            (
                "de",
                "Die Sitzung wurde auf den Montag verschoben, weil der Raum nicht frei ist und wir noch warten.",
            ),
            (
                "fr",
                "La séance est reportée à lundi, car la salle n'est pas libre et nous attendons les autres.",
            ),
            (
                "es",
                "La reunión se aplazó para el lunes porque la sala no está libre y los otros llegan con retraso.",
            ),
            (
                "it",
                "La riunione è stata rinviata a lunedì perché la sala non è libera e gli altri sono in ritardo.",
            ),
            (
                "pt",
                "A reunião foi adiada para segunda-feira porque a sala não está livre e os outros chegam com atraso.",
            ),
            (
                "nl",
                "De vergadering is naar maandag verplaatst omdat de zaal niet vrij is en wij op het bestuur wachten.",
            ),
            (
                "sv",
                "Mötet flyttas till måndag för att rummet inte är ledigt och vi väntar på det som ska komma.",
            ),
            (
                "pl",
                "Spotkanie jest w poniedziałek, bo nie ma sali i nie wiadomo, jak się to skończy dla nas.",
            ),
        ];
        for (code, text) in cases {
            assert_eq!(judge(text), Verdict::Sure(code), "{text}");
        }
        for other in
            ["", "x = y + 17; // 0xff", "ERROR 2024-01-01 connection=17 took=12ms", "東京都は日本の首都です"]
        {
            assert_eq!(judge(other), Verdict::Nothing, "{other}");
        }
    }

    #[test]
    fn small_words_are_small() {
        let words = SMALL_WORDS.iter().flat_map(|(_, words)| words.split_whitespace());
        assert_eq!(words.filter(|word| word.len() > WORD_BYTES_MAX).collect::<Vec<_>>(), Vec::<&str>::new());
        let used = TABLE.iter().filter(|(word, _)| *word != 0).count();
        assert!(used * 2 < SLOTS, "{used} small words");
    }
}
