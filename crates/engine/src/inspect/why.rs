//! Whether a user may see a document, and what decides: each layer of access with the entry that matched.

use ingather_model::limits;
use std::collections::HashMap;

use ingather_contract::access_filter::Reference;
use ingather_model::access::identity::{Group, Identity};
use ingather_model::access::{Acl, Entry, Judgement, Tokens, UNIX_EVERYONE, unix_user};
use ingather_model::fault::Reason;
use ingather_model::ids::{AclId, ContainerId};
use ingather_store::connections::{self, Role};
use ingather_store::containers::{self, Container};
use ingather_store::jobs::{self, Job};

use super::access_change::{self, MODE_ENTRIES};
use super::cause;
use super::facts::Row;
use super::names::ItemName;
use super::stage_acl::{NOT_WHOLE, StageAcl};
use crate::access_filter;
use crate::engine::Engine;
use crate::error::Result;

/// Whether a user finds one document.
#[derive(Clone, Debug)]
pub struct Access {
    /// The job that has it.
    pub job: String,
    /// Its name there.
    pub document: String,
    /// Whether a search shows it to the user.
    pub may_see: bool,
    /// Stable word, and the sentence that names what decides.
    pub cause: Reason,
    /// The document and every folder above it.
    pub layers: Vec<Layer>,
}

/// One layer of access.
#[derive(Clone, Debug)]
pub struct Layer {
    /// `document`, or the name of the container.
    pub name: String,
    /// Whether it admits the user.
    pub admits: bool,
    /// What decided, in a sentence.
    pub by: String,
}

impl Engine {
    /// Whether somebody (none: not known) may see what `text` names, for each job that has it; when
    /// none has it, why not.
    ///
    /// # Errors
    /// What the store says.
    pub fn why(
        &self,
        output: &str,
        user: &str,
        identity: Option<&Identity>,
        text: &str,
    ) -> Result<Vec<Access>> {
        let jobs = self.reader.read(jobs::list)?;
        let mut answers = Vec::new();
        for job in &jobs {
            if let Some(item_name) = self.known_by(job, text)? {
                let Some(row) = self.row(job, &item_name)? else { continue };
                answers.push(self.access(output, user, identity, job, &item_name, &row)?);
            }
        }
        if !answers.is_empty() {
            // Found through one job is found: that answer comes first.
            answers.sort_by_key(|answer| !answer.may_see);
            return Ok(answers);
        }
        for job in &jobs {
            if job.connector.is_none() {
                continue;
            }
            let told = self.explain(job, text)?;
            answers.push(hidden(job, told.document, told.cause, user));
        }
        // A job whose source does not reach so far has nothing to say when another one has.
        if answers.iter().any(|answer| answer.cause.code != "outside") {
            answers.retain(|answer| answer.cause.code != "outside");
        }
        Ok(answers)
    }

