use crate::prelude::*;

check! {
    /// A COMPOUND without operations succeeds.
    200, "RFC 8881 §16.2"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let outside = bench.outside()?;
    for minor in 1..=outside.minor {
        outside.call_with(b"", minor, &[])?.ok()?;
    }
    Ok(())
}
