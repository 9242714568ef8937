//! The repository `pushed`: records that applications push into a source. The engine keeps them (decision 0051); here they are read.

mod files;
mod webhooks;

use std::sync::Arc;

use garde::Validate;
use ingather_contract::call::CallContext;
use ingather_contract::inbox::{Files, Inbox, ListedRecord, ReceivedRecord};
use ingather_contract::refers::{Asked, Leads, ReadPage, Refers, VisitAnswer};
use ingather_contract::repository::{
    Buffering, ContainerReport, Group, HostContext, Item, Listing, Named, Observed, Page, Presence, Quotas,
    ReadContent, Receives, Repository, RepositoryCapabilities, RepositoryKind,
};
use ingather_contract::settings;
use ingather_model::access::{Acl, UNIX_FORMS, is_misspelled};
use ingather_model::document::{Links, Record};
use ingather_model::fault::{Fault, Reason};
use ingather_model::job::dates::Dates;
use ingather_model::key::{Stamp, parent_bytes};
use ingather_model::limits;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::files::Below;
use self::webhooks::Beginnings;

/// The `pushed` repository.
pub const REFERRING: RepositoryKind = RepositoryKind {
    name: "pushed",
    about: "Records that applications push into a source.",
    capabilities: RepositoryCapabilities {
        list: false,
        access: true,
        unique_uris: true,
        looks: false,
        bins: false,
    },
    source_schema: settings::schema_of::<Settings>,
    open,
};

/// What roots of such sources begin with, before their names.
const ROOT: &str = "push:";
/// The one container of all such records.
const CONTAINER: &str = "push:";
/// How often what changes again and again is buffered for `buffer_ms`, where its source does not say how long.
const WINDOWS: u32 = 15;
/// The word of `access` for everybody.
const EVERYBODY: &str = "everybody";
/// Of a key that is no address: what cannot stand in one.
const UNSAFE: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'%')
    .add(b'#')
    .add(b'?')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Settings of a source.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
#[garde(allow_unvalidated)]
struct Settings {
    /// Name of the source, behind `push:`.
    #[garde(custom(is_root))]
    root: String,
    /// Who may see records that say nothing of that: access tokens, or `everybody`. Nobody when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(max = limits::WEB_PATTERNS_MAX), custom(are_tokens))]
    access: Option<Vec<String>>,
    /// What keys begin with that are addresses, such as `https://tracker.example.org/`: such a record stands in outputs by its key. All others stand behind the name of
    /// the source, so that no application takes the place of what another job sends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[garde(length(max = limits::WEB_PATTERNS_MAX), custom(are_addresses))]
    address_prefixes: Vec<String>,
    /// A folder of the machine of the service, such as `/srv/scans`: a record may name a file below it as its content, which is read when it is pushed. Whoever may
    /// push says who sees what is in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(inner(custom(is_absolute)))]
    files: Option<String>,
    /// What addresses begin with that channels may send their reports to, such as `https://tracker.example.org/hooks/`: none when left out. Scheme, host, port and path are compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[garde(length(max = limits::WEB_PATTERNS_MAX), custom(are_webhooks))]
    webhooks: Vec<String>,
    /// Records that it has at most; as many as there is room for when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(inner(range(min = 1)))]
    records_max: Option<u64>,
    /// Records and deletions that it takes in a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(inner(range(min = 1)))]
    records_a_minute_max: Option<u32>,
    /// What changes is delivered so long after its last change, milliseconds, so that several changes make one delivery; at once when left out. The end of a
    /// delta run and a flush of a channel do not wait for it.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[garde(range(max = limits::BUFFER_MS_MAX))]
    buffer_ms: u32,
    /// What changes again and again is delivered so long after the first of its changes, milliseconds; 15 times `buffer_ms` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(inner(range(max = limits::BUFFER_MS_MAX)), custom(is_longer(self.buffer_ms)))]
    buffer_ms_max: Option<u32>,
}

