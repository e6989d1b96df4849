use crate::prelude::*;

check! {
    /// GETFH gives back the handle that was put.
    354, "RFC 8881 §18.8"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    let reply = client.call([op::put(&file.handle), op::get_filehandle()])?.ok()?;
    expect_equal("handle", take!(reply.last()?, Outcome::GetFilehandle), file.handle)
}
