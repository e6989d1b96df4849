use crate::prelude::*;

check! {
    /// READDIR of a file is NOTDIR.
    609, "RFC 8881 §18.23.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    client.call([op::put(&file.handle), op::read_directory(0, [0; 8], 4096, &[])])?.fails(Status::NOTDIR)?.done()
}
