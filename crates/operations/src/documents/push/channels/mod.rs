//! Channels, as they are asked for (decision 0052): what is pushed through one is reported to its client, each piece exactly once.
//!
//! Reading order: here are the rows · `forms` are what they take and answer · `work` does it · `waiting` says what a call waits for.

mod forms;
mod waiting;
mod work;

pub use self::forms::{
    AcknowledgeReports, AskCapabilities, Capabilities, ChannelList, ChannelLook, ChannelMode,
    ChannelReportList, ChannelWebhook, Flush, ListChannelReports, ListChannels, ListedChannelReport,
    NameChannel, OpenChannel, OptionalReport, PushThrough, PushedThrough, WantedWebhook,
};
pub use self::waiting::{Sign, Waiting, may_wait, of_waits, over, waiting};
use crate::operation::{Answering, Effect, Operation, Shape, Verb, Words};
use crate::problem::Code;

/// What any call through a channel may meet.
const PROBLEMS: &[Code] = &[Code::NoSuchChannel, Code::ReadOnly];
/// What a push through one may meet.
const PUSH_PROBLEMS: &[Code] = &[
    Code::NoSuchChannel,
    Code::Definition,
    Code::Deleting,
    Code::ReadOnly,
    Code::TooLarge,
    Code::RunExpired,
    Code::BadToken,
    Code::Shutdown,
    Code::Throttled,
    Code::ReportFailed,
];

const LOOK: &str = r#"{"channel": 7, "source": "tickets", "client": "tracker", "opened_by": "key tracker", "mode": "sync", "state": "terminating",
    "reason": "lease", "opened_at": 1767225600000, "changed_at": 1767225900000, "seen_at": 1767225600000, "lease_seconds": 300,
    "throttle_seconds": 600, "open_max": 10000, "optional_reports": ["retry"], "taken": 41, "completed": 40, "credits": 9999, "last_report": 84, "acknowledged": 80,
    "webhook": {"url": "https://tracker.example.org/hooks/reports", "sink_seconds": 600, "delivered": 83, "lost": false}}"#;
const PUSHED: &str = r#"{"results": [{"result": "pending", "ticket": 41, "was_there": true},
    {"result": "completed", "ticket": 42, "outcome": "failed", "code": "invalid_record", "message": "a key has from 1 to 4096 bytes"}],
    "mode": "sync", "credits": 9999, "last_report": 85}"#;
const REPORTS: &str = r#"{"reports": [{"report": 85, "at": 1767225600400, "kind": "completed", "ticket": 41, "key": "17", "op": "put",
    "user_ref": "case 17", "outcome": "failed", "code": "too_large", "message": "the output refuses it"},
    {"report": 86, "at": 1767225600400, "kind": "retry", "ticket": 42, "key": "18", "op": "put",
    "message": "the server has no room", "again_at": 1767225602400}, {"report": 87, "at": 1767225600400, "kind": "state", "word": "terminating", "about": "lease"}], "last": 87, "more": false,
    "state": "terminating"}"#;
const CAPABILITIES: &str = r#"{"version": 1, "functions": ["records"], "modes": ["async", "sync"], "throttle": true, "transports": ["log", "webhook"],
    "reports": ["queued"], "optional_reports": ["retry"], "list_items_max": 1000, "list_bytes_max": 8388608, "content_bytes_max": 4194304,
    "user_ref_bytes_max": 6144, "open_max": 100000}"#;

