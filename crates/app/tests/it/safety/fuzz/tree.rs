//! A tree that changes by one system call at a time, and what its files hold.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, Permissions};
use std::io::Result;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{CWD, RenameFlags};

use crate::dice::Dice;
use crate::files;
use crate::people::Person;

const FILE_MODES: [u32; 9] = [0o644, 0o604, 0o640, 0o600, 0o044, 0o664, 0o644, 0o444, 0o000];
const FOLDER_MODES: [u32; 9] = [0o755, 0o711, 0o750, 0o700, 0o701, 0o710, 0o2755, 0o755, 0o055];

/// A text of a file: its own (`""`) or that of something in it (`#name`); none where nobody can read that.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) suffix: String,
    pub(super) text: Option<String>,
}

pub(super) struct Tree<'p> {
    pub(super) dice: Dice,
    /// Where jobs begin; the two folders above it change as well.
    pub(super) source: PathBuf,
    people: &'p [Person],
    groups: &'p [String],
    /// What archives hold, by their bytes.
    archives: HashMap<Vec<u8>, Vec<Member>>,
    /// Modification time of a file that was written to, to be put back by a later call.
    earlier: Option<(PathBuf, SystemTime)>,
    made: usize,
    /// All calls, for whoever has to find out why.
    pub(super) script: Vec<String>,
}

