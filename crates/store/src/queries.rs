//! table: every statement of `sql/`, by name; how one text is made to run on both databases.
//!
//! A text is shared unless its file has a twin. Words that are translated: `$1` · `IN any_of($1)` (a list of numbers)
//! · `{rows:bigint,text}` (one row per call on SQLite, arrays on PostgreSQL; its columns are `c1`, `c2`, …).

use std::sync::OnceLock;

/// A statement with its texts.
pub struct Statement {
    /// `table/verb`, the path of its file below `sql/`.
    pub name: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
    sqlite_text: OnceLock<String>,
    postgres_text: OnceLock<String>,
}

impl Statement {
    /// The text for SQLite.
    pub fn sqlite(&self) -> &str {
        self.sqlite_text.get_or_init(|| for_sqlite(self.sqlite))
    }

    /// The text for PostgreSQL.
    pub fn postgres(&self) -> &str {
        self.postgres_text.get_or_init(|| for_postgres(self.postgres))
    }
}

fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.split("--").next().unwrap_or("").trim_end()).collect::<Vec<_>>().join("\n")
}

/// Replaces `{rows:…}` by what `rows` makes of its column types.
fn with_rows(text: &str, rows: impl Fn(&[&str]) -> String) -> String {
    match text.split_once("{rows:").and_then(|(before, rest)| Some((before, rest.split_once('}')?))) {
        Some((before, (types, after))) => {
            let types: Vec<&str> = types.split(',').map(str::trim).collect();
            format!("{before}{}{after}", rows(&types))
        }
        None => text.to_owned(),
    }
}

