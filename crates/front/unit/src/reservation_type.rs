//! Types of a reservation.

/// Type of a reservation: which clients it excludes from which access.
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
    /// Every type, by number.
    pub const ALL: [Self; 6] = [
        Self::WriteExclusive,
        Self::ExclusiveAccess,
        Self::WriteExclusiveRegistrantsOnly,
        Self::ExclusiveAccessRegistrantsOnly,
        Self::WriteExclusiveAllRegistrants,
        Self::ExclusiveAccessAllRegistrants,
    ];

    /// Type with this number; `None` for a reserved or obsolete one.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// Number under which the type is stored: that of the SPC-4 TYPE field (§6.15.3.4).
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Whether every registrant is a holder.
    pub const fn is_all_registrants(self) -> bool {
        matches!(self, Self::WriteExclusiveAllRegistrants | Self::ExclusiveAccessAllRegistrants)
    }

    /// Whether every registrant has the holder's rights: the registrants only and all registrants
    /// types.
    pub const fn admits_registrants(self) -> bool {
        !matches!(self, Self::WriteExclusive | Self::ExclusiveAccess)
    }

    /// Whether excluded clients may not read either.
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