impl<'p> Tree<'p> {
    pub(super) fn new(seed: u64, root: &Path, people: &'p [Person], groups: &'p [String]) -> Tree<'p> {
        let source = root.join("above/source");
        std::fs::create_dir_all(&source).unwrap();
        let mut tree = Tree {
            dice: Dice::new(seed),
            source,
            people,
            groups,
            archives: HashMap::new(),
            earlier: None,
            made: 0,
            script: Vec::new(),
        };
        for folder in ["d0", "d0/e0", "d0/e1", "d1", "d1/e2", "d2"] {
            std::fs::create_dir(tree.source.join(folder)).unwrap();
            for n in 0..2 {
                let text = tree.text();
                std::fs::write(tree.source.join(format!("{folder}/f{n}.txt")), text).unwrap();
            }
            let archive = tree.archive(false);
            std::fs::write(tree.source.join(format!("{folder}/a.zip")), archive).unwrap();
        }
        tree
    }

    /// The name of a document: its path below the source.
    pub(super) fn name(&self, path: &Path) -> String {
        path.strip_prefix(&self.source).unwrap().to_str().unwrap().to_owned()
    }

    pub(super) fn files(&self) -> Vec<PathBuf> {
        self.all().into_iter().filter(|path| !path.is_dir()).collect()
    }

    fn folders(&self) -> Vec<PathBuf> {
        self.all().into_iter().filter(|path| path.is_dir()).collect()
    }

    fn all(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.source.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                }
                found.push(entry.path());
            }
        }
        found.sort();
        found
    }

    /// What a file holds.
    pub(super) fn texts(&self, path: &Path) -> Vec<Member> {
        let bytes = std::fs::read(path).unwrap();
        self.archives.get(&bytes).cloned().unwrap_or_else(|| {
            let text = String::from_utf8(bytes).unwrap();
            vec![Member { suffix: String::new(), text: Some(text) }]
        })
    }

    /// A text that no other file ever held, as long as all others.
    fn text(&mut self) -> String {
        self.made += 1;
        format!("text{:06}", self.made)
    }

    /// An archive of three members, as long as all others; `closed`: one of them is encrypted.
    fn archive(&mut self, closed: bool) -> Vec<u8> {
        let encrypted = closed.then(|| self.dice.below(3));
        let members: Vec<(String, String, bool)> =
            (0..3).map(|n| (format!("m{n}.txt"), self.text(), encrypted == Some(n))).collect();
        let bytes = zip(&members);
        let held = members.into_iter().map(|(name, text, encrypted)| Member {
            suffix: format!("#{name}"),
            text: (!encrypted).then_some(text),
        });
        // An archive itself is found by the names in it.
        let names = Member { suffix: String::new(), text: Some("m0.txt m1.txt m2.txt".to_owned()) };
        self.archives.insert(bytes.clone(), held.chain([names]).collect());
        bytes
    }

    /// One system call that changes something; some find nothing to change.
    pub(super) fn change(&mut self) {
        let kind = self.dice.below(20);
        let file = self.dice.pick(&self.files()).clone();
        let mut folders = self.folders();
        let folder = self.dice.pick(&folders).clone();
        // Folders above the source close and open as well.
        folders.push(self.source.clone());
        folders.push(self.source.parent().unwrap().to_owned());
        let closes = self.dice.pick(&folders).clone();
        let done: Result<String> = match kind {
            0..3 => self.mode(&file, &FILE_MODES),
            3..7 => self.mode(&closes, &FOLDER_MODES),
            7 => self.owner(&file),
            8 => self.owner(&closes),
            9 => self.access_list(&file, &["r--", "---", "rw-"]),
            10 => self.access_list(&folder, &["r-x", "--x", "---"]),
            11..14 => self.rewrite(&file),
            14 => self.restore_time(),
            15 => self.swap(&file, &folder),
            16 => self.rename(&file, &folder),
            17 => self.link(&file, &folder),
            18 => self.replace(&file),
            _ => self.come_or_go(&file, &folder),
        };
        let told = done.unwrap_or_else(|error| format!("kind {kind} of {file:?} and {folder:?}: {error}"));
        self.script.push(told);
    }

    fn mode(&mut self, path: &Path, modes: &[u32]) -> Result<String> {
        let mode = *self.dice.pick(modes);
        std::fs::set_permissions(path, Permissions::from_mode(mode))?;
        Ok(format!("chmod {mode:o} {}", path.display()))
    }

    fn owner(&mut self, path: &Path) -> Result<String> {
        let owner = if self.dice.once_in(3) { 0 } else { self.dice.pick(self.people).uid };
        let groups = &self.dice.pick(self.people).groups;
        let group = self.dice.pick(groups);
        std::os::unix::fs::chown(path, Some(owner), Some(*group))?;
        Ok(format!("chown {owner}:{group} {}", path.display()))
    }

    fn access_list(&mut self, path: &Path, rights: &[&str]) -> Result<String> {
        let user = format!("u:{}:{}", self.dice.pick(self.people).name, self.dice.pick(rights));
        let group = format!("g:{}:{}", self.dice.pick(self.groups), self.dice.pick(rights));
        let mask = format!("m::{}", self.dice.pick(rights));
        let entries = [user, group, mask].join(",");
        match self.dice.once_in(3) {
            true => files::tool("setfacl", &["-b"], path),
            false => files::tool("setfacl", &["-m", &entries], path),
        }
        Ok(format!("setfacl {entries} {}", path.display()))
    }

    /// Other content of the same size.
    fn rewrite(&mut self, path: &Path) -> Result<String> {
        let file = OpenOptions::new().write(true).open(path)?;
        self.earlier = Some((path.to_owned(), file.metadata()?.modified()?));
        let content = self.content(path);
        file.write_all_at(&content, 0)?;
        Ok(format!("write {} to {}", self.shown(path), path.display()))
    }

    fn content(&mut self, path: &Path) -> Vec<u8> {
        match path.extension().is_some_and(|extension| extension == "zip") {
            true => {
                let closed = self.dice.once_in(3);
                self.archive(closed)
            }
            false => self.text().into_bytes(),
        }
    }

    fn shown(&self, path: &Path) -> String {
        let texts = self.texts(path).into_iter();
        texts.map(|m| format!("{}={} ", m.suffix, m.text.as_deref().unwrap_or("?"))).collect()
    }

    fn restore_time(&mut self) -> Result<String> {
        let Some((path, time)) = self.earlier.take() else { return Ok("no time is kept".to_owned()) };
        File::options().append(true).open(&path)?.set_modified(time)?;
        Ok(format!("put the time of {} back", path.display()))
    }

    fn swap(&mut self, file: &Path, folder: &Path) -> Result<String> {
        let (files, folders) = (self.files(), self.folders());
        let (one, other) = match self.dice.once_in(2) {
            true => (file, self.dice.pick(&files)),
            false => (folder, self.dice.pick(&folders)),
        };
        let same_sort = one.extension() == other.extension();
        if !same_sort {
            return Ok("nothing to swap".to_owned());
        }
        rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?;
        Ok(format!("swap {} and {}", one.display(), other.display()))
    }

    fn rename(&mut self, file: &Path, folder: &Path) -> Result<String> {
        let folders = self.folders();
        let (from, into) = match self.dice.once_in(2) {
            true => (file, folder),
            false => (folder, self.dice.pick(&folders).as_path()),
        };
        let to = into.join(self.fresh(from));
        std::fs::rename(from, &to)?;
        Ok(format!("rename {} to {}", from.display(), to.display()))
    }

    /// A name that was never used, of the same sort.
    fn fresh(&mut self, like: &Path) -> String {
        self.made += 1;
        match like.extension().and_then(|extension| extension.to_str()) {
            Some(extension) => format!("n{}.{extension}", self.made),
            None => format!("n{}", self.made),
        }
    }

    fn link(&mut self, file: &Path, folder: &Path) -> Result<String> {
        let to = folder.join(self.fresh(file));
        std::fs::hard_link(file, &to)?;
        Ok(format!("link {} to {}", file.display(), to.display()))
    }

    /// A file that was made ready elsewhere takes the place of another.
    fn replace(&mut self, path: &Path) -> Result<String> {
        let ready = self.source.join("../../ready");
        let content = self.content(path);
        std::fs::write(&ready, content)?;
        let mode = *self.dice.pick(&FILE_MODES);
        std::fs::set_permissions(&ready, Permissions::from_mode(mode))?;
        std::fs::rename(&ready, path)?;
        Ok(format!("replace {} by {} of mode {mode:o}", path.display(), self.shown(path)))
    }

    fn come_or_go(&mut self, file: &Path, folder: &Path) -> Result<String> {
        match self.dice.below(4) {
            0 if self.files().len() > 12 => {
                std::fs::remove_file(file)?;
                Ok(format!("unlink {}", file.display()))
            }
            1 if self.folders().len() < 12 => {
                let to = folder.join(self.fresh(Path::new("d")));
                let mode = *self.dice.pick(&FOLDER_MODES);
                std::fs::DirBuilder::new().mode(mode).create(&to)?;
                Ok(format!("mkdir {mode:o} {}", to.display()))
            }
            2 => {
                std::fs::remove_dir(folder)?;
                Ok(format!("rmdir {}", folder.display()))
            }
            _ => {
                let to = folder.join(self.fresh(Path::new("f.txt")));
                let mode = *self.dice.pick(&FILE_MODES);
                OpenOptions::new().write(true).create_new(true).mode(mode).open(&to)?;
                Ok(format!("create {mode:o} {}", to.display()))
            }
        }
    }
}

