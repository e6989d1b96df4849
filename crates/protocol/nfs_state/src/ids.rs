//! Bytes of client ids, session ids and stateids. Each contains the number of the run and the key of its entry.

use nfs::v4::{SessionId, Stateid};

use crate::table::Key;

/// Client id: run 32 bits, generation 16, index 16.
pub(crate) fn client_id(boot: u32, key: Key) -> u64 {
    u64::from(boot) << 32 | u64::from(key.generation & 0xffff) << 16 | u64::from(key.index & 0xffff)
}

/// Place of a client in the table. Whether the id is that of the client there, the client says.
pub(crate) fn client_index(id: u64) -> u32 {
    (id & 0xffff) as u32
}

/// Session id: client id 8 bytes, index 4, a number that cannot be guessed 4.
pub(crate) fn session_id(client: u64, index: u32, check: u32) -> SessionId {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&client.to_be_bytes());
    id[8..12].copy_from_slice(&index.to_be_bytes());
    id[12..].copy_from_slice(&check.to_be_bytes());
    id
}

/// Place of a session in the table. Whether the id is that of the session there, the session says.
pub(crate) fn session_index(id: &SessionId) -> u32 {
    let [_, _, _, _, _, _, _, _, a, b, c, d, ..] = *id;
    u32::from_be_bytes([a, b, c, d])
}

/// Stateid: run 4 bytes, index 4, generation 4.
pub(crate) fn stateid(boot: u32, key: Key, seqid: u32) -> Stateid {
    let mut other = [0; 12];
    other[..4].copy_from_slice(&boot.to_be_bytes());
    other[4..8].copy_from_slice(&key.index.to_be_bytes());
    other[8..].copy_from_slice(&key.generation.to_be_bytes());
    Stateid { seqid, other }
}

/// Key of a stateid of this run; `None` for any other.
pub(crate) fn stateid_key(boot: u32, stateid: &Stateid) -> Option<Key> {
    let [b0, b1, b2, b3, i0, i1, i2, i3, g0, g1, g2, g3] = stateid.other;
    let key = Key { index: u32::from_be_bytes([i0, i1, i2, i3]), generation: u32::from_be_bytes([g0, g1, g2, g3]) };
    (u32::from_be_bytes([b0, b1, b2, b3]) == boot).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = Key { index: 0x0102_0304, generation: 0x0506_0708 };

    #[test]
    fn ids_contain_run_and_key() {
        assert_eq!(client_id(9, Key { index: 3, generation: 0x1_0005 }), 9 << 32 | 5 << 16 | 3);
        assert_eq!(client_index(9 << 32 | 5 << 16 | 3), 3);
        assert_eq!(session_index(&session_id(u64::MAX, 77, u32::MAX)), 77);
        let stateid = stateid(9, KEY, 4);
        assert_eq!(stateid, Stateid { seqid: 4, other: [0, 0, 0, 9, 1, 2, 3, 4, 5, 6, 7, 8] });
        assert_eq!((stateid_key(9, &stateid), stateid_key(8, &stateid)), (Some(KEY), None));
    }
}
