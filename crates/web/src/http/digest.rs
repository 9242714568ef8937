//! Digest authentication (RFC 7616): a password proves itself and is never sent, whatever a server asks for.

use http::HeaderValue;
use md5::Md5;
use parking_lot::Mutex;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rustls::crypto::SecureRandom;
use sha2::{Digest as _, Sha256};

/// A name and a password for one origin, and what its server asked last.
pub(super) struct Digest {
    user: String,
    password: String,
    known: Mutex<Option<(Challenge, u32)>>,
}

/// What a server wants to have proven.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Challenge {
    realm: String,
    nonce: String,
    opaque: Option<String>,
    algorithm: Algorithm,
    /// Whether the proof counts requests; servers before RFC 2617 do not know that.
    counts: bool,
    stale: bool,
}

/// From the weakest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Algorithm {
    Md5,
    Sha256,
}

/// A proof, and what was known of the server when it was made.
pub(super) struct Proof {
    pub(super) header: HeaderValue,
    nonce: String,
}

impl Digest {
    pub(super) fn new(user: &str, password: &str) -> Digest {
        Digest { user: user.to_owned(), password: password.to_owned(), known: Mutex::default() }
    }

    /// The proof for a request; none before the server has asked for one.
    pub(super) fn proof(&self, method: &str, target: &str) -> Option<Proof> {
        let (challenge, count) = {
            let mut known = self.known.lock();
            let (challenge, count) = known.as_mut()?;
            *count = count.saturating_add(1);
            (challenge.clone(), *count)
        };
        let mut own = [0u8; 16];
        // Without chance a proof would be one for whoever made the server ask so.
        random().fill(&mut own).ok()?;
        let own: String = own.iter().map(|byte| format!("{byte:02x}")).collect();
        let text = self.written(&challenge, (method, target), count, &own);
        let mut header = HeaderValue::from_bytes(text.as_bytes()).ok()?;
        header.set_sensitive(true);
        Some(Proof { header, nonce: challenge.nonce })
    }

    /// Whether a request is worth another try after the server has said 401. `given`: the nonce that it gave in this very exchange, where it
    /// did; a proof by that one was refused because it is wrong, unless it says that it was too old.
    pub(super) fn asked_again<'h>(
        &self,
        headers: impl Iterator<Item = &'h str>,
        proof: Option<&Proof>,
        given: &mut Option<String>,
    ) -> bool {
        let strongest = headers.flat_map(challenges).max_by_key(|challenge| challenge.algorithm);
        let Some(challenge) = strongest else { return false };
        let refused = proof.is_some_and(|proof| given.as_ref() == Some(&proof.nonce));
        if refused && !challenge.stale {
            return false;
        }
        *given = Some(challenge.nonce.clone());
        let mut known = self.known.lock();
        // Others may have been asked the same by now: requests are counted for each nonce, and a number counts once.
        if known.as_ref().is_none_or(|(before, _)| before.nonce != challenge.nonce) {
            *known = Some((challenge, 0));
        }
        true
    }

    fn written(&self, asked: &Challenge, (method, target): (&str, &str), count: u32, own: &str) -> String {
        let Challenge { realm, nonce, algorithm, .. } = asked;
        let who = algorithm.of(&format!("{}:{realm}:{}", self.user, self.password));
        let what = algorithm.of(&format!("{method}:{target}"));
        let counted = format!("nc={count:08x}, cnonce=\"{own}\", qop=auth, ");
        let (response, counted) = match asked.counts {
            true => (format!("{who}:{nonce}:{count:08x}:{own}:auth:{what}"), counted.as_str()),
            false => (format!("{who}:{nonce}:{what}"), ""),
        };
        let response = algorithm.of(&response);
        let user = match self.user.is_ascii() {
            true => format!("username={}", quoted(&self.user)),
            false => format!("username*=UTF-8''{}", utf8_percent_encode(&self.user, NON_ALPHANUMERIC)),
        };
        let opaque = asked.opaque.as_ref().map(|opaque| format!(", opaque={}", quoted(opaque)));
        format!(
            "Digest {user}, realm={}, uri={}, algorithm={}, nonce={}, {counted}response=\"{response}\"{}",
            quoted(realm),
            quoted(target),
            algorithm.name(),
            quoted(nonce),
            opaque.unwrap_or_default()
        )
    }
}

impl Algorithm {
    fn named(name: &str) -> Option<Algorithm> {
        [Algorithm::Md5, Algorithm::Sha256].into_iter().find(|known| known.name().eq_ignore_ascii_case(name))
    }

