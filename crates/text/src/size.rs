//! Sizes in readable form: `100G`, `1.5TiB`, `4096`.
//!
//! Units are binary (K = 1 024). A trailing `iB` may be omitted; `KB`, `MB`, `GB` and `TB` are
//! refused because they are ambiguous: 1 000 or 1 024. All arithmetic is exact.

use thiserror::Error;

/// Reason why a text is not a size.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SizeError {
    /// The text is not a number with a unit.
    #[error("{0:?} is not a size: write for example 100G, 1.5TiB or 4096")]
    Malformed(String),
    /// The unit is decimal.
    #[error("{0:?} is ambiguous: write G or GiB for 1 073 741 824 bytes (likewise K, M, T, P)")]
    DecimalUnit(String),
    /// The fraction is not a whole number of bytes.
    #[error("{0:?} is not a whole number of bytes")]
    Fraction(String),
    /// The size is above 2^64 - 1 bytes.
    #[error("{0:?} is too large")]
    TooLarge(String),
}

/// Units in ascending order; each is 1 024 times the one before.
const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// Parses a size into bytes. Case is ignored, and a space before the unit is permitted.
pub fn parse(text: &str) -> Result<u64, SizeError> {
    let malformed = || SizeError::Malformed(text.to_owned());
    let trimmed = text.trim();
    let number_length = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(number_length);
    let shift = unit_shift(unit.trim_start(), text)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty()
        || (number.contains('.') && fraction.is_empty())
        || fraction.len() > 18
        || fraction.contains('.')
    {
        return Err(malformed());
    }
    let too_large = || SizeError::TooLarge(text.to_owned());
    let whole: u64 = whole.parse().map_err(|_| too_large())?;
    let mut bytes = u128::from(whole) << shift;
    if !fraction.is_empty() {
        let digits: u64 = fraction.parse().map_err(|_| malformed())?;
        let scale = 10_u128.pow(u32::try_from(fraction.len()).map_err(|_| malformed())?);
        let scaled = u128::from(digits) << shift;
        if scaled % scale != 0 {
            return Err(SizeError::Fraction(text.to_owned()));
        }
        bytes += scaled / scale;
    }
    u64::try_from(bytes).map_err(|_| too_large())
}

/// Left shift, in bits, that a unit stands for.
fn unit_shift(unit: &str, text: &str) -> Result<u32, SizeError> {
    let lower = unit.to_ascii_lowercase();
    if lower.is_empty() || lower == "b" {
        return Ok(0);
    }
    let mut shift = 0;
    for name in UNITS.into_iter().skip(1) {
        shift += 10;
        let name = name.to_ascii_lowercase();
        let letter = name.get(..1).unwrap_or_default();
        if lower == letter || lower == name {
            return Ok(shift);
        }
        if lower.strip_suffix('b') == Some(letter) {
            return Err(SizeError::DecimalUnit(text.to_owned()));
        }
    }
    Err(SizeError::Malformed(text.to_owned()))
}

/// Formats a size for users: IEC units, at most one decimal, and none from 100 on (`1.5 TiB`, `100
/// GiB`, `0 B`).
pub fn format(bytes: u64) -> String {
    let mut shift = 0;
    let mut unit = UNITS[0];
    for name in UNITS.into_iter().skip(1) {
        if bytes >> (shift + 10) == 0 {
            break;
        }
        shift += 10;
        unit = name;
    }
    // Tenths, rounded to nearest; a carry into the next unit ("1024.0 KiB") selects that unit.
    let tenths = ((u128::from(bytes) * 10) + (1_u128 << shift) / 2) >> shift;
    if tenths >= 10_240 {
        let next = UNITS.iter().position(|name| *name == unit).and_then(|index| UNITS.get(index + 1));
        return format!("1 {}", next.copied().unwrap_or(unit));
    }
    let (whole, tenth) = (tenths / 10, tenths % 10);
    if shift == 0 || tenth == 0 {
        format!("{whole} {unit}")
    } else if whole < 100 {
        format!("{whole}.{tenth} {unit}")
    } else {
        format!("{} {unit}", (tenths + 5) / 10)
    }
}

/// Formats a size without loss: as [`format()`] does, with the number of bytes behind it if that is
/// rounded (`1 GiB (1073742336 bytes)`).
pub fn exact(bytes: u64) -> String {
    let short = format(bytes);
    if parse(&short) == Ok(bytes) { short } else { format!("{short} ({bytes} bytes)") }
}

/// A change of size with its sign: `+1.2 GiB`, `−4 KiB`, `0 B`.
pub fn change(before_bytes: u64, after_bytes: u64) -> String {
    match after_bytes.cmp(&before_bytes) {
        std::cmp::Ordering::Equal => "0 B".into(),
        std::cmp::Ordering::Greater => format!("+{}", format(after_bytes - before_bytes)),
        std::cmp::Ordering::Less => format!("−{}", format(before_bytes - after_bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::{SizeError, change, exact, format, parse};

    #[test]
    fn reads_binary_units() {
        assert_eq!(parse("100G"), Ok(100 << 30));
        assert_eq!(parse("1.5TiB"), Ok(3 << 39));
        assert_eq!(parse("64 mib"), Ok(64 << 20));
        assert_eq!(parse("512"), Ok(512));
        assert_eq!(parse("512B"), Ok(512));
        assert_eq!(parse("0.5k"), Ok(512));
    }

    #[test]
    fn refuses_what_is_not_a_size() {
        for text in
            ["", "G", "-1G", "1.G", ".5G", "1..5G", "1.5.2G", "1X", "1GiBs", "ten", "1.0000000000000000001G", "1é"]
        {
            assert_eq!(parse(text), Err(SizeError::Malformed(text.to_owned())), "{text}");
        }
        assert_eq!(parse("100GB"), Err(SizeError::DecimalUnit("100GB".to_owned())));
        assert_eq!(parse("0.3B"), Err(SizeError::Fraction("0.3B".to_owned())));
        assert_eq!(parse("99999999999999999999"), Err(SizeError::TooLarge("99999999999999999999".to_owned())));
        assert_eq!(parse("16E"), Err(SizeError::TooLarge("16E".to_owned())));
    }

    #[test]
    fn prints_short_sizes() {
        for (bytes, text) in [
            (0, "0 B"),
            (512, "512 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (1536, "1.5 KiB"),
            (700 << 20, "700 MiB"),
            (100 << 30, "100 GiB"),
            ((100 << 30) + (1 << 29), "101 GiB"),
            ((1 << 30) - 1, "1 GiB"),
            (u64::MAX, "16 EiB"),
            (3 << 39, "1.5 TiB"),
        ] {
            assert_eq!(format(bytes), text, "{bytes}");
        }
    }

    #[test]
    fn exact_sizes_are_not_rounded() {
        for (bytes, text) in [
            (1 << 30, "1 GiB"),
            ((1 << 30) + 512, "1 GiB (1073742336 bytes)"),
            (3 << 39, "1.5 TiB"),
            (700, "700 B"),
            (u64::MAX, "16 EiB (18446744073709551615 bytes)"),
        ] {
            assert_eq!(exact(bytes), text, "{bytes}");
        }
    }

    #[test]
    fn changes_have_a_sign() {
        assert_eq!([change(10, 10), change(0, 4096), change(4096, 0)], ["0 B", "+4 KiB", "−4 KiB"]);
    }
}
