//! PERSISTENT RESERVE IN and OUT, SPC-4 §6.15 and §6.16: reservation types, parameter data and parameter lists.

mod parameter_list;
mod transport_id;

pub use parameter_list::{Basic, MoveTarget, RegisterAndMove, TransportIdsError};
pub use transport_id::{InitiatorPort, TransportId, TransportIdError};

/// SCOPE of a reservation of the whole logical unit (LU_SCOPE), the only one there is. SPC-4 §6.15.3.3.
pub const SCOPE_LOGICAL_UNIT: u8 = 0;

/// Whom a persistent reservation keeps from what, SPC-4 §6.15.3.4. The values are those of the TYPE field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ReservationType {
    /// Only the holder changes the medium.
    WriteExclusive = 0x1,
    /// Only the holder reads or changes the medium.
    ExclusiveAccess = 0x3,
    /// Only registered I_T nexuses change the medium; one of them is the holder.
    WriteExclusiveRegistrantsOnly = 0x5,
    /// Only registered I_T nexuses read or change the medium; one of them is the holder.
    ExclusiveAccessRegistrantsOnly = 0x6,
    /// Only registered I_T nexuses change the medium, and all of them are holders.
    WriteExclusiveAllRegistrants = 0x7,
    /// Only registered I_T nexuses read or change the medium, and all of them are holders.
    ExclusiveAccessAllRegistrants = 0x8,
}

impl ReservationType {
    /// Every type, by its number.
    pub const ALL: [Self; 6] = [
        Self::WriteExclusive,
        Self::ExclusiveAccess,
        Self::WriteExclusiveRegistrantsOnly,
        Self::ExclusiveAccessRegistrantsOnly,
        Self::WriteExclusiveAllRegistrants,
        Self::ExclusiveAccessAllRegistrants,
    ];

    /// The type of this number; `None` for one that is reserved or obsolete.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// Its number in the TYPE field.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Every registered I_T nexus is a holder.
    pub const fn is_all_registrants(self) -> bool {
        matches!(self, Self::WriteExclusiveAllRegistrants | Self::ExclusiveAccessAllRegistrants)
    }

    /// What the reservation gives it gives to every registered I_T nexus: the registrants only and all registrants types.
    pub const fn admits_registrants(self) -> bool {
        !matches!(self, Self::WriteExclusive | Self::ExclusiveAccess)
    }

    /// Those who are kept out may not even read.
    pub const fn is_exclusive_access(self) -> bool {
        matches!(
            self,
            Self::ExclusiveAccess | Self::ExclusiveAccessRegistrantsOnly | Self::ExclusiveAccessAllRegistrants
        )
    }

    /// PERSISTENT RESERVATION TYPE MASK of every type, SPC-4 §6.15.4: WR_EX is bit 1 of the first byte, EX_AC_AR bit 0 of the second.
    const fn mask_of_all() -> [u8; 2] {
        [0xea, 0x01]
    }
}

/// Parameter data of READ KEYS, READ RESERVATION and READ FULL STATUS (SPC-4 §6.15.2, §6.15.3, §6.15.5): PRGENERATION, ADDITIONAL
/// LENGTH, then keys or descriptors as they are. None of them stands for "nobody": no registration, no reservation.
pub fn status(generation: u32, descriptors: &[u8]) -> Vec<u8> {
    let length = u32::try_from(descriptors.len()).unwrap_or(u32::MAX);
    [&generation.to_be_bytes()[..], &length.to_be_bytes(), descriptors].concat()
}

/// The reservation descriptor of READ RESERVATION, SPC-4 §6.15.3.2. `key` is the holder's, 0 for the all registrants types.
pub fn reservation_descriptor(key: u64, kind: ReservationType) -> Vec<u8> {
    [&key.to_be_bytes()[..], &[0; 5], &[scope_and_type(kind)], &[0; 2]].concat()
}

/// A full status descriptor, SPC-4 §6.15.5. `holds` is the type of the reservation when this I_T nexus holds it. ALL_TG_PT is 0: a
/// registration for all target ports is kept as one for each.
pub fn full_status_descriptor(
    key: u64,
    holds: Option<ReservationType>,
    relative_target_port: u16,
    transport_id: &[u8],
) -> Vec<u8> {
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

const fn scope_and_type(kind: ReservationType) -> u8 {
    SCOPE_LOGICAL_UNIT << 4 | kind.number()
}

/// REPORT CAPABILITIES parameter data (SPC-4 §6.15.4): every type, SPC-2 reservations beside registrations as §5.9 has them
/// (CRH = 1), SPEC_I_PT and ALL_TG_PT (SIP_C = ATP_C = 1). ALLOW COMMANDS is 0.
///
/// * `persists_capable`: PTPL_C, APTPL = 1 is possible.
/// * `persists_active`: PTPL_A, the last registration asked for it.
pub fn capabilities(persists_capable: bool, persists_active: bool) -> Vec<u8> {
    const CRH_SIP_ATP: u8 = 0x1c;
    const TYPE_MASK_VALID: u8 = 0x80;
    let [first, second] = ReservationType::mask_of_all();
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
        let descriptor = reservation_descriptor(0x1122, ReservationType::ExclusiveAccessRegistrantsOnly);
        assert_eq!(descriptor, hex!("0000000000001122 00000000 00 06 0000"));
    }

    #[test]
    fn a_full_status_descriptor_ends_with_the_transport_id() {
        let holder = full_status_descriptor(1, Some(ReservationType::WriteExclusive), 2, &hex!("45000000"));
        assert_eq!(holder, hex!("0000000000000001 00000000 01 01 00000000 0002 00000004 45000000"));
        let registrant = full_status_descriptor(1, None, 2, &[]);
        assert_eq!(registrant, hex!("0000000000000001 00000000 00 00 00000000 0002 00000000"));
    }

    #[test]
    fn numbers_that_are_no_type_are_not_taken_for_one() {
        let types: Vec<u8> = (0..=255).filter(|number| ReservationType::from_number(*number).is_some()).collect();
        assert_eq!(types, [1, 3, 5, 6, 7, 8]);
        let mut mask = 0u16;
        for kind in types {
            mask |= if kind < 8 { 0x0100 << kind } else { 1 << (kind - 8) };
        }
        assert_eq!(mask.to_be_bytes(), ReservationType::mask_of_all());
    }
}
