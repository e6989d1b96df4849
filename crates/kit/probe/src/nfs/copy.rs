//! COPY, RFC 7862 §15.2: a whole file, and a range whose offsets have nothing in common.

use super::fault::{Fault, untried, wrong};
use super::primitive::Proof;
use super::scratch::{KIB, Scratch, data, replace};
use crate::verdict::timed;
use nfs::v4::Status;
use nfs_client::ClientError;

const BYTES: u64 = 512 * KIB;

pub(super) async fn prove(scratch: &Scratch) -> Result<Proof, Fault> {
    match tries(scratch).await {
        Err(Fault::Client(ClientError::Status { status: Status::OFFLOAD_NO_REQS, .. })) => {
            untried("the server copies in the background only, which the probe does not try")
        }
        proof => proof,
    }
}

async fn tries(scratch: &Scratch) -> Result<Proof, Fault> {
    let share = &scratch.share;
    let (source, original) = scratch.filled("copy-source", 5, BYTES).await?;
    let copy = scratch.file("copy").await?;
    share.copy_all((&source, 0), (&copy, 0), BYTES, |_| true).await?;
    scratch.check(&copy, &original, "a copy").await?;
    let (part, before) = scratch.filled("copy-range", 6, BYTES).await?;
    let (from, to, count) = (12_345, 67_891, 100_001);
    share.copy_all((&source, from), (&part, to), count, |_| true).await?;
    let mut expected = before.to_vec();
    let range = usize::try_from(from).unwrap_or(0)..usize::try_from(from + count).unwrap_or(0);
    replace(&mut expected, to, original.get(range).unwrap_or_default());
    scratch.check(&part, &expected, "a file into which a range was copied").await?;
    scratch.write(&source, 0, data(7, KIB)).await?;
    scratch.check(&copy, &original, "a copy whose source was written to").await?;
    let copy_again = async |_| share.copy_all((&part, 0), (&copy, 0), BYTES, |_| true).await.map(drop);
    let cost = timed(|| scratch.wire_bytes(), copy_again).await?;
    scratch.check(&copy, &expected, "a copy over an older one").await?;
    if cost.1 >= BYTES {
        return wrong(format!("{} bytes on the wire for a copy of {BYTES}", cost.1));
    }
    let reason = format!("COPY of {} and of a range without alignment", text::size::format(BYTES));
    Ok(Proof { reason, cost: Some(cost) })
}
