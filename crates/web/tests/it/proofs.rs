//! Passwords that are proven by a digest (RFC 7616), against a server that computes it for itself.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ingather_web::http::{Answer, Client, Condition};
use md5::Md5;
use sha2::{Digest, Sha256};

use crate::server::{Server, call, fails, page, read, settings};

/// A server that gives its page for a proof, each nonce for `uses` requests.
struct Asking {
    algorithm: &'static str,
    uses: usize,
    /// It says of a nonce that is used up that it is stale; some do not.
    says_stale: bool,
    given: AtomicUsize,
    /// Numbers of the requests by each nonce.
    counts: Mutex<HashMap<String, BTreeSet<String>>>,
}

fn hash(algorithm: &str, text: &str) -> String {
    let bytes = match algorithm {
        "md5" => Md5::digest(text).to_vec(),
        _ => Sha256::digest(text).to_vec(),
    };
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A parameter of the header `Authorization`; heads come in lower case.
fn told(head: &str, name: &str) -> Option<String> {
    let line = head.lines().find_map(|line| line.strip_prefix("authorization: digest "))?;
    let mut parameters = line.split(", ").filter_map(|parameter| parameter.split_once('='));
    let found = parameters.find(|(known, _)| *known == name)?;
    Some(found.1.trim_matches('"').to_owned())
}

impl Asking {
    fn new(algorithm: &'static str, uses: usize) -> Asking {
        let (given, counts) = (AtomicUsize::new(0), Mutex::default());
        Asking { algorithm, uses, says_stale: true, given, counts }
    }

    fn answer(&self, head: &str) -> String {
        let Some(nonce) = told(head, "nonce") else { return self.challenge("") };
        let get = |name: &str| told(head, name).unwrap_or_default();
        let path = head.split(' ').nth(1).unwrap_or_default();
        assert_eq!(get("uri"), path);
        let who = hash(self.algorithm, "ann:the realm:hush");
        let what = hash(self.algorithm, &format!("GET:{path}"));
        let (nc, own) = (get("nc"), get("cnonce"));
        let proof = hash(self.algorithm, &format!("{who}:{nonce}:{nc}:{own}:auth:{what}"));
        if get("response") != proof || get("username") != "ann" || get("opaque") != "o" {
            return self.challenge("");
        }
        let mut counts = self.counts.lock().unwrap();
        let count = counts.entry(nonce).or_default();
        // A number that was used may be somebody who listened.
        if count.len() >= self.uses || !count.insert(nc) {
            drop(counts);
            return self.challenge(if self.says_stale { ", stale=true" } else { "" });
        }
        page("secret")
    }

    fn challenge(&self, more: &str) -> String {
        let nonce = self.given.fetch_add(1, Ordering::SeqCst);
        let body = "x".repeat(100_000);
        let length = body.len();
        format!(
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"the realm\"\r\nWWW-Authenticate: Digest realm=\"the realm\", \
             qop=\"auth\", algorithm={}, nonce=\"n{nonce}\", opaque=\"o\"{more}\r\nContent-Length: {length}\r\n\r\n{body}",
            self.algorithm
        )
    }
}

fn serving(asking: Asking) -> (Server, Arc<Asking>) {
    let asking = Arc::new(asking);
    let own = Arc::clone(&asking);
    (Server::saying(move |head, stream| drop(stream.write_all(own.answer(head).as_bytes()))), asking)
}

fn client(server: &Server, password: &str) -> Client {
    let mut with = settings();
    let origin = format!("http://127.0.0.1:{}", server.port());
    let secret = serde_json::json!([{ "origin": origin, "digest": { "user": "ann", "password": password } }]);
    with.credentials = serde_json::from_value(secret).unwrap();
    Client::new(with).unwrap()
}

#[test]
fn a_page_is_given_for_a_proof_and_the_next_one_without_being_asked_again() {
    for algorithm in ["md5", "sha-256"] {
        let (server, asking) = serving(Asking::new(algorithm, 1_000));
        let client = client(&server, "hush");
        for path in ["/a?b=c&d", "/", "/e"] {
            assert_eq!(read(&client, &server.url(path)).unwrap(), b"secret", "{algorithm}");
        }
        assert_eq!(server.heads().len(), 4);
        let numbers = ["00000001", "00000002", "00000003"].map(str::to_owned);
        assert_eq!(
            *asking.counts.lock().unwrap(),
            HashMap::from([("n0".to_owned(), BTreeSet::from(numbers))])
        );
        assert!(!server.heads().concat().contains("hush"));
    }
}

#[test]
fn a_nonce_that_is_too_old_costs_one_more_request_and_never_the_page() {
    for says_stale in [true, false] {
        let (server, _) = serving(Asking { says_stale, ..Asking::new("sha-256", 1) });
        let client = client(&server, "hush");
        for _ in 0..4 {
            assert_eq!(read(&client, &server.url("/")).unwrap(), b"secret", "{says_stale}");
        }
        assert_eq!(server.heads().len(), 8);
    }
    let (server, _) = serving(Asking::new("md5", 0));
    assert_eq!(fails(&client(&server, "hush"), &server.url("/")), "unreadable", "each nonce is too old");
    assert_eq!(server.heads().len(), 3);
}

#[test]
fn a_wrong_password_is_tried_once_for_each_page() {
    let (server, _) = serving(Asking::new("sha-256", 1_000));
    let client = client(&server, "wrong");
    assert_eq!(fails(&client, &server.url("/")), "unreadable");
    assert_eq!(server.heads().len(), 2);
    assert_eq!(fails(&client, &server.url("/")), "unreadable");
    assert!(server.heads().len() <= 4, "{}", server.heads().len());
}

#[test]
fn a_proof_is_for_its_origin_and_a_server_that_wants_the_password_itself_does_not_get_it() {
    let basic =
        || Server::sending("HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n");
    let server = basic();
    let client_of_it = client(&server, "hush");
    for _ in 0..2 {
        assert_eq!(fails(&client_of_it, &server.url("/")), "unreadable");
    }
    assert_eq!(server.heads().len(), 2);
    assert!(!server.heads().concat().contains("authorization"));

    // Where a redirect leads is another origin, whatever it asks for there.
    let (other, _) = serving(Asking::new("sha-256", 1_000));
    let to = other.url("/");
    let (asking, moves) = (Asking::new("sha-256", 1_000), to.clone());
    let first = Server::saying(move |head, stream| {
        let answer = match asking.answer(head) {
            page if page.starts_with("HTTP/1.1 200") => {
                format!("HTTP/1.1 302 Found\r\nLocation: {moves}\r\nContent-Length: 0\r\n\r\n")
            }
            challenge => challenge,
        };
        drop(stream.write_all(answer.as_bytes()));
    });
    let client = client(&first, "hush");
    let answer = client.ask(&call(), &first.url("/"), Condition::default()).unwrap().answer().unwrap();
    let Answer::Moved(_, found) = answer else { panic!("{answer:?}") };
    assert_eq!(found, to);
    assert_eq!(fails(&client, &found), "unreadable");
    assert_eq!(other.heads().len(), 1);
    assert!(!other.heads().concat().contains("authorization"), "{:?}", other.heads());
}

#[test]
fn threads_that_ask_at_once_use_no_number_twice_and_all_get_their_page() {
    let (server, asking) = serving(Asking::new("sha-256", usize::MAX));
    let client = client(&server, "hush");
    std::thread::scope(|scope| {
        for _ in 0..32 {
            scope.spawn(|| assert_eq!(read(&client, &server.url("/")).unwrap(), b"secret"));
        }
    });
    let counts = asking.counts.lock().unwrap();
    assert_eq!(counts.values().map(BTreeSet::len).sum::<usize>(), 32, "{counts:?}");
}
