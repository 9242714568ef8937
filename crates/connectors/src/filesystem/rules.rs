//! Which names a job leaves out: patterns, hidden names, ignore files.

use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ingather_connector::model::fault::{Fault, Reason};
use ingather_connector::model::limits;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::settings::SourceSettings;

/// Why a name is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    Excluded,
    Hidden,
    Ignored,
    OtherDevice,
    Link,
    Special,
    Folder,
    TooLarge,
    Own,
}

impl Left {
    /// The reason as reported about the document `key`.
    pub(super) fn reason(self, key: &str) -> Reason {
        let (code, what) = match self {
            Left::Excluded => ("excluded", "is left out by the patterns of the job"),
            Left::Hidden => ("hidden", "is hidden, and the job skips hidden names"),
            Left::Ignored => ("ignored", "is left out by an ignore file"),
            Left::OtherDevice => {
                ("other_device", "is on another device, and the job stays on that of its root")
            }
            Left::Link => ("link", "is or lies behind a symbolic link; links are not followed"),
            Left::Special => ("special", "is a device, pipe or socket; those are never opened"),
            Left::Folder => ("folder", "is a folder, not a file"),
            Left::TooLarge => ("size", "is larger than the job's `size_max`"),
            Left::Own => ("own_file", "belongs to Ingather itself"),
        };
        Reason::new(code, format!("`{key}` {what}"))
    }
}

/// The rules of one job, compiled.
#[derive(Debug)]
pub(super) struct Rules {
    /// None: everything.
    include: Option<GlobSet>,
    exclude: Option<GlobSet>,
    /// Patterns that ended with a slash.
    exclude_folders: Option<GlobSet>,
    skip_hidden: bool,
    pub(super) ignore_files: bool,
    pub(super) size_max: u64,
    pub(super) other_devices: bool,
}

impl Rules {
    /// Compiles the rules.
    ///
    /// # Errors
    /// `Refused` with code `glob` that names the pattern.
    pub(super) fn of(settings: &SourceSettings) -> Result<Rules, Fault> {
        let include = settings.include.iter().map(|glob| match glob.strip_suffix('/') {
            Some(folder) => format!("{folder}/**"),
            None => glob.clone(),
        });
        let (folders, others): (Vec<_>, Vec<_>) =
            settings.exclude.iter().partition(|glob| glob.ends_with('/'));
        Ok(Rules {
            include: compile(include)?,
            exclude: compile(others.into_iter().cloned())?,
            exclude_folders: compile(folders.into_iter().map(|glob| glob.trim_end_matches('/').to_owned()))?,
            skip_hidden: settings.skip_hidden,
            ignore_files: settings.ignore_files,
            size_max: settings.size_max,
            other_devices: settings.other_devices,
        })
    }

    /// Whether [`Rules::leaves_out`] can say anything but none: when not, nobody needs to make paths.
    pub(super) fn speak_of_names(&self) -> bool {
        self.include.is_some()
            || self.exclude.is_some()
            || self.exclude_folders.is_some()
            || self.skip_hidden
            || self.ignore_files
    }

    /// Judges a file or folder by its path below the root; the folders above it were judged before.
    pub(super) fn leaves_out(&self, path: &[u8], folder: bool, ignored: Option<&Ignored>) -> Option<Left> {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        if self.skip_hidden && name.first() == Some(&b'.') {
            return Some(Left::Hidden);
        }
        let candidate = Candidate::from_bytes(path);
        let matches =
            |set: &Option<GlobSet>| set.as_ref().is_some_and(|set| set.is_match_candidate(&candidate));
        if matches(&self.exclude) || (folder && matches(&self.exclude_folders)) {
            return Some(Left::Excluded);
        }
        if !folder && self.include.is_some() && !matches(&self.include) {
            return Some(Left::Excluded);
        }
        let ignored =
            self.ignore_files && (name == b".git" || ignored.is_some_and(|i| i.covers(path, folder)));
        ignored.then_some(Left::Ignored)
    }
}

fn compile(globs: impl Iterator<Item = String>) -> Result<Option<GlobSet>, Fault> {
    let refuse = |error: globset::Error| Fault::refused("glob", format!("pattern cannot be used: {error}"));
    let mut set = GlobSetBuilder::new();
    let mut any = false;
    for glob in globs {
        let anchored = match glob.strip_prefix('/') {
            Some(rest) => rest.to_owned(),
            None if glob.contains('/') => glob,
            None => format!("**/{glob}"),
        };
        set.add(GlobBuilder::new(&within_names(&anchored)).literal_separator(true).build().map_err(refuse)?);
        any = true;
    }
    Ok(if any { Some(set.build().map_err(refuse)?) } else { None })
}

