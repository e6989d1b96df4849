//! Numbers and names for readers. Sizes are in binary units with three digits; thousands are
//! separated by a narrow space.

use lab::results::{Better, Unit};

/// Separator of thousands.
const THIN_SPACE: char = '\u{202f}';
/// Separator between a number and its unit.
const NO_BREAK_SPACE: char = '\u{a0}';

/// Replaces characters that control a terminal or the direction of reading in untrusted text.
pub(crate) fn harmless(text: &str) -> String {
    text.chars().map(|c| if text::terminal::is_hidden(c) { '\u{fffd}' } else { c }).collect()
}

/// Makes a text an identifier of an element: letters, digits and hyphens.
pub(crate) fn slug(text: &str) -> String {
    let kept = text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    format!("case-{}", kept.collect::<String>())
}

/// Name of a measure in words: `read_iops` becomes `Read IOPS`. A unit at the end is dropped, since
/// the value shows it. A suffix behind the unit names the part of the round: `seconds_clone`
/// becomes `Time, clone`.
pub(crate) fn measure_name(name: &str) -> String {
    match name {
        "seconds" => return "Time".into(),
        "seconds_until_steady" => return "Time until steady".into(),
        "bytes_per_second" => return "Throughput".into(),
        "wire_bytes" => return "On the wire".into(),
        _ => {}
    }
    for unit in ["bytes_per_second", "seconds"] {
        let of_part = name.rsplit_once(&format!("{unit}_"));
        if let Some((stem, part)) = of_part.filter(|(stem, _)| stem.is_empty() || stem.ends_with('_')) {
            return format!("{}, {}", measure_name(&format!("{stem}{unit}")), harmless(&part.replace('_', " ")));
        }
    }
    let suffixes = ["_bytes_per_second", "_per_second", "_seconds", "_bytes"];
    let stem =
        suffixes.iter().find_map(|suffix| name.strip_suffix(suffix)).filter(|stem| !stem.is_empty()).unwrap_or(name);
    let words = stem.split('_').filter(|word| !word.is_empty()).enumerate().map(|(index, word)| match word {
        "iops" | "cpu" | "ats" | "xcopy" | "vm" | "nfs" => word.to_uppercase(),
        "mb" => "MB".into(),
        "vms" => "VMs".into(),
        word if index == 0
            && !(word.starts_with('p') && word.len() > 1 && word.bytes().skip(1).all(|b| b.is_ascii_digit())) =>
        {
            let mut letters = word.chars();
            letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
        }
        word => word.to_owned(),
    });
    harmless(&words.collect::<Vec<String>>().join(" "))
}

/// Goal in words; a goal begins with the name of its measure and a colon.
pub(crate) fn goal(what: &str) -> String {
    let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    match what.split_once(": ").filter(|(name, _)| !name.is_empty() && is_name(name)) {
        Some((name, rest)) => format!("{}: {}", measure_name(name), harmless(rest)),
        None => harmless(what),
    }
}

/// Value measured for a goal.
pub(crate) fn measured(value: Option<f64>) -> String {
    value.map_or("–".into(), digits)
}

/// Formats a number with about three digits.
pub(crate) fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        m if m >= 99.95 || m == 0.0 => 0,
        m if m >= 9.995 => 1,
        m if m >= 0.9995 => 2,
        m if m >= 0.01 => 3,
        m if m >= 1e-3 => 4,
        m if m >= 1e-4 => 5,
        m if m >= 1e-5 => 6,
        _ => 9,
    };
    let text = format!("{value:.decimals$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    let (whole, rest) = text.split_once('.').map_or((text, None), |(whole, rest)| (whole, Some(rest)));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("−", whole));
    let mut grouped = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) && whole.len() > 3 {
            grouped.push(THIN_SPACE);
        }
        grouped.push(digit);
    }
    rest.map_or(grouped.clone(), |rest| format!("{grouped}.{rest}"))
}

/// Divisor for numbers of this size, and the name of the resulting unit.
pub(crate) fn scale(largest: f64, unit: Unit) -> (f64, &'static str) {
    let binary = |names: [&'static str; 6]| {
        let mut divisor = 1.0;
        let mut name = "";
        for (index, candidate) in names.into_iter().enumerate() {
            name = candidate;
            if largest / divisor < 1000.0 || index == 5 {
                break;
            }
            divisor *= 1024.0;
        }
        (divisor, name)
    };
    match unit {
        Unit::Bytes => binary(["B", "KiB", "MiB", "GiB", "TiB", "PiB"]),
        Unit::BytesPerSecond => binary(["B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s", "PiB/s"]),
        Unit::Seconds if largest == 0.0 => (1.0, "s"),
        Unit::Seconds if largest < 0.000_999_5 => (1e-6, "µs"),
        Unit::Seconds if largest < 0.999_5 => (1e-3, "ms"),
        Unit::Seconds if largest < 600.0 => (1.0, "s"),
        Unit::Seconds => (60.0, "min"),
        Unit::PerSecond => (1.0, "/s"),
        Unit::Count => (1.0, ""),
        Unit::Ratio if largest < 1.5 => (0.01, "%"),
        Unit::Ratio => (1.0, "×"),
    }
}

