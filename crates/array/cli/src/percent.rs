//! Percentages on the command line: `75%`, `75`, and `off` for none.

/// Share of a whole for people: in percent, or from ten times on as a factor.
pub(crate) fn shown(percent: u64) -> String {
    if percent < 1000 { format!("{percent}%") } else { format!("×{}", percent / 100) }
}

/// Parses 1 to 100 percent.
pub(crate) fn parse(text: &str) -> Result<u8, String> {
    match number(text) {
        Some(percent @ 1..=100) => u8::try_from(percent).map_err(|error| error.to_string()),
        _ => Err("write a share of 1 to 100 percent, such as 80%".to_owned()),
    }
}

/// Parses 0 to 100 percent.
pub(crate) fn parse_reserve(text: &str) -> Result<u8, String> {
    match number(text) {
        Some(percent @ 0..=100) => u8::try_from(percent).map_err(|error| error.to_string()),
        _ => Err("write a share of 0 to 100 percent, such as 50%".to_owned()),
    }
}

/// Parses 1 to 100 percent, or `off` or `none`, which are 0.
pub(crate) fn parse_or_off(text: &str) -> Result<u8, String> {
    match text {
        "none" | "off" => Ok(0),
        _ => parse(text).map_err(|error| format!("{error}, or off")),
    }
}

/// Parses any share of the pool from 1 percent up, or `off`, which is 0.
pub(crate) fn parse_commitment(text: &str) -> Result<u32, String> {
    match (text, number(text)) {
        ("off", _) => Ok(0),
        (_, Some(percent @ 1..)) => Ok(percent),
        _ => Err("write a share of the pool's size, such as 250%, or off".to_owned()),
    }
}

fn number(text: &str) -> Option<u32> {
    text.strip_suffix('%').unwrap_or(text).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{parse, parse_commitment, parse_or_off, parse_reserve, shown};

    #[test]
    fn shares_have_their_ranges() {
        assert_eq!((parse("80%"), parse("80"), parse_reserve("0")), (Ok(80), Ok(80), Ok(0)));
        assert_eq!((parse_or_off("off"), parse_commitment("250%"), parse_commitment("off")), (Ok(0), Ok(250), Ok(0)));
        assert_eq!(parse_or_off("none"), Ok(0));
        assert_eq!([0, 250, 999, 1000, 797_093].map(shown), ["0%", "250%", "999%", "×10", "×7970"]);
        for text in ["0", "101", "off", "", "%", "-1", "80%%", "1.5"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse_reserve("101").is_err() && parse_or_off("0").is_err() && parse_commitment("0%").is_err());
    }
}
