//! Identifiers of initiators: what a host presents to the array, by protocol. An identifier has one
//! text form, whose beginning tells the protocol, so that names of different protocols never meet.

use super::HostError;
use crate::error::ControlError;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Longest iSCSI name in bytes (RFC 7143 §4.2.7.1).
const MAX_ISCSI_NAME_BYTES: usize = 223;
/// Largest number of initiators of one host.
const MAX_INITIATORS: usize = 64;

/// Identifier of an initiator. It belongs to at most one host. Another transport adds a variant and
/// its text form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Initiator {
    /// iSCSI name (`iqn.`, `eui.` or `naa.`), in lower case: names are compared without regard to
    /// case (RFC 7143 §4.2.7.2).
    Iscsi(String),
}

impl Initiator {
    /// Initiator with this text form, which is not checked: stored identifiers were checked when
    /// they were given, and an identifier that no host has finds none.
    pub fn of(text: &str) -> Self {
        Self::Iscsi(text.to_ascii_lowercase())
    }

    /// Violated rule; absent if the identifier is valid.
    fn fault(&self) -> Option<&'static str> {
        match self {
            Self::Iscsi(name) => iscsi_name_fault(name),
        }
    }
}

impl fmt::Display for Initiator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Iscsi(name) => formatter.write_str(name),
        }
    }
}

impl From<String> for Initiator {
    fn from(text: String) -> Self {
        Self::of(&text)
    }
}

impl From<Initiator> for String {
    fn from(initiator: Initiator) -> Self {
        match initiator {
            Initiator::Iscsi(name) => name,
        }
    }
}

/// Checks the text forms of a host's initiators. Returns the initiators without duplicates.
pub(super) fn initiators_of(names: &[String]) -> Result<Vec<Initiator>, ControlError> {
    if names.len() > MAX_INITIATORS {
        let reason = "a host has at most 64 initiator names";
        return Err(HostError::InvalidInitiatorName { name: String::new(), reason }.into());
    }
    let mut initiators: Vec<Initiator> = Vec::new();
    for name in names {
        let initiator = Initiator::of(name);
        if let Some(reason) = initiator.fault() {
            return Err(HostError::InvalidInitiatorName { name: name.clone(), reason }.into());
        }
        if !initiators.contains(&initiator) {
            initiators.push(initiator);
        }
    }
    Ok(initiators)
}

/// Returns the fault of an iSCSI name in lower case (RFC 7143 §4.2.7); absent if it is valid. Only
/// ASCII is accepted.
pub fn iscsi_name_fault(name: &str) -> Option<&'static str> {
    if name.len() > MAX_ISCSI_NAME_BYTES {
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed check is a failed test")]
    use super::{Initiator, initiators_of};

    #[test]
    fn initiator_names_follow_rfc_7143() {
        let good = ["iqn.1998-01.com.vmware:esx01", "eui.02004567A425678D", "naa.52004567BA64678D"].map(String::from);
        assert_eq!(initiators_of(&good).unwrap()[1].to_string(), "eui.02004567a425678d");
        for bad in
            ["", "esx01", "iqn.98-01.com.vmware", "iqn.1998-01.", "iqn.1998-01", "eui.12", "naa.xyz", "iqn.1998-01.a b"]
        {
            assert!(initiators_of(&[bad.to_owned()]).is_err(), "{bad}");
        }
        let many: Vec<String> = (0..65).map(|number| format!("iqn.1998-01.com.vmware:h{number}")).collect();
        assert!(initiators_of(&many).is_err());
        let twice = ["iqn.1998-01.com.vmware:A".to_owned(), "iqn.1998-01.com.vmware:a".to_owned()];
        assert_eq!(initiators_of(&twice).unwrap().len(), 1);
    }

    /// Documents of hosts keep their form.
    #[test]
    fn an_initiator_is_stored_as_its_text() {
        let initiator = Initiator::of("iqn.1998-01.com.vmware:A");
        let json = serde_json::to_string(&initiator).unwrap();
        assert_eq!(json, "\"iqn.1998-01.com.vmware:a\"");
        assert_eq!(serde_json::from_str::<Initiator>(&json).unwrap(), initiator);
    }
}
