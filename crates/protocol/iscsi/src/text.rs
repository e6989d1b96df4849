//! `key=value` text of Login and Text PDUs, RFC 7143 §6.1: pairs end with NUL, keys have at most 63
//! characters, a pair may span PDUs. Every length is bounded, so that a peer cannot exhaust memory.

use thiserror::Error;

/// Longest key in bytes.
pub const MAX_KEY_BYTES: usize = 63;
/// Longest value accepted. RFC 7143 requires 255, and more for some keys (lists, `CHAP_C`,
/// `SendTargets`).
pub const MAX_VALUE_BYTES: usize = 8192;
/// Longest text of one negotiation accepted, over all its PDUs.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;
/// Most pairs accepted in one negotiation.
pub const MAX_PAIRS: usize = 256;

/// The text is malformed or above a limit.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum TextError {
    /// A pair has no `=`.
    #[error("a pair has no '='")]
    NoEqualsSign,
    /// A key is empty, too long, or has a character that is not allowed.
    #[error("a key is malformed")]
    BadKey,
    /// A value is too long or has a control character.
    #[error("a value is malformed")]
    BadValue,
    /// The text is not UTF-8.
    #[error("the text is not UTF-8")]
    NotUtf8,
    /// The last pair does not end with NUL.
    #[error("the last pair does not end with NUL")]
    NotTerminated,
    /// Too many pairs or bytes.
    #[error("the text is too long")]
    TooLong,
}

/// Splits text into pairs, in order.
///
/// Empty strings between NULs are skipped: some initiators pad with NULs and count the padding.
pub fn parse(text: &[u8]) -> Result<Vec<(&str, &str)>, TextError> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(TextError::TooLong);
    }
    match text.last() {
        None => return Ok(Vec::new()),
        Some(0) => {}
        Some(_) => return Err(TextError::NotTerminated),
    }
    let mut pairs = Vec::new();
    for pair in text.split(|&byte| byte == 0) {
        if pair.is_empty() {
            continue;
        }
        if pairs.len() == MAX_PAIRS {
            return Err(TextError::TooLong);
        }
        let pair = str::from_utf8(pair).map_err(|_| TextError::NotUtf8)?;
        let (key, value) = pair.split_once('=').ok_or(TextError::NoEqualsSign)?;
        let key_characters = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'+' | b'@' | b'_');
        if key.is_empty() || key.len() > MAX_KEY_BYTES || !key.bytes().all(key_characters) {
            return Err(TextError::BadKey);
        }
        if value.len() > MAX_VALUE_BYTES || value.chars().any(char::is_control) {
            return Err(TextError::BadValue);
        }
        pairs.push((key, value));
    }
    Ok(pairs)
}

/// Appends `key=value` and NUL.
pub fn push(text: &mut Vec<u8>, key: &str, value: &str) {
    text.extend_from_slice(key.as_bytes());
    text.push(b'=');
    text.extend_from_slice(value.as_bytes());
    text.push(0);
}

/// Parses a numerical value: decimal, or hexadecimal with `0x` (RFC 7143 §6.1).
pub fn number(value: &str) -> Option<u64> {
    let (digits, radix) = match value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (value, 10),
    };
    if digits.is_empty() || digits.starts_with(['+', '-']) {
        return None;
    }
    u64::from_str_radix(digits, radix).ok()
}

/// Parses `Yes` or `No`.
pub fn boolean(value: &str) -> Option<bool> {
    match value {
        "Yes" => Some(true),
        "No" => Some(false),
        _ => None,
    }
}

/// Returns `Yes` or `No`.
pub const fn boolean_word(value: bool) -> &'static str {
    if value { "Yes" } else { "No" }
}

/// Parses a large binary value: `0x` and hexadecimal digits, or `0b` and base64 (RFC 7143 §6.1). At
/// most `limit` bytes.
pub fn binary(value: &str, limit: usize) -> Option<Vec<u8>> {
    let bytes = value.as_bytes();
    match bytes.split_at_checked(2)? {
        (b"0x" | b"0X", digits) => hexadecimal(digits, limit),
        (b"0b" | b"0B", digits) => base64(digits, limit),
        _ => None,
    }
}

/// Formats bytes as `0x` and lower-case hexadecimal digits.
pub fn binary_text(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(2 + 2 * bytes.len());
    text.push_str("0x");
    for byte in bytes {
        let _infallible = write!(text, "{byte:02x}");
    }
    text
}

fn hexadecimal(digits: &[u8], limit: usize) -> Option<Vec<u8>> {
    if digits.is_empty() || digits.len().div_ceil(2) > limit {
        return None;
    }
    let nibble = |digit: u8| char::from(digit).to_digit(16).and_then(|n| u8::try_from(n).ok());
    let mut bytes = Vec::with_capacity(digits.len().div_ceil(2));
    let (odd, pairs) = digits.split_at(digits.len() % 2);
    if let [digit] = odd {
        bytes.push(nibble(*digit)?);
    }
    for pair in pairs.chunks_exact(2) {
        if let [high, low] = pair {
            bytes.push(nibble(*high)? << 4 | nibble(*low)?);
        }
    }
    Some(bytes)
}

fn base64(digits: &[u8], limit: usize) -> Option<Vec<u8>> {
    if digits.is_empty() || !digits.len().is_multiple_of(4) || digits.len() / 4 * 3 > limit + 2 {
        return None;
    }
    let padding = digits.iter().rev().take_while(|&&b| b == b'=').count();
    if padding > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3);
    let mut bits = 0_u32;
    let mut count = 0;
    for &digit in digits.iter().take(digits.len() - padding) {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            let [_, _, _, byte] = (bits >> count).to_be_bytes();
            bytes.push(byte);
        }
    }
    (bytes.len() <= limit).then_some(bytes)
}

#[cfg(test)]
mod tests;
