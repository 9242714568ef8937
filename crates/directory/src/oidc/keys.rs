//! The keys that a provider publishes (RFC 7517), as far as tokens can be signed by them.

use ingather_model::limits;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::Value;

use super::signatures::ALGORITHMS;

/// A key of a provider.
pub(super) struct Key {
    kid: Option<String>,
    /// The algorithms that it may be used with.
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
}

/// Which key a token was signed by.
pub(super) enum Found<'k> {
    One(&'k DecodingKey),
    /// None of that name, or for that algorithm.
    None,
    /// The token names none, and there are several.
    Several,
}

/// The keys of a set. One that is not for signatures, or of a kind that nobody here knows, is none; a set that is no set is an error.
pub(super) fn read(set: &serde_json::Map<String, Value>) -> Result<Vec<Key>, &'static str> {
    let all =
        set.get("keys").and_then(Value::as_array).ok_or("what it publishes as its keys is no set of keys")?;
    if all.len() > limits::OIDC_KEYS_MAX {
        return Err("it publishes more keys than a provider has");
    }
    Ok(all.iter().filter_map(key).collect())
}

fn key(value: &Value) -> Option<Key> {
    let text = |name: &str| value.get(name).map(|value| value.as_str());
    // Another use than signatures, or an operation that is not to verify: somebody has said that it is not for this.
    if text("use").is_some_and(|is| is != Some("sig")) {
        return None;
    }
    if let Some(operations) = value.get("key_ops") {
        operations.as_array()?.iter().find(|one| one.as_str() == Some("verify"))?;
    }
    let jwk: Jwk = serde_json::from_value(value.clone()).ok()?;
    let fits: &[Algorithm] = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => &[
            Algorithm::RS256,
            Algorithm::RS384,
            Algorithm::RS512,
            Algorithm::PS256,
            Algorithm::PS384,
            Algorithm::PS512,
        ],
        AlgorithmParameters::EllipticCurve(parameters) => match parameters.curve {
            EllipticCurve::P256 => &[Algorithm::ES256],
            EllipticCurve::P384 => &[Algorithm::ES384],
            _ => return None,
        },
        AlgorithmParameters::OctetKeyPair(parameters) if parameters.curve == EllipticCurve::Ed25519 => {
            &[Algorithm::EdDSA]
        }
        // A shared secret among them: whoever reads the keys could sign by it.
        _ => return None,
    };
    let algorithms: Vec<Algorithm> = match text("alg") {
        None => fits.to_vec(),
        Some(said) => {
            let one = ALGORITHMS.iter().find(|(name, _)| Some(*name) == said)?.1;
            fits.contains(&one).then(|| vec![one])?
        }
    };
    let key = DecodingKey::from_jwk(&jwk).ok()?;
    Some(Key { kid: text("kid").flatten().map(str::to_owned), algorithms, key })
}

/// The key that a token names for its algorithm. Without a name it is the only one for that algorithm; keys are not tried one after the other.
pub(super) fn find<'k>(keys: &'k [Key], kid: Option<&str>, algorithm: Algorithm) -> Found<'k> {
    let fits = |key: &&Key| {
        key.algorithms.contains(&algorithm) && kid.is_none_or(|kid| key.kid.as_deref() == Some(kid))
    };
    let mut found = keys.iter().filter(fits);
    match (found.next(), found.next()) {
        (Some(one), None) => Found::One(&one.key),
        (Some(_), Some(_)) => Found::Several,
        (None, _) => Found::None,
    }
}
