//! Designators of logical units: NAA-6 (SPC-4 §7.8.6.6.4) and unit serial numbers.
//!
//! A designator is built from the identity of the array and the pool's object id. Object ids are
//! never reused and array ids are random, so a designator never changes, is never reused, and
//! differs between arrays.

use pool::ObjectId;
use serde::{Deserialize, Serialize};
use std::fmt;
use uuid::Uuid;

/// Locally administered company id (bit 1 of the first octet is set, IEEE 802 §8.2), then `W` and `L`.
const COMPANY_ID: u128 = 0x02_57_4c;

/// NAA-6 designator: `6`, 24 bits of company id, 36 bits of vendor specific identifier, 64 bits of
/// extension.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Naa([u8; 16]);

impl Naa {
    /// Designator of an object. The identifier holds the top 36 bits of the array's id; the
    /// extension is the object id XORed with the low 64 bits of the array's id.
    pub fn of(array: Uuid, object: ObjectId) -> Self {
        let array = array.as_u128();
        let extension = (array ^ u128::from(object.0)) & u128::from(u64::MAX);
        Self(((6 << 124) | (COMPANY_ID << 100) | ((array >> 92) << 64) | extension).to_be_bytes())
    }

    /// The 16 bytes of VPD page 83h.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Unit serial number of VPD page 80h: the 25 hexadecimal digits after the company id.
    pub fn serial(&self) -> String {
        self.to_string().split_off(7)
    }
}

impl fmt::Display for Naa {
    /// 32 lower-case hexadecimal digits.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for Naa {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "naa.{self}")
    }
}

impl From<Naa> for String {
    fn from(naa: Naa) -> Self {
        naa.to_string()
    }
}

impl TryFrom<String> for Naa {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match u128::from_str_radix(&text, 16) {
            Ok(number) if text.len() == 32 && number >> 124 == 6 => Ok(Self(number.to_be_bytes())),
            _ => Err(format!("{text:?} is not an NAA-6 designator")),
        }
    }
}

impl Serialize for Naa {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Naa {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::Naa;
    use pool::ObjectId;
    use uuid::Uuid;

    #[test]
    fn layout_is_naa_company_array_object() {
        let array = Uuid::from_u128(0x1234_5678_9abc_4def_8000_0000_0000_0000);
        let naa = Naa::of(array, ObjectId(0x2a));
        assert_eq!(naa.to_string(), "602574c123456789800000000000002a");
        assert_eq!(naa.serial(), "123456789800000000000002a");
        assert_eq!(naa.as_bytes()[0] >> 4, 6);
        assert_eq!(Naa::try_from(naa.to_string()), Ok(naa));
    }

    #[test]
    fn differs_by_object_and_by_array() {
        let (one, two) = (Uuid::from_u128(1 << 100), Uuid::from_u128(1));
        assert_ne!(Naa::of(one, ObjectId(1)), Naa::of(one, ObjectId(2)));
        assert_ne!(Naa::of(one, ObjectId(1)), Naa::of(two, ObjectId(1)));
    }

    #[test]
    fn refuses_other_designators() {
        for text in ["", "602574c", "502574c123456789800000000000002a", "602574c12345678980000000000000zz"] {
            assert!(Naa::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