    fn name(self) -> &'static str {
        match self {
            Algorithm::Md5 => "MD5",
            Algorithm::Sha256 => "SHA-256",
        }
    }

    fn of(self, text: &str) -> String {
        let bytes: Vec<u8> = match self {
            Algorithm::Md5 => Md5::digest(text).to_vec(),
            Algorithm::Sha256 => Sha256::digest(text).to_vec(),
        };
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn random() -> &'static dyn SecureRandom {
    static PROVIDER: std::sync::LazyLock<rustls::crypto::CryptoProvider> =
        std::sync::LazyLock::new(rustls::crypto::ring::default_provider);
    PROVIDER.secure_random
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The challenges of a header `WWW-Authenticate` that can be answered; it may have several, also of other kinds.
fn challenges(header: &str) -> Vec<Challenge> {
    let mut found: Vec<(&str, Vec<(&str, String)>)> = Vec::new();
    let is_apart = |c: char| c.is_ascii_whitespace() || c == ',';
    let mut rest = header.trim_start_matches(is_apart);
    while !rest.is_empty() {
        let end = rest.find(|c: char| is_apart(c) || c == '=').unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        match behind.trim_start().strip_prefix('=') {
            Some(behind) => {
                let (value, behind) = value(behind.trim_start());
                if let Some((_, parameters)) = found.last_mut() {
                    parameters.push((word, value));
                }
                rest = behind;
            }
            None => {
                found.push((word, Vec::new()));
                rest = behind;
            }
        }
        rest = rest.trim_start_matches(is_apart);
    }
    let digests = found.iter().filter(|(scheme, _)| scheme.eq_ignore_ascii_case("digest"));
    digests.filter_map(|(_, parameters)| challenge(parameters)).collect()
}

/// A value, unquoted, and what is behind it.
fn value(text: &str) -> (String, &str) {
    let Some(inside) = text.strip_prefix('"') else {
        let end = text.find(|c: char| c.is_ascii_whitespace() || c == ',').unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut letters = inside.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value, &inside[at + 1..]),
            '\\' => value.extend(letters.next().map(|(_, letter)| letter)),
            letter => value.push(letter),
        }
    }
    (value, "")
}

fn challenge(parameters: &[(&str, String)]) -> Option<Challenge> {
    let get = |wanted: &str| {
        parameters.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.as_str())
    };
    let counts = match get("qop") {
        Some(kinds) if kinds.split(',').any(|kind| kind.trim().eq_ignore_ascii_case("auth")) => true,
        // It wants a digest of the body or something newer.
        Some(_) => return None,
        None => false,
    };
    Some(Challenge {
        realm: get("realm")?.to_owned(),
        nonce: get("nonce")?.to_owned(),
        opaque: get("opaque").map(str::to_owned),
        algorithm: Algorithm::named(get("algorithm").unwrap_or("MD5"))?,
        counts,
        stale: get("stale").is_some_and(|stale| stale.eq_ignore_ascii_case("true")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: &str = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v";

    fn asked(algorithm: &str) -> String {
        format!(
            "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", algorithm={algorithm}, nonce=\"{NONCE}\", \
             opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\""
        )
    }

    /// The example of RFC 7616, 3.9.1.
    #[test]
    fn the_example_of_the_standard_is_proven_as_there() {
        for (algorithm, response) in [
            ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
            ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
        ] {
            let digest = Digest::new("Mufasa", "Circle of Life");
            let challenge = challenges(&asked(algorithm)).remove(0);
            let own = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ";
            let text = digest.written(&challenge, ("GET", "/dir/index.html"), 1, own);
            assert!(text.contains(&format!("response=\"{response}\"")), "{text}");
            assert!(text.contains("nc=00000001, ") && text.contains("qop=auth, "), "{text}");
            assert!(!text.contains("Circle"), "{text}");
        }
    }

    #[test]
    fn of_several_challenges_the_strongest_that_is_known_is_answered() {
        let headers = ["Basic realm=\"a, b\", Digest qop=auth,realm=x,nonce=1 , Negotiate abc==".to_owned()];
        let all = headers.into_iter().chain(["MD5", "SHA-256", "SHA-512-256"].map(asked));
        let found: Vec<Challenge> = all.flat_map(|header| challenges(&header)).collect();
        assert_eq!(found.len(), 3);
        assert_eq!((found[0].realm.as_str(), found[0].algorithm), ("x", Algorithm::Md5));
        let strongest = found.iter().max_by_key(|challenge| challenge.algorithm).unwrap();
        assert_eq!((strongest.algorithm, strongest.nonce.as_str()), (Algorithm::Sha256, NONCE));
        for none in
            ["Basic realm=x", "Digest realm=x", "Digest nonce=1, qop=auth-int, realm=x", "", "=,\"", "Digest"]
        {
            assert_eq!(challenges(none), [], "{none}");
        }
        let quoted = challenges("digest nonce=\"a\\\"b\\\\,c\", realm=\"\", stale=TRUE").remove(0);
        assert_eq!((quoted.nonce.as_str(), quoted.stale, quoted.counts), ("a\"b\\,c", true, false));
    }

    #[test]
    fn requests_are_counted_for_each_nonce() {
        let digest = Digest::new("a", "b");
        assert!(digest.proof("GET", "/").is_none());
        let header = |nonce: &str| format!("Digest realm=x, qop=auth, nonce={nonce}");
        let count = || {
            let header = digest.proof("GET", "/").unwrap().header;
            let text = header.to_str().unwrap().to_owned();
            text.split("nc=").nth(1).unwrap()[..8].to_owned()
        };
        let asked = |nonce: &str| digest.asked_again([header(nonce).as_str()].into_iter(), None, &mut None);
        assert!(asked("1"));
        assert_eq!([count(), count()], ["00000001", "00000002"]);
        assert!(asked("1"), "another thread was asked the same");
        assert_eq!(count(), "00000003");
        assert!(asked("2"));
        assert_eq!(count(), "00000001");
    }

    proptest::proptest! {
        #[test]
        fn any_header_has_some_challenges_or_none(text in "(Digest |realm=|nonce=|qop=auth|\"|,|=|\\\\| |\\PC){0,30}") {
            for challenge in challenges(&text) {
                let digest = Digest::new("a\"b", "c");
                proptest::prop_assert!(digest.written(&challenge, ("GET", "/"), 1, "o").starts_with("Digest "));
            }
        }
    }
}
