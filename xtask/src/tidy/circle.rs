//! Files of a crate do not use each other in circles: who understands one of them need not read the others first.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use super::{Finding, World, finding};
use crate::scan;

/// Crates whose files are looked at.
const CRATES: &[&str] = &["crates/contract", "crates/engine", "crates/extract", "crates/model"];
/// Re-exports that lead to each other before one is given up.
const EXPORTS_MAX: usize = 8;

/// A circle that stays.
struct Circle {
    files: &'static [&'static str],
    /// Why it is better than what would cut it.
    reason: &'static str,
}

/// Circles that stay.
const ALLOWED: &[Circle] = &[];

/// Circles of files, and circles that are allowed but are none any more. What a module uses of those that it is inside of does
/// not count: a child may share what its parent has for all its children.
pub(super) fn circles(world: &World) -> Vec<Finding> {
    CRATES.iter().flat_map(|folder| of_crate(world, folder, ALLOWED)).collect()
}

fn of_crate(world: &World, folder: &str, allowed: &[Circle]) -> Vec<Finding> {
    let graph = Graph::of(world, &format!("{folder}/src/"));
    let circles = graph.circles();
    let mut findings = Vec::new();
    for circle in &circles {
        let is_allowed = |one: &&Circle| circle.iter().all(|file| one.files.contains(file));
        if allowed.iter().find(is_allowed).is_none() {
            let way = graph.way(circle[0], circle).join(" → ");
            let advice = "hand down what the lower one calls, or move what both need into a file below both";
            let message = format!("{} files use each other: {way}: {advice}", circle.len());
            findings.push(finding(circle[0], 0, message));
        }
    }
    for one in allowed.iter().filter(|one| one.files.iter().all(|file| file.starts_with(folder))) {
        if !circles.iter().any(|circle| circle.iter().all(|file| one.files.contains(file))) {
            let message = format!("these are no circle any more ({}): take them off the list", one.reason);
            findings.push(finding(one.files.first().copied().unwrap_or(folder), 0, message));
        }
    }
    findings
}

/// Names as segments of a path: `a::b` is two.
type Names = Vec<String>;

/// A file, as others see it.
struct Module<'w> {
    path: &'w str,
    /// Whole paths by the names that `use` gives them.
    imports: BTreeMap<String, Names>,
    /// Whole paths that its code names.
    named: Vec<Names>,
}

/// Which file uses which.
struct Graph<'w> {
    edges: BTreeMap<&'w str, BTreeSet<&'w str>>,
}

impl<'w> Graph<'w> {
    /// Of the files below a folder of sources.
    fn of(world: &'w World, sources: &str) -> Self {
        let files: BTreeMap<Names, (&str, &str)> = world
            .tree
            .ending(".rs")
            .filter(|(path, _)| !super::for_tests(path) && !path.ends_with("/tests.rs"))
            .filter_map(|(path, text)| Some((module_of(path.strip_prefix(sources)?), (path, text))))
            .collect();
        let known: BTreeSet<&Names> = files.keys().collect();
        let modules: BTreeMap<&Names, Module<'w>> =
            files.iter().map(|(name, (path, text))| (name, read(path, text, name, &known))).collect();
        let mut edges: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (name, module) in &modules {
            let used = module.imports.values().chain(&module.named);
            let used = used.filter_map(|names| home(names.clone(), &modules));
            let used = used.filter(|user| !name.starts_with(user)).map(|user| modules[user].path);
            edges.insert(module.path, used.collect());
        }
        Graph { edges }
    }

    /// What a file uses, by however many steps.
    fn reach(&self, from: &'w str) -> BTreeSet<&'w str> {
        let (mut met, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(file) = next.pop() {
            next.extend(self.edges[file].iter().copied().filter(|used| met.insert(*used)));
        }
        met
    }

    /// Files that use each other, however many steps that takes.
    fn circles(&self) -> Vec<Vec<&'w str>> {
        let reach: BTreeMap<&str, BTreeSet<&'w str>> =
            self.edges.keys().map(|file| (*file, self.reach(file))).collect();
        let mut circles = BTreeSet::new();
        for (file, used) in &reach {
            let circle: Vec<&str> = used.iter().copied().filter(|used| reach[used].contains(file)).collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }

    /// The shortest way from a file back to it, inside of a circle.
    fn way(&self, from: &'w str, circle: &[&'w str]) -> Vec<&'w str> {
        let mut before: BTreeMap<&str, &str> = BTreeMap::new();
        let mut next = VecDeque::from([from]);
        while let Some(file) = next.pop_front().filter(|_| !before.contains_key(from)) {
            for used in self.edges[file].iter().filter(|used| circle.contains(used)) {
                if !before.contains_key(used) {
                    before.insert(used, file);
                    next.push_back(used);
                }
            }
        }
        let mut way = vec![from];
        while let Some(file) =
            before.get(way[way.len() - 1]).filter(|_| way.len() == 1 || way[way.len() - 1] != from)
        {
            way.push(file);
        }
        way.reverse();
        way
    }
}

