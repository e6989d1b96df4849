//! SplitMix64: numbers that look random from ones that do not, so that a seed repeats a run.

/// The finaliser alone: 0 stays 0.
pub(crate) fn finalise(mut value: u64) -> u64 {
    value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

/// The generator's number after this state.
pub(crate) fn next(state: u64) -> u64 {
    finalise(state.wrapping_add(0x9e37_79b9_7f4a_7c15))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the reference implementation from seed 0.
    #[test]
    fn it_is_split_mix() {
        assert_eq!(next(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(next(0x9e37_79b9_7f4a_7c15), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!(finalise(0), 0);
    }
}
