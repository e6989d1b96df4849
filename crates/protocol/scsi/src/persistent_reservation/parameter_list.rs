//! Parameter lists of PERSISTENT RESERVE OUT, SPC-4 §6.16.3 and §6.16.4.

use super::transport_id::TransportId;

/// Basic parameter list: every service action except REGISTER AND MOVE. 24 bytes, followed by
/// TransportIDs if SPEC_I_PT is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Basic {
    /// RESERVATION KEY: key of the I_T nexus that sends the command.
    pub key: u64,
    /// SERVICE ACTION RESERVATION KEY: the new key, or the key of the preempted registrants.
    pub service_action_key: u64,
    /// SPEC_I_PT: a list of further initiator ports follows.
    pub specify_initiator_ports: bool,
    /// ALL_TG_PT: registers with every target port.
    pub all_target_ports: bool,
    /// APTPL: registrations and reservation survive a power loss.
    pub persist_through_power_loss: bool,
}

impl Basic {
    /// Bytes of the fixed part.
    pub const BYTES: usize = 24;
    /// Byte of the SERVICE ACTION RESERVATION KEY.
    pub const SERVICE_ACTION_KEY_AT: usize = 8;
    /// Byte of SPEC_I_PT, ALL_TG_PT and APTPL.
    pub const FLAGS_AT: usize = 20;
    /// Bit of SPEC_I_PT.
    pub const SPEC_I_PT_BIT: u8 = 3;
    /// Bit of APTPL.
    pub const APTPL_BIT: u8 = 0;
    /// Byte of TRANSPORTID PARAMETER DATA LENGTH, if SPEC_I_PT is set.
    pub const TRANSPORT_IDS_LENGTH_AT: usize = 24;
    /// First byte of the TransportIDs.
    pub const TRANSPORT_IDS_AT: usize = 28;

    /// Decodes the fixed part; `None` when the list is shorter.
    pub fn parse(list: &[u8]) -> Option<Self> {
        let (fixed, _) = list.split_first_chunk::<{ Self::BYTES }>()?;
        let (key, rest) = fixed.split_first_chunk::<8>()?;
        let (service_action_key, _) = rest.split_first_chunk::<8>()?;
        let flags = *fixed.get(Self::FLAGS_AT)?;
        Some(Self {
            key: u64::from_be_bytes(*key),
            service_action_key: u64::from_be_bytes(*service_action_key),
            specify_initiator_ports: flags & 0x08 != 0,
            all_target_ports: flags & 0x04 != 0,
            persist_through_power_loss: flags & 0x01 != 0,
        })
    }

    /// Decodes the TransportIDs after a list with SPEC_I_PT, each with its first byte in the list.
    pub fn transport_ids(list: &[u8]) -> Result<Vec<(usize, TransportId)>, TransportIdsError> {
        let behind = list.get(Self::TRANSPORT_IDS_LENGTH_AT..).and_then(|rest| rest.split_first_chunk::<4>());
        let (length, mut rest) = behind.ok_or(TransportIdsError::Length)?;
        if usize::try_from(u32::from_be_bytes(*length)) != Ok(rest.len()) {
            return Err(TransportIdsError::Length);
        }
        let mut at = Self::TRANSPORT_IDS_AT;
        let mut found = Vec::new();
        while !rest.is_empty() {
            let (id, length) = TransportId::parse(rest).map_err(|error| TransportIdsError::Invalid(at + error.at))?;
            found.push((at, id));
            at += length;
            rest = rest.get(length..).unwrap_or_default();
        }
        Ok(found)
    }
}

/// Reason why the TransportIDs of a list cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportIdsError {
    /// TRANSPORTID PARAMETER DATA LENGTH is missing, or differs from the number of bytes that
    /// follow.
    Length,
    /// A TransportID is invalid; byte of the list with the error.
    Invalid(usize),
}

/// Parameter list of REGISTER AND MOVE, SPC-4 §6.16.4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterAndMove {
    /// RESERVATION KEY: key of the I_T nexus that sends the command.
    pub key: u64,
    /// SERVICE ACTION RESERVATION KEY: key of the I_T nexus to which the reservation moves.
    pub service_action_key: u64,
    /// UNREG: the sender's registration ends.
    pub unregister: bool,
    /// APTPL.
    pub persist_through_power_loss: bool,
    /// RELATIVE TARGET PORT IDENTIFIER.
    pub relative_target_port: u16,
    /// TransportID of the initiator port to which the reservation moves.
    pub target: MoveTarget,
}

/// TransportID of REGISTER AND MOVE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoveTarget {
    /// Well-formed TransportID.
    TransportId(TransportId),
    /// Invalid TransportID; byte of the list with the error.
    Invalid(usize),
}

