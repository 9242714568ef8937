//! A tree of files, archives and mails that changes by chance, and what it holds.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::Result;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fastrand::Rng;

use super::containers::{Container, Found, Kind};

/// Files at the beginning.
const FILES: usize = 250;
/// Archives and mails at the beginning.
const CONTAINERS: usize = 24;
/// Below so many files no folder is removed any more.
const FILES_FEW: usize = 200;
/// An owner beside the caller, where the caller may give files away.
const NOBODY: u32 = 65_534;

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Text(String),
    Container(Container),
}

impl Content {
    /// What a reader finds in it.
    pub(super) fn found(&self) -> Found {
        match self {
            Content::Text(text) => Found::plain(text),
            Content::Container(container) => container.found(),
        }
    }
}

/// The tree.
pub(super) struct Tree {
    /// Where it is.
    pub(super) root: PathBuf,
    /// Content by name below the root.
    pub(super) files: BTreeMap<String, Content>,
    written: usize,
    gives_away: bool,
}

impl Tree {
    /// Makes a tree in an empty folder.
    pub(super) fn make(root: PathBuf, rng: &mut Rng) -> Result<Tree> {
        make_folder(&root)?;
        let gives_away = rustix::process::geteuid().is_root();
        let mut tree = Tree { root, files: BTreeMap::new(), written: 0, gives_away };
        for n in 0..FILES {
            tree.write(&format!("d{}/e{}/f{n}.txt", n % 7, n % 3))?;
        }
        for n in 0..CONTAINERS {
            tree.write_container(&format!("d{}/e{}", n % 7, n % 3), Kind::ALL[n % 3], rng)?;
        }
        Ok(tree)
    }

    /// Writes, removes, renames, closes, opens and gives away files and folders, and changes what is in archives and mails.
    pub(super) fn change(&mut self, rng: &mut Rng) -> Result<()> {
        for _ in 0..rng.usize(10..70) {
            let Some(name) = self.choose(rng) else { return self.write("first.txt") };
            let path = self.root.join(&name);
            match rng.u8(0..15) {
                0..4 => self.change_content(&name, rng)?,
                4..6 => {
                    self.write(&format!("d{}/n{}/g{}.txt", rng.u8(0..9), rng.u8(0..3), self.written))?;
                }
                6 => {
                    let kind = rng.choice(Kind::ALL).unwrap_or(Kind::Zip);
                    self.write_container(&format!("d{}/n{}", rng.u8(0..9), rng.u8(0..3)), kind, rng)?;
                }
                7 => {
                    std::fs::remove_file(path)?;
                    self.files.remove(&name);
                }
                8 => self.rename_file(&name)?,
                9 | 10 => set_mode(&path, rng.choice([0o600, 0o644, 0o640, 0o604]).unwrap_or(0o644))?,
                11 | 12 => set_mode(
                    path.parent().unwrap_or(&path),
                    rng.choice([0o700, 0o755, 0o755, 0o711]).unwrap_or(0o755),
                )?,
                13 if self.gives_away => {
                    let owner = rng.choice([0, NOBODY]);
                    std::os::unix::fs::chown(&path, owner, rng.choice([0, NOBODY]))?;
                }
                13 => self.rename_folder(&name)?,
                _ if self.files.len() > FILES_FEW && rng.u8(0..3) == 0 => self.remove_folder(&name)?,
                _ => self.rename_folder(&name)?,
            }
        }
        Ok(())
    }

    /// A file, often one that holds others.
    fn choose(&self, rng: &mut Rng) -> Option<String> {
        if rng.u8(0..3) == 0 {
            let held = self.files.iter().filter(|(_, content)| matches!(content, Content::Container(_)));
            let held: Vec<&String> = held.map(|(name, _)| name).collect();
            if let Some(name) = rng.choice(held) {
                return Some(name.clone());
            }
        }
        rng.choice(self.files.keys()).cloned()
    }

    /// Another text; other members, or a plain file in place of an archive, and back.
    fn change_content(&mut self, name: &str, rng: &mut Rng) -> Result<()> {
        let kind = Kind::ALL.into_iter().find(|kind| name.ends_with(kind.extension()));
        let content = self.files.get(name).cloned();
        match (content, kind) {
            // A text under the name of a mail would be one without headers.
            (Some(Content::Container(_)), Some(Kind::Zip | Kind::Tar)) if rng.u8(0..8) == 0 => {
                self.write(name)
            }
            (Some(Content::Container(mut container)), _) => {
                container.change(rng, &mut || text(&mut self.written));
                self.put(name, Content::Container(container))
            }
            (_, Some(kind)) => {
                let container = Container::make(kind, rng, &mut || text(&mut self.written));
                self.put(name, Content::Container(container))
            }
            (_, None) => self.write(name),
        }
    }

    fn write(&mut self, name: &str) -> Result<()> {
        let text = text(&mut self.written);
        self.put(name, Content::Text(text))
    }

    fn write_container(&mut self, folder: &str, kind: Kind, rng: &mut Rng) -> Result<()> {
        let container = Container::make(kind, rng, &mut || text(&mut self.written));
        let name = format!("{folder}/c{}.{}", self.written, kind.extension());
        self.put(&name, Content::Container(container))
    }

    /// Writes a file, with the folders that it needs.
    fn put(&mut self, name: &str, content: Content) -> Result<()> {
        let path = self.root.join(name);
        let mut missing = Vec::new();
        for folder in path.ancestors().skip(1).take_while(|folder| !folder.exists()) {
            missing.push(folder);
        }
        missing.into_iter().rev().try_for_each(make_folder)?;
        let is_new = !path.exists();
        match &content {
            Content::Text(text) => std::fs::write(&path, text)?,
            Content::Container(container) => std::fs::write(&path, container.bytes())?,
        }
        if is_new {
            set_mode(&path, 0o644)?;
        }
        self.files.insert(name.to_owned(), content);
        Ok(())
    }

    fn rename_file(&mut self, name: &str) -> Result<()> {
        self.written += 1;
        let extension = name.rsplit('.').next().unwrap_or("txt");
        let new = format!("moved{}.{extension}", self.written);
        std::fs::rename(self.root.join(name), self.root.join(&new))?;
        self.files.remove(name).map(|content| self.files.insert(new, content));
        Ok(())
    }

    fn rename_folder(&mut self, name: &str) -> Result<()> {
        let Some((folder, _)) = name.split_once('/') else { return Ok(()) };
        self.written += 1;
        let new = format!("folder{}", self.written);
        std::fs::rename(self.root.join(folder), self.root.join(&new))?;
        let below = format!("{folder}/");
        let renamed = |name: String| match name.strip_prefix(&below) {
            Some(rest) => format!("{new}/{rest}"),
            None => name,
        };
        let files = std::mem::take(&mut self.files);
        self.files = files.into_iter().map(|(name, content)| (renamed(name), content)).collect();
        Ok(())
    }

    fn remove_folder(&mut self, name: &str) -> Result<()> {
        let Some((folder, _)) = name.rsplit_once('/') else { return Ok(()) };
        std::fs::remove_dir_all(self.root.join(folder))?;
        let below = format!("{folder}/");
        self.files.retain(|name, _| !name.starts_with(&below));
        Ok(())
    }
}

/// A text that there never was.
fn text(written: &mut usize) -> String {
    *written += 1;
    format!("content{written} of a file")
}

fn make_folder(path: &Path) -> Result<()> {
    std::fs::create_dir(path)?;
    set_mode(path, 0o755)
}

fn set_mode(path: &Path, mode: u32) -> Result<()> {
    std::fs::set_permissions(path, Permissions::from_mode(mode))
}
