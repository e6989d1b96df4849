//! Durations as people read them.

use std::time::Duration;

/// A measured time with three significant digits: `850 µs`, `12.3 ms`, `4.56 s`, `2 min 5 s`.
pub fn measured(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds >= 120.0 {
        return format!("{} min {} s", time.as_secs() / 60, time.as_secs() % 60);
    }
    let (value, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "µs"),
    };
    match value {
        value if value >= 100.0 => format!("{value:.0} {unit}"),
        value if value >= 10.0 => format!("{value:.1} {unit}"),
        value => format!("{value:.2} {unit}"),
    }
}

/// How long something still takes, rounded up: `6 s`, `2 min`, `3 h`.
pub fn remaining(time: Duration) -> String {
    let seconds = time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0));
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}

/// The age of something, in its two largest units: `3 d 4 h`, `12 min 5 s`.
pub fn age(time: Duration) -> String {
    let seconds = time.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    if days > 0 {
        format!("{days} d {hours} h")
    } else if hours > 0 {
        format!("{hours} h {minutes} min")
    } else if minutes > 0 {
        format!("{minutes} min {} s", seconds % 60)
    } else {
        format!("{seconds} s")
    }
}

/// Units of exact durations: letter and seconds, the largest first.
const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3600), ('m', 60), ('s', 1)];

/// Reads an exact duration: a whole number of `s`, `m`, `h`, `d` or `w`, such as `15m`. Errors: a
/// sentence about the text.
pub fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a duration such as 15m, 24h or 7d");
    let unit = text.chars().last().ok_or_else(wrong)?;
    let unit_seconds = match unit {
        'w' => 7 * 86_400,
        unit => UNITS.iter().find(|(letter, _)| *letter == unit).map(|(_, seconds)| *seconds).ok_or_else(wrong)?,
    };
    let digits = text.strip_suffix(unit).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let number: u64 = digits.and_then(|digits| digits.parse().ok()).ok_or_else(wrong)?;
    number.checked_mul(unit_seconds).map(Duration::from_secs).ok_or_else(wrong)
}

/// An exact duration in its largest whole unit, as [`parse`] reads it: `15m`, `7d`, `90s`.
pub fn exact(time: Duration) -> String {
    let seconds = time.as_secs();
    let is_whole = |(_, unit): &&(char, u64)| seconds >= *unit && seconds.is_multiple_of(*unit);
    let (letter, unit) = UNITS.iter().find(is_whole).copied().unwrap_or(('s', 1));
    format!("{}{letter}", seconds / unit)
}

/// The same for a number of seconds.
pub fn exact_seconds(seconds: u32) -> String {
    exact(Duration::from_secs(seconds.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_times_choose_their_unit() {
        for (us, text) in
            [(0, "0.00 µs"), (850, "850 µs"), (12_340, "12.3 ms"), (4_560_000, "4.56 s"), (125_000_000, "2 min 5 s")]
        {
            assert_eq!(measured(Duration::from_micros(us)), text);
        }
    }

    #[test]
    fn remaining_times_are_rounded_up() {
        for (ms, text) in [(0, "0 s"), (5_001, "6 s"), (119_000, "119 s"), (120_500, "3 min"), (7_199_500, "2 h")] {
            assert_eq!(remaining(Duration::from_millis(ms)), text, "{ms}");
        }
    }

    #[test]
    fn exact_durations_read_back() {
        for (text, seconds) in [("0s", 0), ("90s", 90), ("15m", 900), ("24h", 86_400), ("7d", 604_800), ("1w", 604_800)]
        {
            let time = Duration::from_secs(seconds);
            assert_eq!(parse(text), Ok(time), "{text}");
            assert_eq!(parse(&exact(time)), Ok(time), "{text}");
        }
        assert_eq!(exact(Duration::from_secs(5400)), "90m");
        for text in ["", "m", "15", "-1m", "1.5h", "1 h", "99999999999999999999s", "9999999999999999999d", "1ü"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ages_have_two_units() {
        for (seconds, text) in [(0, "0 s"), (65, "1 min 5 s"), (3600, "1 h 0 min"), (90_000, "1 d 1 h")] {
            assert_eq!(age(Duration::from_secs(seconds)), text);
        }
    }
}
