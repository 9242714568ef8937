//! Signatures of tokens: read by `jsonwebtoken`, computed by `ring`, which the TLS of this program goes by as well. What is not in this list of
//! algorithms cannot be asked for: none with a shared secret, and not `none`.

use std::sync::Once;

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind, Result};
use jsonwebtoken::signature::{Error as Mismatch, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind};
use ring::signature::{
    self as ring_signatures, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};

/// The algorithms whose signatures count, by how tokens write them. Keys of RSA have 2,048 to 8,192 bits.
pub(super) const ALGORITHMS: [(&str, Algorithm); 9] = [
    ("RS256", Algorithm::RS256),
    ("RS384", Algorithm::RS384),
    ("RS512", Algorithm::RS512),
    ("PS256", Algorithm::PS256),
    ("PS384", Algorithm::PS384),
    ("PS512", Algorithm::PS512),
    ("ES256", Algorithm::ES256),
    ("ES384", Algorithm::ES384),
    ("EdDSA", Algorithm::EdDSA),
];

/// Whether this is the signature by a key of what was signed.
pub(super) fn is_by(key: &DecodingKey, algorithm: Algorithm, signed: &[u8], signature: &str) -> bool {
    static PROVIDER: CryptoProvider = CryptoProvider {
        signer_factory: |_, _| Err(Error::from(ErrorKind::UnsupportedAlgorithm)),
        verifier_factory: verifier,
        key_utils: KeyUtils::new_unimplemented(),
    };
    static INSTALLED: Once = Once::new();
    // Nothing else in this program verifies tokens, and had somebody installed another one, it would verify as well.
    INSTALLED.call_once(|| {
        let _ = PROVIDER.install_default();
    });
    jsonwebtoken::crypto::verify(signature, signed, key, algorithm).unwrap_or(false)
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    let by = match algorithm {
        Algorithm::RS256 => By::Rsa(&ring_signatures::RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => By::Rsa(&ring_signatures::RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => By::Rsa(&ring_signatures::RSA_PKCS1_2048_8192_SHA512),
        Algorithm::PS256 => By::Rsa(&ring_signatures::RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => By::Rsa(&ring_signatures::RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => By::Rsa(&ring_signatures::RSA_PSS_2048_8192_SHA512),
        Algorithm::ES256 => By::Curve(&ring_signatures::ECDSA_P256_SHA256_FIXED),
        Algorithm::ES384 => By::Curve(&ring_signatures::ECDSA_P384_SHA384_FIXED),
        Algorithm::EdDSA => By::Curve(&ring_signatures::ED25519),
        _ => return Err(Error::from(ErrorKind::UnsupportedAlgorithm)),
    };
    // A key of one family never verifies what another one signed, whatever a token says of its algorithm.
    match key.family() == family(*algorithm) {
        true => Ok(Box::new(ByRing { by, algorithm: *algorithm, key: key.clone() })),
        false => Err(Error::from(ErrorKind::InvalidKeyFormat)),
    }
}

/// The family of keys that an algorithm signs by.
pub(super) fn family(algorithm: Algorithm) -> AlgorithmFamily {
    match algorithm {
        Algorithm::ES256 | Algorithm::ES384 => AlgorithmFamily::Ec,
        Algorithm::EdDSA => AlgorithmFamily::Ed,
        Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512 => AlgorithmFamily::Hmac,
        _ => AlgorithmFamily::Rsa,
    }
}

enum By {
    Rsa(&'static RsaParameters),
    Curve(&'static dyn VerificationAlgorithm),
}

struct ByRing {
    by: By,
    algorithm: Algorithm,
    key: DecodingKey,
}

impl JwtVerifier for ByRing {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl Verifier<Vec<u8>> for ByRing {
    fn verify(&self, signed: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Mismatch> {
        let fits = match (&self.by, self.key.kind()) {
            (By::Rsa(parameters), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(parameters, signed, signature)
            }
            (By::Curve(algorithm), DecodingKeyKind::SecretOrDer(point)) => {
                UnparsedPublicKey::new(*algorithm, point).verify(signed, signature)
            }
            _ => return Err(Mismatch::new()),
        };
        fits.map_err(|_| Mismatch::new())
    }
}
