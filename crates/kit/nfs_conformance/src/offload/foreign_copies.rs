use super::asynchronous::begin;
use crate::prelude::*;

check! {
    /// OFFLOAD_STATUS and OFFLOAD_CANCEL of what is no copy of the client are BAD_STATEID.
    665, "RFC 7862 §15.8, §15.9", needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let mut other = bench.client()?;
    let copy = begin(bench, &mut client, &directory)?;
    copy.status(&mut other)?.optional()?.fails(Status::BAD_STATEID)?;
    copy.cancel(&mut other)?.fails(Status::BAD_STATEID)?;
    let mut unknown = copy.stateid;
    unknown.other.iter_mut().for_each(|byte| *byte ^= 0x55);
    for stateid in [unknown, copy.target.stateid] {
        let operations = [op::offload_status(&stateid), op::offload_cancel(&stateid)];
        for operation in operations {
            client.call([op::put(&copy.target.handle), operation])?.fails(Status::BAD_STATEID)?;
        }
    }
    copy.cancel(&mut client).map(drop)
}
