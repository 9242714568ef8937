//! `channel`: what applications push through, as operators see it.

use ingather_operations::documents::push::channels::{
    ABORT, ChannelLook, ChannelWebhook, FLUSH, LIST, ListChannelReports, ListChannels, ListedChannelReport,
    NameChannel, REPORTS_OF, SHOW, TERMINATE,
};

use crate::arguments::{Channel, Global};
use crate::exit::{self, Result};
use crate::show;
use crate::wiring::{Program, caller};

pub(crate) fn channel(global: &Global, command: Channel) -> Result<u8> {
    let program = Program::of(global)?;
    let context = program.context();
    let look = |found: ChannelLook| {
        match global.json {
            true => show::answer(&found),
            false => tell(&found),
        }
        exit::DONE
    };
    Ok(match command {
        Channel::List => return list(&program),
        Channel::Reports { channel, after, limit } => return reports(&program, channel, after, limit),
        Channel::Show { channel } => look(SHOW.call(&context, &caller(), NameChannel { channel })?),
        Channel::Terminate { channel } => {
            look(TERMINATE.call(&context, &caller(), NameChannel { channel })?)
        }
        Channel::Abort { channel } => look(ABORT.call(&context, &caller(), NameChannel { channel })?),
        Channel::Flush { channel } => {
            let flush = FLUSH.call(&context, &caller(), NameChannel { channel })?;
            match global.json {
                true => show::answer(&flush),
                false => show::line(&format!(
                    "channel {} reports `flushed {}` when everything before it is completed",
                    flush.channel, flush.flush
                )),
            }
            exit::DONE
        }
    })
}

fn list(program: &Program<'_>) -> Result<u8> {
    let (mut after, mut rows) = (0, Vec::new());
    loop {
        let request = ListChannels { after, limit: u32::MAX };
        let page = LIST.call(&program.context(), &caller(), request)?;
        after = page.last;
        match program.global.json {
            true => page.channels.iter().for_each(show::answer),
            false => rows.extend(page.channels.iter().map(row)),
        }
        if !page.more {
            break;
        }
    }
    if !program.global.json {
        show::table(&["CHANNEL", "SOURCE", "CLIENT", "STATE", "TAKEN", "OPEN", "OPENED", "SEEN"], &rows);
    }
    Ok(exit::DONE)
}

fn row(channel: &ChannelLook) -> Vec<String> {
    vec![
        channel.channel.to_string(),
        channel.source.clone(),
        who(channel),
        state(channel),
        channel.taken.to_string(),
        (channel.taken - channel.completed).to_string(),
        show::time(channel.opened_at),
        show::time(channel.seen_at),
    ]
}

fn who(channel: &ChannelLook) -> String {
    match channel.client.is_empty() {
        true => channel.opened_by.clone(),
        false => format!("{} ({})", channel.client, channel.opened_by),
    }
}

fn state(channel: &ChannelLook) -> String {
    match channel.reason.is_empty() {
        true => channel.state.clone(),
        false => format!("{} ({})", channel.state, channel.reason),
    }
}

fn tell(channel: &ChannelLook) {
    let ChannelLook { channel: number, source, taken, completed, open_max, opened_at, seen_at, .. } = channel;
    let (open, who, state) = (taken - completed, who(channel), state(channel));
    show::line(&format!(
        "channel {number} of {who} into {source}: {state}, opened {}",
        show::time(*opened_at)
    ));
    show::line(&format!(
        "{taken} taken, {open} open of at most {open_max}; last sign of life {}",
        show::time(*seen_at)
    ));
    if let Some(ChannelWebhook { url, delivered, lost, .. }) = &channel.webhook {
        let how =
            if *lost { "took nothing for too long, and is asked no more" } else { "is told of what follows" };
        show::line(&format!(
            "its webhook {url} has reports up to {delivered} of {}, and {how}",
            channel.last_report
        ));
    }
}

fn reports(program: &Program<'_>, channel: i64, after: i64, limit: Option<u32>) -> Result<u8> {
    let mut left = limit.map_or(u64::MAX, u64::from);
    let (mut after, mut rows) = (after, Vec::new());
    while left > 0 {
        let asked = u32::try_from(left).unwrap_or(u32::MAX);
        let request = ListChannelReports { channel, after, limit: asked, wait_seconds: None };
        let page = REPORTS_OF.call(&program.context(), &caller(), request)?;
        left = left.saturating_sub(page.reports.len() as u64);
        after = page.last;
        match program.global.json {
            true => page.reports.iter().for_each(show::answer),
            false => rows.extend(page.reports.iter().map(told)),
        }
        if !page.more {
            break;
        }
    }
    if !program.global.json {
        show::table(&["REPORT", "AT", "KIND", "WHAT", "TICKET", "KEY", "WHY"], &rows);
    }
    Ok(exit::DONE)
}

fn told(report: &ListedChannelReport) -> Vec<String> {
    let ListedChannelReport { report, at, kind, word, about, ticket, key, outcome, message, .. } = report;
    let what = outcome.as_ref().unwrap_or(word).clone();
    let why = if message.is_empty() { about } else { message };
    vec![
        report.to_string(),
        show::time(*at),
        kind.clone(),
        what,
        ticket.map_or(String::new(), |ticket| ticket.to_string()),
        key.clone().unwrap_or_default(),
        why.clone(),
    ]
}
