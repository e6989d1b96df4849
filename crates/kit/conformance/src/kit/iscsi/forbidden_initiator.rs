use super::super::prelude::*;

check! {
    /// A login of an initiator that is not allowed ends with 0202h.
    157, "RFC 7143 §11.13.5", needs: [Hook]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let url = bench.url(C)?;
    let options = bench.session_options(C);
    bench.cut(C);
    bench.hook(&["forbid", &options.initiator_name])?;
    let verdict = expect_refused(Session::connect(&url, &options), 0x0202);
    bench.hook(&["allow", &options.initiator_name])?;
    verdict?;
    Ok(())
}
