use super::super::prelude::*;

check! {
    /// An unknown VPD page is refused with a pointer to byte 2.
    14, "SPC-4 §6.6.1, §4.5.2.4.2", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.fetch(A, cdb::inquiry(Some(0xC5), 255), 255)?.check_condition(0x05, 0x24, 0x00)?.points_to_cdb(2)?;
    Ok(())
}