    fn access(
        &self,
        output: &str,
        user: &str,
        identity: Option<&Identity>,
        job: &Job,
        item_name: &ItemName,
        row: &Row,
    ) -> Result<Access> {
        let name = &item_name.shown();
        let connection = self.reader.read(|sql| connections::find(sql, Role::Output, output))?;
        let sent = row.sent.iter().find(|sent| Some(sent.output) == connection.as_ref().map(|c| c.id));
        let held = sent.filter(|sent| sent.state.confirmed.is_some_and(|held| held.is_some()));
        let Some(sent) = held else {
            let told = self.explain(job, name)?;
            return Ok(hidden(job, name.to_owned(), told.cause, user));
        };
        let nobody = Identity::anonymous();
        let judged = identity.unwrap_or(&nobody);
        let access_filter = access_filter::for_identity(&self.reader, connection.map(|c| c.id), judged)?;
        let group = self.reader.read(|sql| connections::get(sql, job.repository))?.map(|c| c.group);
        let group = group.unwrap_or_default();
        let known = judged.tokens(&group);
        let tokens = known.cloned().unwrap_or_else(Tokens::anonymous);
        let may_see = access_filter.permits(
            sent.address,
            Reference { job: Some(job.id), acl_id: row.known.acl_id, container: row.known.container },
        );
        let now = self.repository(job)?.look(&self.call(), &item_name.named.key).ok();
        let (_, stage_acl) = self.shown_to(job, Acl::open());
        let now = now.map(|now| self.shown_to(job, now.acl).0);
        let since =
            now.and_then(|now| access_change::changed(name, row.acl.as_ref(), &now, stage_acl.as_ref()));
        let layers = self.layers(job, row, &tokens, stage_acl.as_ref())?;
        let cause = match (identity, since, layers.iter().find(|layer| !layer.admits)) {
            (None, ..) => Reason::new(
                "unknown_user",
                format!("there is no user `{user}`, and who is not known finds only what is open to all"),
            ),
            (_, Some(since), _) => Reason::new(
                "access_changed",
                format!("{since}; until the next run of job {} a search goes by the old access", job.name),
            ),
            (.., Some(layer)) if !may_see => {
                let by = if known.is_some() { layer.by.clone() } else { nobody_there(&group, job) };
                Reason::new("denied", format!("user {user} may not see `{name}`: {by}"))
            }
            _ if may_see => {
                Reason::new("allowed", format!("user {user} may see `{name}`: {}", admitted(&layers)))
            }
            _ => Reason::new(
                "pending",
                format!(
                    "user {user} does not see `{name}` yet: its new access is on its way to output {output}"
                ),
            ),
        };
        let cause = match cause::is_confirmed(sent) || !may_see {
            true => cause,
            false => Reason { message: format!("{}; a newer version is on its way", cause.message), ..cause },
        };
        Ok(Access { job: job.name.clone(), document: name.to_owned(), may_see, cause, layers })
    }

    fn layers(
        &self,
        job: &Job,
        row: &Row,
        tokens: &Tokens,
        stage_acl: Option<&StageAcl>,
    ) -> Result<Vec<Layer>> {
        let (acls, containers, pending) = self.reader.read(|sql| {
            let mut containers = Vec::new();
            let mut next = row.known.container;
            while let Some(id) = next.filter(|_| containers.len() < limits::LAYERS_MAX) {
                let found = containers::some(sql, &[id.0])?.pop();
                next = found.as_ref().and_then(|container| container.parent);
                containers.extend(found);
            }
            Ok((containers::acls(sql)?, containers, containers::pending_of(sql, job.id)?))
        })?;
        let acls: HashMap<AclId, Acl> = acls.into_iter().collect();
        let containers: HashMap<ContainerId, Container> =
            containers.into_iter().map(|container| (container.id, container)).collect();
        let own = row.known.acl_id.and_then(|acl_id| acls.get(&acl_id));
        let mut layers = vec![document(own, tokens, stage_acl)];
        let mut at = row.known.container;
        while let Some(id) = at.filter(|_| layers.len() < limits::LAYERS_MAX) {
            let Some(container) = containers.get(&id) else {
                let by = "the folder was replaced since, and an unknown folder allows nobody".to_owned();
                layers.push(Layer { name: "replaced".to_owned(), admits: false, by });
                break;
            };
            let unproven =
                pending.iter().filter(|(container, _)| *container == id).map(|(_, acl_id)| *acl_id);
            let acl_ids = std::iter::once(container.acl).chain(unproven);
            let told: Vec<Layer> = acl_ids
                .map(|acl_id| layer(&container.name, acls.get(&acl_id), tokens, "enter (execute)"))
                .collect();
            let first = told.iter().position(|layer| !layer.admits).unwrap_or(0);
            layers.extend(told.into_iter().nth(first));
            at = container.parent;
        }
        Ok(layers)
    }
}

fn nobody_there(group: &Group, job: &Job) -> String {
    format!(
        "no authority of the group `{}`, which rules what job {} brings, knows the user",
        group.name(),
        job.name
    )
}

fn hidden(job: &Job, document: String, cause: Reason, user: &str) -> Access {
    let message = format!("user {user} cannot find `{document}`: {}", cause.message);
    let cause = Reason { message, ..cause };
    Access { job: job.name.clone(), document, may_see: false, cause, layers: Vec::new() }
}

fn admitted(layers: &[Layer]) -> String {
    layers.first().map_or(String::new(), |layer| layer.by.clone())
}