fn for_sqlite(text: &str) -> String {
    let text = with_rows(&without_comments(text), |types| {
        let columns: Vec<String> = (1..=types.len()).map(|n| format!("${n} AS c{n}")).collect();
        format!("(SELECT {})", columns.join(", "))
    });
    let mut out = String::with_capacity(text.len() + 32);
    let mut rest = text.as_str();
    while let Some(at) = rest.find("any_of(") {
        let end = rest[at..].find(')').map_or(rest.len(), |end| at + end);
        out.push_str(&rest[..at]);
        out.push_str("(SELECT value FROM json_each(");
        out.push_str(&rest[at + "any_of(".len()..end]);
        out.push_str("))");
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    // `$1` would be numbered by first appearance; `?1` is what it says.
    out.replace('$', "?")
}

fn for_postgres(text: &str) -> String {
    let text = with_rows(&without_comments(text), |types| {
        let arrays: Vec<String> =
            types.iter().enumerate().map(|(n, kind)| format!("${}::{kind}[]", n + 1)).collect();
        let columns: Vec<String> = (1..=types.len()).map(|n| format!("c{n}")).collect();
        format!("unnest({}) AS given({})", arrays.join(", "), columns.join(", "))
    });
    text.replace("IN any_of(", "= ANY(")
}

/// Declares statements from files; a macro because nothing else includes a file by a computed name.
macro_rules! queries {
    ($($kind:ident $name:ident = $path:literal;)*) => {
        $(
            #[doc = concat!("`sql/", $path, "`")]
            pub static $name: Statement = queries!(@$kind $path);
        )*
        /// All statements, for tests of their texts and plans.
        pub static ALL: &[&Statement] = &[$(&$name),*];
    };
    (@shared $path:literal) => {
        queries!(@make $path, include_str!(concat!("../sql/", $path, ".sql")), include_str!(concat!("../sql/", $path, ".sql")))
    };
    (@split $path:literal) => {
        queries!(@make $path, include_str!(concat!("../sql/", $path, ".sqlite.sql")),
            include_str!(concat!("../sql/", $path, ".postgres.sql")))
    };
    (@make $path:literal, $sqlite:expr, $postgres:expr) => {
        Statement { name: $path, sqlite: $sqlite, postgres: $postgres,
            sqlite_text: OnceLock::new(), postgres_text: OnceLock::new() }
    };
}

queries! {
    shared META_GET = "meta/get";
    shared META_PUT = "meta/put";
    shared META_KEEP = "meta/keep";
    shared META_REPLACE = "meta/replace";
    shared META_DROP = "meta/drop";
    split META_TRANSACTION = "meta/transaction";
    split META_IS_PAST = "meta/is_past";
    shared SECRET_ANY = "secret/any";
    shared SECRET_SEAL_SINK = "secret/seal_sink";
    shared SECRET_SINK = "secret/sink";
    shared SECRET_SINKS = "secret/sinks";
    shared JOB_SEAL = "job/seal";
    shared CONNECTION_SEAL = "connection/seal";
    split MIGRATION_LEDGER = "migration/ledger";
    shared MIGRATION_LIST = "migration/list";
    shared MIGRATION_NOTE = "migration/note";
    shared ID_BLOCK_TAKE = "id_block/take";
    shared ID_BLOCK_NEXT = "id_block/next";
    shared PROCESS_JOIN = "process/join";
    shared PROCESS_RENEW = "process/renew";
    shared PROCESS_LIST = "process/list";
    shared PROCESS_LEAVE = "process/leave";
    shared PROCESS_TAKE_OVER = "process/take_over";
    shared PART_TAKE = "part/take";
    split PART_FENCE = "part/fence";
    shared AUTHORITY_LIST = "authority/list";
    shared AUTHORITY_REVISIONS = "authority/revisions";
    shared AUTHORITY_DECLARE = "authority/declare";
    shared AUTHORITY_REMOVE = "authority/remove";
    split AUTHORITY_KEEP = "authority/keep";
    shared PERSON_ADD = "person/add";
    shared PERSON_BY_ID = "person/by_id";
    shared PERSON_BY_NAME = "person/by_name";
    shared PERSON_BY_EXTERNAL = "person/by_external";
    shared PERSON_PAGE = "person/page";
    shared PERSON_COUNT = "person/count";
    shared PERSON_REPLACE = "person/replace";
    shared PERSON_REMOVE = "person/remove";
    shared PERSON_DROP = "person/drop";
    split PERSON_TO_CHANGE = "person/to_change";
    split PERSON_LOCK = "person/lock";
    shared PERSON_GROUP_ADD = "person_group/add";
    shared PERSON_GROUP_BY_ID = "person_group/by_id";
    shared PERSON_GROUP_BY_NAME = "person_group/by_name";
    shared PERSON_GROUP_BY_EXTERNAL = "person_group/by_external";
    shared PERSON_GROUP_PAGE = "person_group/page";
    shared PERSON_GROUP_COUNT = "person_group/count";
    shared PERSON_GROUP_REPLACE = "person_group/replace";
    shared PERSON_GROUP_REMOVE = "person_group/remove";
    shared PERSON_GROUP_DROP = "person_group/drop";
    split PERSON_GROUP_TO_CHANGE = "person_group/to_change";
    split PERSON_GROUP_LOCK = "person_group/lock";
    shared PERSON_GROUP_TOUCH = "person_group/touch";
    shared MEMBERSHIP_ADD = "membership/add";
    shared MEMBERSHIP_REMOVE = "membership/remove";
    shared MEMBERSHIP_CLEAR = "membership/clear";
    shared MEMBERSHIP_LEAVE = "membership/leave";
    shared MEMBERSHIP_DROP = "membership/drop";
    shared MEMBERSHIP_OF_GROUP = "membership/of_group";
    shared MEMBERSHIP_COUNT = "membership/count";
    shared MEMBERSHIP_GROUPS_OF = "membership/groups_of";
    shared CONNECTION_ADD = "connection/add";
    shared CONNECTION_FIND = "connection/find";
    shared CONNECTION_DECLARE = "connection/declare";
    shared CONNECTION_JOIN = "connection/join";
    shared CONNECTION_GROUPS = "connection/groups";
    shared CONNECTION_LIST = "connection/list";
    shared CONNECTION_BY_HANDLE = "connection/by_handle";
    shared CONNECTION_SEND = "connection/send";
    shared CONNECTION_RECORD_GENERATION = "connection/record_generation";
    shared CONNECTION_NOTE_HEALTH = "connection/note_health";
    shared CONNECTION_ILL = "connection/ill";
    shared CONNECTION_HEALTHS = "connection/healths";
    shared JOB_ADD = "job/add";
    shared JOB_RELOCATE = "job/relocate";
    shared JOB_LIST = "job/list";
    shared JOB_NAMES = "job/names";
    shared JOB_CURRENT = "job/current";
    split JOB_PAGE = "job/page";
    shared JOB_FIGURES = "job/figures";
    shared JOB_VERSION = "job/version";
    shared JOB_BY_NAME = "job/by_name";
    shared JOB_BY_ROOT = "job/by_root";
    shared JOB_BY_HANDLE = "job/by_handle";
    shared JOB_DEFINE = "job/define";
    shared JOB_LOOKED = "job/looked";
    shared JOB_NOTE_LOOKED = "job/note_looked";
    shared JOB_CREDENTIALS = "job/credentials";
    shared JOB_BEGIN = "job/begin";
    shared JOB_REFUSE = "job/refuse";
    shared JOB_PAUSE = "job/pause";
    shared JOB_DRAIN = "job/drain";
    shared JOB_SWEEP = "job/sweep";
    shared JOB_STOP = "job/stop";
    shared JOB_REST = "job/rest";
    shared JOB_LET_REST = "job/let_rest";
    shared JOB_RESTART = "job/restart";
    shared JOB_RESTART_STOPPED = "job/restart_stopped";
    shared JOB_REREAD = "job/reread";
    shared JOB_REREAD_DONE = "job/reread_done";
    shared JOB_DELETE = "job/delete";
    shared JOB_FORGET = "job/forget";
    shared RUN_OPEN = "run/open";
    shared RUN_INTERRUPT = "run/interrupt";
    shared RUN_LISTED = "run/listed";
    shared RUN_HOLD = "run/hold";
    shared RUN_HOLD_ON = "run/hold_on";
    shared RUN_RELEASE = "run/release";
    shared RUN_END = "run/end";
    shared RUN_COUNTS = "run/counts";
    shared RUN_COUNT = "run/count";
    shared RUN_LIST = "run/list";
    shared RUN_LAST = "run/last";
    shared RUN_LAST_GOOD = "run/last_good";
    shared RUN_UNFINISHED = "run/unfinished";
    shared RUN_HELD = "run/held";
    shared RUN_TRIM = "run/trim";
    shared RUN_FOLD = "run/fold";
    shared RUN_PAST = "run/past";
    shared RUN_PAST_OF_JOB = "run/past_of_job";
    shared RUN_FORGET = "run/forget";
    shared RUN_OLDEST = "run/oldest";
    shared RUN_GO_BY = "run/go_by";
    shared RUN_SEEDED = "run/seeded";
    shared RUN_BASIS = "run/basis";
    shared LISTED_IDS_CLEAR = "listed_ids/clear";
    shared LISTED_IDS_TAKE_OVER = "listed_ids/take_over";
    split HISTORY_ADD = "history/add";
    shared HISTORY_LIST = "history/list";
    shared HISTORY_LIST_ALL = "history/list_all";
    shared HISTORY_OLDEST = "history/oldest";
    shared HISTORY_NTH = "history/nth";
    shared HISTORY_FORGET = "history/forget";
    shared NOTICE_ADD = "notice/add";
    shared NOTICE_DUE = "notice/due";
    shared NOTICE_NEXT = "notice/next";
    shared NOTICE_HASTEN = "notice/hasten";
    shared NOTICE_TRIED = "notice/tried";
    shared NOTICE_LIST = "notice/list";
    shared NOTICE_UNTOLD = "notice/untold";
    shared NOTICE_OLDEST = "notice/oldest";
    shared NOTICE_NTH = "notice/nth";
    shared NOTICE_FORGET = "notice/forget";
    shared HISTORY_OF_NAME = "history/of_name";
    shared HISTORY_ERASE = "history/erase";
    split ERASED_BEGIN = "erased/begin";
    shared ERASED_DONE = "erased/done";
    shared ERASED_KEYS = "erased/keys";
    shared ERASED_FIND = "erased/find";
    shared ERASED_LIST = "erased/list";
    shared ERASED_WAITING = "erased/waiting";
    shared ERASED_COUNT = "erased/count";
    shared ERASED_REMOVE = "erased/remove";
    shared ERASED_DROP = "erased/drop";
    shared ERASED_WAITING_DOCUMENTS = "erased/waiting_documents";
    shared ERASED_KEEP_OUT = "erased/keep_out";
    shared ERASED_KEPT_OUT = "erased/kept_out";
    shared ERASED_LET_IN = "erased/let_in";
    shared ERASED_LET_IN_OF_JOBS = "erased/let_in_of_jobs";
    shared ERASED_COUNT_ADDRESSES = "erased/count_addresses";
    shared ERASED_OF_NO_JOB = "erased/of_no_job";
    shared HISTORY_FROM_BEGIN = "history_from/begin";
    shared HISTORY_FROM_RAISE = "history_from/raise";
    shared HISTORY_FROM_RAISE_NOTED = "history_from/raise_noted";
    shared HISTORY_FROM_DROP = "history_from/drop";
    shared HISTORY_FROM_REMOVE = "history_from/remove";
    shared HISTORY_FROM_LIST = "history_from/list";
    shared REMOVED_NOTE = "removed/note";
    shared REMOVED_SUM = "removed/sum";
    shared REMOVED_DROP = "removed/drop";
    shared RUN_REMOVE = "run/remove";
    shared BLIND_SPOT_ADD = "blind_spot/add";
    shared BLIND_SPOT_LIST = "blind_spot/list";
    shared BLIND_SPOT_DROP = "blind_spot/drop";
    shared LISTED_IDS_ADD = "listed_ids/add";
    shared LISTED_IDS_LIST = "listed_ids/list";
    shared LISTED_IDS_DROP = "listed_ids/drop";
    shared ACL_LIST = "acl/list";
    shared ACL_ALL = "acl/all";
    shared ACL_ADD = "acl/add";
    shared ACL_GET = "acl/get";
    shared ACL_SOME = "acl/some";
    shared DEFINITION_LIST = "definition/list";
    shared DEFINITION_INTEND = "definition/intend";
    shared DEFINITION_CONFIRM = "definition/confirm";
    shared DEFINITION_RESET = "definition/reset";
    shared DEFINITION_UNCONFIRM = "definition/unconfirm";
    shared DEFINITION_PENDING = "definition/pending";
    shared DEFINITION_DROP = "definition/drop";
    shared DEFINITION_IN_USE = "definition/in_use";
    shared CONTAINER_LIST = "container/list";
    split CONTAINER_NAMED = "container/named";
    shared CONTAINER_SOME = "container/some";
    shared CONTAINER_ALL = "container/all";
    shared CONTAINER_ABOVE = "container/above";
    shared CONTAINER_ADD = "container/add";
    shared CONTAINER_JUDGE = "container/judge";
    shared CONTAINER_NAMES = "container/names";
    shared CONTAINER_PENDING_ADD = "container_pending/add";
    split CONTAINER_PENDING_ADD_FOR_ALL = "container_pending/add_for_all";
    shared CONTAINER_PENDING_ALL = "container_pending/all";
    shared CONTAINER_PENDING_AT = "container_pending/at";
    shared CONTAINER_PENDING_OF_JOB = "container_pending/of_job";
    shared CONTAINER_PENDING_OPEN = "container_pending/open";
    shared CONTAINER_PENDING_LEAVE = "container_pending/leave";
    shared CONTAINER_PENDING_REMOVE = "container_pending/remove";
    shared CONTAINER_PENDING_SENT_AGAIN = "container_pending/sent_again";
    shared DOCUMENT_UNPROVEN = "document/unproven";
    shared DOCUMENT_UNPROVEN_SPAN = "document/unproven_span";
    shared DOCUMENT_CONTAINERS = "document/containers";
    shared DELIVERY_ACCESS_UNCONFIRMED = "delivery/access_unconfirmed";
    shared CONTAINER_LEAVE = "container/leave";
    split DOCUMENT_SCAN_PARENTS = "document/scan_parents";
    shared DOCUMENT_FIND = "document/find";
    shared DOCUMENT_GET = "document/get";
    shared DOCUMENT_RAWS = "document/raws";
    split DOCUMENT_ADD = "document/add";
    split DOCUMENT_TEXT_ADD = "document_text/add";
    split DOCUMENT_COMPLETE = "document/complete";
    split DOCUMENT_COMPLETE_FIRST = "document/complete_first";
    split DOCUMENT_LOCK = "document/lock";
    shared DOCUMENT_STATES = "document/states";
    split DOCUMENT_ACCESS = "document/access";
    shared DOCUMENT_WALK = "document/walk";
    shared DOCUMENT_NAMES = "document/names";
    shared DOCUMENT_IDENTITIES = "document/identities";
    shared DOCUMENT_SET_ASIDE = "document/set_aside";
    shared DOCUMENT_REMOVE = "document/remove";
    shared DOCUMENT_TEXT_REMOVE = "document_text/remove";
    shared DOCUMENT_LIST = "document/list";
    shared DOCUMENT_LIST_FAILURES = "document/list_failures";
    shared DOCUMENT_LIST_QUEUED = "document/list_queued";
    split QUEUE_ENQUEUE = "queue/enqueue";
    split QUEUE_BUFFER = "queue/buffer";
    shared QUEUE_RELEASE = "queue/release";
    shared QUEUE_BUFFERED = "queue/buffered";
    shared QUEUE_BUFFERED_COUNT = "queue/buffered_count";
    split QUEUE_COMPLETE = "queue/complete";
    split QUEUE_RESCHEDULE = "queue/reschedule";
    shared QUEUE_REMOVE = "queue/remove";
    shared QUEUE_OF_JOB = "queue/of_job";
    shared QUEUE_RESENDS = "queue/resends";
    shared QUEUE_GET = "queue/get";
    shared QUEUE_SPAN = "queue/span";
    shared QUEUE_ANY = "queue/any";
    shared QUEUE_OVERDUE = "queue/overdue";
    shared QUEUE_NEXT_DUE = "queue/next_due";
    shared QUEUE_DATES = "queue/dates";
    shared QUEUE_DUE = "queue/due";
    split FAILURE_PUT = "failure/put";
    shared FAILURE_OVER = "failure/over";
    shared FAILURE_GET = "failure/get";
    shared FAILURE_SPAN = "failure/span";
    shared FAILURE_EXPIRED = "failure/expired";
    shared FAILURE_ANY = "failure/any";
    shared FAILURE_COUNT = "failure/count";
    shared FAILURE_OF_KIND = "failure/of_kind";
    shared DELIVERY_STATES = "delivery/states";
    shared DELIVERY_KEPT_BY_OTHERS = "delivery/kept_by_others";
    shared DELIVERY_SUPERSEDED = "delivery/superseded";
    shared DELIVERY_LEAVING = "delivery/leaving";
    shared DELIVERY_LEAVING_SPAN = "delivery/leaving_span";
    shared DELIVERY_LEAVING_ANY = "delivery/leaving_any";
    split DELIVERY_INTEND = "delivery/intend";
    split DELIVERY_INTEND_ACCESS = "delivery/intend_access";
    split DELIVERY_CONFIRM = "delivery/confirm";
    split DELIVERY_CONFIRM_ACCESS = "delivery/confirm_access";
    split DELIVERY_END_AS = "delivery/end_as";
    split DELIVERY_REMOVE = "delivery/remove";
    shared DELIVERY_LEFT = "delivery/left";
    shared DELIVERY_UNCONFIRMED = "delivery/unconfirmed";
    shared DELIVERY_OWNERS = "delivery/owners";
    shared DELIVERY_OF_OUTPUT = "delivery/of_output";
    shared DELIVERY_RESET_ONE = "delivery/reset_one";
    shared DELIVERY_RESET_OUTPUT = "delivery/reset_output";
    shared DELIVERY_ALL_OF_OUTPUT = "delivery/all_of_output";
    shared DELIVERY_SUPERSEDE = "delivery/supersede";
    shared DELIVERY_UNCONFIRM = "delivery/unconfirm";
    shared DELIVERY_SENT_BY_OTHERS = "delivery/sent_by_others";
    shared DELIVERY_TAKE_OVER = "delivery/take_over";
    shared DELIVERY_LOG = "delivery/log";
    shared DELIVERY_DROP_DANGLING = "delivery/drop_dangling";
    shared DELIVERY_SUPERSEDE_ACCESS = "delivery/supersede_access";
    shared DELIVERY_URI_PUT = "delivery_uri/put";
    shared DELIVERY_URI_GET = "delivery_uri/get";
    shared DELIVERY_URI_REMOVE = "delivery_uri/remove";
    shared DELIVERY_PENDING_ACCESS = "delivery/pending_access";
    shared COMPONENT_PUT = "component/put";
    shared COMPONENT_GET = "component/get";
    shared COMPONENT_KEEP = "component/keep";
    shared COMPONENT_KEPT = "component/kept";
    shared COMPONENT_KEPT_SPAN = "component/kept_span";
    shared COMPONENT_FIND = "component/find";
    shared COMPONENT_COUNT = "component/count";
    shared COMPONENT_DROP = "component/drop";
    shared COMPONENT_REMOVE = "component/remove";
    shared DOCUMENT_TEXT_MEMO = "document_text/memo";
    shared DOCUMENT_TEXT_KEEP_MEMO = "document_text/keep_memo";
    shared NEXT_LOOK_PUT = "next_look/put";
    shared NEXT_LOOK_GET = "next_look/get";
    shared NEXT_LOOK_OF = "next_look/of";
    shared NEXT_LOOK_REMOVE = "next_look/remove";
    shared NEXT_LOOK_LEAVE = "next_look/leave";
    shared NEXT_LOOK_DUE = "next_look/due";
    shared NEXT_LOOK_FIRST = "next_look/first";
    shared NEXT_LOOK_RESTING = "next_look/resting";
    shared LINK_PUT = "link/put";
    shared LINK_GET = "link/get";
    shared LINK_REMOVE = "link/remove";
    shared RECORD_COUNT = "record/count";
    shared RECORD_DROP = "record/drop";
    shared RECORD_DROP_BEFORE = "record/drop_before";
    shared RECORD_DROP_CONTENT = "record/drop_content";
    shared RECORD_FORGET_HASHES = "record/forget_hashes";
    shared RECORD_GET = "record/get";
    shared RECORD_KNOWN = "record/known";
    shared RECORD_PAGE = "record/page";
    shared RECORD_PRESENT = "record/present";
    shared RECORD_PUT = "record/put";
    shared RECORD_SET_HASH = "record/set_hash";
    shared RECORD_SETTLE_HASHES = "record/settle_hashes";
    shared RECORD_PUT_CONTENT = "record/put_content";
    shared RECORD_FIND = "record/find";
    shared RECORD_READ = "record/read";
    shared RECORD_REMOVE = "record/remove";
    shared RECORD_REMOVE_CONTENT = "record/remove_content";
    shared CHANNEL_ACK = "channel/ack";
    shared CHANNEL_COMPLETE = "channel/complete";
    shared CHANNEL_COUNT = "channel/count";
    shared CHANNEL_DELIVERED = "channel/delivered";
    shared CHANNEL_GET = "channel/get";
    shared CHANNEL_HAS_SINKS = "channel/has_sinks";
    shared CHANNEL_LIST = "channel/list";
    split CHANNEL_LOCK = "channel/lock";
    shared CHANNEL_LOSE_SINK = "channel/lose_sink";
    shared CHANNEL_MOVE = "channel/move";
    shared CHANNEL_OF_JOB = "channel/of_job";
    shared CHANNEL_OPEN = "channel/open";
    shared CHANNEL_REMOVE = "channel/remove";
    shared CHANNEL_RENEW = "channel/renew";
    shared CHANNEL_SEEN = "channel/seen";
    shared CHANNEL_SINKS = "channel/sinks";
    shared CHANNEL_TAKE = "channel/take";
    shared CHANNEL_TELL = "channel/tell";
    shared CHANNEL_FLUSH_ADD = "channel_flush/add";
    shared CHANNEL_FLUSH_DONE = "channel_flush/done";
    shared CHANNEL_FLUSH_REMOVE = "channel_flush/remove";
    shared CHANNEL_REPORT_ADD = "channel_report/add";
    shared CHANNEL_REPORT_FORGET = "channel_report/forget";
    shared CHANNEL_REPORT_FORGET_TICKETS = "channel_report/forget_tickets";
    shared CHANNEL_REPORT_LIST = "channel_report/list";
    shared CHANNEL_REPORT_OLD = "channel_report/old";
    shared RECORD_BEFORE_FORGET_HASHES = "record/before_forget_hashes";
    shared RECORD_BEFORE_GET = "record/before_get";
    shared RECORD_BEFORE_KEEP = "record/before_keep";
    shared RECORD_BEFORE_KEEP_NONE = "record/before_keep_none";
    shared RECORD_BEFORE_LEAVE = "record/before_leave";
    shared RECORD_BEFORE_REMOVE = "record/before_remove";
    shared TICKET_ADD = "ticket/add";
    shared TICKET_COMPLETE = "ticket/complete";
    shared TICKET_DROP = "ticket/drop";
    shared TICKET_OPEN_UNTIL = "ticket/open_until";
    shared TICKET_FAILED_WITHIN = "ticket/failed_within";
    shared TICKET_FIRST_OPEN = "ticket/first_open";
    shared TICKET_FORGET = "ticket/forget";
    shared TICKET_GET = "ticket/get";
    shared TICKET_OF_CHANNEL = "ticket/of_channel";
    shared TICKET_OPEN = "ticket/open";
    shared TICKET_OPEN_OF_JOB = "ticket/open_of_job";
    shared TICKET_PREPARED_ADD = "ticket_prepared/add";
    shared TICKET_PREPARED_CALLS = "ticket_prepared/calls";
    shared TICKET_PREPARED_FIRST = "ticket_prepared/first";
    shared TICKET_PREPARED_OF_CALL = "ticket_prepared/of_call";
    shared TICKET_PREPARED_REMOVE = "ticket_prepared/remove";
    shared TICKET_REPORTS = "ticket/reports";
    shared DELTA_RUN_DELETED = "delta_run/deleted";
    shared DELTA_RUN_DROP = "delta_run/drop";
    shared DELTA_RUN_END = "delta_run/end";
    shared DELTA_RUN_FINISH = "delta_run/finish";
    shared DELTA_RUN_UNDRAINED = "delta_run/undrained";
    shared DELTA_RUN_DRAIN = "delta_run/drain";
    shared DELTA_RUN_FORGET = "delta_run/forget";
    shared DELTA_RUN_GET = "delta_run/get";
    shared DELTA_RUN_LAST = "delta_run/last";
    shared DELTA_RUN_OPEN = "delta_run/open";
    shared DELTA_RUN_RENEW = "delta_run/renew";
    shared DELTA_RUN_SEEN = "delta_run/seen";
    shared DELTA_RUN_VETO = "delta_run/veto";
    shared DELTA_MARK_ADD = "delta_mark/add";
    shared DELTA_MARK_DROP = "delta_mark/drop";
    shared DELTA_MARK_LIST = "delta_mark/list";
    shared DELTA_MARK_OF_KIND = "delta_mark/of_kind";
    shared RECORD_PARENT_CHILDREN = "record_parent/children";
    shared RECORD_PARENT_CHILDREN_OF = "record_parent/children_of";
    shared RECORD_PARENT_DROP = "record_parent/drop";
    shared RECORD_PARENT_PARENTS = "record_parent/parents";
    shared RECORD_PARENT_PRUNE = "record_parent/prune";
    shared RECORD_PARENT_PUT = "record_parent/put";
    shared RECORD_PARENT_LEAVE = "record_parent/leave";
    shared RECORD_PARENT_LET_GO = "record_parent/let_go";
    shared RECORD_PARENT_WITH_CHILDREN = "record_parent/with_children";
    shared RECORD_PARENT_TOLD = "record_parent/told";
    shared RECORD_PARENT_REMOVE = "record_parent/remove";
    shared HANDED_DOWN_PUT = "handed_down/put";
    shared HANDED_DOWN_BY = "handed_down/by";
    shared HANDED_DOWN_TO = "handed_down/to";
    shared HANDED_DOWN_PARENTS = "handed_down/parents";
    shared HANDED_DOWN_REMOVE = "handed_down/remove";
    shared HANDED_DOWN_REMOVE_TO = "handed_down/remove_to";
    shared HANDED_DOWN_REMOVE_BY = "handed_down/remove_by";
    shared EVENT_BEGIN = "event/begin";
    shared EVENT_COMPLETE = "event/complete";
    shared EVENT_FREE_ALL = "event/free_all";
    shared EVENT_LEAVE = "event/leave";
    shared EVENT_HOLDER = "event/holder";
    shared EVENT_LIST = "event/list";
    shared EVENT_AWAITED = "event/awaited";
    shared PREREQUISITE_PUT = "prerequisite/put";
    shared PREREQUISITE_REMOVE = "prerequisite/remove";
    shared PREREQUISITE_DROP = "prerequisite/drop";
    shared PREREQUISITE_OF_JOB = "prerequisite/of_job";
    shared PREREQUISITE_PENDING = "prerequisite/pending";
    shared EXTRACT_PUT = "extract/put";
    shared EXTRACT_GET = "extract/get";
    shared EXTRACT_DIGESTS = "extract/digests";
    shared EXTRACT_REMOVE = "extract/remove";
    shared EXTRACT_ANY = "extract/any";
    shared EXTRACT_KEPT = "extract/kept";
    shared EXTRACT_OF_JOB = "extract/of_job";
    split EXTRACT_TEXT_PUT = "extract_text/put";
    split EXTRACT_TEXT_LOCK = "extract_text/lock";
    shared EXTRACT_TEXT_DROP = "extract_text/drop";
    shared DOCTOR_LINKS_OF_NOTHING = "doctor/links_of_nothing";
    shared DOCTOR_DROP_LINKS = "doctor/drop_links";
    shared DOCTOR_RECORDS_OF_NOTHING = "doctor/records_of_nothing";
    shared DOCTOR_DROP_RECORDS = "doctor/drop_records";
    shared DOCTOR_DROP_RECORD_PARENTS = "doctor/drop_record_parents";
    shared DOCTOR_DROP_RECORD_CONTENTS = "doctor/drop_record_contents";
    shared DOCTOR_DROP_OPEN_TICKETS = "doctor/drop_open_tickets";
    shared DOCTOR_HANDED_DOWN_OF_NOTHING = "doctor/handed_down_of_nothing";
    shared DOCTOR_DROP_HANDED_DOWN = "doctor/drop_handed_down";
    shared DOCTOR_PREREQUISITES_OF_NOTHING = "doctor/prerequisites_of_nothing";
    shared DOCTOR_DROP_PREREQUISITES = "doctor/drop_prerequisites";
    shared DOCTOR_DATES_OF_NOTHING = "doctor/dates_of_nothing";
    shared DOCTOR_DROP_DATES = "doctor/drop_dates";
    shared DOCTOR_EXTRACTS_OF_NOTHING = "doctor/extracts_of_nothing";
    shared DOCTOR_DROP_EXTRACTS = "doctor/drop_extracts";
    shared DOCTOR_DROP_EXTRACT_TEXTS = "doctor/drop_extract_texts";
    shared API_KEY_ADD = "api_key/add";
    shared API_KEY_LIST = "api_key/list";
    shared API_KEY_BY_ID = "api_key/by_id";
    shared API_KEY_REMOVE = "api_key/remove";
    shared AUDIT_BEGIN = "audit/begin";
    shared AUDIT_END = "audit/end";
    shared AUDIT_LIST = "audit/list";
    shared AUDIT_FORGET = "audit/forget";
    shared TALLY_ADD = "tally/add";
    shared TALLY_GET = "tally/get";
    shared TALLY_OF_JOBS = "tally/of_jobs";
    shared TALLY_REMOVE = "tally/remove";
    shared EXPLAIN_DOCUMENT = "explain/document";
    shared EXPLAIN_DELIVERIES = "explain/deliveries";
    shared EXPLAIN_SAME_IDENTITY = "explain/same_identity";
    shared DOCTOR_WORK_OF_NOTHING = "doctor/work_of_nothing";
    shared DOCTOR_RETRIED_BY_NOBODY = "doctor/retried_by_nobody";
    shared DOCTOR_NAMELESS_DOCUMENTS = "doctor/nameless_documents";
    shared DOCTOR_NAMES_OF_NOTHING = "doctor/names_of_nothing";
    shared DOCTOR_DELIVERIES_OF_NOTHING = "doctor/deliveries_of_nothing";
    shared DOCTOR_COMPONENTS_OF_NOTHING = "doctor/components_of_nothing";
    shared DOCTOR_DROP_COMPONENTS = "doctor/drop_components";
    shared DOCTOR_NAMELESS_COMPONENTS = "doctor/nameless_components";
    split DOCTOR_UNCONFIRMED = "doctor/unconfirmed";
    shared DOCTOR_FORGOTTEN = "doctor/forgotten";
    shared DOCTOR_CONFIRMED_BEFORE_INTENT = "doctor/confirmed_before_intent";
    shared DOCTOR_OWNERS_DIFFER = "doctor/owners_differ";
    shared DOCTOR_MISCOUNTED = "doctor/miscounted";
    shared DOCTOR_BELOW_ZERO = "doctor/below_zero";
    shared DOCTOR_OPEN_RUNS = "doctor/open_runs";
    shared DOCTOR_LATER_RUNS = "doctor/later_runs";
    shared DOCTOR_MARKS_OF_NOTHING = "doctor/marks_of_nothing";
    shared DOCTOR_IDS_BEYOND = "doctor/ids_beyond";
    shared DOCTOR_HELD_BY_OLDER = "doctor/held_by_older";
    shared DOCTOR_DOCUMENTS_OF_NO_JOB = "doctor/documents_of_no_job";
    shared DOCTOR_RUNS_OF_NO_JOB = "doctor/runs_of_no_job";
    shared DOCTOR_TROUBLE_OF_NOTHING = "doctor/trouble_of_nothing";
    shared DOCTOR_ADDRESSES_OF_NOTHING = "doctor/addresses_of_nothing";
    shared DOCTOR_UNKNOWN_ACCESS = "doctor/unknown_access";
    shared DOCTOR_PLACES_BELOW_NOTHING = "doctor/places_below_nothing";
    shared DOCTOR_PEOPLE_OF_NO_AUTHORITY = "doctor/people_of_no_authority";
    shared DOCTOR_DROP_PERSON_OF_NO_AUTHORITY = "doctor/drop_person_of_no_authority";
    shared DOCTOR_DROP_PERSON_GROUP_OF_NO_AUTHORITY = "doctor/drop_person_group_of_no_authority";
    shared DOCTOR_DROP_MEMBERSHIP_OF_NO_AUTHORITY = "doctor/drop_membership_of_no_authority";
    shared DOCTOR_MEMBERS_OF_NOTHING = "doctor/members_of_nothing";
    shared DOCTOR_DROP_MEMBERS = "doctor/drop_members";
    shared DOCTOR_LOST_CONNECTIONS = "doctor/lost_connections";
    shared DOCTOR_DROP_WORK = "doctor/drop_work";
    shared DOCTOR_DROP_NAMELESS = "doctor/drop_nameless";
    shared DOCTOR_DROP_NAMES = "doctor/drop_names";
    shared DOCTOR_DROP_FAILURE = "doctor/drop_failure";
    shared DOCTOR_DROP_ADDRESSES = "doctor/drop_addresses";
    shared DOCTOR_QUEUE = "doctor/queue";
    shared DOCTOR_DROP_TALLIES = "doctor/drop_tallies";
    shared DOCTOR_RECOUNT = "doctor/recount";
    shared DOCTOR_CLOSE_RUNS = "doctor/close_runs";
    shared DOCTOR_LOWER_RUNS = "doctor/lower_runs";
    shared DOCTOR_DROP_MARKS = "doctor/drop_marks";
    shared DOCTOR_RAISE_IDS = "doctor/raise_ids";
    shared DOCTOR_VOID_HELD = "doctor/void_held";
    shared DOCTOR_DROP_DOCUMENTS_OF_NO_JOB = "doctor/drop_documents_of_no_job";
    shared DOCTOR_DROP_RUNS_OF_NO_JOB = "doctor/drop_runs_of_no_job";
    shared DOCTOR_DROP_TALLIES_OF_NO_JOB = "doctor/drop_tallies_of_no_job";
    shared DOCTOR_DROP_MARKS_OF_NO_JOB = "doctor/drop_marks_of_no_job";
    shared DOCTOR_DROP_BLIND_SPOTS_OF_NO_JOB = "doctor/drop_blind_spots_of_no_job";
    shared DOCTOR_NEWEST_TIME = "doctor/newest_time";
    split DOCTOR_INTEGRITY = "doctor/integrity";
}
