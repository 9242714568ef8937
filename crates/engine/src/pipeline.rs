//! The stages of a job between its repository and its outputs, and the digest of what was read.

use std::io::Read;
use std::sync::Arc;

use ingather_connector::call::Call;
use ingather_connector::model::document::Record;
use ingather_connector::model::fault::Fault;
use ingather_connector::model::ids::Digest;
use ingather_connector::model::job::Definition;
use ingather_connector::registry::Registry;
use ingather_connector::transform::{Transform, Verdict};

use crate::error::{EngineError, Result};

/// The opened stages of a job.
pub(crate) struct Pipeline {
    stages: Vec<Arc<dyn Transform>>,
    /// Versions of the stages' code, for the settings digest.
    pub(crate) versions: Vec<String>,
}

/// What a pass through the pipeline gave.
#[derive(Debug)]
pub(crate) struct Passed {
    /// Whether the record is wanted.
    pub(crate) verdict: Verdict,
    /// Digest of all bytes of the source.
    pub(crate) content: Digest,
    /// How many there were.
    pub(crate) bytes: u64,
}

impl Pipeline {
    pub(crate) fn open(definition: &Definition, registry: &Registry) -> Result<Pipeline> {
        let mut stages = Vec::new();
        let mut versions = Vec::new();
        for stage in &definition.stages {
            let kind = registry.transform(&stage.transform).ok_or_else(|| {
                EngineError::Refused(format!(
                    "job {}: there is no transform `{}`",
                    definition.name, stage.transform
                ))
            })?;
            let opened = (kind.open)(&stage.settings);
            stages.push(opened.map_err(|fault| {
                EngineError::Refused(format!("job {}, stage {}: {fault}", definition.name, stage.transform))
            })?);
            versions.push(format!("{} {}", kind.name, kind.version));
        }
        Ok(Pipeline { stages, versions })
    }

    /// Sends one record through; reads `content` to its end.
    pub(crate) fn pass(
        &self,
        call: &Call,
        record: &mut Record,
        content: &mut dyn Read,
    ) -> std::result::Result<Passed, Fault> {
        let mut hashing = Hashing { content, hash: blake3::Hasher::new(), bytes: 0 };
        let mut verdict = Verdict::Pass;
        for stage in &self.stages {
            verdict = stage.apply(call, record, &mut hashing)?;
            if verdict != Verdict::Pass {
                break;
            }
        }
        let rest = std::io::copy(&mut hashing, &mut std::io::sink());
        rest.map_err(|error| Fault::passing("read", format!("reading stopped: {error}")))?;
        let mut first = [0u8; 8];
        first.copy_from_slice(&hashing.hash.finalize().as_bytes()[..8]);
        // Zero would mean "none": an equal content must stay equal.
        let digest = i64::from_le_bytes(first).max(i64::MIN + 1);
        Ok(Passed { verdict, content: Digest(if digest == 0 { 1 } else { digest }), bytes: hashing.bytes })
    }
}

struct Hashing<'r> {
    content: &'r mut dyn Read,
    hash: blake3::Hasher,
    bytes: u64,
}

impl Read for Hashing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.content.read(buffer)?;
        self.hash.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}
