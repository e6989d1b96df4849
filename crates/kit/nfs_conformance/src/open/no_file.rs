use crate::prelude::*;
use nfs::v4::names::CreateType;
use nfs::v4::open::{OpenHow, share_access, share_deny};

check! {
    /// OPEN of a directory is ISDIR, of a symbolic link SYMLINK, of a FIFO WRONG_TYPE, SYMLINK or INVAL.
    440, "RFC 8881 §18.16.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    client.make_directory(&directory, b"d")?;
    client.make_link(&directory, b"l", b"target")?;
    client.make(&directory, b"p", CreateType::Fifo)?;
    for (name, allowed) in [
        ("d", &[Status::ISDIR][..]),
        ("l", &[Status::SYMLINK]),
        ("p", &[Status::WRONG_TYPE, Status::INVAL, Status::SYMLINK]),
    ] {
        let open = op::open(name, share_access::READ, share_deny::NONE, OpenHow::NoCreate);
        client.call([op::put(&directory), open])?.fails_with(allowed)?;
    }
    Ok(())
}
