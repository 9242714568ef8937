//! What a repository promises (`crates/contract/src/repository.rs`).

use std::collections::{BTreeMap, HashSet};

use ingather_contract::call::CallContext;
use ingather_contract::repository::{
    HostContext, Item, Observed, Page, Presence, Repository, RepositoryKind,
};
use ingather_model::access::Acl;
use ingather_model::fault::Fault;
use ingather_model::key::Stamp;
use ingather_model::limits;
use ingather_model::scope::{Absence, Coverage, Scope};

use super::secrets::secrets;
use super::{Breaches, call, must_be_none};

/// A source that the suite may change.
pub struct RepositorySample<'a> {
    /// Settings that open it.
    pub source: serde_json::Value,
    /// What surrounds it.
    pub host: HostContext,
    /// Name of a document in it, and its bytes.
    pub present: (&'a str, &'a [u8]),
    /// A name that it does not have.
    pub absent: &'a str,
    /// Gives the document other bytes, and which; asked twice, it gives the same.
    pub change: (&'a dyn Fn(), &'a [u8]),
    /// Something that keeps a document from being looked at, where the suite can make it.
    pub obstruction: Option<Obstruction<'a>>,
    /// Takes the document away; a `change` afterwards makes it anew.
    pub remove: &'a dyn Fn(),
}

/// A container is made unreadable and readable again.
pub struct Obstruction<'a> {
    /// Makes it unreadable.
    pub obstruct: &'a dyn Fn(),
    /// Undoes that.
    pub restore: &'a dyn Fn(),
    /// A document below it.
    pub hidden: &'a str,
}

/// Checks a repository.
///
/// # Panics
/// When a promise is broken, with one line for each.
pub fn repository(kind: &RepositoryKind, sample: &RepositorySample<'_>) {
    must_be_none(kind.name, &repository_breaches(kind, sample));
}

/// What a listing told.
#[derive(Default)]
struct Told {
    items: BTreeMap<String, Item>,
    coverage: Coverage,
    blind: Vec<Scope>,
    failed: bool,
}

/// As [`repository`], for tests of the suite itself.
pub fn repository_breaches(kind: &RepositoryKind, sample: &RepositorySample<'_>) -> Vec<String> {
    let mut found = Breaches::default();
    let faults = |source: &serde_json::Value| match (kind.open)(source, &sample.host) {
        Ok(repository) => repository.check(&call()).err().into_iter().collect(),
        Err(fault) => vec![fault],
    };
    secrets(&(kind.source_schema)(), &sample.source, &faults, &mut found);
    let opened = (kind.open)(&sample.source, &sample.host);
    let repository = match opened {
        Ok(repository) => repository,
        Err(fault) => {
            found.0.push(format!("it does not open: {fault}"));
            return found.0;
        }
    };
    let repository = repository.as_ref();
    let call = call();
    let checked = repository.check(&call);
    found.unless(checked.is_ok(), || format!("check fails on a source that is there: {checked:?}"));
    let first = listing(repository, &call, &mut found);
    let second = listing(repository, &call, &mut found);
    quiet(&first, &second, &mut found);
    items(kind, repository, &call, &first, &mut found);
    cancelled(repository, &first, &mut found);
    let (key, bytes) = sample.present;
    present(repository, &call, key, bytes, &first, &mut found);
    absent(repository, &call, sample.absent, &mut found);
    torn(repository, &call, &first, &mut found);
    changed(repository, &call, sample, &first, &mut found);
    if let Some(obstruction) = &sample.obstruction {
        (obstruction.obstruct)();
        obstructed(repository, &call, obstruction.hidden, &mut found);
        (obstruction.restore)();
    }
    removed(repository, &call, sample, &mut found);
    found.0
}

/// Takes the document away, makes it anew, and takes it away again: a source may do so at any time.
fn removed(
    repository: &dyn Repository,
    call: &CallContext,
    sample: &RepositorySample<'_>,
    found: &mut Breaches,
) {
    let key = sample.present.0;
    for _ in 0..2 {
        (sample.remove)();
        let after = listing(repository, call, found);
        found.unless(!after.items.contains_key(key), || format!("{key} was removed and is still listed"));
        found.unless(after.coverage.judge(key) == Absence::Proven, || {
            format!("the removal of {key} is not proven")
        });
        absent(repository, call, key, found);
        let (make, bytes) = sample.change;
        make();
        let again = listing(repository, call, found);
        found.unless(again.items.contains_key(key), || format!("{key} was made anew and is not listed"));
        let read = fetch(repository, call, key).map(|(_, read)| read);
        found.unless(read.as_deref() == Ok(bytes), || format!("{key} was made anew and reads {read:?}"));
    }
    (sample.remove)();
}

