use crate::prelude::*;

check! {
    /// GETATTR of time_access_set is INVAL.
    542, "RFC 8881 §18.7"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    client.call([op::put(&directory), op::attributes(&[48])])?.fails(Status::INVAL)?.done()
}
