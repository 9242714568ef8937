//! The `tika` transform: text by a Tika server, for those who run one, instead of the readers of `text`.

mod answer;
mod server;

use std::sync::Arc;

use garde::Validate;
use ingather_contract::call::CallContext;
use ingather_contract::settings;
use ingather_contract::transform::{Item, Transform, TransformKind, Verdict};
use ingather_model::document::Record;
use ingather_model::fault::Fault;
use ingather_model::limits;
use schemars::JsonSchema;
use serde::Deserialize;

use super::truncated;
use crate::transforms::text::{Container, PartsAs, name_of, take};
use answer::Answer;
use ingather_kit::literal;
use server::{Outcome, Server};

/// The `tika` transform.
pub(crate) const TRANSFORM: TransformKind = TransformKind {
    name: "tika",
    about: "Finds text, title, author and parts of documents by a Tika server; stands in the place of `text`.",
    version: "3",
    schema: settings::schema_of::<Settings>,
    open,
};

fn open(value: &serde_json::Value) -> Result<Arc<dyn Transform>, Fault> {
    let settings: Settings = settings::read(value)?;
    let server = Server::new(&settings).map_err(|why| Fault::refused("settings", format!("url: {why}")))?;
    Ok(Arc::new(Tika { settings, server }))
}

/// Which server, how long it may take, and what is taken of its answers. Documents travel to it as they are, so it is
/// reached on this machine only, or with `private_network` on addresses that no other network routes.
///
/// While the server is down, documents wait and outputs keep what they hold.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    /// Address of the server, with `http`.
    #[garde(length(bytes, min = 1, max = 2_048))]
    #[schemars(extend("x-of-the-machine" = true))]
    url: String,
    /// The server may be on a private address (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, fc00::/7): what documents say
    /// crosses that network as it is.
    #[garde(skip)]
    #[schemars(extend("x-of-the-machine" = true))]
    private_network: bool,
    /// Longest wait for a connection, milliseconds.
    #[garde(range(min = 10, max = 60_000))]
    connect_ms: u64,
    /// Longest time for one document, milliseconds.
    #[garde(range(min = 100, max = 3_600_000))]
    answer_ms: u64,
    /// Wait before a document is tried again while the server is down, milliseconds.
    #[garde(range(min = 100, max = 3_600_000))]
    retry_ms: u32,
    /// Larger documents are not sent: bytes, or a text such as `20MB`; they are entries without text.
    #[serde(deserialize_with = "literal::read_size")]
    #[schemars(schema_with = "literal::size_schema")]
    #[garde(range(min = 1))]
    bytes_max: u64,
    /// Characters of text that are taken of a document and its parts together.
    #[garde(range(min = 1, max = limits::BODY_BYTES_MAX))]
    characters_max: usize,
    /// Members of archives, messages of mailboxes and attachments, as in `text`.
    #[garde(skip)]
    parts: PartsAs,
    /// The entry of a document that has parts as entries, as in `text`.
    #[garde(skip)]
    container: Container,
    /// Parts of a document that are read; with more, none are entries.
    #[garde(range(min = 1, max = limits::EXTRACT_PARTS_MAX))]
    parts_max: usize,
    /// Further metadata to keep as fields, by the server's names such as `pdf:PDFVersion`.
    #[garde(length(max = 1_024), inner(length(bytes, min = 1, max = 1_024)))]
    metadata: Vec<String>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            url: "http://127.0.0.1:9998".to_owned(),
            private_network: false,
            connect_ms: 5_000,
            answer_ms: 120_000,
            retry_ms: 10_000,
            bytes_max: 100 << 20,
            characters_max: limits::BODY_BYTES_MAX,
            parts: PartsAs::default(),
            container: Container::default(),
            parts_max: 1_000,
            metadata: Vec::new(),
        }
    }
}

struct Tika {
    settings: Settings,
    server: Server,
}

impl Transform for Tika {
    fn apply(&self, _call: &CallContext, item: &mut Item<'_>) -> Result<Verdict, Fault> {
        let Item { record, content, parts, .. } = item;
        if let Some(size) = record.size.filter(|size| *size > self.settings.bytes_max) {
            return Ok(self.too_large(record, &format!("its {size} bytes are")));
        }
        let name = name_of(record).to_owned();
        match self.server.read(&self.settings, &name, *content)? {
            Outcome::Read(answer) => {
                let Answer { found, cut_off } = answer::read(&self.settings, &name, &answer)?;
                let verdict = take((self.settings.parts, self.settings.container), record, found, parts);
                if cut_off {
                    truncated(record);
                }
                Ok(verdict)
            }
            Outcome::Unread(why) => Ok(unread(record, why)),
            Outcome::TooLarge => Ok(self.too_large(record, "it is")),
        }
    }
}

impl Tika {
    fn too_large(&self, record: &mut Record, its: &str) -> Verdict {
        let most = self.settings.bytes_max;
        unread(
            record,
            format!("{its} more than the {most} bytes (bytes_max) that are sent to the Tika server"),
        )
    }
}

/// A document that is an entry without text, and says why.
fn unread(record: &mut Record, why: String) -> Verdict {
    record.fields.insert("extraction".to_owned(), vec![why]);
    Verdict::Pass
}

#[cfg(test)]
mod tests;
