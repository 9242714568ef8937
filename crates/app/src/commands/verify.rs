//! `ingather verify`: what outputs really hold, beside what the inventory says.

use ingather_operations::verify::{OutputDifference, VERIFY, VerifiedOutput, VerifyItem, VerifyOutputs};

use crate::arguments::Global;
use crate::exit::{self, Result};
use crate::wiring::{Program, caller};
use crate::{interrupt, show};

pub(crate) fn run(global: &Global, output: Option<String>, repair: bool, limit: u32) -> Result<u8> {
    let program = Program::of(global)?;
    let limit = u64::from(limit);
    let mut told = 0;
    let request = VerifyOutputs { output, repair };
    let end = VERIFY.call(&program.context(), &caller(), request, &mut |item| match item {
        VerifyItem::Notice(said) => show::stderr(&said.notice),
        VerifyItem::Difference(difference) => {
            if global.json {
                show::answer(&difference);
            } else if told < limit {
                tell_one(&difference);
            }
            told += 1;
        }
        VerifyItem::Compared(compared) => {
            told = 0;
            if !global.json && limit < compared.differences {
                let more = show::number(compared.differences - limit);
                show::line(&format!("  … and {more} more; a larger --limit or --json names them"));
            }
        }
        VerifyItem::Output(found) if global.json => show::answer(&found.line),
        VerifyItem::Output(found) => summary(global, &found, repair),
    })?;
    if end.stopped {
        show::stderr("stopped; nothing more was looked at");
        return Ok(interrupt::code());
    }
    Ok(if end.agrees { exit::DONE } else { exit::HAS_FAILURES })
}

fn tell_one(difference: &OutputDifference) {
    let of = match (&difference.job, &difference.document) {
        (Some(job), Some(name)) => format!("  (job {job}: {name})"),
        _ => String::new(),
    };
    show::line(&format!("  {:<9} {}{of}", difference.difference.as_str(), difference.id));
}

fn summary(global: &Global, found: &VerifiedOutput, repair: bool) {
    let output = &found.line.output;
    let number = show::number;
    for damage in &found.line.damage {
        show::line(&format!("{output}: {damage}"));
    }
    if found.line.made_anew {
        show::line(&match found.sent {
            true => format!("{output}: was made anew, and everything was sent again"),
            false => format!(
                "{output}: was made anew; not everything could be sent again yet, `ingather sync` goes on"
            ),
        });
        return;
    }
    // What could not be opened was compared with nothing: the damage says so, and no number of differences does.
    if !found.line.damage.is_empty() && found.line.entries + found.line.deliveries == 0 {
        show::stderr(&format!("{output}: nothing could be compared"));
        return;
    }
    show::line(&format!(
        "{output}: {} held, {} expected: {} missing, {} stale, {} orphaned, {} foreign",
        show::counted(found.line.entries, "entry"),
        number(found.line.deliveries),
        number(found.line.missing),
        number(found.line.stale),
        number(found.line.orphaned),
        number(found.line.foreign)
    ));
    if global.quiet {
        return;
    }
    if let Some(mismatch) = &found.line.mismatch {
        show::stderr(&format!("{output}: {mismatch}"));
    }
    tell_not_compared(found);
    if !found.line.damage.is_empty() {
        show::stderr(&format!(
            "`ingather verify {output} --repair` makes it anew and sends everything again"
        ));
        return;
    }
    let differences = found.line.missing + found.line.stale + found.line.orphaned;
    match (repair, differences, found.line.foreign) {
        (_, 0, 0) => {}
        (true, ..) => tell_repaired(found, differences),
        (false, 0, _) => show::stderr(
            "what is foreign was put there by somebody else; remove it there, if it is not wanted",
        ),
        (false, ..) => show::stderr("`ingather verify --repair` repairs this"),
    }
}

/// What the inventory does not expect in the output for now.
fn tell_not_compared(found: &VerifiedOutput) {
    if found.line.on_their_way > 0 {
        show::stderr(&format!(
            "{} {} on the way or refused, and not compared; the next run decides",
            show::counted(found.line.on_their_way, "entry"),
            show::are(found.line.on_their_way)
        ));
    }
    if found.line.held_and_lost > 0 {
        show::stderr(&format!(
            "{} of documents whose removal is held {} not there any more; `ingather job held JOB` lists them, and says how to \
             confirm the removal",
            show::counted(found.line.held_and_lost, "entry"),
            show::are(found.line.held_and_lost)
        ));
    }
}

fn tell_repaired(found: &VerifiedOutput, differences: u64) {
    let output = &found.line.output;
    let repaired = match differences {
        0 => None,
        n if found.sent => Some(format!("{} repaired", show::number(n.saturating_sub(found.left_over)))),
        // It is not found until then: what its entry named may mean other people by now.
        _ => Some("what differed was removed; not all of it could be sent again yet".to_owned()),
    };
    let more = (found.left_over > 0).then(|| {
        let more = show::counted(found.left_over, "more entry");
        format!("{more} still to be removed; run `ingather verify {output} --repair` again")
    });
    let foreign = (found.line.foreign > 0).then(|| "what is foreign is left as it is".to_owned());
    let said: Vec<String> = [repaired, more, foreign].into_iter().flatten().collect();
    show::stderr(&said.join("; "));
}
