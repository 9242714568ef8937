//! Bitmaps of document ids: what a run met, what waits, what is held.

use ingather_store::StoreError;
use roaring::RoaringTreemap;

/// A bitmap as bytes for the store.
pub(crate) fn to_bytes(id_set: &RoaringTreemap) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(id_set.serialized_size());
    id_set.serialize_into(&mut bytes).expect("writing into memory does not fail");
    bytes
}

/// A bitmap from the store's bytes.
pub(crate) fn from_bytes(bytes: &[u8]) -> Result<RoaringTreemap, StoreError> {
    RoaringTreemap::deserialize_from(bytes)
        .map_err(|error| StoreError::Refused(format!("a stored set of documents is damaged: {error}")))
}
