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
    fn ages_have_two_units() {
        for (seconds, text) in [(0, "0 s"), (65, "1 min 5 s"), (3600, "1 h 0 min"), (90_000, "1 d 1 h")] {
            assert_eq!(age(Duration::from_secs(seconds)), text);
        }
    }
}
