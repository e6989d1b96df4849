use crate::prelude::*;

check! {
    /// A reply that has no room for one entry is TOOSMALL.
    604, "RFC 8881 §18.23.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    client.make_directory(&directory, &[b'n'; 200])?;
    client.call([op::put(&directory), op::read_directory(0, [0; 8], 100, &[])])?.fails(Status::TOOSMALL)?.done()
}
