use crate::prelude::*;
use nfs_client::ClientError;
use onc_rpc::message::{AcceptStatus, ReplyBody};

check! {
    /// Two elements where at most one is allowed are BADXDR or GARBAGE_ARGS, in EXCHANGE_ID and
    /// CREATE_SESSION.
    32, "RFC 8881 §18.35, §18.36"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let outside = bench.outside()?;
    let exchange = op::raw(42, |writer| {
        writer.fixed(&[1; 8]);
        writer.opaque(b"owner");
        writer.u32(0);
        writer.u32(0);
        writer.u32(2);
        for _ in 0..2 {
            writer.opaque(b"domain");
            writer.opaque(b"name");
            writer.u64(0);
            writer.u32(0);
        }
    });
    let create = op::raw(43, |writer| {
        [0, 0, 1, 0].iter().for_each(|word| writer.u32(*word));
        for _ in 0..2 {
            [0, 4096, 4096, 1024, 8, 8, 2, 1, 1].iter().for_each(|word| writer.u32(*word));
        }
        writer.u32(0x4000_0000);
        writer.u32(0);
    });
    for operation in [exchange, create] {
        let operations = [operation];
        match outside.attempt(b"", outside.minor, &operations) {
            Err(ClientError::Rpc(ReplyBody::Accepted(reply))) if reply.status == AcceptStatus::GarbageArguments => {}
            Err(error) => return failed(format!("expected BADXDR or GARBAGE_ARGS, found {error}")),
            Ok(bytes) => {
                Reply::decode(bytes, b"", &operations)?.fails(Status::BADXDR)?;
            }
        }
    }
    Ok(())
}
