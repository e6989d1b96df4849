use crate::prelude::*;
use nfs::v4::open::OpenHow;

check! {
    /// Share access 0 and 4, and share deny 4, are INVAL or BADXDR.
    443, "RFC 8881 §18.16.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    client.create(&directory, "f")?;
    for (access, deny) in [(0, 0), (4, 0), (1, 4)] {
        let open = op::open("f", access, deny, OpenHow::NoCreate);
        client.call([op::put(&directory), open])?.fails_with(&[Status::INVAL, Status::BADXDR])?;
    }
    Ok(())
}
