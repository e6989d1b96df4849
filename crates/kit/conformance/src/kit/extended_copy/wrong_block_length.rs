use super::super::prelude::*;

check! {
    /// A CSCD descriptor with blocks of 4096 bytes is refused for a logical unit with blocks of
    /// 512.
    82, "SPC-4 §6.3.6.2", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, _) = source(bench, 8)?;
    let mut list = within(bench, lba, lba + 2048, 8)?;
    list[46] = 0x10;
    copy(bench, A, list)?.one_of(&[(0x0A, 0x0D, 0x03), (0x05, 0x26, 0x00)])?;
    Ok(())
}