/// The module that a file below the folder of sources is.
fn module_of(file: &str) -> Names {
    let stem = file.trim_end_matches(".rs").trim_end_matches("/mod");
    match stem {
        "lib" | "main" => Names::new(),
        stem => stem.split('/').map(str::to_owned).collect(),
    }
}

/// The module that a whole path leads to, through what modules on its way take from others.
fn home<'n>(mut names: Names, modules: &BTreeMap<&'n Names, Module<'_>>) -> Option<&'n Names> {
    for _ in 0..EXPORTS_MAX {
        let length =
            (0..=names.len()).rev().find(|length| modules.contains_key(&names[..*length].to_vec()))?;
        let (module, holder) = modules.get_key_value(&names[..length].to_vec())?;
        match names.get(length).and_then(|name| holder.imports.get(name)) {
            Some(taken) => names = [taken.as_slice(), &names[length + 1..]].concat(),
            None => return Some(module),
        }
    }
    None
}

/// Reads what a file names outside of its tests.
fn read<'w>(path: &'w str, text: &str, name: &Names, known: &BTreeSet<&Names>) -> Module<'w> {
    let mut code = scan::mask(text);
    for tests in scan::test_modules(&code) {
        code.replace_range(tests.clone(), &" ".repeat(tests.len()));
    }
    let mut module = Module { path, imports: BTreeMap::new(), named: Vec::new() };
    let uses: Vec<Range<usize>> =
        scan::words(&code, "use").filter_map(|at| Some(at..at + code[at..].find(';')?)).collect();
    for used in &uses {
        for (alias, names) in leaves(&code[used.start + "use".len()..used.end]) {
            if let Some(whole) = whole(&names, name, known, &BTreeMap::new()) {
                module.imports.insert(alias, whole);
            }
        }
    }
    for used in uses {
        code.replace_range(used.clone(), &" ".repeat(used.len()));
    }
    let inside = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    for piece in code.split(|c: char| !inside(c)).filter(|piece| piece.contains("::")) {
        let names: Names = piece.split("::").map(str::to_owned).collect();
        module.named.extend(whole(&names, name, known, &module.imports));
    }
    module
}

/// The paths that a tree of `use` names, each with the name that it gets.
fn leaves(tree: &str) -> Vec<(String, Names)> {
    let tree = tree.trim();
    if let Some((head, inner)) = tree.split_once('{') {
        let head: Names =
            head.split("::").map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let inner = inner.strip_suffix('}').unwrap_or(inner);
        return branches(inner)
            .flat_map(leaves)
            .map(|(alias, names)| match names.first().is_some_and(|name| name == "self") {
                // `a::{self}` is `a` itself.
                true => (head.last().cloned().filter(|_| alias == "self").unwrap_or(alias), head.clone()),
                false => (alias, [head.as_slice(), &names].concat()),
            })
            .collect();
    }
    let (path, alias) = tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias)));
    let names: Names =
        path.split("::").map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
    let alias = alias.map(|alias| alias.trim().to_owned()).or_else(|| names.last().cloned());
    alias.map(|alias| (alias, names)).into_iter().collect()
}

