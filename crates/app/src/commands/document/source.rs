//! `ingather source …`: sources that applications push into.

use ingather_model::run_counts::counted;
use ingather_operations::documents::push::{
    self, ClearSource, ClearSources, ClearedSource, DeltaRunLook, LeftOutSource, ListReports, ListSources,
    ListedReport, PurgeSource, ShowDeltaRun, ShowTicket, UnlockSource,
};

use crate::arguments::{Global, Source};
use crate::exit::{self, Failure, Result};
use crate::show;
use crate::wiring::{Program, caller};

pub(crate) fn run(global: &Global, command: Source) -> Result<u8> {
    let program = Program::of(global)?;
    match command {
        Source::List => list(&program),
        Source::Show { source } => look(&program, source),
        Source::Reports { source, after, limit } => reports(&program, source, after, limit),
        Source::Ticket { ticket } => {
            let found = push::TICKET_OF.call(&program.context(), &caller(), ShowTicket { ticket })?;
            if global.json {
                show::answer(&found);
                return Ok(exit::DONE);
            }
            let became = match &found.report {
                None => "is open".to_owned(),
                Some(report) if report.message.is_empty() => report.outcome.clone(),
                Some(report) => format!("{}: {}", report.outcome, report.message),
            };
            show::line(&format!("{} {} of {}: {became}", found.op, found.key, found.source));
            Ok(exit::DONE)
        }
        Source::Unlock { source } => {
            let unlocked = push::UNLOCK.call(&program.context(), &caller(), UnlockSource { source })?;
            if global.json {
                show::answer(&unlocked);
            } else if !global.quiet {
                let was = if unlocked.was_open { "was taken from its client" } else { "is not open" };
                show::stderr(&format!("the delta run over {} {was}", unlocked.source));
            }
            Ok(exit::DONE)
        }
        Source::Clear { source, unlock } => {
            let cleared = push::CLEAR.call(&program.context(), &caller(), ClearSource { source, unlock })?;
            if global.json {
                show::answer(&cleared);
            } else if !global.quiet {
                let ClearedSource { source, cleared } = &cleared;
                show::stderr(&format!(
                    "{source}: the hashes of {} are forgotten",
                    counted(*cleared, "record")
                ));
            }
            Ok(exit::DONE)
        }
        Source::ClearAll { yes, unlock } => clear_all(&program, (yes, unlock)),
        Source::Purge { source, yes, unlock } => purge(&program, source, (yes, unlock)),
    }
}

