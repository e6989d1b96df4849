use crate::prelude::*;
use nfs::v4::open::share_access;

check! {
    /// SETATTR of the size needs an open for writing: one for reading is OPENMODE.
    549, "RFC 8881 §18.30"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create_with(&directory, "f", b"content")?;
    client.close(&file)?;
    let file = client.open_existing(&directory, "f", share_access::READ)?;
    let set = |stateid: &Stateid| op::set_attributes(stateid, Fattr::new([Attribute::Size(3)]));
    client.call([op::put(&file.handle), set(&file.stateid)])?.fails(Status::OPENMODE)?;
    client.expect_content(&file.handle, b"content")?;
    client.call([op::put(&file.handle), set(&Stateid::ANONYMOUS)])?.ok()?;
    client.expect_content(&file.handle, b"con")
}
