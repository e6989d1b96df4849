use crate::prelude::*;

check! {
    /// A file that is removed while it is open can be read by its stateid until it is closed.
    377, "RFC 8881 §18.25.4"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create_with(&directory, "f", b"content")?;
    client.call([op::put(&directory), op::remove("f")])?.ok()?;
    let reply = client.call([op::put(&file.handle), op::read(&file.stateid, 0, 7)])?.ok()?;
    expect_bytes("data", &take!(reply.last()?, Outcome::Read).data, b"content")?;
    client.close(&file)
}
