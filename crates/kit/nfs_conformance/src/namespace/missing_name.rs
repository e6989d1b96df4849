use crate::prelude::*;

check! {
    /// LOOKUP of a missing name is NOENT.
    359, "RFC 8881 §18.13"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    client.call([op::put(&directory), op::lookup("missing")])?.fails(Status::NOENT)?.done()
}
