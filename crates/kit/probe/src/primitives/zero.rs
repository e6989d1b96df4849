//! WRITE SAME of zeros: the blocks read as zeros.

use super::{Primitive, Status, Verdict};
use crate::scratch::Scratch;
use crate::subject::{Probed, Subject};
use crate::verdict::{pattern, timed};
use data_mover::DeviceError;

pub(crate) async fn prove<D: Probed>(subject: &Subject<D>, scratch: &Scratch) -> Result<Verdict, DeviceError> {
    let unit = &subject.unit;
    let bytes = usize::try_from(scratch.part * u64::from(unit.identity().block_bytes)).unwrap_or(0);
    let zeroed = async {
        scratch.write(unit, scratch.at(0), pattern(9, bytes)).await?;
        scratch.note(scratch.at(0), &vec![0; bytes].into());
        // Verified after the first command: the timed ones would hide one that takes effect late.
        unit.write_zeros(scratch.extent(0), true).await?;
        let found = unit.read(scratch.extent(0)).await?;
        let cost = timed(|| unit.wire_bytes(), async |_| unit.write_zeros(scratch.extent(0), true).await).await?;
        Ok::<_, DeviceError>((cost, found))
    };
    let ((latency, wire_bytes), found) = match zeroed.await {
        Ok(zeroed) => zeroed,
        Err(error) => return Verdict::failed(Primitive::Zero, error),
    };
    if found.iter().any(|byte| *byte != 0) {
        return Ok(Verdict::wrong(Primitive::Zero, "WRITE SAME ended with GOOD, but the blocks do not read as zeros"));
    }
    scratch.settle(scratch.at(0), &found);
    let most = match unit.identity().limits.write_same {
        0 => "not announced in VPD page B0h".to_owned(),
        blocks if blocks >= u64::from(u32::MAX) => "no limit".to_owned(),
        blocks => format!("at most {} MiB", blocks.saturating_mul(unit.identity().block_bytes.into()) >> 20),
    };
    let reason = format!("WRITE SAME (16), {most}; reads back as zeros");
    Ok(Verdict {
        latency: Some(latency),
        wire_bytes: Some(wire_bytes),
        ..Verdict::new(Primitive::Zero, Status::Supported, reason)
    })
}
