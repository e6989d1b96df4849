//! Documents of the NFS server.

use crate::environment::Secret;
use crate::record::Document;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// State of the NFS server that outlives a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NfsServerRecord {
    /// Number of the last run that began.
    pub boot: u32,
    /// Key under which filehandles are sealed: 16 bytes in hexadecimal digits.
    pub handle_key: Secret,
    /// Lease of that run.
    pub lease_seconds: u64,
}

impl Document for NfsServerRecord {
    const PREFIX: &'static str = "nfs/server";
    fn key(&self) -> String {
        Self::PREFIX.to_owned()
    }
}

/// Client of NFSv4 that may reclaim after a restart (RFC 8881 §8.4.2.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NfsClientRecord {
    /// Name that the client chose (`co_ownerid`), at most 1024 bytes.
    #[serde(with = "hexadecimal")]
    pub owner: Bytes,
    /// Number of the run in which the record was written.
    pub boot: u32,
    /// Whether the client has had an open that denies others access.
    #[serde(default)]
    pub denies: bool,
}

impl Document for NfsClientRecord {
    const PREFIX: &'static str = "nfs/clients/";
    /// The owner may be longer than a key.
    fn key(&self) -> String {
        format!("{}{}", Self::PREFIX, hexadecimal::text(&Sha256::digest(&self.owner)))
    }
}

/// Bytes as hexadecimal digits.
pub(super) mod hexadecimal {
    use super::*;
    use serde::de::Error;
    use serde::{Deserializer, Serializer};

    /// Two digits a byte, in lower case.
    pub fn text(bytes: &[u8]) -> String {
        let mut text = String::with_capacity(2 * bytes.len());
        for byte in bytes {
            let _written = write!(text, "{byte:02x}");
        }
        text
    }

    /// Bytes of such a text; `None` for any other.
    pub fn bytes(text: &str) -> Option<Vec<u8>> {
        let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
        let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
        pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
    }

    pub fn serialize<S: Serializer>(bytes: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&text(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        let text = String::deserialize(deserializer)?;
        bytes(&text).map(Bytes::from).ok_or_else(|| D::Error::custom("not bytes in hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_any_bytes_is_read_back() {
        let record = NfsClientRecord { owner: Bytes::from_static(b"\0Linux \xff\"{"), boot: 7, denies: true };
        let text = serde_json::to_string(&record).unwrap_or_default();
        assert_eq!(text, r#"{"owner":"004c696e757820ff227b","boot":7,"denies":true}"#);
        assert_eq!(serde_json::from_str::<NfsClientRecord>(&text).ok(), Some(record));
    }

    #[test]
    fn other_texts_are_refused() {
        for owner in ["0", "0g", "+1", "é"] {
            let text = format!(r#"{{"owner":"{owner}","boot":7}}"#);
            assert!(serde_json::from_str::<NfsClientRecord>(&text).is_err(), "{owner}");
        }
    }

    #[test]
    fn keys_differ_and_fit() {
        let key = |owner: &[u8]| NfsClientRecord { owner: Bytes::copy_from_slice(owner), boot: 1, denies: false }.key();
        assert_ne!(key(&[1; 1024]), key(&[1; 1023]));
        assert_eq!(key(&[1; 1024]).len(), "nfs/clients/".len() + 64);
    }
}
