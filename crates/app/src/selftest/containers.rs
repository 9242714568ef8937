//! Archives and mails of the test's tree: what is in them, what of it cannot be read, and their bytes.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;

/// Members of a container.
const MEMBERS_MAX: usize = 6;
/// Between the name of a container and the name of what is in it.
const INSIDE: &str = "!/";

/// What a reader finds in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Texts by the name inside the file; that of the file itself is empty.
    pub(super) made: BTreeMap<String, String>,
    /// What is there and cannot be read, with all that is in it.
    unread: BTreeSet<String>,
    /// It breaks off: there may be more in it.
    incomplete: bool,
}

impl Found {
    /// A file that is no container.
    pub(super) fn plain(text: &str) -> Found {
        Found { made: BTreeMap::from([(String::new(), text.to_owned())]), ..Found::default() }
    }

    /// Something in it cannot be read any more.
    #[cfg(test)]
    pub(super) fn close(&mut self, name: &str) {
        self.made.remove(name);
        self.unread.insert(name.to_owned());
    }

    /// Whether not all that is in it can be read.
    pub(super) fn is_partial(&self) -> bool {
        self.incomplete || !self.unread.is_empty()
    }

    /// Whether nobody could look for something of that name inside the file.
    pub(super) fn is_unread(&self, name: &str) -> bool {
        let mut around = name.match_indices(INSIDE).map(|(end, _)| &name[..end]).chain([name]);
        !self.made.contains_key(name) && (self.incomplete || around.any(|name| self.unread.contains(name)))
    }
}

/// A kind of container, by its extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Zip,
    Tar,
    Mail,
}

impl Kind {
    pub(super) const ALL: [Kind; 3] = [Kind::Zip, Kind::Tar, Kind::Mail];

    pub(super) fn extension(self) -> &'static str {
        match self {
            Kind::Zip => "zip",
            Kind::Tar => "tar",
            Kind::Mail => "eml",
        }
    }
}

/// Why a member of a ZIP file cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closed {
    Encrypted,
    Damaged,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Inside {
    Text(String),
    Container(Container),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Member {
    name: String,
    inside: Inside,
    closed: Option<Closed>,
}

impl Member {
    /// Whether its header is damaged. By the header of the first one the file is known: that one is packed as nobody knows.
    fn has_no_header(&self, place: usize) -> bool {
        self.closed == Some(Closed::Damaged) && place > 0
    }
}

/// An archive, or a mail with attachments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Container {
    pub(super) kind: Kind,
    /// What a mail says itself.
    own: String,
    members: Vec<Member>,
    /// It breaks off behind so many members.
    cut: Option<usize>,
}

impl Container {
    /// One with a few members; `texts` gives a text that there never was.
    pub(super) fn make(kind: Kind, rng: &mut Rng, texts: &mut dyn FnMut() -> String) -> Container {
        let mut container = Container { kind, own: texts(), members: Vec::new(), cut: None };
        for _ in 0..rng.usize(1..4) {
            container.add(rng, texts, true);
        }
        container
    }

    /// Lets members come, go, change and become unreadable, and the whole break off and be mended.
    pub(super) fn change(&mut self, rng: &mut Rng, texts: &mut dyn FnMut() -> String) {
        let at = if self.members.is_empty() { 0 } else { rng.usize(..self.members.len()) };
        match (rng.u8(0..12), self.members.get_mut(at)) {
            (0..3, _) => self.add(rng, texts, true),
            (3..5, Some(_)) => drop(self.members.remove(at)),
            (5..8, Some(member)) => match &mut member.inside {
                Inside::Text(text) => *text = texts(),
                Inside::Container(inner) => inner.change(rng, texts),
            },
            (8..10, Some(member)) if self.kind == Kind::Zip => {
                // Inside a damaged archive its members would be taken for those of the outer one.
                let damaged = matches!(member.inside, Inside::Text(_)).then_some(Closed::Damaged);
                let closed = if rng.bool() { damaged } else { None }.unwrap_or(Closed::Encrypted);
                member.closed = member.closed.is_none().then_some(closed);
            }
            (10, Some(_)) => self.cut = self.cut.is_none().then_some(at),
            (11, _) if rng.u8(0..4) == 0 => self.members.clear(),
            _ => self.own = texts(),
        }
        self.cut = self.cut.filter(|reached| *reached < self.members.len());
    }

