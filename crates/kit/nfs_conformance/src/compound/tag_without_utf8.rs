use crate::prelude::*;

check! {
    /// A tag that is not UTF-8 is INVAL, or it comes back.
    202, "RFC 8881 §16.2, §14.4"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let outside = bench.outside()?;
    let reply = outside.call_with(b"\xc3\x28", outside.minor, &[])?;
    if reply.status().is_ok() { Ok(()) } else { reply.fails_before_all(Status::INVAL)?.done() }
}
