use super::super::prelude::*;

check! {
    /// RESERVE (6) succeeds on a logical unit that has COMPARE AND WRITE: ESXi formats a datastore
    /// under it.
    129, "SPC-2 §7.21", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.ask(A, RESERVE)?.good()?;
    bench.ask(A, RELEASE)?.good()?;
    Ok(())
}
const RESERVE: cdb::Cdb = [0x16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const RELEASE: cdb::Cdb = [0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
