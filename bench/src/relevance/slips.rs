//! Questions with a slip: three words of each question of a collection, and the same with one of them mistyped.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::collections::{Collection, Query};
use super::engines::Ask;
use crate::Result;

/// Words of a question.
const WORDS: usize = 3;
/// From what the slips are drawn; the same in every run.
const SEED: u64 = 0x5eed;
/// Slips that are tried until one makes a word that nothing has.
const TRIES: usize = 64;

/// Questions of three words, and the same with a slip.
pub(super) struct Typed {
    /// As they were meant.
    pub(super) meant: Vec<Query>,
    /// With one of their words mistyped.
    pub(super) slipped: Vec<Query>,
}

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % most as u64) as usize
    }
}

/// The three rarest words of each question, as somebody types them who is in a hurry; of which one, chosen by lot, gets one
/// slip that yields no word of the collection. Questions of fewer words are left out.
pub(super) fn typed(collection: &Collection, ask: &mut Ask) -> Result<Typed> {
    let mut entries: HashMap<String, usize> = HashMap::new();
    for document in &collection.documents {
        let text = format!("{} {}", document.title, document.text);
        for word in words(&text).into_iter().collect::<BTreeSet<String>>() {
            *entries.entry(word).or_default() += 1;
        }
    }
    let mut dice = Dice(SEED);
    let (mut meant, mut slipped) = (Vec::new(), Vec::new());
    for query in &collection.queries {
        let all = words(&query.text);
        let mut known: Vec<&String> = all.iter().filter(|word| entries.contains_key(*word)).collect();
        known.sort_by_key(|word| (entries[*word], (*word).clone()));
        known.dedup();
        let rarest: HashSet<&String> = known.into_iter().take(WORDS).collect();
        let mut seen = HashSet::new();
        let three: Vec<String> =
            all.iter().filter(|word| rarest.contains(word) && seen.insert(*word)).cloned().collect();
        if three.len() < WORDS {
            continue;
        }
        let Some(mistyped) = with_slip(&three, &mut dice, ask)? else { continue };
        let of = |text: String| Query { text, relevant: query.relevant.clone() };
        meant.push(of(three.join(" ")));
        slipped.push(of(mistyped.join(" ")));
    }
    Ok(Typed { meant, slipped })
}

/// The words with a slip in one of them; none when every one that was tried is a word of the collection, too.
fn with_slip(words: &[String], dice: &mut Dice, ask: &mut Ask) -> Result<Option<Vec<String>>> {
    for _ in 0..TRIES {
        let at = dice.below(words.len());
        let typed = slip(&words[at], dice);
        if typed != words[at] && ask(&format!("\"{typed}\""), 1)?.is_empty() {
            let mut words = words.to_vec();
            words[at] = typed;
            return Ok(Some(words));
        }
    }
    Ok(None)
}

/// One letter left out, put in, exchanged, or swapped with the next one.
fn slip(word: &str, dice: &mut Dice) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    let at = dice.below(letters.len());
    let other = char::from(b'a' + dice.below(26) as u8);
    match dice.below(4) {
        0 => drop(letters.remove(at)),
        1 => letters.insert(at, other),
        2 => letters[at] = other,
        _ => letters.swap(at, (at + 1).min(word.chars().count() - 1)),
    }
    letters.into_iter().collect()
}

/// The words of a text in lower case, as far as they are of letters alone.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.filter(|word| word.chars().all(|c| c.is_ascii_alphabetic())).map(str::to_lowercase).collect()
}
