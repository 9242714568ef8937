//! A tree of files that changes by chance, and what it holds.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::Result;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fastrand::Rng;

/// Files at the beginning.
const FILES: usize = 250;
/// Below so many files no folder is removed any more.
const FILES_FEW: usize = 200;
/// An owner beside the caller, where the caller may give files away.
const NOBODY: u32 = 65_534;

/// The tree.
pub(super) struct Tree {
    /// Where it is.
    pub(super) root: PathBuf,
    /// Content by name below the root.
    pub(super) files: BTreeMap<String, String>,
    written: usize,
    gives_away: bool,
}

impl Tree {
    /// Makes a tree in an empty folder.
    pub(super) fn make(root: PathBuf) -> Result<Tree> {
        make_folder(&root)?;
        let gives_away = rustix::process::geteuid().is_root();
        let mut tree = Tree { root, files: BTreeMap::new(), written: 0, gives_away };
        for n in 0..FILES {
            tree.write(&format!("d{}/e{}/f{n}.txt", n % 7, n % 3))?;
        }
        Ok(tree)
    }

    /// Writes, removes, renames, closes, opens and gives away files and folders.
    pub(super) fn change(&mut self, rng: &mut Rng) -> Result<()> {
        for _ in 0..rng.usize(10..70) {
            let Some(name) = rng.choice(self.files.keys()).cloned() else { return self.write("first.txt") };
            let path = self.root.join(&name);
            match rng.u8(0..14) {
                0..4 => self.write(&name)?,
                4..7 => {
                    self.write(&format!("d{}/n{}/g{}.txt", rng.u8(0..9), rng.u8(0..3), self.written))?;
                }
                7 => {
                    std::fs::remove_file(path)?;
                    self.files.remove(&name);
                }
                8 => self.rename_file(&name)?,
                9 | 10 => set_mode(&path, rng.choice([0o600, 0o644, 0o640, 0o604]).unwrap_or(0o644))?,
                11 => set_mode(
                    path.parent().unwrap_or(&path),
                    rng.choice([0o700, 0o755, 0o755, 0o711]).unwrap_or(0o755),
                )?,
                12 if self.gives_away => {
                    let owner = rng.choice([0, NOBODY]);
                    std::os::unix::fs::chown(&path, owner, rng.choice([0, NOBODY]))?;
                }
                12 => self.rename_folder(&name)?,
                _ if self.files.len() > FILES_FEW && rng.u8(0..3) == 0 => self.remove_folder(&name)?,
                _ => self.rename_folder(&name)?,
            }
        }
        Ok(())
    }

    fn write(&mut self, name: &str) -> Result<()> {
        self.written += 1;
        let path = self.root.join(name);
        let mut missing = Vec::new();
        for folder in path.ancestors().skip(1).take_while(|folder| !folder.exists()) {
            missing.push(folder);
        }
        missing.into_iter().rev().try_for_each(make_folder)?;
        let text = format!("content{} of a file", self.written);
        let is_new = !path.exists();
        std::fs::write(&path, &text)?;
        if is_new {
            set_mode(&path, 0o644)?;
        }
        self.files.insert(name.to_owned(), text);
        Ok(())
    }

    fn rename_file(&mut self, name: &str) -> Result<()> {
        self.written += 1;
        let new = format!("moved{}.txt", self.written);
        std::fs::rename(self.root.join(name), self.root.join(&new))?;
        self.files.remove(name).map(|text| self.files.insert(new, text));
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
        self.files = files.into_iter().map(|(name, text)| (renamed(name), text)).collect();
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

fn make_folder(path: &Path) -> Result<()> {
    std::fs::create_dir(path)?;
    set_mode(path, 0o755)
}

fn set_mode(path: &Path, mode: u32) -> Result<()> {
    std::fs::set_permissions(path, Permissions::from_mode(mode))
}
