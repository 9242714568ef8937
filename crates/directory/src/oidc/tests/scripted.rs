//! A provider on loopback that does what a test says, with keys that are made for it.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm,
    Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256,
    RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding, RsaKeyPair,
};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};

use super::{BEGIN, changed};
use crate::proxies::serving;

/// A key that signs, and how it is published.
pub(super) enum Signer {
    Rsa(RsaKeyPair),
    Curve(EcdsaKeyPair, &'static str),
    Ed(Ed25519KeyPair),
}

fn rsa(bits: &str) -> Signer {
    let made = Command::new("openssl")
        .args(["genpkey", "-quiet", "-algorithm", "RSA", "-pkeyopt", &format!("rsa_keygen_bits:{bits}")])
        .output()
        .expect("scripts/install.sh installs openssl");
    let key = PrivatePkcs8KeyDer::from_pem_slice(&made.stdout).expect("a key");
    Signer::Rsa(RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).expect("a key of RSA"))
}

fn curve(algorithm: &'static EcdsaSigningAlgorithm, name: &'static str) -> Signer {
    let random = SystemRandom::new();
    let made = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
    Signer::Curve(EcdsaKeyPair::from_pkcs8(algorithm, made.as_ref(), &random).unwrap(), name)
}

/// Keys for all tests: to make one of RSA takes time.
pub(super) static RSA: LazyLock<Signer> = LazyLock::new(|| rsa("2048"));
pub(super) static OTHER_RSA: LazyLock<Signer> = LazyLock::new(|| rsa("2048"));
pub(super) static P256: LazyLock<Signer> = LazyLock::new(|| curve(&ECDSA_P256_SHA256_FIXED_SIGNING, "P-256"));
pub(super) static P384: LazyLock<Signer> = LazyLock::new(|| curve(&ECDSA_P384_SHA384_FIXED_SIGNING, "P-384"));
pub(super) static ED: LazyLock<Signer> = LazyLock::new(|| {
    let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    Signer::Ed(Ed25519KeyPair::from_pkcs8(made.as_ref()).unwrap())
});

pub(super) fn coded(bytes: impl AsRef<[u8]>) -> String {
    BASE64.encode(bytes)
}

impl Signer {
    /// As it is published, without a name.
    pub(super) fn jwk(&self) -> Value {
        match self {
            Signer::Rsa(pair) => {
                let public = ring::rsa::PublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({"kty": "RSA", "n": coded(public.n), "e": coded(public.e)})
            }
            Signer::Curve(pair, name) => {
                let (x, y) =
                    pair.public_key().as_ref()[1..].split_at((pair.public_key().as_ref().len() - 1) / 2);
                json!({"kty": "EC", "crv": name, "x": coded(x), "y": coded(y)})
            }
            Signer::Ed(pair) => json!({"kty": "OKP", "crv": "Ed25519", "x": coded(pair.public_key())}),
        }
    }

    fn signature(&self, algorithm: &str, signed: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Signer::Rsa(pair) => {
                let by: &'static dyn RsaEncoding = match algorithm {
                    "RS384" => &RSA_PKCS1_SHA384,
                    "RS512" => &RSA_PKCS1_SHA512,
                    "PS256" => &RSA_PSS_SHA256,
                    "PS384" => &RSA_PSS_SHA384,
                    "PS512" => &RSA_PSS_SHA512,
                    _ => &RSA_PKCS1_SHA256,
                };
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(by, &random, signed, &mut signature).unwrap();
                signature
            }
            Signer::Curve(pair, _) => pair.sign(&random, signed).unwrap().as_ref().to_vec(),
            Signer::Ed(pair) => pair.sign(signed).as_ref().to_vec(),
        }
    }

    /// A token with this head and these claims, whatever they are.
    pub(super) fn signs(&self, head: &str, claims: &str) -> String {
        let algorithm =
            serde_json::from_str::<Value>(head).ok().and_then(|head| Some(head["alg"].as_str()?.to_owned()));
        let signed = format!("{}.{}", coded(head), coded(claims));
        let signature = self.signature(&algorithm.unwrap_or_default(), signed.as_bytes());
        format!("{signed}.{}", coded(signature))
    }
}

/// What a provider does with a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    Answers,
    Resets,
    Hangs,
    /// Ends in the middle of an answer.
    Half,
    Garbage,
    /// An answer larger than any.
    Large,
    /// A head larger than any.
    LargeHead,
    Redirects,
    Fails,
    AnotherIssuer,
    Array,
}

