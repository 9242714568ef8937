//! `ingather doctor`: whether the inventory is sound, and whether the surroundings let the program work.

use ingather_operations::system::{DOCTOR, Examine, Finding, FoundFault, Look};

use crate::arguments::Global;
use crate::exit::{self, Result};
use crate::show;
use crate::wiring::{Program, caller};

pub(crate) fn run(global: &Global, repair: bool) -> Result<u8> {
    let program = Program::of(global)?;
    let end = DOCTOR.call(&program.context(), &caller(), Examine { repair }, &mut |found| match found {
        Finding::Look(look) if global.json => show::answer(&look),
        Finding::Fault(fault) if global.json => show::answer(&fault.line),
        Finding::Look(look) => tell_look(global, &look),
        Finding::Fault(fault) => tell_fault(&fault),
    })?;
    if !global.json && !global.quiet {
        show::stderr(&match (end.problems, end.repaired) {
            (0, 0) => "no problems found".to_owned(),
            (0, n) => format!("{}; the next run sends what has to be sent", problems(n, "repaired")),
            (n, 0) => problems(n, "found"),
            (n, repaired) => format!("{}, {}", problems(n, "found"), problems(repaired, "repaired")),
        });
    }
    Ok(if end.problems == 0 { exit::DONE } else { exit::HAS_FAILURES })
}

fn problems(count: usize, what: &str) -> String {
    format!("{} {what}", show::counted(count as u64, "problem"))
}

fn tell_look(global: &Global, look: &Look) {
    if !look.advice.is_empty() {
        show::line(&format!("{}: {}", look.check, look.says));
        show::line(&format!("  {}", look.advice));
    } else if global.verbose > 0 {
        show::line(&format!("good  {}: {}", look.check, look.says));
    }
}

fn tell_fault(FoundFault { line: fault, sentence }: &FoundFault) {
    let at_least = if fault.more { "at least " } else { "" };
    show::line(&format!(
        "{} ({}): {at_least}{}, such as {}",
        fault.check,
        fault.number,
        sentence,
        fault.examples.join(", ")
    ));
    show::line(&format!("  {}", if fault.repaired { "was repaired" } else { &fault.advice }));
}