/// The same pattern, with `/` among what a negated class does not match: the library keeps `*` and `?` within one name,
/// but not `[!a]`.
fn within_names(glob: &str) -> String {
    let mut out = String::with_capacity(glob.len() + 1);
    let mut characters = glob.chars().peekable();
    while let Some(character) = characters.next() {
        out.push(character);
        match character {
            '\\' => out.extend(characters.next()),
            '[' => {
                let negated = characters.next_if(|next| matches!(next, '!' | '^'));
                out.extend(negated);
                // The first one is one of the class, not its end.
                out.extend(characters.next_if(|next| *next == ']'));
                out.extend(negated.map(|_| '/'));
                while let Some(member) = characters.next_if(|next| *next != ']') {
                    out.push(member);
                }
            }
            _ => {}
        }
    }
    out
}

/// The ignore files of a folder and those above it.
#[derive(Debug)]
pub(super) struct Ignored {
    above: Option<Arc<Ignored>>,
    /// Bytes of the path of the folder, with its slash.
    base: usize,
    matcher: Gitignore,
}

impl Ignored {
    /// Adds the ignore files of the open folder whose path is `base` bytes long to those above it.
    ///
    /// # Errors
    /// When there is one that cannot be read or is too large: nobody knows then what should be left out.
    pub(super) fn below(
        above: Option<Arc<Ignored>>,
        folder: &OwnedFd,
        base: usize,
    ) -> rustix::io::Result<Option<Arc<Ignored>>> {
        let mut builder = GitignoreBuilder::new("");
        let mut any = false;
        // The later one wins, as elsewhere.
        for name in [".gitignore", ".ignore"] {
            let Some(text) = read_small(folder, name)? else { continue };
            for line in String::from_utf8_lossy(&text).lines() {
                // A line that cannot be understood says nothing, as for other programs that read these files.
                any |= builder.add_line(None, line).is_ok();
            }
        }
        match builder.build() {
            Ok(matcher) if any => Ok(Some(Arc::new(Ignored { above, base, matcher }))),
            Ok(_) => Ok(above),
            Err(_) => Err(Errno::INVAL),
        }
    }

    /// Whether the deepest ignore file that speaks of `path` leaves it out.
    fn covers(&self, path: &[u8], folder: bool) -> bool {
        let mut current = Some(self);
        while let Some(ignored) = current {
            let below = path.get(ignored.base..).unwrap_or_default();
            match ignored.matcher.matched(Path::new(OsStr::from_bytes(below)), folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => current = ignored.above.as_deref(),
            }
        }
        false
    }
}

fn read_small(folder: impl AsFd, name: &str) -> rustix::io::Result<Option<Vec<u8>>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::statat(&folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error),
        Ok(stat) if !rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file() => return Ok(None),
        Ok(_) => {}
    }
    let file = match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        other => other?,
    };
    let mut text = Vec::new();
    let read = std::fs::File::from(file).take(limits::IGNORE_FILE_BYTES_MAX + 1).read_to_end(&mut text);
    read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    if text.len() as u64 > limits::IGNORE_FILE_BYTES_MAX { Err(Errno::FBIG) } else { Ok(Some(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(include: &[&str], exclude: &[&str]) -> Rules {
        let settings = serde_json::json!({"root": "/r", "include": include, "exclude": exclude});
        Rules::of(&serde_json::from_value(settings).unwrap()).unwrap()
    }

    fn taken(rules: &Rules, path: &str, folder: bool) -> bool {
        rules.leaves_out(path.as_bytes(), folder, None).is_none()
    }

    #[test]
    fn patterns_without_a_slash_match_at_any_depth_others_from_the_root() {
        let rules = rules(&[], &["*.log", "build/", "/top", "a/*.tmp", "deep/**/x"]);
        for (path, folder, expected) in [
            ("a.log", false, false),
            ("x/y/a.log", false, false),
            ("a.logs", false, true),
            ("x/build", true, false),
            ("x/build", false, true),
            ("top", true, false),
            ("x/top", true, true),
            ("a/1.tmp", false, false),
            ("a/b/1.tmp", false, true),
            ("b/a/1.tmp", false, true),
            ("deep/1/2/x", false, false),
        ] {
            assert_eq!(taken(&rules, path, folder), expected, "{path}");
        }
    }

    #[test]
    fn include_patterns_choose_files_and_let_folders_pass() {
        let rules = rules(&["*.md", "docs/"], &[]);
        assert!(taken(&rules, "a/b.md", false));
        assert!(taken(&rules, "docs/x/y.pdf", false));
        assert!(!taken(&rules, "a/b.txt", false));
        assert!(!taken(&rules, "a/docs/b.txt", false));
        assert!(taken(&rules, "a", true));
    }

    #[test]
    fn names_that_are_not_utf8_are_matched_by_their_bytes() {
        let rules = rules(&[], &["*.log"]);
        assert_eq!(rules.leaves_out(b"a\xff.log", false, None), Some(Left::Excluded));
        assert_eq!(rules.leaves_out(b"a\xff.txt", false, None), None);
    }

    #[test]
    fn a_pattern_that_cannot_be_read_is_refused_by_name() {
        let settings = serde_json::json!({"root": "/r", "exclude": ["a[b"]});
        let fault = Rules::of(&serde_json::from_value(settings).unwrap()).unwrap_err();
        assert_eq!(fault.reason().code, "glob");
        assert!(fault.reason().message.contains("a[b"), "{fault}");
    }
}
