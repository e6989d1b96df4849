//! Parameter data of the REPORT commands: LUNS (SPC-4 §6.33), SUPPORTED OPERATION CODES (§6.35), SUPPORTED TASK
//! MANAGEMENT FUNCTIONS (§6.36). TARGET PORT GROUPS is in [`crate::target_port_groups`].

use crate::lun::LogicalUnitNumber;

/// REPORT LUNS parameter data. LUN LIST LENGTH counts the LUNs, not the header.
pub fn luns(luns: impl Iterator<Item = LogicalUnitNumber>) -> Vec<u8> {
    let mut data = vec![0; 8];
    for lun in luns {
        data.extend_from_slice(&lun.encode());
    }
    let length = u32::try_from(data.len() - 8).unwrap_or(u32::MAX);
    data.splice(..4, length.to_be_bytes());
    data
}

/// SUPPORT field of the one-command response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// Not supported.
    No,
    /// Supported in conformance with the standard.
    Standard,
}

/// Command timeouts descriptor, 12 bytes, without timeouts.
const TIMEOUTS: [u8; 12] = [0x00, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// One-command response of REPORT SUPPORTED OPERATION CODES. `usage`: the CDB usage data, empty
/// when not supported.
pub fn one_command(support: Support, usage: &[u8], timeouts: bool) -> Vec<u8> {
    let support_bits = match support {
        Support::No => 0b001,
        Support::Standard => 0b011,
    };
    let timeouts = timeouts && support == Support::Standard;
    let mut data = vec![0, support_bits | if timeouts { 0x80 } else { 0 }];
    data.extend_from_slice(&u16::try_from(usage.len()).unwrap_or(u16::MAX).to_be_bytes());
    data.extend_from_slice(usage);
    if timeouts {
        data.extend_from_slice(&TIMEOUTS);
    }
    data
}

/// All-commands response of REPORT SUPPORTED OPERATION CODES: operation code, service action and
/// CDB length of each command.
pub fn all_commands(commands: impl Iterator<Item = (u8, Option<u8>, u16)>, timeouts: bool) -> Vec<u8> {
    let mut data = vec![0; 4];
    for (opcode, service_action, cdb_length) in commands {
        let flags = if timeouts { 0x02 } else { 0 } | if service_action.is_some() { 0x01 } else { 0 };
        data.extend_from_slice(&[opcode, 0, 0, service_action.unwrap_or(0), 0, flags]);
        data.extend_from_slice(&cdb_length.to_be_bytes());
        if timeouts {
            data.extend_from_slice(&TIMEOUTS);
        }
    }
    let length = u32::try_from(data.len() - 4).unwrap_or(u32::MAX);
    data.splice(..4, length.to_be_bytes());
    data
}

/// Byte 0 of REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS: ABORT TASK.
pub const ABORT_TASK: u8 = 0x80;
/// ABORT TASK SET.
pub const ABORT_TASK_SET: u8 = 0x40;
/// CLEAR TASK SET.
pub const CLEAR_TASK_SET: u8 = 0x10;
/// LOGICAL UNIT RESET.
pub const LOGICAL_UNIT_RESET: u8 = 0x08;
/// TARGET RESET.
pub const TARGET_RESET: u8 = 0x02;

/// QUERY TASK.
pub const QUERY_TASK: u8 = 0x04;
/// Byte 1: QUERY ASYNCHRONOUS EVENT.
pub const QUERY_ASYNCHRONOUS_EVENT: u8 = 0x04;
/// Byte 1: QUERY TASK SET.
pub const QUERY_TASK_SET: u8 = 0x02;
/// Byte 1: I_T NEXUS RESET.
pub const I_T_NEXUS_RESET: u8 = 0x01;

/// REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS parameter data with bytes 0 and 1; `extended`:
/// 16-byte form (REPD = 1).
pub fn task_management_functions(functions: [u8; 2], extended: bool) -> Vec<u8> {
    let mut data = vec![0; if extended { 16 } else { 4 }];
    if let [first, second, _, length, ..] = data.as_mut_slice() {
        [*first, *second] = functions;
        *length = if extended { 0x0c } else { 0 };
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;
    use hex_literal::hex;

    #[test]
    fn lun_list_length_leaves_the_header_out() {
        assert_eq!(
            luns([LogicalUnitNumber(0), LogicalUnitNumber(1)].into_iter()),
            hex!("00000010 00000000 0000000000000000 0001000000000000")
        );
    }

    #[test]
    fn one_command_gives_support_and_usage() {
        assert_eq!(one_command(Support::Standard, &hex!("00 00"), false), hex!("00 03 0002 00 00"));
        assert_eq!(one_command(Support::No, &[], true), hex!("00 01 0000"));
        assert_eq!(
            one_command(Support::Standard, &hex!("00"), true),
            hex!("00 83 0001 00 000a 0000 00000000 00000000")
        );
    }

    #[test]
    fn all_commands_lists_descriptors() {
        assert_eq!(
            all_commands([(0x00, None, 6), (0x9e, Some(0x10), 16)].into_iter(), false),
            hex!("00000010 00 00 0000 00 00 0006 9e 00 0010 00 01 0010")
        );
    }
}
