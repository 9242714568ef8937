//! `ingather secrets rotate`: another key for the secrets in definitions.

use ingather_operations::secrets::{ROTATE, RotateKey};

use crate::arguments::Global;
use crate::exit::{self, Result};
use crate::show;
use crate::wiring::{Program, caller};

pub(crate) fn rotate(global: &Global) -> Result<u8> {
    let program = Program::of(global)?;
    let rotated = ROTATE.call(&program.context(), &caller(), RotateKey {})?;
    if global.json {
        show::answer(&rotated);
    } else if !global.quiet {
        show::line(&match (&rotated.before, &rotated.key) {
            (Some(before), Some(key)) => format!(
                "secrets are sealed with the key {key} in {}: keep a copy of it; only backups of before still need {before}",
                rotated.file
            ),
            _ => "nothing is sealed, and no key is needed".to_owned(),
        });
    }
    Ok(exit::DONE)
}
