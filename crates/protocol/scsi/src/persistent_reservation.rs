//! PERSISTENT RESERVE IN and OUT, SPC-4 §6.15 and §6.16: reservation types, parameter data and parameter lists.

mod parameter_list;
mod transport_id;

pub use parameter_list::{Basic, MoveTarget, RegisterAndMove, TransportIdsError};
pub use transport_id::{InitiatorPort, TransportId, TransportIdError};

/// SCOPE of a reservation of the whole logical unit (LU_SCOPE), the only valid one. SPC-4
/// §6.15.3.3.
pub const SCOPE_LOGICAL_UNIT: u8 = 0;

/// Values of the TYPE field that are not reserved or obsolete, SPC-4 §6.15.3.4: write exclusive, exclusive access,
/// both for registrants only, and both for all registrants.
pub const TYPES: [u8; 6] = [0x1, 0x3, 0x5, 0x6, 0x7, 0x8];

/// PERSISTENT RESERVATION TYPE MASK with all types, SPC-4 §6.15.4: WR_EX is bit 1 of the first
/// byte, EX_AC_AR bit 0 of the second.
const MASK_OF_ALL: [u8; 2] = [0xea, 0x01];

/// Parameter data of READ KEYS, READ RESERVATION and READ FULL STATUS (SPC-4 §6.15.2, §6.15.3,
/// §6.15.5): PRGENERATION, ADDITIONAL LENGTH, then the encoded keys or descriptors. Without
/// registrations or reservation, `descriptors` is empty.
pub fn status(generation: u32, descriptors: &[u8]) -> Vec<u8> {
    let length = u32::try_from(descriptors.len()).unwrap_or(u32::MAX);
    [&generation.to_be_bytes()[..], &length.to_be_bytes(), descriptors].concat()
}

/// Reservation descriptor of READ RESERVATION, SPC-4 §6.15.3.2. `key`: the holder's, 0 for the all
/// registrants types. `kind`: value of the TYPE field.
pub fn reservation_descriptor(key: u64, kind: u8) -> Vec<u8> {
    [&key.to_be_bytes()[..], &[0; 5], &[scope_and_type(kind)], &[0; 2]].concat()
}

/// Full status descriptor, SPC-4 §6.15.5. `holds`: TYPE of the reservation if this I_T nexus holds
/// it. ALL_TG_PT is 0: a registration for all target ports is stored as one for each.
pub fn full_status_descriptor(key: u64, holds: Option<u8>, relative_target_port: u16, transport_id: &[u8]) -> Vec<u8> {
    const R_HOLDER: u8 = 0x01;
    let (flags, scope_and_type) = holds.map_or((0, 0), |kind| (R_HOLDER, scope_and_type(kind)));
    let length = u32::try_from(transport_id.len()).unwrap_or(u32::MAX);
    [
        &key.to_be_bytes()[..],
        &[0, 0, 0, 0, flags, scope_and_type, 0, 0, 0, 0],
        &relative_target_port.to_be_bytes(),
        &length.to_be_bytes(),
        transport_id,
    ]
    .concat()
}

const fn scope_and_type(kind: u8) -> u8 {
    SCOPE_LOGICAL_UNIT << 4 | kind
}

/// REPORT CAPABILITIES parameter data (SPC-4 §6.15.4): all types, SPC-2 reservations combined with
/// registrations as in §5.9 (CRH = 1), SPEC_I_PT and ALL_TG_PT (SIP_C = ATP_C = 1). ALLOW COMMANDS
/// is 0.
///
/// * `persists_capable`: PTPL_C, APTPL = 1 is supported.
/// * `persists_active`: PTPL_A, the last registration had APTPL = 1.
pub fn capabilities(persists_capable: bool, persists_active: bool) -> Vec<u8> {
    const CRH_SIP_ATP: u8 = 0x1c;
    const TYPE_MASK_VALID: u8 = 0x80;
    let [first, second] = MASK_OF_ALL;
    let capable = CRH_SIP_ATP | u8::from(persists_capable);
    vec![0x00, 0x08, capable, TYPE_MASK_VALID | u8::from(persists_active), first, second, 0x00, 0x00]
}

#[cfg(test)]
mod tests {
    use super::*;
    use hex_literal::hex;

    #[test]
    fn additional_length_counts_what_follows_it() {
        assert_eq!(status(0, &[]), hex!("00000000 00000000"));
        assert_eq!(status(7, &hex!("0102030405060708")), hex!("00000007 00000008 0102030405060708"));
    }

    #[test]
    fn capabilities_are_eight_bytes() {
        assert_eq!(capabilities(false, false), hex!("0008 1c 80 ea01 0000"));
        assert_eq!(capabilities(true, true), hex!("0008 1d 81 ea01 0000"));
    }

    #[test]
    fn a_reservation_descriptor_has_sixteen_bytes() {
        let descriptor = reservation_descriptor(0x1122, 0x6);
        assert_eq!(descriptor, hex!("0000000000001122 00000000 00 06 0000"));
    }

    #[test]
    fn a_full_status_descriptor_ends_with_the_transport_id() {
        let holder = full_status_descriptor(1, Some(0x1), 2, &hex!("45000000"));
        assert_eq!(holder, hex!("0000000000000001 00000000 01 01 00000000 0002 00000004 45000000"));
        let registrant = full_status_descriptor(1, None, 2, &[]);
        assert_eq!(registrant, hex!("0000000000000001 00000000 00 00 00000000 0002 00000000"));
    }

    #[test]
    fn the_mask_has_every_type() {
        let mask =
            TYPES.iter().fold(0u16, |mask, kind| mask | if *kind < 8 { 0x0100 << kind } else { 1 << (kind - 8) });
        assert_eq!(mask.to_be_bytes(), MASK_OF_ALL);
    }
}