fn is_absolute(folder: &str, _: &()) -> garde::Result {
    match folder.starts_with('/') && !folder.contains('\0') {
        true => Ok(()),
        false => Err(garde::Error::new("must be an absolute path, such as /srv/scans")),
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_longer(least: u32) -> impl FnOnce(&Option<u32>, &()) -> garde::Result {
    move |most, ()| match most {
        Some(most) if *most < least => {
            Err(garde::Error::new(format!("must not be shorter than `buffer_ms`, which is {least}")))
        }
        _ => Ok(()),
    }
}

fn are_addresses(addresses: &[String], _: &()) -> garde::Result {
    let is_address = |text: &String| {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme).unwrap_or_default();
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
    };
    match addresses.iter().position(|text| !is_address(text)) {
        None => Ok(()),
        Some(at) => Err(garde::Error::new(format!(
            "number {} is no beginning of an address; write its scheme and host, such as https://tracker.example.org/",
            at + 1
        ))),
    }
}

fn are_webhooks(addresses: &[String], _: &()) -> garde::Result {
    let wrong = addresses.iter().enumerate().find_map(|(at, text)| Some((at, webhooks::read(text).err()?)));
    match wrong {
        None => Ok(()),
        Some((at, why)) => Err(garde::Error::new(format!("number {} {why}", at + 1))),
    }
}

fn is_root(root: &str, _: &()) -> garde::Result {
    let name = root.strip_prefix(ROOT).unwrap_or_default();
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    match begins_well && name.len() <= 128 && name.chars().all(is_of_name) {
        true => Ok(()),
        false => Err(garde::Error::new(
            "must be `push:` and a name of 1 to 128 letters, digits, dots, dashes and underscores, such as push:tickets",
        )),
    }
}

fn are_tokens(tokens: &Option<Vec<String>>, _: &()) -> garde::Result {
    let tokens = tokens.as_deref().unwrap_or_default();
    if tokens.len() > 1 && tokens.iter().any(|token| token == EVERYBODY) {
        return Err(garde::Error::new(format!("`{EVERYBODY}` stands alone")));
    }
    // What is typed may be a secret that was meant for something else: it is told by its number.
    match tokens.iter().position(|token| token.is_empty() || is_misspelled(token)) {
        None => Ok(()),
        Some(at) => Err(garde::Error::new(format!(
            "number {} is no token of this machine, which has {UNIX_FORMS}",
            at + 1
        ))),
    }
}

/// The acl of tokens that may see something: none of them admits nobody.
pub fn acl_of(tokens: &[String]) -> Acl {
    match tokens {
        [one] if one == EVERYBODY => Acl::open(),
        [] => Acl::Ordered(Vec::new()),
        tokens => Acl::Flat { allow: tokens.to_vec(), deny: Vec::new() },
    }
}

fn open(source: &serde_json::Value, host: &HostContext) -> Result<Arc<dyn Repository>, Fault> {
    let settings: Settings = settings::read(source)?;
    let acl = acl_of(settings.access.as_deref().unwrap_or_default());
    let Settings {
        root,
        address_prefixes,
        files,
        webhooks,
        records_max,
        records_a_minute_max,
        buffer_ms,
        buffer_ms_max,
        ..
    } = settings;
    let quotas = Quotas { records_max, records_a_minute_max };
    let ms_max =
        buffer_ms_max.unwrap_or_else(|| buffer_ms.saturating_mul(WINDOWS).min(limits::BUFFER_MS_MAX));
    let buffering = Buffering { ms: buffer_ms.into(), ms_max: ms_max.into() };
    let files = files.map(|folder| Arc::new(Below(folder.into())) as Arc<dyn Files>);
    let (sinks, inbox) = (Arc::new(Beginnings(webhooks)), host.inbox.clone());
    Ok(Arc::new(Source { root, acl, address_prefixes, quotas, buffering, files, sinks, inbox }))
}

/// One source of one job.
struct Source {
    root: String,
    /// Who may see records that say nothing of that.
    acl: Acl,
    /// Beginnings of keys that are addresses.
    address_prefixes: Vec<String>,
    quotas: Quotas,
    buffering: Buffering,
    files: Option<Arc<dyn Files>>,
    sinks: Arc<Beginnings>,
    inbox: Option<Arc<dyn Inbox>>,
}

/// Everybody may pass, and each record says who may see it.
fn container() -> ContainerReport {
    ContainerReport {
        name: CONTAINER.to_owned(),
        parent: None,
        identity: CONTAINER.to_owned(),
        acl: Acl::open(),
        folder: Some(String::new()),
        stamp: Stamp::NONE,
    }
}

fn version(ticket: i64) -> Stamp {
    Stamp::of(&ticket.to_le_bytes())
}

impl Source {
    fn inbox(&self) -> Result<&Arc<dyn Inbox>, Fault> {
        self.inbox.as_ref().ok_or_else(|| Fault::passing("inbox", "what was pushed is not at hand here"))
    }

    fn get(&self, key: &str) -> Result<ReceivedRecord, Fault> {
        self.inbox()?.get(key)?.ok_or(Fault::Gone)
    }

    fn observed(&self, key: &str, received: &ReceivedRecord) -> Observed {
        let about = &received.about;
        let record = Record {
            uri: self.uri(key),
            title: about.title.clone(),
            path: key.to_owned(),
            media_type: about.media_type.clone(),
            language: about.language.clone(),
            size: Some(received.content.len() as u64),
            modified: about.modified,
            created: about.created,
            author: about.author.clone(),
            fields: about.fields.clone(),
            ..Record::default()
        };
        Observed {
            content: version(received.ticket),
            access: Stamp::NONE,
            identity: 0,
            acl: received.acl.clone().unwrap_or_else(|| self.acl.clone()),
            record,
            dates: Dates::default(),
        }
    }
}

impl Repository for Source {
    fn check(&self, _call: &CallContext) -> Result<String, Fault> {
        Ok(format!("{} takes what is pushed", self.root))
    }

    fn list(&self, _call: &CallContext) -> Result<Box<dyn Listing>, Fault> {
        Ok(Box::new(Seeds { inbox: self.inbox()?.clone(), acl: self.acl.clone(), after: Some(i64::MIN) }))
    }

    fn look(&self, _call: &CallContext, key: &str) -> Result<Observed, Fault> {
        Ok(self.observed(key, &self.get(key)?))
    }

    fn fetch(&self, _call: &CallContext, key: &str, read: &mut ReadContent<'_>) -> Result<Observed, Fault> {
        let received = self.get(key)?;
        let mut observed = self.observed(key, &received);
        read(&mut observed.record, &observed.acl, &mut received.content.as_slice())?;
        Ok(observed)
    }

    fn probe(&self, _call: &CallContext, key: &str) -> Presence {
        match self.get(key) {
            Ok(_) => Presence::Present,
            Err(Fault::Gone) => Presence::Absent,
            Err(_) => Presence::Unknown,
        }
    }

    /// A key that begins as the source says is the address; any other one stands behind the name of the source.
    fn uri(&self, key: &str) -> String {
        let is_plain = !key.chars().any(|c| c.is_control() || c == ' ');
        match is_plain && self.address_prefixes.iter().any(|begin| key.starts_with(begin.as_str())) {
            true => key.to_owned(),
            false => format!("{}/{}", self.root, utf8_percent_encode(key, UNSAFE)),
        }
    }

    fn named(&self, text: &str) -> Result<Named, Reason> {
        let below = text.strip_prefix(self.root.as_str()).and_then(|below| below.strip_prefix('/'));
        let key = match below {
            Some(below) => percent_encoding::percent_decode_str(below).decode_utf8_lossy().into_owned(),
            None => text.to_owned(),
        };
        Ok(Named { parent_bytes: parent_bytes(&key), key })
    }

    fn refers(&self) -> Option<&dyn Refers> {
        Some(self)
    }

    fn pushed(&self) -> Option<Receives> {
        let (quotas, buffering, files) = (self.quotas, self.buffering, self.files.clone());
        Some(Receives { container: container(), quotas, buffering, files, sinks: self.sinks.clone() })
    }
}

impl Refers for Source {
    fn visit(
        &self,
        _call: &CallContext,
        asked: &Asked<'_>,
        read: &mut ReadPage<'_>,
    ) -> Result<VisitAnswer, Fault> {
        let received = self.get(asked.key)?;
        if received.about.is_dropped {
            let sentence = "it stands for what is in it (`compound`: `drop`), and is not found itself";
            return Ok(VisitAnswer::NoEntry(Reason::new("compound_dropped", sentence), Leads::default()));
        }
        let mut observed = self.observed(asked.key, &received);
        // Whoever pushes a document says which others there are; what its text leads to is none of the job.
        let _links: Links = read(&mut observed.record, &observed.acl, &mut received.content.as_slice())?;
        Ok(VisitAnswer::Read(Box::new(observed), Leads::default()))
    }
}

/// All records, each named with its version.
struct Seeds {
    inbox: Arc<dyn Inbox>,
    acl: Acl,
    /// The id behind which the next page begins; none: the listing is over.
    after: Option<i64>,
}

impl Listing for Seeds {
    fn next(&mut self) -> Option<Result<Page, Fault>> {
        let after = self.after?;
        let listed = match self.inbox.page(after, limits::CLAIM_MAX) {
            Ok(listed) => listed,
            Err(fault) => {
                self.after = None;
                return Some(Err(fault));
            }
        };
        self.after = listed.last().map(|last| last.id);
        if listed.is_empty() && after != i64::MIN {
            return None;
        }
        let containers = if after == i64::MIN { vec![container()] } else { Vec::new() };
        let group = |record: ListedRecord| {
            let (parent, name) = record.key.split_at(parent_bytes(&record.key));
            let item = Item {
                name: name.to_owned(),
                content: version(record.ticket),
                access: Stamp::NONE,
                identity: 0,
            };
            Group {
                parent: parent.to_owned(),
                container: Some(CONTAINER.to_owned()),
                items: vec![item],
                acl: Some(record.acl.unwrap_or_else(|| self.acl.clone())),
            }
        };
        Some(Ok(Page { containers, groups: listed.into_iter().map(group).collect(), ..Page::default() }))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use ingather_contract::inbox::About;
    use ingather_testkit::suites::{self, ReferringSample};

    use super::*;

    fn source(settings: serde_json::Value) -> Result<Arc<dyn Repository>, Fault> {
        open(&settings, &HostContext::default())
    }

    #[test]
    fn a_key_that_begins_as_the_source_says_is_the_address_and_any_other_one_stands_behind_its_name() {
        let settings =
            serde_json::json!({"root": "push:tickets", "address_prefixes": ["https://a.example/"]});
        let source = source(settings).unwrap();
        for (key, uri) in [
            ("https://a.example/x?y=1#z", "https://a.example/x?y=1#z"),
            ("https://other.example/x", "push:tickets/https://other.example/x"),
            ("file:///etc/passwd", "push:tickets/file:///etc/passwd"),
            ("17", "push:tickets/17"),
            ("a b/ä%2F", "push:tickets/a%20b/%C3%A4%252F"),
            ("push:tickets/17", "push:tickets/push:tickets/17"),
            ("https://a.example/a b", "push:tickets/https://a.example/a%20b"),
        ] {
            assert_eq!(source.uri(key), uri);
            assert_eq!(source.named(uri).unwrap().key, key);
        }
    }

    /// Records in memory.
    #[derive(Debug, Default)]
    struct Memory(Mutex<BTreeMap<String, ReceivedRecord>>);

    impl Memory {
        fn put(&self, key: &str, ticket: i64, content: &[u8]) {
            let record =
                ReceivedRecord { ticket, acl: None, about: About::default(), content: content.to_vec() };
            self.0.lock().unwrap().insert(key.to_owned(), record);
        }
    }

    impl Inbox for Memory {
        fn page(&self, after: i64, most: usize) -> Result<Vec<ListedRecord>, Fault> {
            let records = self.0.lock().unwrap();
            let listed = records.iter().zip(1..).map(|((key, record), id)| ListedRecord {
                id,
                key: key.clone(),
                ticket: record.ticket,
                acl: record.acl.clone(),
            });
            Ok(listed.filter(|listed| listed.id > after).take(most).collect())
        }

        fn get(&self, key: &str) -> Result<Option<ReceivedRecord>, Fault> {
            Ok(self.0.lock().unwrap().get(key).cloned())
        }
    }

    #[test]
    fn it_keeps_what_a_repository_promises_that_is_visited() {
        let memory = Arc::new(Memory::default());
        memory.put("a/17", 1, b"one");
        memory.put("b", 2, b"other");
        suites::referring(
            &REFERRING,
            &ReferringSample {
                source: serde_json::json!({"root": "push:tickets", "access": ["everybody"]}),
                host: HostContext { inbox: Some(memory.clone()), threads: 1, ..HostContext::default() },
                present: ("a/17", b"one"),
                absent: "a/18",
                change: (&|| memory.put("a/17", 3, b"another"), b"another"),
            },
        );
    }

    #[test]
    fn names_and_tokens_that_mean_nothing_are_refused_and_whoever_is_not_named_sees_nothing() {
        for wrong in [
            serde_json::json!({"root": "push:"}),
            serde_json::json!({"root": "push:a/b"}),
            serde_json::json!({"root": "push:.."}),
            serde_json::json!({"root": "push:a", "access": ["everybody", "unix:u:1"]}),
            serde_json::json!({"root": "push:a", "access": ["unix:1"]}),
            serde_json::json!({"root": "push:a", "address_prefixes": ["example.org"]}),
            serde_json::json!({"root": "push:a", "other": 1}),
        ] {
            assert!(source(wrong.clone()).is_err(), "{wrong}");
        }
        let anybody = ingather_model::access::Tokens::anonymous();
        assert!(!acl_of(&[]).admits(&anybody));
        assert!(acl_of(&[EVERYBODY.to_owned()]).admits(&anybody));
    }
}
