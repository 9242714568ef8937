//! Folders that somebody works in, one for each job, while the crowd is busy.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::dice::Dice;

/// Files that a folder has at most.
const FILES: usize = 100;

/// The folders, and what is written next into one of them.
pub(super) struct Tree {
    root: PathBuf,
    folders: Vec<&'static str>,
    written: u64,
}

impl Tree {
    /// Folders with some files each.
    pub(super) fn make(root: PathBuf, folders: Vec<&'static str>, dice: &mut Dice) -> Tree {
        let mut tree = Tree { root, folders, written: 0 };
        for folder in tree.folders.clone() {
            (0..FILES / 2).for_each(|_| tree.write(folder, dice));
        }
        tree
    }

    fn file(&self, folder: &str, dice: &mut Dice) -> PathBuf {
        let n = dice.below(FILES);
        self.root.join(folder).join(format!("d{}/f{n}.txt", n % 2))
    }

    fn write(&mut self, folder: &str, dice: &mut Dice) {
        let path = self.file(folder, dice);
        self.written += 1;
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Each text has a word that no other one ever had.
        let more = "apple ".repeat(dice.below(40));
        fs::write(path, format!("apple t{}x {more}", self.written)).unwrap();
    }

    /// One thing that a person does in one of the folders.
    pub(super) fn change(&mut self, dice: &mut Dice) {
        let folder = *dice.pick(&self.folders);
        let whole = self.root.join(folder);
        match dice.below(40) {
            0..20 => self.write(folder, dice),
            20..32 => drop(fs::remove_file(self.file(folder, dice))),
            32..36 => drop(fs::rename(self.file(folder, dice), self.file(folder, dice))),
            36 | 37 => drop(fs::rename(
                whole.join(format!("d{}", dice.below(2))),
                whole.join(format!("e{}", dice.below(2))),
            )),
            _ => drop(fs::remove_dir_all(whole.join(format!("e{}", dice.below(2))))),
        }
    }

    /// Every file with its text, by its path below the root.
    pub(super) fn texts(&self) -> BTreeMap<String, String> {
        let mut texts = BTreeMap::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
                let path = entry.path();
                match entry.file_type().unwrap().is_dir() {
                    true => folders.push(path),
                    false => {
                        let text = fs::read_to_string(&path).unwrap();
                        texts.insert(below(&self.root, &path), text);
                    }
                }
            }
        }
        texts
    }
}

fn below(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap().to_str().unwrap().to_owned()
}