/// Formats a number with its unit.
pub(crate) fn value(value: f64, unit: Unit) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    if unit == Unit::Seconds && value >= 119.5 {
        let seconds = value.round();
        let (large, small, names) = match seconds >= 7200.0 {
            true => ((seconds / 3600.0).floor(), (seconds % 3600.0 / 60.0).floor(), ("h", "min")),
            false => ((seconds / 60.0).floor(), seconds % 60.0, ("min", "s")),
        };
        if small == 0.0 {
            return format!("{}{NO_BREAK_SPACE}{}", digits(large), names.0);
        }
        let [large, small] = [large, small].map(digits);
        return format!("{large}{NO_BREAK_SPACE}{}{NO_BREAK_SPACE}{small}{NO_BREAK_SPACE}{}", names.0, names.1);
    }
    let (divisor, name) = scale(value.abs(), unit);
    let number = match unit {
        Unit::Ratio if divisor < 1.0 && (0.99..1.0).contains(&value) => format!("{:.1}", value / divisor),
        _ => digits(value / divisor),
    };
    match name {
        "" => number,
        "/s" => format!("{number}/s"),
        name => format!("{number}{NO_BREAK_SPACE}{name}"),
    }
}

/// Formats a number of bytes.
pub(crate) fn bytes(count: u64) -> String {
    value(count as f64, Unit::Bytes)
}

/// Ratio by which `on` is better than `off`: above 1 better, below 1 worse, infinite when `on` of a
/// measure to be lowered is 0.
///
/// `None` when the measure has no direction, or the ratio is undefined.
pub(crate) fn factor(off: f64, on: f64, better: Better) -> Option<f64> {
    let factor = match better {
        Better::Neither => return None,
        Better::Lower => off / on,
        Better::Higher => on / off,
    };
    (!factor.is_nan()).then_some(factor)
}

/// Formats a multiple: `26 ×`.
pub(crate) fn times(factor: f64) -> String {
    match factor {
        f if f.is_infinite() => "none left".into(),
        f if f >= 99.5 => format!("{}{NO_BREAK_SPACE}×", digits(f.round())),
        f if f >= 9.95 => format!("{f:.0}{NO_BREAK_SPACE}×"),
        f => format!("{f:.2}{NO_BREAK_SPACE}×"),
    }
}

/// Change from `off` to `on`, in short form: `26 ×` for times and for measures to be raised,
/// `−99.9 %` for measures to be lowered.
pub(crate) fn change(off: f64, on: f64, unit: Unit, better: Better) -> Option<String> {
    let factor = factor(off, on, better)?;
    if better == Better::Higher && off == 0.0 {
        return Some("from none".into());
    }
    if factor.is_infinite() {
        return Some(times(factor));
    }
    if better == Better::Higher || unit == Unit::Seconds {
        return Some(times(factor));
    }
    Some(percent(on / off - 1.0))
}

/// Formats a change in per cent, with its sign: `−14 %`.
fn percent(share: f64) -> String {
    let share = share * 100.0;
    let digits = match share.abs() {
        // Rounded down, so that only a complete change shows 100 %.
        s if s > 99.0 && s < 100.0 => format!("{:.2}", (s * 100.0).floor() / 100.0),
        s if s >= 10.0 => format!("{s:.0}"),
        s => format!("{s:.1}"),
    };
    match share {
        s if s.is_infinite() || s.is_nan() => "from none".into(),
        s if s < 0.0 => format!("−{digits}{NO_BREAK_SPACE}%"),
        _ => format!("+{digits}{NO_BREAK_SPACE}%"),
    }
}

/// Change as in [`change`], in words.
pub(crate) fn change_in_words(off: f64, on: f64, unit: Unit, better: Better) -> Option<String> {
    let factor = factor(off, on, better)?;
    let short = change(off, on, unit, better)?;
    Some(match (unit, better) {
        _ if factor.is_infinite() => short,
        (Unit::Seconds, _) if factor >= 1.0 => format!("{short} as fast"),
        (Unit::Seconds, _) => format!("{} as long", times(1.0 / factor)),
        (_, Better::Higher) => format!("{short} as much"),
        _ => short,
    })
}

