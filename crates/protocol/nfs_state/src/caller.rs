//! Who calls, and with which bytes.

use crc_fast::{CrcAlgorithm, checksum};

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
    /// CRC-32C.
    pub crc32c: u32,
}

impl Fingerprint {
    /// Fingerprint of the arguments of a COMPOUND.
    pub fn of(arguments: &[u8]) -> Self {
        let length_bytes = u32::try_from(arguments.len()).unwrap_or(u32::MAX);
        // The algorithm has 32 bits.
        Self { length_bytes, crc32c: checksum(CrcAlgorithm::Crc32Iscsi, arguments) as u32 }
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
}
