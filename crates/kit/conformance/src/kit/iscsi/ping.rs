use super::super::prelude::*;

check! {
    /// NOP-Out with 8192 bytes comes back with the same bytes.
    164, "RFC 7143 §11.18, §11.19", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let data = bench.pattern(16);
    let answer = bench.session(A)?.ping(data.clone().into())?;
    expect_bytes("NOP-In", &answer, &data)?;
    Ok(())
}
