//! Sizes in sentences for people.

/// IEC units, at most one decimal: `700 MiB`, `1.5 GiB`, `512 B`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let bytes = u128::from(bytes);
    let tenths = |shift: u32| (bytes * 10 + (1 << shift) / 2) >> shift;
    let mut shown = (bytes * 10, "B");
    for (unit, shift) in UNITS.into_iter().zip((10..).step_by(10)) {
        if shown.0 < 10_240 {
            break;
        }
        shown = (tenths(shift), unit);
    }
    match (shown.0 / 10, shown.0 % 10, shown.1) {
        (whole, 0, unit) => format!("{whole} {unit}"),
        (whole, tenth, unit) if whole < 100 => format!("{whole}.{tenth} {unit}"),
        (_, _, unit) => format!("{} {unit}", (shown.0 + 5) / 10),
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_short() {
        for (bytes, text) in [
            (0, "0 B"),
            (512, "512 B"),
            (1023, "1023 B"),
            (1536, "1.5 KiB"),
            (700 << 20, "700 MiB"),
            ((1 << 30) - 1, "1 GiB"),
            ((100 << 30) + (1 << 29), "101 GiB"),
            (u64::MAX, "16 EiB"),
        ] {
            assert_eq!(size(bytes), text, "{bytes}");
        }
    }
}
