//! PERSISTENT RESERVE IN and OUT as methods of a session, SPC-4 §6.15 and §6.16.

use bytes::Bytes;
use iscsi::initiator::TransferRequest;

use crate::cdb::padded;
use crate::commands::CommandError;
use crate::initiator::Session;

/// Service actions of PERSISTENT RESERVE OUT.
pub mod service_action {
    /// REGISTER.
    pub const REGISTER: u8 = 0x00;
    /// RESERVE.
    pub const RESERVE: u8 = 0x01;
    /// RELEASE.
    pub const RELEASE: u8 = 0x02;
    /// CLEAR.
    pub const CLEAR: u8 = 0x03;
    /// PREEMPT.
    pub const PREEMPT: u8 = 0x04;
    /// PREEMPT AND ABORT.
    pub const PREEMPT_AND_ABORT: u8 = 0x05;
    /// REGISTER AND IGNORE EXISTING KEY.
    pub const REGISTER_AND_IGNORE_EXISTING_KEY: u8 = 0x06;
}

/// Bit of APTPL in byte 20 of the parameter list.
pub const APTPL: u8 = 0x01;

/// Basic parameter list: the two keys, and byte 20.
pub fn parameter_list(key: u64, service_action_key: u64, flags: u8) -> Vec<u8> {
    [&key.to_be_bytes()[..], &service_action_key.to_be_bytes(), &[0, 0, 0, 0, flags, 0, 0, 0]].concat()
}

/// CDB of PERSISTENT RESERVE OUT with a parameter list of this length; LU_SCOPE and this type.
pub fn out_cdb(service_action: u8, kind: u8, parameter_list_length: u32) -> [u8; 16] {
    let [a, b, c, d] = parameter_list_length.to_be_bytes();
    padded(&[0x5f, service_action, kind, 0, 0, a, b, c, d, 0])
}

impl Session {
    /// PERSISTENT RESERVE OUT with two keys and byte 20 of the parameter list.
    pub fn persistent_reserve_out(
        &mut self,
        service_action: u8,
        kind: u8,
        (key, service_action_key): (u64, u64),
        flags: u8,
    ) -> Result<(), CommandError> {
        let list = parameter_list(key, service_action_key, flags);
        let length = u32::try_from(list.len()).unwrap_or(u32::MAX);
        let cdb = out_cdb(service_action, kind, length);
        self.run("PERSISTENT RESERVE OUT", cdb, TransferRequest::Out(list.into())).map(drop)
    }

    /// PERSISTENT RESERVE IN with room for 4 KiB.
    pub fn persistent_reserve_in(&mut self, service_action: u8) -> Result<Bytes, CommandError> {
        let cdb = padded(&[0x5e, service_action, 0, 0, 0, 0, 0, 0x10, 0x00, 0]);
        self.run("PERSISTENT RESERVE IN", cdb, TransferRequest::In(4096))
    }

    /// READ KEYS: all keys, in the order returned.
    pub fn registered_keys(&mut self) -> Result<Vec<u64>, CommandError> {
        let data = self.persistent_reserve_in(0x00)?;
        let malformed = CommandError::Malformed { command: "PERSISTENT RESERVE IN", what: "no whole keys" };
        let (keys, rest) = data.get(8..).unwrap_or_default().as_chunks::<8>();
        if data.len() < 8 || !rest.is_empty() {
            return Err(malformed);
        }
        Ok(keys.iter().map(|key| u64::from_be_bytes(*key)).collect())
    }

    /// READ RESERVATION: key and type.
    pub fn persistent_reservation(&mut self) -> Result<Option<(u64, u8)>, CommandError> {
        let data = self.persistent_reserve_in(0x01)?;
        let Some((key, rest)) = data.get(8..).unwrap_or_default().split_first_chunk::<8>() else { return Ok(None) };
        Ok(rest.get(5).map(|scope_and_type| (u64::from_be_bytes(*key), scope_and_type & 0x0f)))
    }
}