/// A ZIP archive of stored members: name, text, whether it counts as encrypted (APPNOTE.TXT 4.3, 4.4.4).
fn zip(members: &[(String, String, bool)]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, text, encrypted) in members {
        let at = bytes.len() as u32;
        // The twelve bytes before what is encrypted; equal in all, so that all archives are equally long.
        let (before, flags) = if *encrypted { ("0123456789ab", 1u16) } else { ("", 0) };
        let comment = if *encrypted { "" } else { "0123456789ab" };
        let (size, stored) = (text.len() as u32, (before.len() + text.len()) as u32);
        let mut facts = vec![20, 0];
        facts.extend(flags.to_le_bytes());
        facts.extend([0; 6]);
        [crc32(text.as_bytes()), stored, size].iter().for_each(|n| facts.extend(n.to_le_bytes()));
        facts.extend((name.len() as u16).to_le_bytes());
        facts.extend([0; 2]);
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&facts);
        [name, before, text].iter().for_each(|part| bytes.extend(part.as_bytes()));
        directory.extend(b"PK\x01\x02\x14\0");
        directory.extend(&facts);
        directory.extend((comment.len() as u16).to_le_bytes());
        directory.extend([0; 8]);
        directory.extend(at.to_le_bytes());
        [name, comment].iter().for_each(|part| directory.extend(part.as_bytes()));
    }
    let (at, count) = (bytes.len() as u32, members.len() as u16);
    let size = directory.len() as u32;
    bytes.append(&mut directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    [count, count].iter().for_each(|n| bytes.extend(n.to_le_bytes()));
    [size, at].iter().for_each(|n| bytes.extend(n.to_le_bytes()));
    bytes.extend([0; 2]);
    bytes
}

fn crc32(bytes: &[u8]) -> u32 {
    let bit = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), bit))
}
