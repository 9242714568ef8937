//! Which names a job leaves out: patterns, hidden names, ignore files.

use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, Glob};
use ingather_model::fault::{Fault, Reason};
use ingather_model::{limits, names};
use regex::bytes::Regex;
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
    MadeUp,
    Link,
    Special,
    Folder,
    TooLarge { size: u64, size_max: u64 },
    Own,
}

impl Left {
    fn code(self) -> &'static str {
        match self {
            Left::Excluded => "excluded",
            Left::Hidden => "hidden",
            Left::Ignored => "ignored",
            Left::OtherDevice => "other_device",
            Left::MadeUp => "made_up",
            Left::Link => "link",
            Left::Special => "special",
            Left::Folder => "folder",
            Left::TooLarge { .. } => "size",
            Left::Own => "own_file",
        }
    }

    /// What follows the name in a sentence, as far as it can be told without the rules.
    pub(super) fn words(self) -> String {
        match self {
            Left::Excluded => "is left out by the patterns of the job".to_owned(),
            Left::Hidden => {
                "is hidden (its name begins with a dot), and the job skips hidden names".to_owned()
            }
            Left::Ignored => "is left out by an ignore file".to_owned(),
            Left::OtherDevice => "is on another device, and the job stays on that of its root".to_owned(),
            Left::MadeUp => {
                "holds what the kernel makes up, such as /proc; it is entered only when it is the source itself".to_owned()
            }
            Left::Link => "is a symbolic link; links are not followed".to_owned(),
            Left::Special => "is a special file (device, pipe or socket); those are never opened".to_owned(),
            Left::Folder => "is a folder, not a file".to_owned(),
            Left::TooLarge { size, size_max } => format!(
                "is too large: {size} bytes, {} more than the job takes (`size_max` {size_max})",
                size - size_max
            ),
            Left::Own => {
                "belongs to Ingather itself (data directory or journal), which is never a document".to_owned()
            }
        }
    }

    /// The reason as reported about the document `key`.
    pub(super) fn reason(self, key: &str) -> Reason {
        self.told(key, key, &self.words())
    }

    /// The reason as told about the document `key` when it is `at`, the document or a folder above it, that `words` are
    /// about.
    pub(super) fn told(self, key: &str, at: &str, words: &str) -> Reason {
        Reason::new(
            self.code(),
            match key == at {
                true => format!("`{key}` {words}"),
                false => format!("`{key}` lies in `{at}`, which {words}"),
            },
        )
    }
}

/// Patterns of one setting, compiled.
#[derive(Debug)]
struct Patterns {
    set: GlobSet,
    /// Those that name bytes, which the set cannot hold, by their place in it.
    raw: Vec<(usize, Regex)>,
    /// As a person wrote them, in the order of the set.
    written: Vec<String>,
}

impl Patterns {
    fn matches(&self, candidate: &Candidate<'_>, path: &[u8]) -> bool {
        self.set.is_match_candidate(candidate) || self.raw.iter().any(|(_, raw)| raw.is_match(path))
    }

    /// The first pattern that matches.
    fn first(&self, candidate: &Candidate<'_>, path: &[u8]) -> Option<&str> {
        let raw = self.raw.iter().find(|(_, raw)| raw.is_match(path)).map(|(at, _)| *at);
        let at = self.set.matches_candidate(candidate).into_iter().chain(raw).min()?;
        self.written.get(at).map(String::as_str)
    }
}

