use crate::prelude::*;

check! {
    /// Operations that only minor version 0 has are NOTSUPP.
    208, "RFC 8881 §18"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut client = bench.client()?;
    let confirm = op::raw(20, |writer| {
        writer.fixed(&[0; 16]);
        writer.u32(0);
    });
    let renew = op::raw(30, |writer| writer.u64(1));
    let set_client = op::raw(35, |writer| {
        writer.fixed(&[1; 8]);
        writer.opaque(b"owner");
        writer.u32(0x4000_0000);
        writer.opaque(b"tcp");
        writer.opaque(b"127.0.0.1.1.1");
        writer.u32(1);
    });
    let confirm_client = op::raw(36, |writer| writer.fixed(&[0; 16]));
    let release = op::raw(39, |writer| {
        writer.u64(1);
        writer.opaque(b"owner");
    });
    for operation in [confirm, renew, set_client, confirm_client, release] {
        client.call([op::put_root(), operation])?.fails(Status::NOTSUPP)?;
    }
    Ok(())
}