const fn row(
    name: &'static str,
    summary: &'static str,
    shapes: (Shape, Shape),
    at: (Effect, Verb, &'static str),
    words: Words,
) -> Operation {
    super::row(name, summary, shapes, at, (words, PROBLEMS))
}

const NAMED: Shape = Shape::of::<NameChannel>("NameChannel", &[r#"{"channel": 7}"#]);
const LOOKED: Shape = Shape::of::<ChannelLook>("ChannelLook", &[LOOK]);
const BY_CLIENTS: Words = Words::Not("clients ask for it over HTTP");

/// What a service offers.
pub static CAPABILITIES_OF: Answering<AskCapabilities, Capabilities> = Answering {
    operation: Operation {
        problems: &[],
        ..row(
            "push.capabilities",
            "What this service offers to whoever pushes: modes, reports and their ways, bounds.",
            (
                Shape::of::<AskCapabilities>("AskCapabilities", &["{}"]),
                Shape::of::<Capabilities>("Capabilities", &[CAPABILITIES]),
            ),
            (Effect::Reads, Verb::Get, "/capabilities"),
            BY_CLIENTS,
        )
    },
    run: work::capabilities,
};

/// Opens a channel.
pub static OPEN: Answering<OpenChannel, ChannelLook> = Answering {
    operation: Operation {
        problems: &[
            Code::NoSuchJob,
            Code::Definition,
            Code::Deleting,
            Code::ReadOnly,
            Code::UnsupportedMode,
            Code::SinkFailed,
            Code::Output,
        ],
        ..row(
            "channel.open",
            "Opens a channel into a source: everything that is pushed through it is reported, first that it is queued, and once what became of it.",
            (
                Shape::of::<OpenChannel>(
                    "OpenChannel",
                    &[
                        r#"{"source": "tickets", "client": "tracker", "mode": "async", "lease_seconds": 300, "throttle_seconds": 600, "open_max": 10000}"#,
                        r#"{"source": "tickets", "webhook": {"url": "https://tracker.example.org/hooks/reports", "secret": "a secret that both know", "sink_seconds": 600}}"#,
                    ],
                ),
                LOOKED,
            ),
            (Effect::Changes, Verb::Post, "/channels"),
            BY_CLIENTS,
        )
    },
    run: work::open,
};

/// Lists channels.
pub static LIST: Answering<ListChannels, ChannelList> = Answering {
    operation: Operation {
        problems: &[],
        ..row(
            "channel.list",
            "Channels that are open, or whose reports are kept: those of whoever asks, and to an operator all.",
            (
                Shape::of::<ListChannels>("ListChannels", &[r#"{"after": 6, "limit": 100}"#]),
                Shape::of::<ChannelList>(
                    "ChannelList",
                    &[concat!(
                        r#"{"channels": [{"channel": 7, "source": "tickets", "client": "tracker", "opened_by": "key tracker", "mode": "async",
    "state": "running", "opened_at": 1767225600000, "changed_at": 1767225600000, "seen_at": 1767225600000, "lease_seconds": 300, "#,
                        r#""throttle_seconds": 600, "open_max": 10000, "taken": 41, "completed": 40, "credits": 9999, "last_report": 84, "acknowledged": 80}], "#,
                        r#""last": 7, "more": false}"#
                    )],
                ),
            ),
            (Effect::Reads, Verb::Get, "/channels"),
            Words::Are("channel list"),
        )
    },
    run: work::list,
};

/// Shows a channel.
pub static SHOW: Answering<NameChannel, ChannelLook> = Answering {
    operation: row(
        "channel.show",
        "How a channel stands.",
        (NAMED, LOOKED),
        (Effect::Reads, Verb::Get, "/channels/{channel}"),
        Words::Are("channel show"),
    ),
    run: work::show,
};

/// Pushes through a channel.
pub static PUSH: Answering<PushThrough, PushedThrough> = Answering {
    operation: Operation {
        problems: PUSH_PROBLEMS,
        ..row(
            "channel.push",
            "Takes records through a channel. What is wrong with one is said in its report; a channel that answers when all is done waits for that.",
            (
                Shape::of::<PushThrough>(
                    "PushThrough",
                    &[
                        r#"{"channel": 7, "run": 3, "token": "5f", "records": [{"key": "17", "text": "It does not light.", "user_ref": "case 17"}], "wait_seconds": 10}"#,
                        r#"{"channel": 7, "tickets": [41, 42]}"#,
                    ],
                ),
                Shape::of::<PushedThrough>("PushedThrough", &[PUSHED]),
            ),
            (Effect::Pushes, Verb::Post, "/channels/{channel}/records"),
            BY_CLIENTS,
        )
    },
    run: work::push,
};

/// Lists reports of a channel.
pub static REPORTS_OF: Answering<ListChannelReports, ChannelReportList> = Answering {
    operation: row(
        "channel.reports",
        "What a channel told its client, in order and without gaps, after a report that was seen before.",
        (
            Shape::of::<ListChannelReports>(
                "ListChannelReports",
                &[r#"{"channel": 7, "after": 84, "limit": 100, "wait_seconds": 30}"#],
            ),
            Shape::of::<ChannelReportList>("ChannelReportList", &[REPORTS]),
        ),
        (Effect::Reads, Verb::Get, "/channels/{channel}/reports"),
        Words::Are("channel reports"),
    ),
    run: work::reports,
};

/// Acknowledges reports.
pub static ACKNOWLEDGE: Answering<AcknowledgeReports, ChannelLook> = Answering {
    operation: row(
        "channel.acknowledge",
        "The client has the reports up to one: they are kept for a day more.",
        (Shape::of::<AcknowledgeReports>("AcknowledgeReports", &[r#"{"channel": 7, "report": 84}"#]), LOOKED),
        (Effect::Pushes, Verb::Post, "/channels/{channel}/reports/acknowledge"),
        BY_CLIENTS,
    ),
    run: work::acknowledge,
};

/// A sign of life.
pub static HEARTBEAT: Answering<NameChannel, ChannelLook> = Answering {
    operation: row(
        "channel.heartbeat",
        "The client of a channel is there; so does every push, flush and acknowledgement say.",
        (NAMED, LOOKED),
        (Effect::Pushes, Verb::Post, "/channels/{channel}/heartbeat"),
        BY_CLIENTS,
    ),
    run: work::heartbeat,
};

/// Asks for a report when everything is through.
pub static FLUSH: Answering<NameChannel, Flush> = Answering {
    operation: Operation {
        problems: &[Code::NoSuchChannel, Code::ReadOnly, Code::Shutdown],
        ..row(
            "channel.flush",
            "Asks a channel to report when everything that it has taken so far is completed.",
            (NAMED, Shape::of::<Flush>("Flush", &[r#"{"channel": 7, "flush": 43}"#])),
            (Effect::Pushes, Verb::Post, "/channels/{channel}/flush"),
            Words::Are("channel flush"),
        )
    },
    run: work::flush,
};

/// Ends a channel.
pub static TERMINATE: Answering<NameChannel, ChannelLook> = Answering {
    operation: row(
        "channel.terminate",
        "Has a channel take nothing any more; what it took is carried to its end, and reported.",
        (NAMED, LOOKED),
        (Effect::Changes, Verb::Post, "/channels/{channel}/terminate"),
        Words::Are("channel terminate"),
    ),
    run: work::terminate,
};

/// Ends a channel at once.
pub static ABORT: Answering<NameChannel, ChannelLook> = Answering {
    operation: row(
        "channel.abort",
        "Has a channel take nothing any more, and drops what it took and outputs do not have yet: those records are as they were before.",
        (NAMED, LOOKED),
        (Effect::Changes, Verb::Post, "/channels/{channel}/abort"),
        Words::Are("channel abort"),
    ),
    run: work::abort,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::tests::asked_of;
    use crate::operation::Role;

    /// Coverage S2.42: nothing delivers beside a command.
    #[test]
    fn what_is_not_offered_is_not_among_the_capabilities_and_opens_no_channel() {
        let roles = &[Role::Pusher, Role::Operator];
        let offered = asked_of(None, roles, |context, caller| {
            CAPABILITIES_OF.call(context, caller, AskCapabilities {})
        })
        .unwrap();
        assert_eq!(offered.modes, [ChannelMode::Async]);
        assert_eq!(offered.transports, ["log"]);
        let wanted: OpenChannel =
            serde_json::from_value(serde_json::json!({"source": "tickets", "mode": "sync"})).unwrap();
        let refused =
            asked_of(None, roles, |context, caller| OPEN.call(context, caller, wanted)).unwrap_err();
        assert_eq!(refused.code, Code::UnsupportedMode);
        let none = ListChannels { after: 0, limit: 100 };
        let listed = asked_of(None, roles, |context, caller| LIST.call(context, caller, none)).unwrap();
        assert!(listed.channels.is_empty());
    }
}
