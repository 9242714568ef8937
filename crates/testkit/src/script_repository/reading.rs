//! What a scripted source answers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use ingather_contract::call::CallContext;
use ingather_contract::repository::{
    ContainerReport, Listing, Named, Observed, Presence, ReadContent, Repository, Told, Watch, Watching,
};
use ingather_model::access::Acl;
use ingather_model::document::Record;
use ingather_model::fault::{Fault, Reason};
use ingather_model::key::Stamp;
use ingather_model::limits;

use super::{File, ScriptRepository, Source, access_stamp, content_stamp, folder_stamp, locked};
use crate::script_listing;
use crate::together::gate::Gate;

fn dead() -> Fault {
    Fault::passing("dead", "the process is dead")
}

impl ScriptRepository {
    fn find(&self, source: &Source, key: &str) -> Result<File, Fault> {
        let name = format!("{}{key}", self.root);
        let file =
            source.files.get(&name).filter(|file| !source.absent && !file.vanishing).ok_or(Fault::Gone)?;
        if file.excluded {
            return Err(Fault::refused("excluded", "a rule leaves it out"));
        }
        Ok(file.clone())
    }

    /// A place is met, where people may be waited for: nobody holds the source meanwhile.
    fn reaches(&self, point: &str) -> bool {
        let crash = locked(&self.source).crash.clone();
        crash.reach(point)
    }

    fn observed(&self, key: &str, file: &File) -> Observed {
        let record = Record {
            uri: self.uri(key),
            title: key.rsplit('/').next().unwrap_or_default().to_owned(),
            path: format!("{}{key}", self.root),
            size: Some(file.content.len() as u64),
            modified: Some(file.mtime),
            ..Record::default()
        };
        Observed {
            content: content_stamp(file),
            access: access_stamp(file),
            identity: file.identity,
            acl: file.acl.clone(),
            record,
            dates: file.dates,
        }
    }
}

/// A watch that tells what a test wants.
struct ScriptWatch {
    source: Arc<Mutex<Source>>,
    stands: bool,
}

impl Watch for ScriptWatch {
    fn told(&mut self) -> Told {
        if !std::mem::replace(&mut self.stands, true) {
            return Told::Lost(Reason::new("begun", "the watch begins"));
        }
        locked(&self.source).told.as_mut().and_then(VecDeque::pop_front).unwrap_or(Told::Nothing)
    }

    fn grain_ms(&self) -> i64 {
        100
    }
}

impl Repository for ScriptRepository {
    fn check(&self, _call: &CallContext) -> Result<String, Fault> {
        if locked(&self.source).absent { Err(Fault::Gone) } else { Ok("it is there".to_owned()) }
    }

    fn list(&self, _call: &CallContext) -> Result<Box<dyn Listing>, Fault> {
        if self.reaches("before list") {
            return Err(dead());
        }
        let mut source = locked(&self.source);
        if source.absent {
            return Err(Fault::Gone);
        }
        let pages = script_listing::pages(&mut source, &self.name, &self.root);
        source.meet("list");
        Ok(Box::new(pages))
    }

    fn watch(&self, _call: &CallContext, _watching: Watching) -> Option<Box<dyn Watch>> {
        let source = self.source.clone();
        locked(&source).told.as_ref()?;
        Some(Box::new(ScriptWatch { source, stands: false }))
    }

    fn look(&self, _call: &CallContext, key: &str) -> Result<Observed, Fault> {
        if self.reaches("before look") {
            return Err(dead());
        }
        let mut source = locked(&self.source);
        source.meet("look");
        if let Some(file) = source.files.get_mut(&format!("{}{key}", self.root))
            && let Some((fault, times)) = &mut file.look_fault
            && *times > 0
        {
            *times -= 1;
            return Err(fault.clone());
        }
        Ok(self.observed(key, &self.find(&source, key)?))
    }

    fn stamps(&self, _call: &CallContext, containers: &[&str]) -> Vec<Stamp> {
        let mut source = locked(&self.source);
        source.meet("stamps");
        let begin = format!("/{}/", self.name);
        let stamp = |container: &&str| source.folders.get(container.strip_prefix(&begin)?).map(folder_stamp);
        containers
            .iter()
            .map(|container| stamp(container).filter(|_| !source.absent).unwrap_or(Stamp::NONE))
            .collect()
    }

