//! What is damaged, missing, full or in the way, and what a mistake would cost: said in one sentence, and nothing is lost by it.

mod damage;
mod dry;
mod guard;
mod keep;
mod lookup;
mod odd;
mod patterns;
mod people;
mod properties;
mod sources;
mod stores;
mod surroundings;
mod words;

use crate::sandbox::Answer;

/// Whatever happened, it was said by a sentence of this program.
#[track_caller]
fn is_told(answer: &Answer, at: &str) {
    assert!(matches!(answer.code, 0..=3), "{at}: {answer:#?}");
    for word in ["panicked", "fault of this program", "RUST_BACKTRACE"] {
        assert!(!answer.err.contains(word) && !answer.out.contains(word), "{at}: {answer:#?}");
    }
    let said = !answer.err.trim().is_empty() || !answer.out.trim().is_empty();
    assert!(answer.code == 0 || said, "{at}: {answer:#?}");
}
