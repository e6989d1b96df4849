//! EXTENDED COPY: the destination holds the source's data, which was not on the wire.

use super::{Primitive, Status, Verdict};
use crate::scratch::Scratch;
use crate::subject::{Probed, Subject};
use crate::verdict::{pattern, timed};
use data_mover::{CopyDescriptor, DeviceError};

pub(crate) async fn prove<D: Probed>(subject: &Subject<D>, scratch: &Scratch) -> Result<Verdict, DeviceError> {
    let unit = &subject.unit;
    let Some(naa) = unit.identity().naa else {
        return Ok(Verdict::wrong(Primitive::Xcopy, "the unit has no NAA designator to name it by (VPD page 83h)"));
    };
    let bytes = scratch.part * u64::from(unit.identity().block_bytes);
    let data = pattern(7, usize::try_from(bytes).unwrap_or(0));
    let segment = CopyDescriptor {
        source_lba: scratch.at(0),
        destination_lba: scratch.at(1),
        blocks: u16::try_from(scratch.part).unwrap_or(u16::MAX),
    };
    let copied = async {
        scratch.write(unit, scratch.at(0), data.clone()).await?;
        scratch.write(unit, scratch.at(1), pattern(8, data.len())).await?;
        scratch.note(scratch.at(1), &data);
        // Verified after the first command: the timed ones would hide one that takes effect late.
        unit.extended_copy(&naa, &[segment]).await?;
        let found = unit.read(scratch.extent(1)).await?;
        let cost = timed(|| unit.wire_bytes(), async |_| unit.extended_copy(&naa, &[segment]).await).await?;
        Ok::<_, DeviceError>((cost, found))
    };
    let ((latency, wire_bytes), found) = match copied.await {
        Ok(copied) => copied,
        Err(error) => return Verdict::failed(Primitive::Xcopy, error),
    };
    if found != data {
        return Ok(Verdict::wrong(
            Primitive::Xcopy,
            "EXTENDED COPY ended with GOOD, but the destination holds other data",
        ));
    }
    scratch.settle(scratch.at(1), &found);
    let limits = unit.identity().limits;
    let segment_bytes = limits.copy_segment * u64::from(unit.identity().block_bytes);
    let limits = match limits.copy_segments {
        0 => "limits not reported (RECEIVE COPY OPERATING PARAMETERS fails)".to_owned(),
        count => format!("{count} segments, {} MiB each", segment_bytes >> 20),
    };
    let reason = format!("EXTENDED COPY, {limits}; {} KiB verified, {wire_bytes} bytes on the wire", bytes >> 10);
    Ok(Verdict {
        latency: Some(latency),
        wire_bytes: Some(wire_bytes),
        ..Verdict::new(Primitive::Xcopy, Status::Supported, reason)
    })
}
