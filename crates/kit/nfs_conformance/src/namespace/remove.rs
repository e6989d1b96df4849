use crate::prelude::*;

check! {
    /// REMOVE of a file and of an empty directory succeeds, of a full one it is NOTEMPTY.
    375, "RFC 8881 §18.25"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    client.close(&file)?;
    let inner = client.make_directory(&directory, b"d")?;
    client.make_directory(&inner, b"e")?;
    client.call([op::put(&directory), op::remove("d")])?.fails(Status::NOTEMPTY)?;
    client.call([op::put(&inner), op::remove("e")])?.ok()?;
    client.call([op::put(&directory), op::remove("d")])?.ok()?;
    client.call([op::put(&directory), op::remove("f")])?.ok()?;
    client.call([op::put(&directory), op::remove("f")])?.fails(Status::NOENT)?;
    expect_equal("names", client.names(&directory)?.len(), 0)
}
