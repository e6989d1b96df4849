//! LIST ID USAGE 11b without, 10b and 00b with a list identifier are all accepted.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 64,
    name: "extended_copy/list_identifier_usage",
    section: "SPC-4 §6.3.1",
    asks: "LIST ID USAGE 11b without, 10b and 00b with a list identifier are all accepted.",
    needs: &[Need::Writes],
    run,
};

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
