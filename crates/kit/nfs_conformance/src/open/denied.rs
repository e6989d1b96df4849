use crate::prelude::*;
use nfs::v4::open::{OpenHow, share_access, share_deny};

check! {
    /// OPEN against another client's deny, and with a deny against its access, is SHARE_DENIED until it closes.
    444, "RFC 8881 §9.7"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut one, directory) = bench.place()?;
    let mut two = bench.client()?;
    for (first, second) in [
        ((share_access::READ, share_deny::WRITE), (share_access::WRITE, share_deny::NONE)),
        ((share_access::READ, share_deny::NONE), (share_access::READ, share_deny::READ)),
        ((share_access::BOTH, share_deny::BOTH), (share_access::BOTH, share_deny::BOTH)),
    ] {
        let held = one.open(&directory, op::open("f", first.0, first.1, op::unchecked(0o644)))?;
        let open = || op::open("f", second.0, second.1, OpenHow::NoCreate);
        two.call([op::put(&directory), open()])?.fails(Status::SHARE_DENIED)?;
        one.close(&held)?;
        let opened = two.open(&directory, open())?;
        two.close(&opened)?;
    }
    Ok(())
}
