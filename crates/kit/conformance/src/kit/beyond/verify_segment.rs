use super::super::prelude::*;
use super::support::*;

check! {
    /// A verify segment with TUR passes on a logical unit that is ready, and fails on a missing
    /// one.
    211, "SPC-4 §6.4.6.9", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    if !implements(bench, 0x07)? {
        return skipped("segment type 07h is not implemented");
    }
    for (known, passes) in [(true, true), (false, false)] {
        let mut list = within(bench, 0, 0, 0)?;
        list.truncate(48);
        if !known {
            list[24..40].copy_from_slice(&[0x6F; 16]);
        }
        list[8..12].copy_from_slice(&12u32.to_be_bytes());
        list.extend_from_slice(&[0x07, 0, 0, 8, 0, 0, 0, 0, 1, 0, 0, 0]);
        let answer = copy(bench, A, list)?;
        if passes {
            answer.good()?
        } else {
            answer.check_condition(0x0A, 0x0D, 0x02)?
        };
    }
    Ok(())
}