/// The rules of one job, compiled.
#[derive(Debug)]
pub(super) struct Rules {
    /// None: everything.
    include: Option<Patterns>,
    exclude: Option<Patterns>,
    /// Patterns that ended with a slash.
    exclude_folders: Option<Patterns>,
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
        let below = |glob: &str| match glob.strip_suffix('/') {
            Some(folder) => format!("{folder}/**"),
            None => glob.to_owned(),
        };
        let (folders, others): (Vec<&String>, Vec<&String>) =
            settings.exclude.iter().partition(|glob| glob.ends_with('/'));
        Ok(Rules {
            include: compile(settings.include.iter(), below)?,
            exclude: compile(others.into_iter(), str::to_owned)?,
            exclude_folders: compile(folders.into_iter(), |glob| glob.trim_end_matches('/').to_owned())?,
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
            |set: &Option<Patterns>| set.as_ref().is_some_and(|patterns| patterns.matches(&candidate, path));
        if matches(&self.exclude) || (folder && matches(&self.exclude_folders)) {
            return Some(Left::Excluded);
        }
        if !folder && self.include.is_some() && !matches(&self.include) {
            return Some(Left::Excluded);
        }
        let ignored = self.ignore_files
            && (name == b".git"
                || ignored.is_some_and(|i| i.speaks_of(path, folder).is_some_and(|said| said.is_ignore())));
        ignored.then_some(Left::Ignored)
    }

    /// Whether a folder, by its name below the root, is entered, as far as no ignore file speaks of it.
    pub(super) fn may_hold(&self, folder: &str) -> bool {
        let Ok(path) = names::unescape(folder) else { return true };
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        // The root itself is always entered.
        let mut above = ends.chain([path.len()]).filter(|end| *end > 0).map(|end| &path[..end]);
        !above.any(|folder| self.leaves_out(folder, true, None).is_some())
    }

    /// What follows the name of `path` in a sentence: which pattern, or which line of which ignore file, led to the
    /// verdict `left`.
    pub(super) fn words(&self, left: Left, path: &[u8], folder: bool, ignored: Option<&Ignored>) -> String {
        let candidate = Candidate::from_bytes(path);
        let first = |set: &Option<Patterns>| {
            set.as_ref().and_then(|patterns| patterns.first(&candidate, path)).map(str::to_owned)
        };
        match left {
            Left::Excluded => {
                let folders = if folder { first(&self.exclude_folders) } else { None };
                match (first(&self.exclude).or(folders), &self.include) {
                    (Some(glob), _) => format!("is left out by the exclude pattern `{glob}`"),
                    (None, Some(include)) => {
                        let shown: Vec<String> =
                            include.written.iter().take(8).map(|glob| format!("`{glob}`")).collect();
                        format!("matches none of the include patterns ({})", shown.join(", "))
                    }
                    (None, None) => left.words(),
                }
            }
            Left::Ignored => match ignored.and_then(|ignored| ignored.speaks_of(path, folder)) {
                Some(Match::Ignore(glob)) => {
                    let from = glob.from().map(|from| from.to_string_lossy().into_owned());
                    let from = from.unwrap_or_else(|| "an ignore file".to_owned());
                    format!("is left out by the ignore file {from}: `{}`", glob.original())
                }
                _ => "is git's own folder, and the job obeys ignore files".to_owned(),
            },
            _ => left.words(),
        }
    }
}

/// Whether one pattern can be used.
///
/// # Errors
/// `Refused` with code `glob`: why it cannot.
pub fn check_pattern(pattern: &str) -> Result<(), Fault> {
    compile(std::iter::once(&pattern.to_owned()), str::to_owned).map(|_| ())
}

fn compile<'g>(
    globs: impl Iterator<Item = &'g String>,
    meant: impl Fn(&str) -> String,
) -> Result<Option<Patterns>, Fault> {
    let refuse = |pattern: &str, why: &str| {
        Fault::refused(
            "glob",
            format!("pattern `{pattern}` cannot be used: {why}; a `\\` before a sign takes it as it is"),
        )
    };
    let (mut set, mut raw, mut written) = (GlobSetBuilder::new(), Vec::new(), Vec::new());
    for original in globs {
        let glob = meant(original);
        let anchored = match glob.strip_prefix('/') {
            Some(rest) => rest.to_owned(),
            None if glob.contains('/') => glob,
            None => format!("**/{glob}"),
        };
        let (anchored, bytes) = stand_ins(&anchored);
        let glob = GlobBuilder::new(&within_names(&anchored)).literal_separator(true).build();
        let glob = glob.map_err(|error| refuse(original, &in_words(error.kind())))?;
        if !bytes.is_empty() {
            let regex =
                Regex::new(&with_bytes(glob.regex(), &bytes)).map_err(|_| refuse(original, TOO_LARGE))?;
            raw.push((written.len(), regex));
        }
        set.add(glob);
        written.push(original.clone());
    }
    let all = || written.iter().map(String::as_str).collect::<Vec<&str>>().join(" ");
    let set = || set.build().map_err(|_| refuse(&all(), TOO_LARGE));
    Ok(if written.is_empty() { None } else { Some(Patterns { set: set()?, raw, written }) })
}

/// What the library that compiles patterns says about one that it cannot use.
fn in_words(error: &globset::ErrorKind) -> String {
    use globset::ErrorKind;
    match error {
        ErrorKind::UnclosedClass => "its `[` is not closed by a `]`".to_owned(),
        ErrorKind::InvalidRange(from, to) => format!("its range `{from}-{to}` goes backwards"),
        ErrorKind::UnopenedAlternates => "its `}` closes no `{`".to_owned(),
        ErrorKind::UnclosedAlternates => "its `{` is not closed by a `}`".to_owned(),
        ErrorKind::DanglingEscape => "nothing follows the `\\` at its end".to_owned(),
        _ => TOO_LARGE.to_owned(),
    }
}

/// What else can be wrong with a pattern.
const TOO_LARGE: &str = "it is too large when it is compiled";

