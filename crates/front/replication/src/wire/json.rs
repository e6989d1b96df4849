//! Control messages: JSON with a version.

use crate::wire::error::WireError;
use crate::wire::kind::Kind;
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Version of the control messages of this release. Fields are only added; a receiver ignores those it does not know.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Outgoing<'a, T> {
    version: u32,
    #[serde(flatten)]
    content: &'a T,
}

#[derive(Deserialize)]
struct Incoming<T> {
    version: u32,
    #[serde(flatten)]
    content: T,
}

pub(super) fn encode<T: Serialize>(content: &T) -> Bytes {
    // Only maps with keys that are no strings fail, and no message has one.
    serde_json::to_vec(&Outgoing { version: VERSION, content }).unwrap_or_default().into()
}

pub(super) fn decode<T: DeserializeOwned>(kind: Kind, payload: &[u8]) -> Result<T, WireError> {
    let read: Result<Incoming<T>, _> = serde_json::from_slice(payload);
    let read = read.map_err(|error| WireError::Json { kind, why: error.to_string() })?;
    match read.version {
        0 => Err(WireError::Payload { kind, what: "version 0 does not exist" }),
        _ => Ok(read.content),
    }
}