/// A listing that nobody asks any further, as when the process is killed, leaves nothing behind for the next one.
fn torn(repository: &dyn Repository, call: &CallContext, whole: &Told, found: &mut Breaches) {
    if let Ok(mut listing) = repository.list(call) {
        while listing.next().is_some_and(|page| page.is_ok_and(|page| page.groups.is_empty())) {}
    }
    let after = listing(repository, call, found);
    let same = after.items.keys().eq(whole.items.keys());
    found.unless(same, || {
        "after a listing that was broken off, the next one names different things".to_owned()
    });
}

fn listing(repository: &dyn Repository, call: &CallContext, found: &mut Breaches) -> Told {
    listing_while(repository, call, &|| (), found)
}

/// A listing to its end; `step` is done after the first page.
fn listing_while(
    repository: &dyn Repository,
    call: &CallContext,
    step: &dyn Fn(),
    found: &mut Breaches,
) -> Told {
    let mut told = Told::default();
    let mut containers = HashSet::new();
    let mut proven = HashSet::new();
    let mut pages = 0u64;
    let mut listing = match repository.list(call) {
        Ok(listing) => listing,
        Err(_) => {
            told.failed = true;
            return told;
        }
    };
    while let Some(page) = listing.next() {
        let Ok(page) = page else {
            told.failed = true;
            found.unless(listing.next().is_none(), || "a listing goes on after a fault".to_owned());
            break;
        };
        take(&page, &mut told, &mut containers, &mut proven, found);
        if pages == 0 {
            step();
        }
        pages += 1;
    }
    told
}

fn take(
    page: &Page,
    told: &mut Told,
    containers: &mut HashSet<String>,
    proven: &mut HashSet<Scope>,
    found: &mut Breaches,
) {
    for container in &page.containers {
        let known = container.parent.as_ref().is_none_or(|parent| containers.contains(parent));
        found.unless(known, || format!("container {} comes before the one above it", container.name));
        containers.insert(container.name.clone());
    }
    let count: usize = page.groups.iter().map(|group| group.items.len()).sum();
    found.unless(count <= limits::PAGE_ITEMS_MAX, || format!("a page has {count} items"));
    for group in &page.groups {
        let parent = &group.parent;
        let late = proven.contains(&Scope::Folder(parent.clone()));
        found.unless(!late || group.items.is_empty(), || {
            format!("{parent:?} was proven before its last item came")
        });
        let known = group.container.as_ref().is_none_or(|container| containers.contains(container));
        found.unless(known, || format!("items of {parent:?} name a container that nobody has told"));
        for item in &group.items {
            let key = format!("{parent}{}", item.name);
            let twice = told.items.insert(key.clone(), item.clone()).is_some();
            found.unless(!twice, || format!("{key} is listed twice"));
        }
    }
    found.unless(!page.root_empty || told.items.is_empty(), || "an empty root has items".to_owned());
    for scope in &page.proven {
        let both = told.blind.contains(scope);
        found.unless(!both, || format!("{} is proven and blind", scope.label()));
        told.coverage.prove(scope);
        proven.insert(scope.clone());
    }
    for spot in &page.blind {
        found.unless(!proven.contains(&spot.scope), || format!("{} is blind and proven", spot.scope.label()));
        told.coverage.blind(&spot.scope);
        told.blind.push(spot.scope.clone());
    }
}

/// Whether two versions of the same thing agree; one that cannot be told agrees with everything.
fn agree(one: &Stamp, other: &Stamp) -> bool {
    *one == Stamp::NONE || *other == Stamp::NONE || one == other
}

fn quiet(first: &Told, second: &Told, found: &mut Breaches) {
    found.unless(!first.failed && !second.failed, || "a listing of a sound source fails".to_owned());
    found.unless(first.items.keys().eq(second.items.keys()), || {
        "two listings name different things".to_owned()
    });
    for (key, item) in &first.items {
        let same = second.items.get(key).is_none_or(|other| {
            agree(&item.content, &other.content)
                && agree(&item.access, &other.access)
                && item.identity == other.identity
        });
        found.unless(same, || format!("{key} has another version although nothing changed"));
    }
}

fn items(
    kind: &RepositoryKind,
    repository: &dyn Repository,
    call: &CallContext,
    told: &Told,
    found: &mut Breaches,
) {
    let mut uris: BTreeMap<String, &str> = BTreeMap::new();
    for (key, item) in &told.items {
        let uri = repository.uri(key);
        found.unless(!uri.is_empty(), || format!("{key} has no URI"));
        if let Some(other) = uris.insert(uri.clone(), key)
            && kind.capabilities.unique_uris
        {
            found.0.push(format!("{key} and {other} share the URI {uri}"));
        }
        match repository.look(call, key) {
            Ok(looked) => {
                let same = agree(&looked.content, &item.content) && agree(&looked.access, &item.access);
                found.unless(same, || format!("a look at {key} gives another version than the listing"));
                let open = kind.capabilities.access || looked.acl == Acl::open();
                found.unless(open, || format!("{key} has an acl, although the repository knows no access"));
            }
            Err(fault) => found.0.push(format!("{key} is listed and cannot be looked at: {fault}")),
        }
    }
}

