//! What the owner of a site lets robots read (RFC 9309): the file is parsed, its rules judge a path, and a cache keeps to the hours
//! for which it may be gone by.
//!
//! The library texting_robots would parse as well, yet it answers yes or no only. A person who asks why a page is missing has to be
//! told the rule and its line, and a library that compiles each rule into an expression cannot tell; so it is done here.

mod cache;
mod escapes;
mod explain;
mod pattern;

pub use cache::{Answer, HostRules, RobotsCache};
pub use explain::{Explained, explain_file};

use ingather_model::limits::{ROBOTS_BYTES_MAX, ROBOTS_DELAY_MS_MAX, ROBOTS_SITEMAPS_MAX};

use pattern::Pattern;

/// A file, parsed.
#[derive(Clone, Debug, Default)]
pub struct Robots {
    groups: Vec<Group>,
    /// Pauses in milliseconds, with the robots that they are asked of.
    delays: Vec<(String, i64)>,
    sitemaps: Vec<String>,
    cut: bool,
}

/// Rules that go for the same robots.
#[derive(Clone, Debug, Default)]
struct Group {
    agents: Vec<String>,
    rules: Vec<Rule>,
    /// The first of its robots that the next pause is asked of: a pause is no rule and does not end the names of a group, but it is
    /// not asked of robots that are named behind it.
    paused_from: usize,
}

#[derive(Clone, Debug)]
struct Rule {
    allows: bool,
    pattern: Pattern,
    /// As it stands in the file, for people.
    text: String,
    line: usize,
}

/// The rules that go for one robot, from all of its groups.
#[derive(Clone, Debug, Default)]
pub struct AgentRules {
    rules: Vec<Rule>,
    delay_ms: Option<i64>,
}

/// What the rules say of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it may be read.
    pub allowed: bool,
    /// The rule that decides, as it stands in the file; none where no rule speaks of the path.
    pub rule: Option<String>,
    /// Its line, from 1.
    pub line: Option<usize>,
}

/// The group of all robots that have none of their own.
const EVERYBODY: &str = "*";

/// Spellings that are taken: those of the standard, and misspellings so common that the largest crawlers obey them.
const USER_AGENT: &[&str] = &["user-agent", "useragent", "user agent"];
const ALLOW: &[&str] = &["allow"];
const DISALLOW: &[&str] = &["disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"];
const SITEMAP: &[&str] = &["sitemap", "site-map"];
const CRAWL_DELAY: &[&str] = &["crawl-delay", "crawldelay", "crawl delay"];

impl Robots {
    /// Reads a file, whatever its bytes are. What stands behind the first 500 KiB is left out, with the line that is cut there: half
    /// a rule would forbid more than its owner wanted.
    pub fn parse(bytes: &[u8]) -> Robots {
        let mut robots = Robots { cut: bytes.len() > ROBOTS_BYTES_MAX, ..Robots::default() };
        let mut bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if bytes.len() > ROBOTS_BYTES_MAX {
            bytes = &bytes[..ROBOTS_BYTES_MAX];
            let whole = bytes.iter().rposition(|byte| is_line_end(*byte)).unwrap_or(0);
            bytes = &bytes[..whole];
        }
        let mut names_agents = false;
        for (number, line) in lines(bytes) {
            let Some((key, value)) = key_and_value(line) else { continue };
            robots.take(&key, value, number, &mut names_agents);
        }
        robots
    }

    /// Takes one line. Lines of other kinds do not end a group (RFC 9309, 2.2.4).
    fn take(&mut self, key: &str, value: &[u8], line: usize, names_agents: &mut bool) {
        if USER_AGENT.contains(&key) {
            if !*names_agents {
                self.groups.push(Group::default());
                *names_agents = true;
            }
            if let Some(group) = self.groups.last_mut() {
                group.agents.extend(agent_of_line(value));
            }
            return;
        }
        let allows = ALLOW.contains(&key);
        if allows || DISALLOW.contains(&key) {
            *names_agents = false;
            // Rules before the first group go for nobody.
            if let (Some(group), Some(pattern)) = (self.groups.last_mut(), Pattern::parse(value)) {
                let word = if allows { "Allow" } else { "Disallow" };
                let text = format!("{word}: {}", String::from_utf8_lossy(value));
                group.rules.push(Rule { allows, pattern, text, line });
            }
        } else if CRAWL_DELAY.contains(&key) {
            self.ask_pause(delay_ms(value), *names_agents);
        } else if SITEMAP.contains(&key) && !value.is_empty() && self.sitemaps.len() < ROBOTS_SITEMAPS_MAX {
            self.sitemaps.push(String::from_utf8_lossy(value).into_owned());
        }
    }

