//! What a container says of a part, which the part itself does not know: how large it is, and when it last changed.

use super::TextSink;
use crate::Input;

/// What is stated of a part; what nobody states stays open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stated {
    /// Bytes of the part as it is used, not as it is packed.
    pub(crate) size: Option<u64>,
    /// Milliseconds since 1970 UTC.
    pub(crate) modified: Option<i64>,
}

impl Stated {
    /// Of a part whose bytes are all there.
    pub(crate) fn of_size(bytes: usize) -> Self {
        Self { size: Some(bytes as u64), modified: None }
    }
}

impl TextSink<'_> {
    /// Opens a member of an archive, an attachment or a record, and reads it.
    pub(crate) fn member(
        &mut self,
        name: &str,
        stated: Stated,
        declared: Option<&str>,
        input: impl Into<Input>,
    ) {
        let read = self.budget.read;
        self.part_by(name, |sink| {
            sink.stated(stated);
            read(sink, declared, input.into());
        });
    }

    /// Notes what is stated of this part; what was noted before stays.
    pub(crate) fn stated(&mut self, stated: Stated) {
        self.out.size = self.out.size.or(stated.size);
        self.out.modified = self.out.modified.or(stated.modified);
    }
}
