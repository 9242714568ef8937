//! By which addresses outputs know documents: where the files are, unless their job was moved. No output ever has two files under one
//! address (decision 0032).

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ingather_contract::registry::Registry;
use ingather_contract::repository::HostContext;
use ingather_model::job::Definition;
use ingather_model::names;
use ingather_store::jobs::Job;
use serde_json::json;

use crate::connections::FILES;
use crate::jobs::definition::wanted::path_of;
use crate::problem::{Code, Problem, Result};

/// A job as far as its addresses go: as it is stored, or as it is to be.
#[derive(Clone, Copy)]
pub(crate) struct Placed<'a> {
    pub(crate) name: &'a str,
    pub(crate) root: &'a str,
    pub(crate) definition: &'a Definition,
    /// There is no such job yet.
    pub(crate) is_new: bool,
}

impl<'a> Placed<'a> {
    pub(crate) fn of(job: &'a Job) -> Placed<'a> {
        Placed { name: &job.name, root: &job.root, definition: &job.definition, is_new: false }
    }

    fn is_moved(&self) -> bool {
        self.definition.addresses().is_some()
    }

    fn addresses(&self) -> Result<PathBuf> {
        path_of(self.definition.addresses().unwrap_or(self.root))
    }

    /// Outputs that hold something of it, or are going to.
    fn outputs(&self) -> impl Iterator<Item = &'a String> {
        self.definition.outputs.iter().chain(&self.definition.retired)
    }

    /// Where the files are whose addresses lie below `at`, and their name below its root.
    fn file(&self, at: &Path) -> Result<(PathBuf, PathBuf)> {
        let root = path_of(self.root)?;
        let below = at.strip_prefix(self.addresses()?).unwrap_or(Path::new("")).to_owned();
        let file = if below.as_os_str().is_empty() { root } else { root.join(&below) };
        Ok((file, below))
    }

    /// Whether it may have documents in a folder below its root.
    fn may_hold(&self, registry: &Registry, folder: &Path) -> bool {
        let host = HostContext { own: Vec::new(), threads: 1, ..HostContext::default() };
        let source =
            registry.repository(FILES.connector).map(|kind| (kind.open)(&self.definition.source, &host));
        let Some(Ok(source)) = source else { return true };
        source.may_hold(&names::escape(folder.as_os_str().as_bytes()))
    }

    fn called(&self) -> String {
        match self.is_moved() && !self.is_new {
            true => format!("job {} (moved to {})", self.name, self.root),
            false => format!("job {}", self.name),
        }
    }
}

/// Two jobs that would give different files one address in one output.
pub(crate) struct Clash {
    /// Which jobs, files and output.
    pub(crate) says: String,
    /// What ends it.
    pub(crate) advice: String,
}

impl Clash {
    pub(super) fn refused(self) -> Problem {
        Problem::new(Code::Definition, format!("{}; {}", self.says, self.advice))
    }
}

/// Whether an output would get different files of two jobs by one address. Addresses of jobs that were not moved are the paths of the files,
/// so that those of two jobs can only be equal for the same file. Patterns count where they leave out all that both would have.
pub(crate) fn clash(registry: &Registry, one: Placed<'_>, other: Placed<'_>) -> Result<Option<Clash>> {
    if !one.is_moved() && !other.is_moved() {
        return Ok(None);
    }
    let Some(output) = one.outputs().find(|output| other.outputs().any(|also| also == *output)) else {
        return Ok(None);
    };
    let (first, second) = (one.addresses()?, other.addresses()?);
    let (outer, at) = match (second.starts_with(&first), first.starts_with(&second)) {
        (true, _) => (one, second),
        (_, true) => (other, first),
        _ => return Ok(None),
    };
    let ((here, _), (there, _), (_, below)) = (one.file(&at)?, other.file(&at)?, outer.file(&at)?);
    let is_part = !below.as_os_str().is_empty();
    if here == there || is_part && !outer.may_hold(registry, &below) {
        return Ok(None);
    }
    let says = format!(
        "{} and {} would send different files to {output} by the same addresses, which begin with {}: those of {}, and those of {}",
        one.called(),
        other.called(),
        at.display(),
        here.display(),
        there.display()
    );
    let moved = if one.is_moved() { one } else { other };
    let other_addresses = match moved.is_new {
        true => format!("leave `addresses` out of the source of job {}", moved.name),
        false => format!(
            "delete job {} and make it anew for {}, so that its documents get addresses of their own",
            moved.name, moved.root
        ),
    };
    let advice = match is_part {
        true => format!(
            "leave that folder out of job {} (--exclude '/{}'), or {other_addresses}",
            outer.name,
            pattern(&below)
        ),
        false => other_addresses,
    };
    Ok(Some(Clash { says, advice }))
}

/// Refuses a job by whose addresses an output would know different files than by those of another one.
pub(crate) fn refuse_clashes<'a>(
    registry: &Registry,
    one: Placed<'_>,
    others: impl Iterator<Item = Placed<'a>>,
) -> Result<()> {
    for other in others.filter(|other| other.name != one.name) {
        if let Some(clash) = clash(registry, one, other)? {
            return Err(clash.refused());
        }
    }
    Ok(())
}