/// A character that stands for a byte, while the library compiles a pattern: it knows characters only.
fn stand_in(byte: u8) -> char {
    char::from_u32(0xE000 + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// A pattern with characters in place of its bytes, which are written `\xNN` as in names, and these bytes.
fn stand_ins(glob: &str) -> (String, Vec<u8>) {
    let (mut out, mut bytes, mut rest) = (String::with_capacity(glob.len()), Vec::new(), glob);
    while let Some(at) = rest.find('\\') {
        let after = &rest[at + 1..];
        let digits = after.strip_prefix('x').and_then(|after| after.get(..2));
        let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let (end, kept) = match byte {
            Some(_) => (at + 4, at),
            // What is escaped otherwise is no beginning of another one.
            None => (at + 1 + after.chars().next().map_or(0, char::len_utf8), usize::MAX),
        };
        out.push_str(&rest[..kept.min(end)]);
        out.extend(byte.map(stand_in));
        bytes.extend(byte);
        rest = &rest[end..];
    }
    out.push_str(rest);
    (out, bytes)
}

/// An expression of the library with bytes in place of the characters that stand for them.
fn with_bytes(expression: &str, bytes: &[u8]) -> String {
    let escaped = |bytes: &[u8]| bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect::<String>();
    bytes.iter().fold(expression.to_owned(), |expression, byte| {
        let mut buffer = [0; 4];
        let stand_in = stand_in(*byte).encode_utf8(&mut buffer).as_bytes();
        expression.replace(&escaped(stand_in), &escaped(&[*byte]))
    })
}

/// The same pattern, with `/` among what a negated acl does not match: the library keeps `*` and `?` within one name,
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
                // The first one is one of the acl, not its end.
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
    /// Adds the ignore files of the open folder with the path `base` (its slash included) to those above it.
    ///
    /// # Errors
    /// When there is one that cannot be read or is too large: nobody knows then what should be left out.
    pub(super) fn below(
        above: Option<Arc<Ignored>>,
        folder: &OwnedFd,
        base: &[u8],
    ) -> rustix::io::Result<Option<Arc<Ignored>>> {
        let mut builder = GitignoreBuilder::new("");
        let mut any = false;
        // The later one wins, as elsewhere.
        for name in [".gitignore", ".ignore"] {
            let Some(text) = read_small(folder, name)? else { continue };
            for (number, line) in String::from_utf8_lossy(&text).lines().enumerate() {
                let from = format!("`{}{name}` line {}", names::escape(base), number + 1);
                // A line that cannot be understood says nothing, as for other programs that read these files.
                any |= builder.add_line(Some(from.into()), line).is_ok();
            }
        }
        match builder.build() {
            Ok(matcher) if any => Ok(Some(Arc::new(Ignored { above, base: base.len(), matcher }))),
            Ok(_) => Ok(above),
            Err(_) => Err(Errno::INVAL),
        }
    }

    /// What the deepest ignore file that speaks of `path` says.
    fn speaks_of(&self, path: &[u8], folder: bool) -> Option<Match<&Glob>> {
        let mut current = Some(self);
        while let Some(ignored) = current {
            let below = path.get(ignored.base..).unwrap_or_default();
            match ignored.matcher.matched(Path::new(OsStr::from_bytes(below)), folder) {
                Match::None => current = ignored.above.as_deref(),
                said => return Some(said),
            }
        }
        None
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
    fn a_pattern_names_bytes_as_names_do() {
        let left =
            |pattern: &str, path: &[u8]| rules(&[], &[pattern]).leaves_out(path, false, None).is_some();
        assert!(left("caf\\xE9.txt", b"x/caf\xe9.txt"));
        assert!(!left("caf\\xE9.txt", b"caf\xe8.txt") && !left("caf\\xE9.txt", "café.txt".as_bytes()));
        assert!(left("a/*\\xff[0-9]", b"a/b\xff7") && !left("a/*\\xff[0-9]", b"a/b/\xff7"));
        assert!(left("[\\xfe\\xff]", b"\xfe") && !left("[\\xfe\\xff]", b"\xfd"));
        // A backslash that is escaped begins nothing.
        assert!(
            left("a\\\\xff", b"a\\xff") && left("\\x4", b"x4") && left("\\*", b"*") && !left("\\*", b"a")
        );
        let both = rules(&[], &["b", "\\xff"]);
        assert!(both.words(Left::Excluded, b"\xff", false, None).contains("`\\xff`"));
    }

    #[test]
    fn a_folder_that_no_document_can_be_in_is_told_by_its_name() {
        let of = |exclude: &[&str], folder| rules(&["*.md"], exclude).may_hold(folder);
        assert!(!of(&["/a/in"], "a/in") && !of(&["in/"], "a/in/b") && !of(&["a"], "a/in"));
        assert!(of(&["/in"], "a/in") && of(&["a/in/*.md"], "a/in") && of(&[], "") && of(&["**"], ""));
    }

    #[test]
    fn a_pattern_that_cannot_be_read_is_refused_by_name() {
        let settings = serde_json::json!({"root": "/r", "exclude": ["a[b"]});
        let fault = Rules::of(&serde_json::from_value(settings).unwrap()).unwrap_err();
        assert_eq!(fault.reason().code, "glob");
        assert!(fault.reason().message.contains("a[b"), "{fault}");
    }
}