pub(super) struct Served {
    pub(super) does: Does,
    /// The path that this is about; all when empty.
    pub(super) at: &'static str,
    pub(super) discovery: Value,
    pub(super) keys: Value,
    pub(super) user_info: (u16, &'static str, String),
    /// How often each path was asked for.
    asked: HashMap<String, usize>,
    /// What came as `Authorization`.
    pub(super) authorizations: Vec<String>,
}

/// A provider.
pub(super) struct Scripted {
    pub(super) issuer: String,
    served: Arc<Mutex<Served>>,
}

impl Scripted {
    /// One with a key of RSA, named `one`.
    pub(super) fn start() -> Scripted {
        let served = Arc::new(Mutex::new(Served {
            does: Does::Answers,
            at: "",
            discovery: Value::Null,
            keys: json!({"keys": [changed(RSA.jwk(), &json!({"kid": "one", "use": "sig"}))]}),
            user_info: (200, "application/json", String::new()),
            asked: HashMap::new(),
            authorizations: Vec::new(),
        }));
        let its = Arc::clone(&served);
        let url = serving(move |stream| drop(serve(stream, &its)));
        let issuer = url.replace("ldap://", "http://");
        served.lock().unwrap().discovery = json!({
            "issuer": issuer,
            "jwks_uri": format!("{issuer}/keys"),
            "userinfo_endpoint": format!("{issuer}/me"),
        });
        Scripted { issuer, served }
    }

    pub(super) fn served(&self) -> MutexGuard<'_, Served> {
        self.served.lock().unwrap()
    }

    pub(super) fn does(&self, does: Does) {
        self.served().does = does;
    }

    /// Publishes these keys, by name.
    pub(super) fn publishes(&self, keys: &[(&str, &Signer)]) {
        let keys: Vec<Value> =
            keys.iter().map(|(kid, key)| changed(key.jwk(), &json!({ "kid": kid }))).collect();
        self.served().keys = json!({ "keys": keys });
    }

    /// Answers so about whoever asks with a token.
    pub(super) fn tells(&self, claims: &Value) {
        self.served().user_info = (200, "application/json; charset=utf-8", claims.to_string());
    }

    pub(super) fn asked(&self, path: &str) -> usize {
        self.served().asked.get(path).copied().unwrap_or(0)
    }

    pub(super) fn settings(&self, change: &Value) -> Value {
        changed(json!({"issuer": self.issuer, "audiences": ["ingather"], "groups_claim": "groups"}), change)
    }

    /// The claims of Ann, for ten minutes, with some changed.
    pub(super) fn claims(&self, change: &Value) -> Value {
        let now = BEGIN / 1_000;
        let claims = json!({
            "iss": self.issuer, "sub": "ann", "aud": "ingather", "azp": "search", "iat": now, "nbf": now, "exp": now + 600,
            "groups": ["editors", "staff"],
        });
        changed(claims, change)
    }

    /// A token of Ann by the first key.
    pub(super) fn token(&self, change: &Value) -> String {
        RSA.signs(r#"{"alg":"RS256","typ":"at+jwt","kid":"one"}"#, &self.claims(change).to_string())
    }
}

fn serve(mut stream: TcpStream, served: &Mutex<Served>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut authorization = None;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            match header.trim().split_once(": ") {
                None => break,
                Some((name, value)) if name.eq_ignore_ascii_case("authorization") => {
                    authorization = Some(value.to_owned())
                }
                Some(_) => {}
            }
        }
        let (does, reply) = {
            let mut served = served.lock().unwrap();
            *served.asked.entry(path.clone()).or_default() += 1;
            served.authorizations.extend(authorization);
            let (status, kind, body) = match path.as_str() {
                "/.well-known/openid-configuration" => {
                    (200, "application/json", served.discovery.to_string())
                }
                "/keys" => (200, "application/json", served.keys.to_string()),
                "/me" => served.user_info.clone(),
                _ => (404, "text/plain", String::new()),
            };
            let is_there = served.at.is_empty() || path.ends_with(served.at);
            let does = if is_there { served.does } else { Does::Answers };
            (does, (status, kind, body))
        };
        answer(&mut stream, does, reply)?;
    }
}

fn answer(
    stream: &mut TcpStream,
    does: Does,
    (status, kind, body): (u16, &str, String),
) -> std::io::Result<()> {
    let head = |length: usize| {
        format!("HTTP/1.1 {status} Said\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n")
    };
    let broken = || Err(std::io::ErrorKind::BrokenPipe.into());
    let plain = |body: &str| format!("{}{body}", head(body.len()));
    let text = match does {
        Does::Answers => plain(&body),
        Does::AnotherIssuer => plain(&body.replace("http://127.0.0.1", "http://127.0.0.2")),
        Does::Array => plain(&format!("[{body}]")),
        Does::Resets => return broken(),
        Does::Hangs => {
            // Until whoever asks has gone.
            stream.read_to_end(&mut Vec::new())?;
            return broken();
        }
        Does::Half => {
            write!(stream, "{}{}", head(body.len()), &body[..body.len() / 2])?;
            return broken();
        }
        Does::Garbage => {
            stream.write_all(&[0x15, 3, 3, 0, 2, 2, 0x28])?;
            return broken();
        }
        Does::Large => plain(&format!("{}{body}", " ".repeat(2 << 20))),
        Does::LargeHead => format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(1 << 20)),
        Does::Redirects => "HTTP/1.1 302 Found\r\nLocation: /keys\r\nContent-Length: 0\r\n\r\n".to_owned(),
        Does::Fails => "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".to_owned(),
    };
    stream.write_all(text.as_bytes())
}
