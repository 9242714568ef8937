//! Text that becomes the value of a field, written by the readers that write the text of documents.

use super::{FIELD_BYTES_MAX, TextSink};

impl<'b> TextSink<'b> {
    /// The text that `write` writes. It does not count as text of the document, and nothing in it becomes a part.
    pub(crate) fn aside(&self, write: impl FnOnce(&mut TextSink<'b>)) -> String {
        let (text, facts) = (self.budget.text.replace(FIELD_BYTES_MAX), self.budget.facts.get());
        // As deep as parts may be, so that none of them is opened.
        let mut aside = TextSink::new(self.budget, self.budget.limits.depth.max(1), "");
        write(&mut aside);
        self.budget.text.set(text);
        self.budget.facts.set(facts);
        aside.out.text.trim().to_owned()
    }
}
