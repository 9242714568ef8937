//! What does nothing: an output that keeps nothing, for measuring and for jobs that only watch a source, a stage that changes nothing,
//! and an authority that knows nobody.

use std::sync::Arc;
use std::time::Duration;

use ingather_contract::authority::{Account, Answer, Authority, AuthorityKind};
use ingather_contract::call::CallContext;
use ingather_contract::output::{
    Change, Generation, Output, OutputCapabilities, OutputContext, OutputEntry, OutputKind,
};
use ingather_contract::settings::{self, NoSettings};
use ingather_contract::transform::{Item, Transform, TransformKind, Verdict};
use ingather_model::fault::Fault;

/// The `null` authority.
pub(crate) const AUTHORITY: AuthorityKind = AuthorityKind {
    name: "null",
    about: "Knows nobody: in place of the users of this machine, where none of them is to find more than everybody.",
    schema: settings::schema_of::<NoSettings>,
    kept: Duration::ZERO,
    open: |value, _| {
        settings::read::<NoSettings>(value)?;
        Ok(Arc::new(Nobody))
    },
};

struct Nobody;

impl Authority for Nobody {
    fn check(&self, _call: &CallContext) -> Result<String, Fault> {
        Ok("it knows nobody".to_owned())
    }

    fn tokens(&self, _call: &CallContext, _account: &Account<'_>) -> Result<Answer, Fault> {
        Ok(Answer::Unknown)
    }
}

/// The `null` output.
pub(crate) const OUTPUT: OutputKind = OutputKind {
    name: "null",
    about: "Keeps nothing: for measuring, and for jobs that only watch a source.",
    capabilities: OutputCapabilities { commits: false, access: true, list: false, told: false },
    schema: settings::schema_of::<NoSettings>,
    open,
    check: |value, _| settings::read::<NoSettings>(value).map(drop),
    look: None,
    discard: None,
    search: None,
    copy: None,
    place: None,
    ask: None,
};

fn open(value: &serde_json::Value, _context: &OutputContext) -> Result<Box<dyn Output>, Fault> {
    settings::read::<NoSettings>(value)?;
    Ok(Box::new(Null))
}

struct Null;

impl Output for Null {
    fn apply(&mut self, _call: &CallContext, batch: &[Change]) -> Vec<Result<(), Fault>> {
        vec![Ok(()); batch.len()]
    }

    fn commit(&mut self, _call: &CallContext) -> Result<Generation, Fault> {
        Ok(self.generation())
    }

    fn generation(&self) -> Generation {
        Generation { identity: "null".to_owned(), number: 0, seq: 0, session: 0 }
    }

    fn list(
        &mut self,
        _call: &CallContext,
        _after: Option<&str>,
        _most: usize,
    ) -> Result<Vec<OutputEntry>, Fault> {
        Err(Fault::refused("cannot_list", "the null output keeps nothing that could be listed"))
    }
}

/// The `null` transform.
pub(crate) const TRANSFORM: TransformKind = TransformKind {
    name: "null",
    about: "Changes nothing: holds the place of a stage, and shows what arrives there.",
    version: "1",
    schema: settings::schema_of::<NoSettings>,
    open: |value| {
        settings::read::<NoSettings>(value)?;
        Ok(Arc::new(Null))
    },
};

impl Transform for Null {
    fn apply(&self, _call: &CallContext, _item: &mut Item<'_>) -> Result<Verdict, Fault> {
        Ok(Verdict::Pass)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingather_testkit::suites::{self, AuthoritySample, OutputSample};

    #[test]
    fn it_keeps_what_an_output_promises() {
        let context = OutputContext { data: std::env::temp_dir(), store: "s".into(), session: 1 };
        suites::output(&OUTPUT, &OutputSample { settings: serde_json::json!({}), context, local: false });
    }

    #[test]
    fn it_keeps_what_an_authority_promises() {
        let settings = serde_json::json!({});
        suites::authority(
            &AUTHORITY,
            &AuthoritySample { settings, known: None, presented: None, cut: None, obstruct: None },
        );
    }

    #[test]
    fn it_keeps_what_a_transform_promises() {
        suites::transform(&TRANSFORM, &serde_json::json!({}), &[("a.txt", b"text")]);
    }
}
