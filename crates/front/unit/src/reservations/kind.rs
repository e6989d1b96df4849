//! The six types of a reservation.

/// Whom a reservation keeps from what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ReservationType {
    /// Only the holder changes the medium.
    WriteExclusive = 0x1,
    /// Only the holder reads or changes the medium.
    ExclusiveAccess = 0x3,
    /// Only registrants change the medium; one of them is the holder.
    WriteExclusiveRegistrantsOnly = 0x5,
    /// Only registrants read or change the medium; one of them is the holder.
    ExclusiveAccessRegistrantsOnly = 0x6,
    /// Only registrants change the medium, and all of them are holders.
    WriteExclusiveAllRegistrants = 0x7,
    /// Only registrants read or change the medium, and all of them are holders.
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

    /// Number under which the type is kept: that of the SPC-4 TYPE field (§6.15.3.4).
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Every registrant is a holder.
    pub const fn is_all_registrants(self) -> bool {
        matches!(self, Self::WriteExclusiveAllRegistrants | Self::ExclusiveAccessAllRegistrants)
    }

    /// Every registrant may do what the holder may: the registrants only and all registrants types.
    pub const fn admits_registrants(self) -> bool {
        !matches!(self, Self::WriteExclusive | Self::ExclusiveAccess)
    }

    /// Clients that are kept out may not even read.
    pub const fn is_exclusive_access(self) -> bool {
        matches!(
            self,
            Self::ExclusiveAccess | Self::ExclusiveAccessRegistrantsOnly | Self::ExclusiveAccessAllRegistrants
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_without_a_type_is_refused() {
        let types: Vec<u8> = (0..=255).filter(|number| ReservationType::from_number(*number).is_some()).collect();
        assert_eq!(types, [1, 3, 5, 6, 7, 8]);
    }
}
