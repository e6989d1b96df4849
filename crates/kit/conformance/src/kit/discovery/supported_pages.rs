use super::super::prelude::*;

check! {
    /// VPD page 00h lists the pages that a host needs for offload, in ascending order.
    7, "SPC-4 §7.8.14", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let answer = bench.fetch(A, cdb::inquiry(Some(0x00), 255), 255)?.good()?;
    let pages = answer.data().get(4..).unwrap_or_default().to_vec();
    expect(pages.is_sorted(), || format!("pages: expected ascending order, found {}", hex(&pages)))?;
    for page in [0x00, 0x80, 0x83, 0x86, 0xB0, 0xB1, 0xB2] {
        expect(pages.contains(&page), || format!("pages: expected {page:02x}h among them, found {}", hex(&pages)))?;
    }
    Ok(())
}