/// The document's own layer: stages may decide before its source, or in its place.
fn document(acl: Option<&Acl>, tokens: &Tokens, stage_acl: Option<&StageAcl>) -> Layer {
    let stages = acl.zip(stage_acl);
    if let Some((acl, by)) = stages.and_then(|(acl, stage_acl)| Some((acl, stage_acl.decides(acl, tokens)?)))
    {
        return Layer { name: "document".to_owned(), admits: acl.admits(tokens), by };
    }
    let of_source = stages.and_then(|(acl, stage_acl)| stage_acl.of_source(acl));
    layer("document", of_source.as_ref().or(acl), tokens, "read")
}

fn layer(name: &str, acl: Option<&Acl>, tokens: &Tokens, right: &str) -> Layer {
    let what = if name == "document" { "the file's".to_owned() } else { format!("the folder `{name}`:") };
    let Some(acl) = acl else {
        let by = format!("{what} access is not known, and what is not known allows nobody");
        return Layer { name: name.to_owned(), admits: false, by };
    };
    let judged = acl.judge(tokens);
    let by = match acl {
        Acl::Ordered(entries) => ordered(&what, entries, judged, right),
        Acl::Flat { .. } => match judged {
            Judgement::Open | Judgement::Allowed { .. } => {
                format!("{what} list of allowed tokens has one of the user's, or is empty")
            }
            Judgement::Denied { who, .. } => format!("{what} list of denied tokens has `{who}`"),
            Judgement::Unproven { who, .. } => {
                format!("{what} list of denied tokens has `{who}`, {NOT_WHOLE}")
            }
            Judgement::Unlisted => format!("{what} list of allowed tokens has none of the user's"),
        },
    };
    Layer { name: name.to_owned(), admits: acl.admits(tokens), by }
}

fn ordered(what: &str, entries: &[Entry], judged: Judgement<'_>, right: &str) -> String {
    let by = if entries.len() == MODE_ENTRIES { "mode" } else { "access list (ACL)" };
    let (at, who, gives, may_be) = match judged {
        Judgement::Open | Judgement::Unlisted => return format!("{what} {by} has no entry for the user"),
        Judgement::Allowed { at, who } => (at, who, "gives", None),
        Judgement::Denied { at, who } => (at, who, "does not give", None),
        Judgement::Unproven { at, who } => (at, who, "does not give", Some(NOT_WHOLE)),
    };
    // Stages that said something else when it was read may have put tokens before those of the file.
    let is_of_file = entries.first().is_some_and(|first| first.who == unix_user(0));
    let whom = match at {
        0 if is_of_file => "root".to_owned(),
        1 if is_of_file => format!("its owner `{who}`"),
        _ if who == UNIX_EVERYONE => "others".to_owned(),
        _ => format!("`{who}`"),
    };
    let why = may_be.map(|why| format!(", {why}")).unwrap_or_default();
    format!("{what} {by} {gives} {whom} the right to {right}{why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deny_that_nobody_can_disprove_is_named() {
        let tokens: Tokens = ["unix:u:7", UNIX_EVERYONE].into_iter().collect();
        let part = tokens.clone().not_whole();
        let mode = Acl::Ordered(vec![
            Entry::allow("unix:u:0"),
            Entry::allow("unix:u:8"),
            Entry::deny("unix:g:9"),
            Entry::allow(UNIX_EVERYONE),
        ]);
        let flat = Acl::Flat { allow: vec![UNIX_EVERYONE.to_owned()], deny: vec!["unix:g:9".to_owned()] };
        for acl in [&mode, &flat] {
            let (whole, not_whole) =
                (layer("a", Some(acl), &tokens, "read"), layer("a", Some(acl), &part, "read"));
            assert!(whole.admits && !whole.by.contains("unix:g:9"), "{whole:?}");
            assert!(!not_whole.admits, "{not_whole:?}");
            let told =
                format!("`unix:g:9`{}, {NOT_WHOLE}", if acl == &mode { " the right to read" } else { "" });
            assert!(not_whole.by.ends_with(&told), "{not_whole:?}");
        }
    }
}
