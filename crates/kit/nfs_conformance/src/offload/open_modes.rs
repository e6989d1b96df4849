use crate::prelude::*;
use nfs::v4::open::share_access;

check! {
    /// CLONE and COPY to an open for reading are OPENMODE.
    637, "RFC 7862 §15.2, §15.13", needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let source = client.create_with(&directory, "f", b"content")?;
    let target = client.create_with(&directory, "g", b"old")?;
    client.close(&target)?;
    let target = client.open_existing(&directory, "g", share_access::READ)?;
    for operation in
        [op::clone(&source.stateid, &target.stateid, 0, 0, 0), op::copy(&source.stateid, &target.stateid, 0, 0, 0)]
    {
        let call = [op::put(&source.handle), op::save(), op::put(&target.handle), operation];
        client.call(call)?.optional()?.fails(Status::OPENMODE)?;
    }
    client.expect_content(&target.handle, b"old")
}
