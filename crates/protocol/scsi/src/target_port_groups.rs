//! Target port groups and their asymmetric access states (SPC-4 §5.15.2): parameter data of REPORT TARGET PORT GROUPS (§6.37) and
//! the parameter list of SET TARGET PORT GROUPS (§6.45).

use crate::sense::FieldPointer;

/// How well logical units are reached through a target port group. Logical block dependent and offline are never reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AccessState {
    /// 0h: active/optimized.
    #[default]
    ActiveOptimized,
    /// 1h: active/non-optimized.
    ActiveNonOptimized,
    /// 2h: standby.
    Standby,
    /// 3h: unavailable.
    Unavailable,
    /// Fh: between two states.
    Transitioning,
}

impl AccessState {
    /// ASYMMETRIC ACCESS STATE field.
    pub const fn code(self) -> u8 {
        match self {
            Self::ActiveOptimized => 0x0,
            Self::ActiveNonOptimized => 0x1,
            Self::Standby => 0x2,
            Self::Unavailable => 0x3,
            Self::Transitioning => 0xf,
        }
    }

    /// A state that an initiator may ask for.
    pub const fn settable(code: u8) -> Option<Self> {
        match code {
            0x0 => Some(Self::ActiveOptimized),
            0x1 => Some(Self::ActiveNonOptimized),
            0x2 => Some(Self::Standby),
            0x3 => Some(Self::Unavailable),
            _ => None,
        }
    }

    /// Whether every command works.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::ActiveOptimized | Self::ActiveNonOptimized)
    }
}

/// STATUS CODE of a group: what made its state what it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StateOrigin {
    /// 00h: nothing is known.
    #[default]
    None,
    /// 01h: SET TARGET PORT GROUPS.
    Explicit,
    /// 02h: the array.
    Implicit,
}

/// A group, as it is reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortGroup {
    /// TARGET PORT GROUP field.
    pub identifier: u16,
    /// Its state.
    pub state: AccessState,
    /// PREF.
    pub preferred: bool,
    /// STATUS CODE.
    pub origin: StateOrigin,
    /// Relative target port identifiers; the first 255 are reported.
    pub ports: Vec<u16>,
}

/// T_SUP, U_SUP, S_SUP, AN_SUP, AO_SUP.
const SUPPORTED_STATES: u8 = 0x8f;

/// REPORT TARGET PORT GROUPS parameter data. `extended` adds the 4-byte header extension of format 001b with the IMPLICIT TRANSITION TIME
/// in seconds.
pub fn report(groups: &[PortGroup], extended: Option<u8>) -> Vec<u8> {
    let mut data = vec![0; 4];
    if let Some(seconds) = extended {
        data.extend_from_slice(&[0x10, seconds, 0, 0]);
    }
    for group in groups {
        let count = u8::try_from(group.ports.len()).unwrap_or(u8::MAX);
        let status = match group.origin {
            StateOrigin::None => 0,
            StateOrigin::Explicit => 1,
            StateOrigin::Implicit => 2,
        };
        let preferred = if group.preferred { 0x80 } else { 0 };
        data.extend_from_slice(&[preferred | group.state.code(), SUPPORTED_STATES]);
        data.extend_from_slice(&group.identifier.to_be_bytes());
        data.extend_from_slice(&[0, status, 0, count]);
        for port in group.ports.iter().take(usize::from(count)) {
            data.extend_from_slice(&[0, 0]);
            data.extend_from_slice(&port.to_be_bytes());
        }
    }
    let length = u32::try_from(data.len() - 4).unwrap_or(u32::MAX);
    data.splice(..4, length.to_be_bytes());
    data
}

/// Why the parameter list of SET TARGET PORT GROUPS is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetListError {
    /// It is not a header and whole descriptors.
    Length,
    /// A state that cannot be set.
    State(FieldPointer),
}

/// The wanted state of each named group, and where in the list the group's identifier stands.
pub fn parse_set(list: &[u8]) -> Result<Vec<(u16, AccessState, FieldPointer)>, SetListError> {
    const HEADER_BYTES: usize = 4;
    let descriptors = list.get(HEADER_BYTES..).ok_or(SetListError::Length)?.chunks(4).zip(0..);
    let mut wanted = Vec::new();
    for (descriptor, index) in descriptors {
        let at = HEADER_BYTES + 4 * index;
        let &[state, _, high, low] = descriptor else { return Err(SetListError::Length) };
        let state = AccessState::settable(state & 0x0f)
            .ok_or_else(|| SetListError::State(FieldPointer::parameter_list_bit(at, 3)))?;
        wanted.push((u16::from_be_bytes([high, low]), state, FieldPointer::parameter_list(at + 2)));
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hex_literal::hex;

    fn group(identifier: u16, state: AccessState, ports: &[u16]) -> PortGroup {
        PortGroup { identifier, state, preferred: false, origin: StateOrigin::None, ports: ports.to_vec() }
    }

    #[test]
    fn every_group_lists_its_ports() {
        let one = [group(1, AccessState::ActiveOptimized, &[1, 2])];
        assert_eq!(report(&one, None), hex!("00000010 00 8f 0001 00 00 00 02 00000001 00000002"));
        let mut standby = group(0x102, AccessState::Standby, &[3]);
        standby.preferred = true;
        standby.origin = StateOrigin::Implicit;
        let two = [group(1, AccessState::ActiveNonOptimized, &[1]), standby];
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
            Ok(vec![(1, AccessState::Standby, at(6)), (0x102, AccessState::ActiveNonOptimized, at(10))])
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