impl RegisterAndMove {
    /// Bytes of the fixed part.
    pub const BYTES: usize = 24;
    /// Byte of the RELATIVE TARGET PORT IDENTIFIER.
    pub const RELATIVE_TARGET_PORT_AT: usize = 18;
    /// Byte of UNREG and APTPL.
    pub const FLAGS_AT: usize = 17;
    /// First byte of the TransportID.
    pub const TRANSPORT_ID_AT: usize = 24;

    /// Decodes the list; `None` when it is too short or TRANSPORTID PARAMETER DATA LENGTH differs
    /// from the number of bytes that follow.
    pub fn parse(list: &[u8]) -> Option<Self> {
        let (fixed, ids) = list.split_first_chunk::<{ Self::BYTES }>()?;
        let (key, rest) = fixed.split_first_chunk::<8>()?;
        let (service_action_key, rest) = rest.split_first_chunk::<8>()?;
        let [_reserved, flags, port_high, port_low, length @ ..] = rest else { return None };
        let length: [u8; 4] = length.try_into().ok()?;
        if usize::try_from(u32::from_be_bytes(length)) != Ok(ids.len()) {
            return None;
        }
        let target = match TransportId::parse(ids) {
            Ok((id, length)) if length == ids.len() => MoveTarget::TransportId(id),
            Ok((_, length)) => MoveTarget::Invalid(Self::TRANSPORT_ID_AT + length),
            Err(error) => MoveTarget::Invalid(Self::TRANSPORT_ID_AT + error.at),
        };
        Some(Self {
            key: u64::from_be_bytes(*key),
            service_action_key: u64::from_be_bytes(*service_action_key),
            unregister: flags & 0x02 != 0,
            persist_through_power_loss: flags & 0x01 != 0,
            relative_target_port: u16::from_be_bytes([*port_high, *port_low]),
            target,
        })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use hex_literal::hex;

    #[test]
    fn a_basic_list_has_two_keys_and_three_flags() {
        let list = hex!("0000000000000001 0000000000000002 00000000 0d 00 0000");
        let basic = Basic::parse(&list).unwrap();
        assert_eq!((basic.key, basic.service_action_key), (1, 2));
        assert!(basic.specify_initiator_ports && basic.all_target_ports && basic.persist_through_power_loss);
        assert_eq!(Basic::parse(&list[..23]), None);
        assert_eq!(Basic::transport_ids(&list), Err(TransportIdsError::Length));
    }

    #[test]
    fn transport_ids_fill_their_length() {
        let id = TransportId::Device("iqn.2026-01.x:y".into()).encode();
        let length = u32::try_from(2 * id.len()).unwrap().to_be_bytes();
        let list = [&[0; 24][..], &length, &id, &id].concat();
        assert_eq!(Basic::transport_ids(&list).unwrap().len(), 2);
        assert_eq!(Basic::transport_ids(&list[..list.len() - 1]), Err(TransportIdsError::Length));
        let mut wrong = list.clone();
        wrong[28 + id.len()] = 0x06;
        assert_eq!(Basic::transport_ids(&wrong), Err(TransportIdsError::Invalid(28 + id.len())));
        let none = [&[0; 24][..], &[0; 4]].concat();
        assert_eq!(Basic::transport_ids(&none).unwrap(), []);
    }

    #[test]
    fn a_move_names_one_initiator_port_and_one_target_port() {
        let id = TransportId::Device("iqn.2026-01.x:y".into());
        let bytes = id.encode();
        let length = u32::try_from(bytes.len()).unwrap().to_be_bytes();
        let head = hex!("0000000000000001 0000000000000002 00 03 0007");
        let list = [&head[..], &length, &bytes].concat();
        let parsed = RegisterAndMove::parse(&list).unwrap();
        assert_eq!((parsed.key, parsed.service_action_key, parsed.relative_target_port), (1, 2, 7));
        assert!(parsed.unregister && parsed.persist_through_power_loss);
        assert_eq!(parsed.target, MoveTarget::TransportId(id));
        assert_eq!(RegisterAndMove::parse(&list[..list.len() - 4]), None);
        let twice = u32::try_from(2 * bytes.len()).unwrap().to_be_bytes();
        let list = [&head[..], &twice, &bytes, &bytes].concat();
        assert_eq!(RegisterAndMove::parse(&list).unwrap().target, MoveTarget::Invalid(24 + bytes.len()));
        let empty = [&head[..], &[0; 4]].concat();
        assert_eq!(RegisterAndMove::parse(&empty).unwrap().target, MoveTarget::Invalid(24));
    }
}