    fn containers_of(&self, _call: &CallContext, key: &str) -> Result<Vec<ContainerReport>, Fault> {
        let mut source = locked(&self.source);
        self.find(&source, key)?;
        Ok(script_listing::containers_of(&mut source, &self.name, &self.root, key))
    }

    fn grain_ms(&self) -> i64 {
        100
    }

    fn bins(&self, key: &str) -> Vec<String> {
        let name = format!("{}{key}", self.root);
        let folders = name.match_indices('/').map(|(at, _)| name[..=at].to_owned());
        folders.take(locked(&self.source).bins).collect()
    }

    fn fetch(&self, call: &CallContext, key: &str, read: &mut ReadContent<'_>) -> Result<Observed, Fault> {
        let name = format!("{}{key}", self.root);
        let mut file = {
            let file = self.find(&locked(&self.source), key)?;
            let is_dead = self.reaches("before read");
            let mut source = locked(&self.source);
            source.fetched.push(format!("{}{key}", self.root));
            source.fetched_at.push(call.now());
            if is_dead {
                return Err(dead());
            }
            if let Some(file) = source.files.get_mut(&format!("{}{key}", self.root))
                && let Some((fault, times)) = &mut file.fault
                && *times > 0
            {
                *times -= 1;
                return Err(fault.clone());
            }
            file
        };
        let gate = locked(&self.source).gates.get(&name).cloned();
        gate.iter().for_each(Gate::pass);
        if file.panics {
            // Without the hook, which would print it.
            std::panic::resume_unwind(Box::new("index out of bounds"));
        }
        if file.unreadable {
            return Err(Fault::unreadable("the reader may not open it"));
        }
        for attempt in 1.. {
            // What is read is there when it is read; who may see it, and its times, were asked for before.
            let content = {
                let mut source = locked(&self.source);
                source.meet("read");
                source.files.get(&name).map(|file| file.content.clone()).ok_or(Fault::Gone)?
            };
            let mut observed = self.observed(key, &file);
            observed.record.body = Some(content.clone());
            observed.record.size = Some(content.len() as u64);
            read(&mut observed.record, &observed.acl, &mut content.as_bytes())?;
            let now = self.find(&locked(&self.source), key)?;
            if let Some(file) = locked(&self.source).files.get_mut(&name)
                && file.racy < u32::MAX
            {
                file.racy = file.racy.saturating_sub(1);
            }
            if (now.mtime, now.ctime, now.identity) == (file.mtime, file.ctime, file.identity) {
                return Ok(observed);
            }
            if attempt == limits::READ_ATTEMPTS_MAX {
                return Ok(Observed { content: Stamp::NONE, access: Stamp::NONE, ..observed });
            }
            file = now;
        }
        Err(Fault::Gone)
    }

    fn acl_of_left_out(&self, _call: &CallContext, key: &str) -> Option<Acl> {
        let source = locked(&self.source);
        let file = source.files.get(&format!("{}{key}", self.root));
        file.filter(|file| !source.absent && !file.vanishing).map(|file| file.acl.clone())
    }

    fn probe(&self, _call: &CallContext, key: &str) -> Presence {
        let name = format!("{}{key}", self.root);
        if self.reaches("before probe") {
            return Presence::Unknown;
        }
        let source = locked(&self.source);
        let above = |folder: &str| source.folders.get(folder).is_some_and(|folder| folder.unreadable);
        if source.absent || above("") || name.match_indices('/').any(|(at, _)| above(&name[..=at])) {
            return Presence::Unknown;
        }
        match source.files.get(&name).filter(|file| !file.vanishing) {
            None => Presence::Absent,
            Some(file) if file.excluded => Presence::Excluded,
            Some(_) => Presence::Present,
        }
    }

    fn uri(&self, key: &str) -> String {
        format!("mem://{}/{}{key}", self.name, self.root)
    }

    fn named(&self, text: &str) -> Result<Named, Reason> {
        let below = text.strip_prefix(&self.uri(""));
        if below.is_none() && text.starts_with("mem://") {
            return Err(Reason::new("outside", "it is not below the root"));
        }
        Ok(Named::of(below.unwrap_or(text).to_owned()))
    }

    fn credentials_fingerprint(&self) -> String {
        locked(&self.source).credentials.clone()
    }
}
