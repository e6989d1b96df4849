use super::super::prelude::*;

check! {
    /// Two logical units have the same vendor and product, and different serial numbers and
    /// designators: ESXi copies only between such.
    9, "SPC-4 §6.6.2, §7.8.6", needs: [SecondUnit]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let first = bench.fetch(A, cdb::inquiry(None, 96), 96)?.good()?;
    let second = bench.fetch(A.second(), cdb::inquiry(None, 96), 96)?.good()?;
    second.bytes(8, first.data().get(8..32).unwrap_or_default())?;
    for page in [0x80, 0x83] {
        let first = bench.fetch(A, cdb::inquiry(Some(page), 1024), 1024)?.good()?;
        let second = bench.fetch(A.second(), cdb::inquiry(Some(page), 1024), 1024)?.good()?;
        expect(first.data() != second.data(), || {
            format!("VPD page {page:02x}h: expected a difference, found the same bytes")
        })?;
    }
    Ok(())
}
