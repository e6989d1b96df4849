use crate::prelude::*;
use nfs::v4::xattr::SetOption;

check! {
    /// SETXATTR to create an existing name is EXIST; to replace, GETXATTR and REMOVEXATTR of a missing one are
    /// NOXATTR.
    722, "RFC 8276 §8.4", needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    let mut call = |operation| client.call([op::put(&file.handle), operation]);
    call(op::set_xattr(SetOption::Create, "key", b"value"))?.optional()?.ok()?;
    call(op::set_xattr(SetOption::Create, "key", b"other"))?.fails(Status::EXIST)?;
    call(op::set_xattr(SetOption::Replace, "missing", b"other"))?.fails(Status::NOXATTR)?;
    call(op::xattr("missing"))?.fails(Status::NOXATTR)?;
    call(op::remove_xattr("missing"))?.fails(Status::NOXATTR)?;
    call(op::remove_xattr("key"))?.ok()?;
    call(op::xattr("key"))?.fails(Status::NOXATTR)?.done()
}
