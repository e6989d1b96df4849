use super::super::prelude::*;

check! {
    /// LIST ID USAGE 11b without, 10b and 00b with a list identifier are all accepted.
    64, "SPC-4 §6.3.1", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    for (usage, identifier) in [(0x18, 0), (0x10, 1), (0x00, 1)] {
        let (lba, data) = source(bench, 8)?;
        let mut list = within(bench, lba, lba + 2048, 8)?;
        (list[0], list[1]) = (identifier, usage);
        copy(bench, A, list)?.good()?;
        bench.expect_content(A, lba + 2048, &data)?;
    }
    Ok(())
}
