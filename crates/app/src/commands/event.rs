//! `ingather event …`: events that documents wait for.

use ingather_operations::system::events::{FREE, FreeEvent, LIST, ListEvents, PendingEvent};

use crate::arguments::{Event, Global};
use crate::exit::{self, Result};
use crate::show;
use crate::wiring::{Program, caller};

pub(crate) fn run(global: &Global, command: Event) -> Result<u8> {
    let program = Program::of(global)?;
    match command {
        Event::List => list(&program),
        Event::Free { name } => {
            let freed = FREE.call(&program.context(), &caller(), FreeEvent { name })?;
            if global.json {
                show::answer(&freed);
            } else if !global.quiet {
                show::stderr(&format!("nothing waits for the event {} any more", freed.name));
            }
            Ok(exit::DONE)
        }
    }
}

fn list(program: &Program<'_>) -> Result<u8> {
    let found = LIST.call(&program.context(), &caller(), ListEvents {})?;
    if program.global.json {
        found.events.iter().for_each(show::answer);
        return Ok(exit::DONE);
    }
    let row = |event: &PendingEvent| {
        let PendingEvent { name, job, document, taken_at, age_ms, waiting } = event;
        let age = format!("{} s", age_ms / 1_000);
        vec![name.clone(), job.clone(), document.clone(), show::time(*taken_at), age, waiting.to_string()]
    };
    let rows: Vec<Vec<String>> = found.events.iter().map(row).collect();
    show::table(&["EVENT", "JOB", "HELD BY", "SINCE", "AGE", "WAITING"], &rows);
    Ok(exit::DONE)
}
