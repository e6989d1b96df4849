use crate::prelude::*;

check! {
    /// CLOSE ends a stateid: it is BAD_STATEID.
    451, "RFC 8881 §18.2"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create_with(&directory, "f", b"x")?;
    client.close(&file)?;
    client.call([op::put(&file.handle), op::read(&file.stateid, 0, 1)])?.fails(Status::BAD_STATEID)?.done()
}