fn list(program: &Program<'_>) -> Result<u8> {
    let found = push::SOURCES.call(&program.context(), &caller(), ListSources {})?;
    if program.global.json {
        found.sources.iter().for_each(show::answer);
        return Ok(exit::DONE);
    }
    let row = |one: &DeltaRunLook| {
        let run = one.run.map_or(String::new(), |run| run.to_string());
        let since = one.run.map_or(String::new(), |_| show::time(one.ended_at.unwrap_or(one.opened_at)));
        vec![
            one.source.clone(),
            one.records.to_string(),
            one.buffered.to_string(),
            run,
            one.state.clone(),
            since,
            one.client.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = found.sources.iter().map(row).collect();
    show::table(&["SOURCE", "RECORDS", "BUFFERED", "DELTA RUN", "STATE", "SINCE", "CLIENT"], &rows);
    Ok(exit::DONE)
}

fn clear_all(program: &Program<'_>, (yes, unlock): (bool, bool)) -> Result<u8> {
    let global = program.global;
    let ask =
        |confirm: bool| push::CLEAR_ALL.call(&program.context(), &caller(), ClearSources { confirm, unlock });
    if !yes {
        if !show::is_person() {
            return Err(Failure::usage(
                "nobody can be asked here whether the hashes of all sources are to be forgotten; --yes forgets them without asking",
            ));
        }
        let all = counted(ask(false)?.left_out.len() as u64, "source");
        if !show::ask(&format!("forget the hashes of all records of {all}?")) {
            return Err(Failure::usage("nothing was forgotten"));
        }
    }
    let done = ask(true)?;
    if global.json {
        show::answer(&done);
    } else if !global.quiet {
        for ClearedSource { source, cleared } in &done.sources {
            show::stderr(&format!("{source}: the hashes of {} are forgotten", counted(*cleared, "record")));
        }
        for LeftOutSource { source, why } in &done.left_out {
            show::stderr(&format!("{source} was left out: {why}"));
        }
    }
    Ok(if done.left_out.is_empty() { exit::DONE } else { exit::HAS_FAILURES })
}

fn purge(program: &Program<'_>, source: String, (yes, unlock): (bool, bool)) -> Result<u8> {
    let global = program.global;
    let ask = |confirm: bool| {
        let request = PurgeSource { source: source.clone(), confirm, unlock };
        push::PURGE.call(&program.context(), &caller(), request)
    };
    if !yes {
        if !show::is_person() {
            return Err(Failure::usage(
                "nobody can be asked here whether all records are to be deleted; --yes deletes them without asking",
            ));
        }
        let held = ask(false)?.held.map_or(0, |held| held.records);
        if !show::ask(&format!(
            "delete {} of source {source}, also from its outputs?",
            counted(held, "record")
        )) {
            return Err(Failure::usage("nothing was deleted"));
        }
    }
    let purged = ask(true)?;
    if global.json {
        show::answer(&purged);
    } else if !global.quiet {
        show::stderr(&format!("{source}: {} deleted", counted(purged.deleted, "record")));
    }
    Ok(exit::DONE)
}

fn look(program: &Program<'_>, source: String) -> Result<u8> {
    let found = push::RUN.call(&program.context(), &caller(), ShowDeltaRun { source })?;
    if program.global.json {
        show::answer(&found);
        return Ok(exit::DONE);
    }
    let DeltaRunLook {
        source,
        run,
        mode,
        client,
        state,
        opened_at,
        ended_at,
        drained_at,
        veto,
        deleted,
        records,
        buffered,
        buffered_since,
        ..
    } = &found;
    let waits = buffered_since.map_or(String::new(), |since| {
        format!(", {} buffered since {}", counted(*buffered, "change"), show::time(since))
    });
    show::line(&format!("{source}: {}{waits}", counted(*records, "record")));
    if let Some(run) = run {
        let ended = ended_at.map_or(String::new(), |at| format!(", ended {}", show::time(at)));
        let drained = drained_at.map_or(String::new(), |at| format!(", all done {}", show::time(at)));
        let deleted = if *deleted > 0 { format!(", {deleted} deleted") } else { String::new() };
        let veto = veto.as_ref().map_or(String::new(), |veto| format!(", deleted nothing: {veto}"));
        show::line(&format!(
            "delta run {run} ({mode}) of {client}: {state}, opened {}{ended}{drained}{deleted}{veto}",
            show::time(*opened_at)
        ));
    }
    Ok(exit::DONE)
}

fn reports(program: &Program<'_>, source: String, after: i64, limit: Option<u32>) -> Result<u8> {
    let mut left = limit.map_or(u64::MAX, u64::from);
    let mut after = after;
    let mut rows = Vec::new();
    while left > 0 {
        let asked = u32::try_from(left).unwrap_or(u32::MAX);
        let request = ListReports { source: source.clone(), after, limit: asked };
        let page = push::REPORTS_OF.call(&program.context(), &caller(), request)?;
        left = left.saturating_sub(page.reports.len() as u64);
        after = page.last;
        if program.global.json {
            page.reports.iter().for_each(show::answer);
        } else {
            rows.extend(page.reports.iter().map(row));
        }
        if !page.more {
            break;
        }
    }
    if !program.global.json {
        show::table(&["REPORT", "TICKET", "KEY", "OP", "AT", "OUTCOME", "WHY"], &rows);
    }
    Ok(exit::DONE)
}

fn row(report: &ListedReport) -> Vec<String> {
    let ListedReport { report, ticket, key, op, at, outcome, message, .. } = report;
    vec![
        report.to_string(),
        ticket.to_string(),
        key.clone(),
        op.clone(),
        show::time(*at),
        outcome.clone(),
        message.clone(),
    ]
}
