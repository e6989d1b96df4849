use crate::prelude::*;

check! {
    /// A boolean of 2 is BADXDR at its operation.
    31, "RFC 4506 §4.4"; choice
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut client = bench.client()?;
    client.call([op::put_root(), op::raw(58, |writer| writer.u32(2))])?.fails(Status::BADXDR)?.done()
}
