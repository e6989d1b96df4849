use super::super::prelude::*;

check! {
    /// INQUIRY with a page code and EVPD=0 is refused.
    3, "SPC-4 §6.6.1", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut cdb = cdb::inquiry(None, 96);
    cdb[2] = 0x83;
    bench.fetch(A, cdb, 96)?.check_condition(0x05, 0x24, 0x00)?;
    Ok(())
}
