use crate::prelude::*;

check! {
    /// Minor versions 0 and 50 are MINOR_VERS_MISMATCH before anything else.
    203, "RFC 8881 §16.2"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let outside = bench.outside()?;
    for minor in [0, 50] {
        for operations in [vec![], vec![op::put_root()], vec![op::raw(99, |_| {})]] {
            let reply = outside.call_with(b"tag", minor, &operations)?;
            reply.fails_before_all(Status::MINOR_VERS_MISMATCH)?;
        }
    }
    Ok(())
}
