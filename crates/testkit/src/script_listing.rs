//! The pages of a scripted listing, made when it begins; the source may change between the looks at two folders, and between
//! the look at a folder and those at what is in it, so that no listing is an instant.

use std::collections::{BTreeMap, BTreeSet};

use ingather_contract::repository::{ContainerReport, Group, Item, Listing, Page};
use ingather_model::fault::Fault;
use ingather_model::scope::{BlindSpot, Scope};

use crate::script_repository::{File, Source, access_stamp, content_stamp, folder_stamp};
use crate::together::gate::Gate;

/// Pages that were made before.
pub(crate) struct Script {
    pages: std::vec::IntoIter<Result<Page, Fault>>,
    told: usize,
    pauses: Vec<(usize, Gate)>,
}

impl Listing for Script {
    fn next(&mut self) -> Option<Result<Page, Fault>> {
        self.told += 1;
        self.pauses.iter().filter(|(page, _)| *page == self.told).for_each(|(_, gate)| gate.pass());
        self.pages.next()
    }
}

/// Makes all pages of `root`.
pub(crate) fn pages(source: &mut Source, world: &str, root: &str) -> Script {
    let script = source.listing;
    let mut pages = if script.intervals { intervals(source, root) } else { folders(source, world, root) };
    if script.twice {
        pages = pages.into_iter().flat_map(|page| [page.clone(), page]).collect();
    }
    let mut pages: Vec<Result<Page, Fault>> = pages.into_iter().map(Ok).collect();
    if let Some(page) = script.error {
        let torn = pages.get(page - 1).and_then(|page| page.as_ref().ok()).filter(|_| script.torn).map(tear);
        pages.truncate(page - 1);
        pages.extend(torn.map(Ok));
        pages.push(Err(Fault::passing("listing", "the listing broke off")));
    }
    Script { pages: pages.into_iter(), told: 0, pauses: std::mem::take(&mut source.pauses) }
}

fn tear(page: &Page) -> Page {
    let mut page = page.clone();
    page.proven.clear();
    for group in &mut page.groups {
        group.items.truncate(group.items.len() / 2);
    }
    page
}

fn item(name: &str, file: &File) -> Item {
    Item {
        name: name.to_owned(),
        content: content_stamp(file),
        access: access_stamp(file),
        identity: file.identity,
    }
}

fn listed<'s>(source: &'s Source, root: &str) -> BTreeMap<&'s str, &'s File> {
    let below = source.files.iter().filter(|(_, file)| !file.unlisted && !file.excluded);
    below.filter_map(|(name, file)| Some((name.strip_prefix(root)?, file))).collect()
}

/// Last folder of a name, with its slash; empty at the root.
fn parent(name: &str) -> &str {
    &name[..name.rfind('/').map_or(0, |slash| slash + 1)]
}

fn intervals(source: &Source, root: &str) -> Vec<Page> {
    let files: Vec<(&str, &File)> = listed(source, root).into_iter().collect();
    let mut from = String::new();
    let mut pages = Vec::new();
    let mut chunks = files.chunks(source.page_items).peekable();
    while let Some(chunk) = chunks.next() {
        let last = chunk.last().map(|(name, _)| (*name).to_owned()).unwrap_or_default();
        let until = chunks.peek().is_some().then(|| last.clone());
        let items = chunk.iter().map(|(name, file)| item(name, file)).collect();
        pages.push(Page {
            groups: vec![Group { parent: String::new(), container: None, items, ..Group::default() }],
            proven: vec![Scope::Interval { from: std::mem::replace(&mut from, last), until }],
            ..Page::default()
        });
    }
    pages
}

fn folders(source: &mut Source, world: &str, root: &str) -> Vec<Page> {
    let mut names: BTreeSet<String> = BTreeSet::from([String::new()]);
    let told: Vec<String> = source
        .files
        .keys()
        .chain(source.folders.keys())
        .filter_map(|n| n.strip_prefix(root))
        .map(str::to_owned)
        .collect();
    for name in told {
        names.extend(name.match_indices('/').map(|(at, _)| name[..=at].to_owned()));
    }
    let mut pages = vec![Page { containers: above(source, world, root), ..Page::default() }];
    let mut closed: Vec<String> = Vec::new();
    for name in names {
        if closed.iter().any(|above| name.starts_with(above.as_str())) {
            continue;
        }
        let folder = source.folder(&format!("{root}{name}")).clone();
        let container = container(source, world, root, &name);
        if folder.unreadable || folder.changing {
            let cause = if folder.unreadable { "unreadable" } else { "changing" };
            let scope = Scope::Folder(name.clone());
            let spot = BlindSpot { scope, cause: cause.to_owned(), message: format!("it is {cause}") };
            pages.push(Page { containers: vec![container], blind: vec![spot], ..Page::default() });
            closed.push(name);
            continue;
        }
        pages.extend(folder_pages(source, root, &name, container));
    }
    pages
}

fn folder_pages(source: &Source, root: &str, name: &str, container: ContainerReport) -> Vec<Page> {
    let all = listed(source, root);
    let empty =
        name.is_empty() && all.is_empty() && source.folders.keys().all(|f| f == root || !f.starts_with(root));
    let items: Vec<Item> = all
        .iter()
        .filter(|(file, _)| parent(file) == name)
        .map(|(file, found)| item(&file[name.len()..], found))
        .collect();
    let group = |items: &[Item]| Group {
        parent: name.to_owned(),
        container: Some(container.name.clone()),
        items: items.to_vec(),
        ..Group::default()
    };
    let mut pages: Vec<Page> = items
        .chunks(source.page_items)
        .map(|items| Page { groups: vec![group(items)], ..Page::default() })
        .collect();
    if pages.is_empty() {
        pages.push(Page::default());
    }
    pages[0].containers = vec![container];
    let last = pages.len() - 1;
    pages[last].proven = vec![Scope::Folder(name.to_owned())];
    pages[last].root_empty = empty;
    pages
}

/// Containers above the root, from the top.
fn above(source: &mut Source, world: &str, root: &str) -> Vec<ContainerReport> {
    let mut ends: Vec<usize> = root.match_indices('/').map(|(at, _)| at + 1).collect();
    ends.insert(0, 0);
    ends.retain(|end| *end < root.len());
    ends.into_iter().map(|end| report(source, world, &root[..end], None)).collect()
}

fn container(source: &mut Source, world: &str, root: &str, name: &str) -> ContainerReport {
    report(source, world, &format!("{root}{name}"), Some(name.to_owned()))
}

fn report(source: &mut Source, world: &str, full: &str, folder: Option<String>) -> ContainerReport {
    let found = source.folder(full);
    let path = |name: &str| format!("/{world}/{name}");
    let report = ContainerReport {
        name: path(full),
        parent: (!full.is_empty()).then(|| path(parent(full.trim_end_matches('/')))),
        identity: format!("{}:{}", found.device, found.inode),
        acl: found.acl.clone(),
        folder,
        stamp: folder_stamp(found),
    };
    // Whatever is looked at next is looked at later.
    source.meet("folder");
    source.meet(&format!("folder:{}", if full.is_empty() { "/" } else { full }));
    report
}

/// All containers above a document, from the top.
pub(crate) fn containers_of(source: &mut Source, world: &str, root: &str, key: &str) -> Vec<ContainerReport> {
    let mut containers = above(source, world, root);
    containers.push(container(source, world, root, ""));
    let below: Vec<usize> = key.match_indices('/').map(|(at, _)| at + 1).collect();
    containers.extend(below.into_iter().map(|end| container(source, world, root, &key[..end])));
    containers
}
