//! Bytes that come out of compression, counted while they are read.

use std::io::{self, Read};

use super::Budget;

/// A reader that counts what comes out of it as expanded.
pub(crate) struct Expanding<'b, R> {
    budget: &'b Budget,
    inner: R,
}

impl<'b, R: Read> Expanding<'b, R> {
    pub(crate) fn over(budget: &'b Budget, inner: R) -> Self {
        Self { budget, inner }
    }
}

impl<R: Read> Read for Expanding<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.budget.expand(length)?;
        Ok(length)
    }
}