/// What stands between the commas outside of inner braces.
fn branches(inner: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0usize;
    inner.split(move |c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
}

/// The path from the crate's root; none for what is not of this crate, or of the file itself.
fn whole(
    names: &[String],
    module: &Names,
    known: &BTreeSet<&Names>,
    imports: &BTreeMap<String, Names>,
) -> Option<Names> {
    let (first, mut rest) = names.split_first()?;
    let mut base = match first.as_str() {
        "crate" => Names::new(),
        "self" => module.clone(),
        "super" => module.split_last()?.1.to_vec(),
        name => {
            let child = [module.as_slice(), &[name.to_owned()]].concat();
            let child = known.contains(&child).then_some(child);
            child.or_else(|| imports.get(name).cloned())?
        }
    };
    while let Some((_, after)) = rest.split_first().filter(|(name, _)| *name == "super") {
        base.pop();
        rest = after;
    }
    base.extend(rest.iter().filter(|name| *name != "*" && !name.is_empty()).cloned());
    Some(base)
}

#[cfg(test)]
mod tests {
    use super::super::examples;
    use super::*;
    use crate::tree::Tree;

    /// What is found in files of a crate, below its folder of sources.
    fn found(files: &[(&str, &str)], allowed: &[Circle]) -> Vec<String> {
        let files: Vec<(String, &str)> =
            files.iter().map(|(name, text)| (format!("crates/x/src/{name}"), *text)).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let world = World { tree: Tree::of(&files), packages: Vec::new() };
        let findings = of_crate(&world, "crates/x", allowed).into_iter();
        findings.map(|one| one.message.replace("crates/x/src/", "")).collect()
    }

    #[test]
    fn files_that_use_each_other_are_refused() {
        for (page, formats) in [
            ("use crate::formats;\nfn part() { formats::read() }", "use crate::page::Sink;"),
            ("fn part() { crate::formats::read() }", "use crate::{detect, page::{self, Sink}};"),
            ("use crate::{formats::{read as reader}};", "fn read() { super::page::take() }"),
        ] {
            let lines = found(
                &[("lib.rs", "mod page; mod formats;"), ("page.rs", page), ("formats.rs", formats)],
                &[],
            );
            assert_eq!(lines.len(), 1, "{page} {formats}");
            assert!(
                lines[0].starts_with("2 files use each other: formats.rs → page.rs → formats.rs: "),
                "{}",
                lines[0]
            );
        }
    }

    #[test]
    fn a_circle_may_go_through_many_files_and_other_names() {
        let files = [
            ("lib.rs", "pub use page::Sink;\nfn extract() { formats::read() }"),
            ("page.rs", "use crate::formats;\nfn f() { formats::read() }"),
            ("formats.rs", "mod rtf; mod plain;\nfn read() { rtf::read() }"),
            ("formats/rtf.rs", "use super::plain;\nfn read() { plain::read() }"),
            ("formats/plain.rs", "use crate::Sink;"),
        ];
        let lines = found(&files, &[]);
        assert_eq!(lines.len(), 1, "{lines:?}");
        let way = "formats.rs → formats/rtf.rs → formats/plain.rs → page.rs → formats.rs";
        assert!(lines[0].contains(way), "{}", lines[0]);
    }

    #[test]
    fn parents_and_tests_and_words_make_no_circle() {
        let files = [
            ("lib.rs", "mod page;\nfn extract() { page::read() }"),
            (
                "page.rs",
                "mod marks;\npub struct Sink;\nfn f() { marks::f() }\n// crate::formats\nconst A: &str = \"crate::formats\";",
            ),
            ("page/marks.rs", "use super::Sink;\nuse crate::extract;"),
            (
                "formats.rs",
                "use crate::page::Sink;\nuse std::page;\n#[cfg(test)]\nmod tests { use crate::rtf; }",
            ),
            ("rtf.rs", "use crate::formats::read;"),
        ];
        assert_eq!(found(&files, &[]), Vec::<String>::new());
    }

    #[test]
    fn a_circle_may_be_allowed_as_long_as_it_is_one() {
        let allowed =
            || Circle { files: &["crates/x/src/a.rs", "crates/x/src/b.rs"], reason: "they are one" };
        let (a, b) = (("a.rs", "use crate::b::B;"), ("b.rs", "use crate::a::A;"));
        assert_eq!(found(&[a, b], &[allowed()]), Vec::<String>::new());
        assert_eq!(
            found(&[a, ("b.rs", "struct B;")], &[allowed()]),
            ["these are no circle any more (they are one): take them off the list"]
        );
        let wider =
            [("a.rs", "use crate::b::B;"), ("b.rs", "use crate::c::C;"), ("c.rs", "use crate::a::A;")];
        assert_eq!(found(&wider, &[allowed()]).len(), 2);
    }

    #[test]
    fn the_crates_on_the_list_are_looked_at() {
        let files = [
            ("crates/extract/src/a.rs", "use crate::b::B;"),
            ("crates/extract/src/b.rs", "use crate::a::A;"),
        ];
        let findings = examples::found(circles, &files);
        assert_eq!(findings.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(), [files[0].0]);
    }
}
