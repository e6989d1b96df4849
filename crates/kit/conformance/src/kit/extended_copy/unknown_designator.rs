use super::super::prelude::*;

check! {
    /// A designator of no logical unit is not reachable.
    75, "SPC-4 §6.3.3", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, _) = source(bench, 8)?;
    let mut list = within(bench, lba, lba + 2048, 8)?;
    list[24..40].copy_from_slice(&[0x6F; 16]);
    copy(bench, A, list)?.check_condition(0x0A, 0x0D, 0x02)?;
    Ok(())
}