/// Refuses a new job that claims addresses of one that is there already. They are of jobs that were moved, and come with a declaration of those;
/// whoever wants a second job for such files needs none of them.
pub(crate) fn refuse_borrowed(one: Placed<'_>, stored: &[Placed<'_>]) -> Result<()> {
    if !one.is_new || !one.is_moved() {
        return Ok(());
    }
    let addresses = one.addresses()?;
    for other in stored {
        let also = other.addresses()?;
        if addresses.starts_with(&also) || also.starts_with(&addresses) {
            let sentence = format!(
                "`addresses` of job {}, {}, are those of documents of {}; leave `addresses` out of its source, or name that job in the same \
                 declaration",
                one.name,
                addresses.display(),
                other.called()
            );
            return Err(Problem::new(Code::Definition, sentence));
        }
    }
    Ok(())
}

/// A pattern that means this very name.
fn pattern(name: &Path) -> String {
    let mut pattern = String::new();
    for c in names::escape(name.as_os_str().as_bytes()).chars() {
        if "*?[]{}".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// What addresses of a job's documents begin with.
pub(crate) fn addresses_of(job: &Job) -> &str {
    job.definition.addresses().unwrap_or(&job.root)
}

/// Where the source of a moved job is, and what addresses of its documents begin with in place of that, as its connector writes both.
pub(crate) fn places(registry: &Registry, job: &Job) -> Option<(String, String)> {
    let host = HostContext { own: Vec::new(), threads: 1, ..HostContext::default() };
    let begins = |root: &str| {
        let source = (registry.repository(FILES.connector)?.open)(&json!({"root": root}), &host);
        source.ok().map(|source| source.uri(""))
    };
    let known = job.definition.addresses()?;
    Some((begins(&job.root)?, begins(known)?))
}

/// An address as outputs know it, as it leads to a document of a moved job.
pub(crate) fn leading(registry: &Registry, job: &Job, uri: String) -> String {
    let Some((root, known)) = places(registry, job) else { return uri };
    match uri.strip_prefix(known.trim_end_matches('/')) {
        Some(below) if below.is_empty() || below.starts_with(['/', '#']) => {
            format!("{}{below}", root.trim_end_matches('/'))
        }
        _ => uri,
    }
}

/// The same for a path as people read it.
pub(crate) fn leading_path(job: &Job, path: String) -> String {
    let below = job.definition.addresses().and_then(|known| path.strip_prefix(known.trim_end_matches('/')));
    match below.filter(|below| below.is_empty() || below.starts_with('/')) {
        Some(below) => format!("{}{below}", job.root.trim_end_matches('/')),
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::definition::asked::plain;

    const NO_SOURCES: Registry =
        Registry { repositories: &[], transforms: &[], outputs: &[], authorities: &[] };

    fn definition(name: &str, (root, addresses): (&str, &str)) -> Definition {
        let mut definition = plain(name.to_owned(), root);
        if root != addresses {
            definition.source["addresses"] = addresses.into();
        }
        definition
    }

    fn says(one: &Definition, other: &Definition) -> Option<String> {
        let placed = |definition| {
            let definition: &Definition = definition;
            let root = definition.source["root"].as_str().unwrap();
            Placed { name: &definition.name, root, definition, is_new: false }
        };
        let told = clash(&NO_SOURCES, placed(one), placed(other)).unwrap();
        told.map(|clash| clash.refused().to_string())
    }

    #[test]
    fn one_address_is_of_one_file() {
        for (one, other, is_clash) in [
            (("/a", "/a"), ("/a/in", "/a/in"), false),
            // One was moved away: below its old place both would have other files.
            (("/a", "/a"), ("/b", "/a/in"), true),
            (("/b", "/a"), ("/a/in", "/a/in"), true),
            (("/b", "/a"), ("/a", "/a"), true),
            (("/b", "/a"), ("/", "/"), true),
            // Both went together.
            (("/b", "/a"), ("/b/in", "/a/in"), false),
            (("/b", "/a"), ("/b", "/a"), false),
            (("/b", "/a"), ("/c/in", "/a/in"), true),
            // What lies elsewhere, and what only begins with the same letters.
            (("/b", "/a"), ("/c", "/c"), false),
            (("/b", "/a"), ("/ab", "/ab"), false),
            // The same files, by addresses of their own.
            (("/b", "/a"), ("/b", "/b"), false),
        ] {
            let (one, other) = (definition("one", one), definition("other", other));
            for told in [says(&one, &other), says(&other, &one)] {
                assert_eq!(told.is_some(), is_clash, "{:?} {:?}: {told:?}", one.source, other.source);
            }
        }
    }

    #[test]
    fn an_output_that_holds_something_of_both_yet_counts() {
        let moved = definition("one", ("/b", "/a"));
        let mut other = definition("other", ("/a/x*y", "/a/x*y"));
        assert!(says(&moved, &other).is_some_and(|told| told.contains(r"(--exclude '/x\*y')")));
        other.outputs = vec!["null".to_owned()];
        assert_eq!(says(&moved, &other), None);
        other.retired = vec!["index".to_owned()];
        assert!(says(&moved, &other).is_some());
    }
}
