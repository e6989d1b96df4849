//! Rules for names, CHAP names and secrets, and logical unit numbers.

use crate::access::error::AccessError;
use crate::condition::Noun;
use crate::error::ControlError;
use crate::hosts::error::HostError;

/// Largest logical unit number: 14 bits of flat space addressing (SAM-5 §4.7.7.3). All hosts
/// support numbers up to 255.
pub(crate) const MAX_LUN: u16 = 0x3fff;
/// CHAP secret length in bytes: at least 96 bits (RFC 7143 §9.2.1), at most 255.
const CHAP_SECRET_BYTES: std::ops::RangeInclusive<usize> = 12..=255;

/// Checks the name of a new object.
pub(crate) fn check_name(noun: Noun, name: &str) -> Result<(), ControlError> {
    let fault = if noun == Noun::Host { text::name::host_fault(name) } else { text::name::fault(name) };
    match fault {
        Some(reason) => Err(ControlError::InvalidName { noun, name: name.to_owned(), reason }),
        None => Ok(()),
    }
}

/// Checks a label: a key like a name, and a value of at most 63 of the same characters.
pub(crate) fn check_label(key: &str, value: &str) -> Result<(), ControlError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let fits = |text: &str| !text.is_empty() && text.len() <= text::name::MAX_BYTES && text.chars().all(is_plain);
    if fits(key) && fits(value) {
        return Ok(());
    }
    let rule = "a label is KEY=VALUE, each of 1 to 63 letters, digits, '.', '_' and '-'";
    Err(ControlError::InvalidSetting(format!("{key:?}={value:?} is no label: {rule}")))
}

/// Checks a CHAP name: 1 to 255 printable ASCII characters without spaces.
pub(crate) fn check_chap_user(user: &str) -> Result<(), ControlError> {
    if user.is_empty() || user.len() > 255 || !user.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(HostError::InvalidChap {
            reason: "a CHAP name is 1 to 255 printable ASCII characters without spaces",
        }
        .into());
    }
    Ok(())
}

/// Checks a CHAP secret.
pub(crate) fn check_chap_secret(secret: &str) -> Result<(), ControlError> {
    if !CHAP_SECRET_BYTES.contains(&secret.len()) || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(HostError::InvalidChap {
            reason: "a CHAP secret is 12 to 255 printable ASCII characters without spaces",
        }
        .into());
    }
    Ok(())
}

/// Checks a logical unit number.
pub(crate) fn check_lun(lun: u16) -> Result<(), ControlError> {
    if lun > MAX_LUN { Err(AccessError::InvalidLun { lun }.into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed check is a failed test")]
    use super::{check_chap_secret, check_name};
    use crate::condition::Noun;

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
    fn chap_secrets_have_96_bits() {
        assert!(check_chap_secret("elevenchars").is_err());
        check_chap_secret("twelve-chars").unwrap();
    }
}