    fn add(&mut self, rng: &mut Rng, texts: &mut dyn FnMut() -> String, may_nest: bool) {
        if self.members.len() >= MEMBERS_MAX {
            return;
        }
        let kind = rng.choice(Kind::ALL).unwrap_or(Kind::Zip);
        let nests = may_nest && self.kind != Kind::Mail && rng.u8(0..4) == 0;
        // Few names, so that some come back.
        let number = rng.u8(0..8);
        let (name, inside) = match nests {
            true => {
                let mut inner = Container { kind, own: texts(), members: Vec::new(), cut: None };
                (0..rng.usize(1..3)).for_each(|_| inner.add(rng, texts, false));
                (format!("in/i{number}.{}", kind.extension()), Inside::Container(inner))
            }
            false => (format!("m{number}.txt"), Inside::Text(texts())),
        };
        if self.members.iter().all(|member| member.name != name) {
            self.members.push(Member { name, inside, closed: None });
        }
    }

    /// The members that come before it breaks off.
    fn reached(&self) -> &[Member] {
        &self.members[..self.cut.unwrap_or(self.members.len())]
    }

    /// Its own text: what a mail says, and the names of what can be seen in it.
    fn text(&self) -> String {
        let head = match self.kind {
            Kind::Mail => vec![format!("From: a@example.org To: b@example.org {}", self.own)],
            Kind::Zip | Kind::Tar => Vec::new(),
        };
        // Without its directory a member is known by its own header alone.
        let reached = self.reached().iter().enumerate();
        let known = reached.filter(|(place, member)| self.cut.is_none() || !member.has_no_header(*place));
        let names = known.map(|(_, member)| member.name.clone());
        head.into_iter().chain(names).collect::<Vec<_>>().join(" ")
    }

    /// What a reader finds in it.
    pub(super) fn found(&self) -> Found {
        let mut found = Found::plain(&self.text());
        self.find("", &mut found);
        found
    }

    fn find(&self, outer: &str, found: &mut Found) {
        found.incomplete |= self.cut.is_some();
        for member in self.reached() {
            let name = format!("{outer}{}", member.name);
            match &member.inside {
                _ if member.closed.is_some() => drop(found.unread.insert(name)),
                Inside::Text(text) => drop(found.made.insert(name, text.clone())),
                Inside::Container(inner) => {
                    inner.find(&format!("{name}{INSIDE}"), found);
                    found.made.insert(name, inner.text());
                }
            }
        }
    }

    /// Its bytes.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let contents: Vec<(&Member, Vec<u8>)> = self
            .members
            .iter()
            .map(|member| match &member.inside {
                Inside::Text(text) => (member, text.clone().into_bytes()),
                Inside::Container(inner) => (member, inner.bytes()),
            })
            .collect();
        match self.kind {
            Kind::Zip => zip(&contents, self.cut),
            Kind::Tar => tar(&contents, self.cut),
            Kind::Mail => mail(&self.own, &contents, self.cut),
        }
    }
}

/// Members as they are, not packed; of one that breaks off, the beginning of the next header.
fn zip(members: &[(&Member, Vec<u8>)], cut: Option<usize>) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (place, (member, content)) in members.iter().enumerate() {
        let encrypted = member.closed == Some(Closed::Encrypted);
        // The head of an encrypted member, of which nobody knows the key.
        let content = [&[0x5a; 12][..if encrypted { 12 } else { 0 }], content].concat();
        let at = (bytes.len() as u32).to_le_bytes();
        let length = (content.len() as u32).to_le_bytes();
        let checksum = checksum(&content).to_le_bytes();
        let name = member.name.as_bytes();
        let lost = member.has_no_header(place);
        let method = if member.closed == Some(Closed::Damaged) && !lost { 9 } else { 0 };
        let flags = [20, 0, u8::from(encrypted), 0, method, 0, 0, 0, 33, 0];
        let head = [&flags[..], &checksum, &length, &length, &[name.len() as u8, 0, 0, 0]].concat();
        let begin: &[u8] = if lost { b"lost" } else { b"PK\x03\x04" };
        bytes.extend([begin, &head].concat());
        if cut == Some(place) {
            bytes.truncate(bytes.len() - 4);
            return bytes;
        }
        bytes.extend([name, &content].concat());
        directory.extend([b"PK\x01\x02\x14\0", &head[..], &[0; 10], &at, name].concat());
    }
    let count = [members.len() as u8, 0];
    let numbers = [directory.len() as u32, bytes.len() as u32].map(u32::to_le_bytes).concat();
    bytes.extend([&directory[..], b"PK\x05\x06\0\0\0\0", &count, &count, &numbers, &[0, 0]].concat());
    bytes
}

