use crate::prelude::*;
use nfs::v4::xattr::SetOption;

check! {
    /// LISTXATTRS without room for the first name is TOOSMALL.
    726, "RFC 8276 §8.4.3", needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    let set = op::set_xattr(SetOption::Either, [b'k'; 100], b"value");
    client.call([op::put(&file.handle), set])?.optional()?.ok()?;
    client.call([op::put(&file.handle), op::list_xattrs(0, 40)])?.fails(Status::TOOSMALL)?.done()
}
