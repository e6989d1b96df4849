use super::super::prelude::*;

check! {
    /// VPD page B0h has 64 bytes and limits within which ESXi offloads.
    10, "SBC-3 §6.6.4", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let answer =
        bench.fetch(A, cdb::inquiry(Some(0xB0), 255), 255)?.good()?.length(64)?.bytes(1, &[0xB0, 0x00, 0x3C])?;
    expect(answer.number(5, 1)? >= 1, || "MAXIMUM COMPARE AND WRITE LENGTH: expected 1 or more, found 0".into())?;
    let unmap = answer.number(20, 4)?;
    expect(unmap >= 0x800, || format!("MAXIMUM UNMAP LBA COUNT: expected 1 MiB (800h) or more, found {unmap:x}h"))?;
    let descriptors = answer.number(24, 4)?;
    expect(descriptors >= 1, || "MAXIMUM UNMAP BLOCK DESCRIPTOR COUNT: expected 1 or more, found 0".into())?;
    let granularity = answer.number(28, 4)?;
    expect(granularity <= 0x800 && (granularity == 0 || 0x800 % granularity == 0), || {
        format!("OPTIMAL UNMAP GRANULARITY: expected a divisor of 1 MiB (800h), found {granularity:x}h")
    })?;
    expect_equal("UGAVALID and UNMAP GRANULARITY ALIGNMENT", answer.number(32, 4)? & 0x7FFF_FFFF, 0)?;
    let same = answer.number(36, 8)?;
    expect(same == 0 || same >= 0x800, || {
        format!("MAXIMUM WRITE SAME LENGTH: expected no limit or 1 MiB (800h) or more, found {same:x}h")
    })?;
    Ok(())
}
