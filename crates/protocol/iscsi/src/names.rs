//! iSCSI names, RFC 7143 §4.2.7: `iqn.`, `eui.` and `naa.`, at most 223 bytes, compared after folding to lower case.

use thiserror::Error;

/// Longest iSCSI name in bytes.
pub const MAX_NAME_BYTES: usize = 223;

/// The text is not an iSCSI name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("not an iSCSI name: {0:?}")]
pub struct InvalidName(pub String);

/// Checks a name and folds it to lower case.
///
/// Non-ASCII characters that RFC 3722 prepares (letters in other scripts) are accepted unchanged.
pub fn normalize(name: &str) -> Result<String, InvalidName> {
    let invalid = || InvalidName(name.chars().take(MAX_NAME_BYTES).collect());
    if name.len() > MAX_NAME_BYTES {
        return Err(invalid());
    }
    let folded = name.to_lowercase();
    if folded.len() > MAX_NAME_BYTES {
        return Err(invalid());
    }
    let allowed =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ':') || (!c.is_ascii() && c.is_alphanumeric());
    let well_formed = if let Some(rest) = folded.strip_prefix("iqn.") {
        !rest.is_empty() && rest.chars().all(allowed)
    } else if let Some(rest) = folded.strip_prefix("eui.") {
        rest.len() == 16 && rest.bytes().all(|b| b.is_ascii_hexdigit())
    } else if let Some(rest) = folded.strip_prefix("naa.") {
        matches!(rest.len(), 16 | 32) && rest.bytes().all(|b| b.is_ascii_hexdigit())
    } else {
        false
    };
    if well_formed { Ok(folded) } else { Err(invalid()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_and_checks() {
        let cases = [
            ("iqn.2026-01.org.example:T0", Some("iqn.2026-01.org.example:t0")),
            ("iqn.1998-01.com.vmware:esx01-4F", Some("iqn.1998-01.com.vmware:esx01-4f")),
            ("eui.02004567A425678D", Some("eui.02004567a425678d")),
            ("naa.52004567BA64678D", Some("naa.52004567ba64678d")),
            ("eui.0200", None),
            ("iqn.", None),
            ("iqn.2026-01.org.example/t0", None),
            ("iqn.2026-01.org.example t0", None),
            ("", None),
            ("host1", None),
        ];
        for (name, expected) in cases {
            assert_eq!(normalize(name).ok().as_deref(), expected, "{name}");
        }
        assert!(normalize(&format!("iqn.{}", "a".repeat(219))).is_ok());
        assert!(normalize(&format!("iqn.{}", "a".repeat(220))).is_err());
    }
}
