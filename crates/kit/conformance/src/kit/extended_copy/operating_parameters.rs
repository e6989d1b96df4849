use super::super::prelude::*;

check! {
    /// OPERATING PARAMETERS announce copies without list identifier, block to block segments and
    /// identification descriptors.
    93, "SPC-4 §6.26", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let answer = parameters(bench)?;
    expect_equal("AVAILABLE DATA", answer.number(0, 4)?, answer.data().len() as u64 - 4)?;
    let answer = answer.masked(4, 0x01, 0x01)?;
    expect(answer.number(8, 2)? >= 2, || "MAXIMUM CSCD DESCRIPTOR COUNT: expected 2 or more".into())?;
    expect(answer.number(10, 2)? >= 1, || "MAXIMUM SEGMENT DESCRIPTOR COUNT: expected 1 or more".into())?;
    let codes = answer.data().get(44..).unwrap_or_default().to_vec();
    expect_equal("IMPLEMENTED DESCRIPTOR LIST LENGTH", answer.number(43, 1)?, codes.len() as u64)?;
    let fine = codes.is_sorted() && codes.contains(&0x02) && codes.contains(&0xE4);
    expect(fine, || format!("descriptor types: expected ascending with 02h and E4h, found {}", hex(&codes)))?;
    Ok(())
}