    fn ask_pause(&mut self, delay_ms: Option<i64>, names_agents: bool) {
        let Some(group) = self.groups.last_mut() else { return };
        if let Some(delay_ms) = delay_ms {
            let asked = group.agents[group.paused_from..].iter().cloned();
            self.delays.extend(asked.map(|agent| (agent, delay_ms)));
        }
        if names_agents {
            group.paused_from = group.agents.len();
        }
    }

    /// The rules for a robot that calls itself `agent` in its requests: those of all groups that name its product, or those for
    /// everybody where none does.
    pub fn for_agent(&self, agent: &str) -> AgentRules {
        let token = product_token(agent);
        let own = (!token.is_empty() && self.names(&token)).then_some(token);
        let wanted = own.as_deref().unwrap_or(EVERYBODY);
        let mut rules = AgentRules::default();
        for group in self.groups.iter().filter(|group| group.agents.iter().any(|agent| agent == wanted)) {
            rules.rules.extend(group.rules.iter().cloned());
        }
        let delays = self.delays.iter().filter(|(agent, _)| agent == wanted);
        rules.delay_ms = delays.map(|(_, delay_ms)| *delay_ms).max();
        rules
    }

    fn names(&self, token: &str) -> bool {
        self.groups.iter().flat_map(|group| &group.agents).any(|agent| agent == token)
    }

    /// Sitemaps that the file names, for all robots, as they stand there.
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }

    /// Whether the file was longer than what is read of one.
    pub fn is_cut(&self) -> bool {
        self.cut
    }
}

impl AgentRules {
    /// Judges a path with its query, as in a request: the longest rule that fits decides, and among equally long ones the one that
    /// allows. `/robots.txt` itself may always be read.
    pub fn verdict(&self, path: &str) -> Verdict {
        let path = escapes::of_path(path.as_bytes());
        if path == b"/robots.txt" {
            return Verdict { allowed: true, rule: None, line: None };
        }
        let fitting = self.rules.iter().filter(|rule| rule.pattern.fits(&path));
        // The first of equals is told, so that a person finds it from above.
        let weight = |rule: &&Rule| (rule.pattern.octets(), rule.allows, std::cmp::Reverse(rule.line));
        match fitting.max_by_key(weight) {
            Some(rule) => {
                Verdict { allowed: rule.allows, rule: Some(rule.text.clone()), line: Some(rule.line) }
            }
            None => Verdict { allowed: true, rule: None, line: None },
        }
    }

    /// Pause between two requests that the site asks for, milliseconds; the longest of its groups.
    pub fn delay_ms(&self) -> Option<i64> {
        self.delay_ms
    }

    /// Bytes that the rules take in memory, about.
    fn bytes(&self) -> usize {
        let of = |rule: &Rule| std::mem::size_of::<Rule>() + rule.text.len() + rule.pattern.bytes();
        self.rules.iter().map(of).sum()
    }
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Lines with their numbers, ended by LF, CR or both.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut rest = Some(bytes);
    let each = std::iter::from_fn(move || {
        let text = rest?;
        let Some(end) = text.iter().position(|byte| is_line_end(*byte)) else {
            rest = None;
            return Some(text);
        };
        let both = text[end] == b'\r' && text.get(end + 1) == Some(&b'\n');
        rest = Some(&text[end + if both { 2 } else { 1 }..]);
        Some(&text[..end])
    });
    each.enumerate().map(|(index, line)| (index + 1, line))
}

fn key_and_value(line: &[u8]) -> Option<(String, &[u8])> {
    let end = line.iter().position(|byte| *byte == b'#').unwrap_or(line.len());
    let line = &line[..end];
    let colon = line.iter().position(|byte| *byte == b':')?;
    let key = std::str::from_utf8(&line[..colon]).ok()?.trim().to_ascii_lowercase();
    Some((key, line[colon + 1..].trim_ascii()))
}

/// The product that a line names, in lower case: letters, hyphens and underscores up to anything else, as in `ExampleBot/1.2`.
fn agent_of_line(value: &[u8]) -> Option<String> {
    if value.first() == Some(&b'*') && value.get(1).is_none_or(u8::is_ascii_whitespace) {
        return Some(EVERYBODY.to_owned());
    }
    let token = product_token(&String::from_utf8_lossy(value));
    (!token.is_empty()).then_some(token)
}

/// The product of a robot's name, such as `ingather` of `Ingather/0.1 (+mailto:a@example.com)`, in lower case.
pub fn product_token(agent: &str) -> String {
    let letters = agent.trim_start().chars();
    let token: String = letters.take_while(|c| c.is_ascii_alphabetic() || matches!(c, '-' | '_')).collect();
    token.to_ascii_lowercase()
}

/// A pause in seconds, with or without a fraction.
fn delay_ms(value: &[u8]) -> Option<i64> {
    let seconds: f64 = std::str::from_utf8(value).ok()?.parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then(|| ((seconds * 1_000.0) as i64).min(ROBOTS_DELAY_MS_MAX))
}

#[cfg(test)]
mod tests;
