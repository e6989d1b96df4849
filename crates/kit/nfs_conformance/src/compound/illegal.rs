use crate::prelude::*;
use nfs::v4::compound::{CompoundOutcome, ILLEGAL};

check! {
    /// Operations 0, 2, 76 and 10044 end the compound with OP_ILLEGAL under the number 10044.
    204, "RFC 8881 §16.2"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut client = bench.client()?;
    for code in [0, 2, 76, ILLEGAL] {
        let reply = client.call([op::put_root(), op::raw(code, |_| {}), op::put_root()])?;
        let reply = reply.fails_at(1, &[Status::OP_ILLEGAL])?;
        expect_equal(&format!("number of the result of operation {code}"), reply.last()?.code(), ILLEGAL)?;
    }
    Ok(())
}