/// Direction in which a measure is better, in words; empty if it has none.
pub(crate) fn direction(better: Better) -> &'static str {
    match better {
        Better::Higher => "higher is better",
        Better::Lower => "lower is better",
        Better::Neither => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        text.replace([THIN_SPACE, NO_BREAK_SPACE], " ")
    }

    #[test]
    fn values_have_three_digits_and_their_unit() {
        let of = |number, unit| plain(&value(number, unit));
        assert_eq!(of(0.000_85, Unit::Seconds), "850 µs");
        assert_eq!(of(0.0, Unit::Seconds), "0 s");
        assert_eq!(of(0.0123, Unit::Seconds), "12.3 ms");
        assert_eq!(of(12.345, Unit::Seconds), "12.3 s");
        assert_eq!(of(1143.0, Unit::Seconds), "19 min 3 s");
        assert_eq!(of(7505.0, Unit::Seconds), "2 h 5 min");
        assert_eq!(of(7200.0, Unit::Seconds), "2 h");
        assert_eq!(of(0.0, Unit::Bytes), "0 B");
        assert_eq!(of(1_073_741_824.0, Unit::Bytes), "1 GiB");
        assert_eq!(of(245e6, Unit::BytesPerSecond), "234 MiB/s");
        assert_eq!(of(6759.0, Unit::PerSecond), "6 759/s");
        assert_eq!(of(1_234_567.0, Unit::Count), "1 234 567");
        assert_eq!(of(0.86, Unit::Ratio), "86 %");
        assert_eq!(of(0.9997, Unit::Ratio), "100.0 %");
        assert_eq!(of(5.0, Unit::Ratio), "5 ×");
        assert_eq!(of(f64::NAN, Unit::Count), "–");
        assert_eq!(of(-3.5, Unit::Count), "−3.5");
        assert_eq!(digits(0.000_026), "0.000026");
    }

    #[test]
    fn changes_are_expressed_as_in_the_papers() {
        let of = |off, on, unit, better| change_in_words(off, on, unit, better).map(|text| plain(&text));
        assert_eq!(of(10.0, 0.4, Unit::Seconds, Better::Lower).as_deref(), Some("25 × as fast"));
        assert_eq!(of(10.0, 20.0, Unit::Seconds, Better::Lower).as_deref(), Some("2.00 × as long"));
        assert_eq!(of(1345.0, 6759.0, Unit::PerSecond, Better::Higher).as_deref(), Some("5.03 × as much"));
        assert_eq!(of(2e9, 1e5, Unit::Bytes, Better::Lower).as_deref(), Some("−99.99 %"));
        assert_eq!(of(32.0, 0.0, Unit::PerSecond, Better::Lower).as_deref(), Some("none left"));
        assert_eq!(of(0.0, 0.0, Unit::PerSecond, Better::Lower), None);
        assert_eq!(of(0.0, 5.0, Unit::Bytes, Better::Lower).as_deref(), Some("from none"));
        assert_eq!(of(1.0, 2.0, Unit::Count, Better::Neither), None);
    }

    #[test]
    fn names_of_measures_are_words() {
        assert_eq!(measure_name("read_iops"), "Read IOPS");
        assert_eq!(measure_name("seconds"), "Time");
        assert_eq!(measure_name("wire_sent_bytes"), "Wire sent");
        assert_eq!(measure_name("conflicts_per_second"), "Conflicts");
        assert_eq!(measure_name("p99_seconds"), "p99");
        assert_eq!(measure_name("host_cpu_seconds"), "Host CPU");
        assert_eq!(measure_name(""), "");
        assert_eq!(measure_name("_bytes"), "Bytes");
        assert_eq!(measure_name("wire_bytes"), "On the wire");
        assert_eq!(measure_name("seconds_eagerzeroedthick"), "Time, eagerzeroedthick");
        assert_eq!(measure_name("pause_seconds_loaded"), "Pause, loaded");
        assert_eq!(measure_name("write_bytes_per_second_idle"), "Write, idle");
        assert_eq!(measure_name("bytes_per_second_first_pass"), "Throughput, first pass");
    }

    #[test]
    fn goals_begin_with_words() {
        assert_eq!(goal("write_latency_p99: on at most twice"), "Write latency p99: on at most twice");
        assert_eq!(
            goal("seconds_clone: on at least 20 × as fast as off"),
            "Time, clone: on at least 20 × as fast as off"
        );
        assert_eq!(goal("Nothing special: \u{1b}"), "Nothing special: \u{fffd}");
        assert_eq!((goal("no colon"), goal(": empty")), ("no colon".into(), ": empty".into()));
    }

    #[test]
    fn foreign_text_is_made_harmless() {
        assert_eq!(harmless("a\u{1b}[31mb\u{202e}c"), "a\u{fffd}[31mb\u{fffd}c");
        assert_eq!(slug("ats-Touch\"><script>"), "case-ats-touch---script-");
    }
}
