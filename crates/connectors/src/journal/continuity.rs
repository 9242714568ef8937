//! Whether a journal goes on from where the store left it: as many lines prove nothing, for two histories may have as many.
//!
//! Each opening tells of itself in its `run` line, with a number that no other one has. The store notes where that line begins and
//! where the last confirmed one ends, so that three short reads tell: the line is still there, nothing before the end was lost, and
//! what is behind the end was written by the last opening.

use std::borrow::Cow;
use std::fs::File;
use std::os::unix::fs::FileExt;

use ingather_contract::lines;
use ingather_contract::output::Continuity;
use ingather_model::limits;
use serde::Deserialize;

/// The `run` line of an opening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Begun {
    /// The opening.
    pub(super) opening: String,
    /// Where its line begins.
    pub(super) at: u64,
}

impl Begun {
    /// The identity of a file of which all lines up to `end` are known.
    pub(super) fn identity(&self, end: u64) -> String {
        format!("{}@{}+{end}", self.opening, self.at)
    }

    /// What an identity says; none when it is one of an earlier version, or of a file without such a line.
    fn read(identity: &str) -> Option<(Begun, u64)> {
        let (opening, numbers) = identity.split_once('@')?;
        let (at, end) = numbers.split_once('+')?;
        Some((Begun { opening: opening.to_owned(), at: at.parse().ok()? }, end.parse().ok()?))
    }
}

#[derive(Deserialize)]
struct Beginning<'l> {
    #[serde(borrow)]
    op: Cow<'l, str>,
    opening: Option<String>,
    follows: Option<i64>,
}

/// A file of whole lines.
pub(super) struct Lines<'f> {
    pub(super) file: &'f File,
    /// Where the last one ends.
    pub(super) end: u64,
    /// Its number.
    pub(super) seq: i64,
    /// Digest of the first one, by which earlier versions knew the file.
    pub(super) first: &'f str,
}

impl Lines<'_> {
    /// What the `run` line that begins at an offset says of its opening and of what it follows; none when it is no such line, or one of
    /// an earlier version.
    fn run_at(&self, at: u64) -> std::io::Result<Option<(String, i64)>> {
        let most = self.end.saturating_sub(at).min(limits::JOURNAL_LINE_BEGINNING as u64) as usize;
        let mut bytes = vec![0u8; most];
        self.file.read_exact_at(&mut bytes, at)?;
        let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = serde_json::from_slice::<Beginning<'_>>(line).ok().filter(|line| line.op == "run");
        Ok(line.and_then(|line| Some((line.opening?, line.follows?))))
    }

    fn opening_at(&self, at: u64) -> std::io::Result<Option<String>> {
        Ok(self.run_at(at)?.map(|(opening, _)| opening))
    }

    /// Whether it is the file that was noted, with nothing behind the noted lines but those of the last opening.
    fn goes_on(&self, begun: &Begun, confirmed: u64, last: &str) -> std::io::Result<bool> {
        if confirmed > self.end
            || self.opening_at(begun.at)?.as_ref() != Some(&begun.opening)
            || !ends_at(self.file, confirmed)?
        {
            return Ok(false);
        }
        let same = confirmed == self.end || begun.opening == last;
        Ok(same || self.opening_at(confirmed)?.as_deref() == Some(last))
    }
}

/// Compares a file with what was noted of it, and finds the `run` line by which it is known. `last` is the opening that may have
/// written to it since.
pub(super) fn of(
    lines: &Lines<'_>,
    identity: &str,
    last: i64,
) -> std::io::Result<(Continuity, Option<Begun>)> {
    let last = lines::hex(last);
    let noted = Begun::read(identity);
    if let Some((begun, confirmed)) = &noted
        && lines.goes_on(begun, *confirmed, &last)?
    {
        return Ok((Continuity::Same, noted.map(|(begun, _)| begun)));
    }
    if lines.end == 0 {
        return Ok((Continuity::Anew, None));
    }
    let known = noted.as_ref().map(|(begun, _)| begun.opening.as_str());
    // A new file that the last opening has begun; or a snapshot, to which nobody has written.
    let is_ours = |(opening, follows): &(String, i64)| {
        *opening == last && known != Some(&last)
            || *follows == lines.seq && (*opening == last || known == Some(opening))
    };
    Ok(match lines.run_at(0)?.filter(is_ours) {
        Some((opening, _)) => (Continuity::Anew, Some(Begun { opening, at: 0 })),
        None if noted.is_none() && identity == lines.first => (Continuity::Same, None),
        None => (Continuity::Other, None),
    })
}

/// Whether a line ends there.
fn ends_at(file: &File, end: u64) -> std::io::Result<bool> {
    let mut byte = [0u8];
    let Some(at) = end.checked_sub(1) else { return Ok(true) };
    file.read_exact_at(&mut byte, at)?;
    Ok(byte == *b"\n")
}