fn cancelled(repository: &dyn Repository, whole: &Told, found: &mut Breaches) {
    let call = call();
    call.cancel.cancel();
    let part = listing(repository, &call, found);
    for key in whole.items.keys().filter(|key| !part.items.contains_key(*key)) {
        let kept = part.coverage.judge(key) != Absence::Proven;
        found.unless(kept, || format!("a listing that was stopped proves that {key} is not there"));
    }
}

fn fetch(repository: &dyn Repository, call: &CallContext, key: &str) -> Result<(Observed, Vec<u8>), Fault> {
    let mut bytes = Vec::new();
    let observed = repository.fetch(call, key, &mut |_, _, content| {
        bytes.clear();
        content.read_to_end(&mut bytes).map_err(|error| Fault::passing("read", error.to_string()))?;
        Ok(())
    })?;
    Ok((observed, bytes))
}

fn present(
    repository: &dyn Repository,
    call: &CallContext,
    key: &str,
    bytes: &[u8],
    told: &Told,
    found: &mut Breaches,
) {
    let probe = repository.probe(call, key);
    found.unless(probe == Presence::Present, || format!("{key} is there, and a probe says {probe:?}"));
    let listed = told.items.get(key);
    found.unless(listed.is_some(), || format!("{key} is there and not listed"));
    match fetch(repository, call, key) {
        Ok((observed, read)) => {
            found.unless(read == bytes, || format!("the bytes of {key} are not those of the source"));
            let same = listed.is_none_or(|item| agree(&observed.content, &item.content));
            found.unless(same, || format!("what was read of {key} has another version than what was listed"));
            found.unless(observed.record.uri == repository.uri(key), || {
                format!("the record of {key} has another URI")
            });
        }
        Err(fault) => found.0.push(format!("{key} cannot be read: {fault}")),
    }
    let told = Fault::broken("suite", "the reader gave up");
    let passed = repository.fetch(call, key, &mut |_, _, _| Err(told.clone()));
    found.unless(passed.err() == Some(told), || "an error of the reader is not passed on".to_owned());
}

fn absent(repository: &dyn Repository, call: &CallContext, key: &str, found: &mut Breaches) {
    let looked = repository.look(call, key).err();
    found.unless(looked == Some(Fault::Gone), || format!("{key} is not there, and a look says {looked:?}"));
    let read = fetch(repository, call, key).err();
    found.unless(read == Some(Fault::Gone), || format!("{key} is not there, and reading it says {read:?}"));
    let probe = repository.probe(call, key);
    found.unless(probe == Presence::Absent, || format!("{key} is not there, and a probe says {probe:?}"));
}

fn changed(
    repository: &dyn Repository,
    call: &CallContext,
    sample: &RepositorySample<'_>,
    before: &Told,
    found: &mut Breaches,
) {
    let key = sample.present.0;
    let (change, bytes) = sample.change;
    let during = listing_while(repository, call, change, found);
    let kept = during.items.contains_key(key) || during.coverage.judge(key) != Absence::Proven;
    found.unless(kept, || format!("{key} changed during a listing that proves that it is not there"));
    let after = listing(repository, call, found);
    if let (Some(old), Some(new)) = (before.items.get(key), after.items.get(key)) {
        let other = new.content == Stamp::NONE || new.content != old.content;
        found.unless(other, || format!("{key} changed, and its listed version did not"));
    }
    match fetch(repository, call, key) {
        Ok((observed, read)) => {
            found.unless(read == bytes, || {
                format!("{key} changed, and other bytes were read under its new version")
            });
            let same = after.items.get(key).is_none_or(|item| agree(&observed.content, &item.content));
            found
                .unless(same, || format!("{key} changed, and it was read under another version than listed"));
        }
        Err(fault) => found.0.push(format!("{key} changed and cannot be read: {fault}")),
    }
}

fn obstructed(repository: &dyn Repository, call: &CallContext, key: &str, found: &mut Breaches) {
    let told = listing(repository, call, found);
    let kept = told.items.contains_key(key) || told.coverage.judge(key) != Absence::Proven;
    found.unless(kept, || format!("a place was proven that could not be read: {key} would be removed"));
    let probe = repository.probe(call, key);
    found.unless(probe != Presence::Absent, || {
        format!("{key} cannot be looked at, and a probe says that it is not there")
    });
    let looked = repository.look(call, key).err();
    found.unless(looked != Some(Fault::Gone), || {
        format!("{key} cannot be looked at, and a look says that it is gone")
    });
}
