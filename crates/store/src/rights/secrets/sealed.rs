//! One secret, sealed and opened: XChaCha20-Poly1305 with a random nonce, bound to its place.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use chacha20poly1305::aead::{Aead, AeadInOut, Generate, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

/// How what is sealed is written; another way of sealing has another number.
const FORM: &str = "1";
/// Bytes of the nonce.
const NONCE: usize = 24;
/// What the id of a key is derived for: it tells nothing of the key, and no other digest of it is equal.
const ID_CONTEXT: &str = "ingather secrets key id 1";
/// Bytes of an id.
const ID: usize = 8;

/// The key of a store's secrets.
pub(super) struct Key {
    bytes: Zeroizing<[u8; 32]>,
    id: String,
}

impl Key {
    pub(super) fn of(bytes: Zeroizing<[u8; 32]>) -> Key {
        let digest = Zeroizing::new(blake3::derive_key(ID_CONTEXT, &*bytes));
        let id = digest[..ID].iter().map(|byte| format!("{byte:02x}")).collect();
        Key { bytes, id }
    }

    /// A new one, from the random numbers of the system.
    pub(super) fn generate() -> Result<Key, String> {
        let bytes = <[u8; 32]>::try_generate()
            .map_err(|error| format!("the system gives no random numbers: {error}"))?;
        Ok(Key::of(Zeroizing::new(bytes)))
    }

    pub(super) fn bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    /// What tells it from other keys.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// What a secret is stored as: form, id of the key, nonce and sealed bytes.
    pub(super) fn seal(&self, place: &str, plain: &str) -> Result<String, String> {
        let nonce =
            XNonce::try_generate().map_err(|error| format!("the system gives no random numbers: {error}"))?;
        let payload = Payload { msg: plain.as_bytes(), aad: place.as_bytes() };
        let sealed = self.cipher().encrypt(&nonce, payload).map_err(|_| "it is too long".to_owned())?;
        let bytes = [&nonce[..], &sealed].concat();
        Ok(format!("{FORM}.{}.{}", self.id, BASE64.encode(bytes)))
    }

    /// The secret; none where a bit of it, its place or the key is another one.
    pub(super) fn open(&self, place: &str, text: &str) -> Option<Zeroizing<String>> {
        let (_, encoded) = parts(text)?;
        let bytes = BASE64.decode(encoded).ok()?;
        let (nonce, sealed) = bytes.split_at_checked(NONCE)?;
        let mut plain = Zeroizing::new(sealed.to_vec());
        let nonce = XNonce::try_from(nonce).ok()?;
        self.cipher().decrypt_in_place(&nonce, place.as_bytes(), &mut *plain).ok()?;
        std::str::from_utf8(&plain).ok().map(|plain| Zeroizing::new(plain.to_owned()))
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new((&*self.bytes).into())
    }
}

/// The id of the key of a sealed secret, and what is sealed; none where it has another form.
pub(super) fn parts(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix(FORM)?.strip_prefix('.')?.split_once('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_opens_in_its_place_with_its_key_as_it_was_sealed_and_else_never() {
        let (key, other) = (Key::generate().unwrap(), Key::generate().unwrap());
        let text = key.seal("here", "narwhal").unwrap();
        assert_eq!(key.open("here", &text).as_deref().map(String::as_str), Some("narwhal"));
        assert!(!text.contains("narwhal") && parts(&text).unwrap().0 == key.id());
        assert_ne!(text, key.seal("here", "narwhal").unwrap(), "nonces are random");
        assert!(key.open("there", &text).is_none());
        assert!(other.open("here", &text).is_none());
        let (head, encoded) = text.rsplit_once('.').unwrap();
        let bytes = BASE64.decode(encoded).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(key.open("here", &format!("{head}.{}", BASE64.encode(flipped))).is_none(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            let cut = format!("{head}.{}", BASE64.encode(&bytes[..length]));
            assert!(key.open("here", &cut).is_none(), "{length} bytes");
        }
        for odd in ["", "1", "1.x", "2.x.y", "1.x.%"] {
            assert!(key.open("here", odd).is_none(), "{odd}");
        }
    }

    #[test]
    fn the_id_of_a_key_is_always_the_same_and_none_of_its_bytes() {
        let key = Key::of(Zeroizing::new([7; 32]));
        assert_eq!(key.id(), Key::of(Zeroizing::new([7; 32])).id());
        assert!(!key.id().contains("0707"), "{}", key.id());
    }
}
