//! Target port groups and their asymmetric access states (SPC-4 §5.15.2): parameter data of REPORT
//! TARGET PORT GROUPS (§6.37) and parameter list of SET TARGET PORT GROUPS (§6.45).

use crate::sense::FieldPointer;

/// ASYMMETRIC ACCESS STATE field. Logical block dependent and offline are never reported.
pub mod access_state {
    /// Active/optimized.
    pub const ACTIVE_OPTIMIZED: u8 = 0x0;
    /// Active/non-optimized.
    pub const ACTIVE_NON_OPTIMIZED: u8 = 0x1;
    /// Standby.
    pub const STANDBY: u8 = 0x2;
    /// Unavailable.
    pub const UNAVAILABLE: u8 = 0x3;
    /// Between two states; cannot be requested.
    pub const TRANSITIONING: u8 = 0xf;
}

/// STATUS CODE field: cause of a group's state.
pub mod status_code {
    /// Unknown.
    pub const NONE: u8 = 0x00;
    /// SET TARGET PORT GROUPS.
    pub const EXPLICIT: u8 = 0x01;
    /// Change by the array.
    pub const IMPLICIT: u8 = 0x02;
}

/// Group in REPORT TARGET PORT GROUPS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortGroup {
    /// TARGET PORT GROUP field.
    pub identifier: u16,
    /// ASYMMETRIC ACCESS STATE, see [`access_state`].
    pub state: u8,
    /// PREF.
    pub preferred: bool,
    /// STATUS CODE, see [`status_code`].
    pub status: u8,
    /// Relative target port identifiers; the first 255 are reported.
    pub ports: Vec<u16>,
}

/// T_SUP, U_SUP, S_SUP, AN_SUP, AO_SUP.
const SUPPORTED_STATES: u8 = 0x8f;

/// REPORT TARGET PORT GROUPS parameter data. `extended`: adds the 4-byte header extension of format
/// 001b, with this IMPLICIT TRANSITION TIME in seconds.
pub fn report(groups: &[PortGroup], extended: Option<u8>) -> Vec<u8> {
    let mut data = vec![0; 4];
    if let Some(seconds) = extended {
        data.extend_from_slice(&[0x10, seconds, 0, 0]);
    }
    for group in groups {
        let count = u8::try_from(group.ports.len()).unwrap_or(u8::MAX);
        let preferred = if group.preferred { 0x80 } else { 0 };
        data.extend_from_slice(&[preferred | group.state, SUPPORTED_STATES]);
        data.extend_from_slice(&group.identifier.to_be_bytes());
        data.extend_from_slice(&[0, group.status, 0, count]);
        for port in group.ports.iter().take(usize::from(count)) {
            data.extend_from_slice(&[0, 0]);
            data.extend_from_slice(&port.to_be_bytes());
        }
    }
    let length = u32::try_from(data.len() - 4).unwrap_or(u32::MAX);
    data.splice(..4, length.to_be_bytes());
    data
}

/// Reason why the parameter list of SET TARGET PORT GROUPS is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetListError {
    /// The list is not a header followed by whole descriptors.
    Length,
    /// A state cannot be set.
    State(FieldPointer),
}

/// Parses the list: each group with its requested state, which is settable, and the position of the
/// group's identifier in the list.
pub fn parse_set(list: &[u8]) -> Result<Vec<(u16, u8, FieldPointer)>, SetListError> {
    const HEADER_BYTES: usize = 4;
    let descriptors = list.get(HEADER_BYTES..).ok_or(SetListError::Length)?.chunks(4).zip(0..);
    let mut wanted = Vec::new();
    for (descriptor, index) in descriptors {
        let at = HEADER_BYTES + 4 * index;
        let &[state, _, high, low] = descriptor else { return Err(SetListError::Length) };
        let state = state & 0x0f;
        if state > access_state::UNAVAILABLE {
            return Err(SetListError::State(FieldPointer::parameter_list_bit(at, 3)));
        }
        wanted.push((u16::from_be_bytes([high, low]), state, FieldPointer::parameter_list(at + 2)));
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hex_literal::hex;

    fn group(identifier: u16, state: u8, ports: &[u16]) -> PortGroup {
        PortGroup { identifier, state, preferred: false, status: status_code::NONE, ports: ports.to_vec() }
    }

    #[test]
    fn every_group_lists_its_ports() {
        let one = [group(1, access_state::ACTIVE_OPTIMIZED, &[1, 2])];
        assert_eq!(report(&one, None), hex!("00000010 00 8f 0001 00 00 00 02 00000001 00000002"));
        let mut standby = group(0x102, access_state::STANDBY, &[3]);
        standby.preferred = true;
        standby.status = status_code::IMPLICIT;
        let two = [group(1, access_state::ACTIVE_NON_OPTIMIZED, &[1]), standby];
        assert_eq!(
            report(&two, Some(60)),
            hex!("0000001c 103c0000 01 8f 0001 00 00 00 01 00000001 82 8f 0102 00 02 00 01 00000003")
        );
    }

    #[test]
    fn the_list_to_set_is_read() {
        let at = |byte| FieldPointer::parameter_list(byte);
        assert_eq!(
            parse_set(&hex!("00000000 02000001 f1ff0102")),
            Ok(vec![(1, access_state::STANDBY, at(6)), (0x102, access_state::ACTIVE_NON_OPTIMIZED, at(10))])
        );
        assert_eq!(parse_set(&hex!("00000000")), Ok(vec![]));
        assert_eq!(parse_set(&hex!("000000")), Err(SetListError::Length));
        assert_eq!(parse_set(&hex!("00000000 0200")), Err(SetListError::Length));
        for state in ["04", "0e", "0f"] {
            let byte = u8::from_str_radix(state, 16).unwrap_or_default();
            let list = [0, 0, 0, 0, byte, 0, 0, 1];
            assert_eq!(parse_set(&list), Err(SetListError::State(FieldPointer::parameter_list_bit(4, 3))));
        }
    }
}
