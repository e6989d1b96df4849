use crate::prelude::*;

check! {
    /// The handle of a removed file is STALE.
    353, "RFC 8881 §4.2.2"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    client.close(&file)?;
    client.call([op::put(&directory), op::remove("f")])?.ok()?;
    client.call([op::put(&file.handle), op::attributes(&[1])])?.fails_somewhere(&[Status::STALE])?.done()
}
