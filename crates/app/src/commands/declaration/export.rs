//! `ingather export`: what `sync` has created, as a declaration.

use ingather_operations::declaration::{EXPORT, ExportDeclaration};

use crate::arguments::Global;
use crate::exit::{self, Result};
use crate::show;
use crate::wiring::{Program, caller};

pub(crate) fn run(global: &Global) -> Result<u8> {
    let program = Program::of(global)?;
    let declaration = EXPORT.call(&program.context(), &caller(), ExportDeclaration {})?;
    show::json_page(&serde_json::to_string_pretty(&declaration).unwrap_or_default());
    Ok(exit::DONE)
}
