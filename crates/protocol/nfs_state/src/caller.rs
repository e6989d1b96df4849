//! Who calls, and with which bytes.

use crc_fast::{CrcAlgorithm, Digest, checksum};

/// Connection, as the caller numbers them. Numbers are not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

/// Principal of a request: two requests have the same one if both numbers are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Principal {
    /// Flavor of the credential (RFC 5531 §8.2).
    pub flavor: u32,
    /// User within the flavor.
    pub user: u64,
}

/// Who sends a request, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Connection.
    pub connection: ConnectionId,
    /// Principal.
    pub principal: Principal,
}

/// Content of a request, for the comparison of a retry with the request (RFC 8881 §2.10.6.1.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint {
    /// Length.
    pub length_bytes: u32,
    /// CRC-32C of the first 1024 and the last 256 bytes, or of all if there are not more.
    pub crc32c: u32,
}

/// Bytes at the start that a fingerprint covers: operations with their arguments, up to the data of a long WRITE.
const HEAD_BYTES: usize = 1024;
/// Bytes at the end that a fingerprint covers.
const TAIL_BYTES: usize = 256;

impl Fingerprint {
    /// Fingerprint of the arguments of a COMPOUND.
    pub fn of(arguments: &[u8]) -> Self {
        let length_bytes = u32::try_from(arguments.len()).unwrap_or(u32::MAX);
        let crc = match (arguments.first_chunk::<HEAD_BYTES>(), arguments.last_chunk::<TAIL_BYTES>()) {
            (Some(head), Some(tail)) if arguments.len() > HEAD_BYTES + TAIL_BYTES => {
                let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
                digest.update(head);
                digest.update(tail);
                digest.finalize()
            }
            _ => checksum(CrcAlgorithm::Crc32Iscsi, arguments),
        };
        // The algorithm has 32 bits.
        Self { length_bytes, crc32c: crc as u32 }
    }
}

/// A COMPOUND that begins with SEQUENCE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Who sends it.
    pub caller: Caller,
    /// Length of the whole RPC call.
    pub length_bytes: u32,
    /// Content.
    pub fingerprint: Fingerprint,
    /// Number of operations, SEQUENCE included.
    pub operations: u32,
    /// Least length of the reply, with its RPC header: the result of SEQUENCE, and a failure of the next operation.
    pub reply_bytes: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_has_length_and_crc() {
        assert_eq!(Fingerprint::of(b"123456789"), Fingerprint { length_bytes: 9, crc32c: 0xe306_9283 });
    }

    /// Regression: the CRC of all data of a WRITE of 128 KiB took as long as that which the pool stores with it.
    #[test]
    fn a_fingerprint_covers_both_ends() {
        for length in [1, HEAD_BYTES, HEAD_BYTES + 1, HEAD_BYTES + TAIL_BYTES, HEAD_BYTES + TAIL_BYTES + 1, 1 << 17] {
            let arguments = vec![7; length];
            let changed = |at: usize| {
                let mut other = arguments.clone();
                other[at] = 8;
                Fingerprint::of(&other) != Fingerprint::of(&arguments)
            };
            let covered = |at: usize| at < HEAD_BYTES || at >= length - TAIL_BYTES.min(length);
            for at in [0, length / 2, HEAD_BYTES - 1, HEAD_BYTES, length.saturating_sub(TAIL_BYTES), length - 1] {
                if at < length {
                    assert_eq!(changed(at), covered(at), "byte {at} of {length}");
                }
            }
        }
    }
}