/// CRC-32 of the ZIP format.
fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum: u32, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg()))
    })
}

fn tar(members: &[(&Member, Vec<u8>)], cut: Option<usize>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (place, (member, content)) in members.iter().enumerate() {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        // Names are short: nothing is left out.
        let _ = header.set_path(&member.name);
        header.set_cksum();
        bytes.extend(header.as_bytes());
        if cut == Some(place) {
            bytes.truncate(bytes.len() - 100);
            return bytes;
        }
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.extend([0; 1024]);
    bytes
}

fn mail(own: &str, members: &[(&Member, Vec<u8>)], cut: Option<usize>) -> Vec<u8> {
    let mut text = format!(
        "From: a@example.org\r\nTo: b@example.org\r\nSubject: letter\r\nMIME-Version: 1.0\r\n\
         Content-Type: multipart/mixed; boundary=\"cut\"\r\n\r\n--cut\r\nContent-Type: text/plain\r\n\r\n{own}\r\n"
    );
    for (place, (member, content)) in members.iter().enumerate() {
        if cut == Some(place) {
            return text.into_bytes();
        }
        let (name, content) = (&member.name, String::from_utf8_lossy(content));
        text.push_str(&format!(
            "--cut\r\nContent-Type: text/plain; name=\"{name}\"\r\nContent-Disposition: attachment; filename=\"{name}\"\r\n\r\n\
             {content}\r\n"
        ));
    }
    text.push_str("--cut--\r\n");
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the readers of this program find in a file.
    fn read(name: &str, bytes: Vec<u8>) -> Found {
        fn take(outer: &str, page: &ingather_extract::Extracted, found: &mut Found) {
            let is_container = ingather_extract::holds_documents(&page.media_type);
            found.incomplete |= is_container && page.broken_off;
            for part in &page.parts {
                let name = format!("{outer}{}", part.name);
                if part.media_type.is_empty() {
                    found.unread.insert(name);
                    continue;
                }
                found.made.insert(name.clone(), words(&part.text));
                take(&format!("{name}{INSIDE}"), part, found);
            }
        }
        let request = ingather_extract::Request { name: name.to_owned(), ..Default::default() };
        let page = ingather_extract::extract(&request, ingather_extract::Input::memory(bytes));
        let mut found = Found::plain(&words(&page.text));
        take("", &page, &mut found);
        found
    }

    fn words(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_readers_find_what_is_said_to_be_in_a_container() {
        let mut rng = Rng::with_seed(5);
        let mut count = 0;
        let mut texts = || {
            count += 1;
            format!("content{count} of a member")
        };
        let (mut unread, mut incomplete, mut nested, mut empty) = (0, 0, 0, 0);
        for round in 0..2_000 {
            let kind = Kind::ALL[round % 3];
            let mut container = Container::make(kind, &mut rng, &mut texts);
            for _ in 0..round % 17 {
                container.change(&mut rng, &mut texts);
            }
            let said = container.found();
            let mut found = read(&format!("a.{}", kind.extension()), container.bytes());
            // Of what is not reached it does not matter why.
            if said.incomplete {
                found.unread.clone_from(&said.unread);
            }
            assert_eq!(found, said, "{container:?}");
            unread += said.unread.len();
            incomplete += usize::from(said.incomplete);
            nested += said.made.keys().filter(|name| name.contains(INSIDE)).count();
            empty += usize::from(container.members.is_empty());
        }
        assert!(
            unread > 20 && incomplete > 20 && nested > 20 && empty > 3,
            "{unread} {incomplete} {nested} {empty}"
        );
    }

    #[test]
    fn what_is_in_something_that_is_not_read_is_not_read_either() {
        let mut found = Found::plain("names");
        found.unread.insert("in/i1.zip".to_owned());
        assert!(found.is_unread("in/i1.zip") && found.is_unread("in/i1.zip!/m1.txt"));
        assert!(!found.is_unread("in/i1.zip.txt") && !found.is_unread("m1.txt") && !found.is_unread(""));
        found.incomplete = true;
        assert!(found.is_unread("m1.txt") && !found.is_unread(""));
    }
}
