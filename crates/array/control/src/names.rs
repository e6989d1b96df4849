//! Rules for names, CHAP names and secrets, and logical unit numbers.

use crate::{ControlError, Noun};
use uuid::Uuid;

/// Longest name of a volume, snapshot or host, in bytes.
const MAX_NAME_BYTES: usize = 63;
/// Longest iSCSI name, RFC 7143 §4.2.7.1.
const MAX_INITIATOR_NAME_BYTES: usize = 223;
/// Most initiator names of one host.
const MAX_INITIATOR_NAMES: usize = 64;
/// Largest logical unit number: 14 bits of flat space addressing, SAM-5 §4.7.7.3. Up to 255 every host understands it.
pub(crate) const MAX_LUN: u16 = 0x3fff;
/// CHAP secret length in bytes: at least 96 bits (RFC 7143 §9.2.1), at most 255.
const CHAP_SECRET_BYTES: std::ops::RangeInclusive<usize> = 12..=255;

/// Checks the name of a new object: 1 to 63 letters, digits, `.`, `_` and `-`, the first a letter
/// or digit. Names in the form of an id are refused.
pub(crate) fn check_name(noun: Noun, name: &str) -> Result<(), ControlError> {
    let refuse = |reason| Err(ControlError::InvalidName { noun, name: name.to_owned(), reason });
    if name.is_empty() {
        return refuse("it is empty");
    }
    if name.len() > MAX_NAME_BYTES {
        return refuse("it is longer than 63 characters");
    }
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return refuse("it does not start with a letter or digit");
    }
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')) {
        return refuse("only letters, digits, '.', '_' and '-' are allowed");
    }
    if Uuid::try_parse(name).is_ok() {
        return refuse("it looks like an id");
    }
    if noun == Noun::Host && name == "any" {
        return refuse("'any' stands for every host");
    }
    Ok(())
}

/// Checks initiator names and returns them in lower case without repetitions.
pub(crate) fn check_initiator_names(names: &[String]) -> Result<Vec<String>, ControlError> {
    if names.is_empty() || names.len() > MAX_INITIATOR_NAMES {
        return Err(ControlError::InvalidInitiatorName {
            name: String::new(),
            reason: "a host has between 1 and 64 initiator names",
        });
    }
    let mut checked: Vec<String> = Vec::new();
    for name in names {
        let lower = name.to_ascii_lowercase();
        if let Some(reason) = iscsi_name_fault(&lower) {
            return Err(ControlError::InvalidInitiatorName { name: name.clone(), reason });
        }
        if !checked.contains(&lower) {
            checked.push(lower);
        }
    }
    Ok(checked)
}

/// What is wrong with an iSCSI name in lower case, RFC 7143 §4.2.7; absent when it is good. Only ASCII is accepted.
pub fn iscsi_name_fault(name: &str) -> Option<&'static str> {
    if name.len() > MAX_INITIATOR_NAME_BYTES {
        return Some("it is longer than 223 bytes");
    }
    if !name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Some("only printable ASCII without spaces is allowed");
    }
    let hexadecimal = |digits: &str, lengths: &[usize]| {
        lengths.contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    if let Some(rest) = name.strip_prefix("iqn.") {
        let (date, authority) = rest.split_once('.').unwrap_or((rest, ""));
        let date_ok = date.len() == 7
            && date.bytes().enumerate().all(|(at, byte)| if at == 4 { byte == b'-' } else { byte.is_ascii_digit() });
        return (!date_ok || authority.is_empty()).then_some("it is not of the form iqn.YYYY-MM.reversed.domain:name");
    }
    if let Some(rest) = name.strip_prefix("eui.") {
        return (!hexadecimal(rest, &[16])).then_some("eui. takes 16 hexadecimal digits");
    }
    if let Some(rest) = name.strip_prefix("naa.") {
        return (!hexadecimal(rest, &[16, 32])).then_some("naa. takes 16 or 32 hexadecimal digits");
    }
    Some("it starts with none of iqn., eui. and naa.")
}

/// Checks a CHAP name: 1 to 255 printable ASCII characters without spaces.
pub(crate) fn check_chap_user(user: &str) -> Result<(), ControlError> {
    if user.is_empty() || user.len() > 255 || !user.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(ControlError::InvalidChap {
            reason: "a CHAP name is 1 to 255 printable ASCII characters without spaces",
        });
    }
    Ok(())
}

/// Checks a CHAP secret.
pub(crate) fn check_chap_secret(secret: &str) -> Result<(), ControlError> {
    if !CHAP_SECRET_BYTES.contains(&secret.len()) || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(ControlError::InvalidChap {
            reason: "a CHAP secret is 12 to 255 printable ASCII characters without spaces",
        });
    }
    Ok(())
}

/// Checks a logical unit number.
pub(crate) fn check_lun(lun: u16) -> Result<(), ControlError> {
    if lun > MAX_LUN { Err(ControlError::InvalidLun { lun }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed check is a failed test")]
    use super::{check_chap_secret, check_initiator_names, check_name};
    use crate::Noun;

    #[test]
    fn accepts_ordinary_names() {
        for name in ["a", "win-dc1", "9", "tmpl_win.2026", &"x".repeat(63)] {
            check_name(Noun::Volume, name).unwrap();
        }
        check_name(Noun::Volume, "any").unwrap();
    }

    #[test]
    fn refuses_names_that_could_be_mistaken() {
        let long = "x".repeat(64);
        for name in ["", "-a", ".", "a b", "a/b", "a@b", "ü", &long, "01997c2e-7b3c-7000-8000-0123456789ab", "any"] {
            assert!(check_name(Noun::Host, name).is_err(), "{name}");
        }
    }

    #[test]
    fn initiator_names_follow_rfc_7143() {
        let good = ["iqn.1998-01.com.vmware:esx01", "eui.02004567A425678D", "naa.52004567BA64678D"].map(String::from);
        assert_eq!(check_initiator_names(&good).unwrap()[1], "eui.02004567a425678d");
        for bad in
            ["", "esx01", "iqn.98-01.com.vmware", "iqn.1998-01.", "iqn.1998-01", "eui.12", "naa.xyz", "iqn.1998-01.a b"]
        {
            assert!(check_initiator_names(&[bad.to_owned()]).is_err(), "{bad}");
        }
        assert!(check_initiator_names(&[]).is_err());
        let twice = ["iqn.1998-01.com.vmware:A".to_owned(), "iqn.1998-01.com.vmware:a".to_owned()];
        assert_eq!(check_initiator_names(&twice).unwrap().len(), 1);
    }

    #[test]
    fn chap_secrets_have_96_bits() {
        assert!(check_chap_secret("elevenchars").is_err());
        check_chap_secret("twelve-chars").unwrap();
    }
}
