//! UNMAP: the blocks are unmapped according to GET LBA STATUS, and read as zeros if LBPRZ is set.

use super::{Primitive, Status, Verdict};
use crate::scratch::Scratch;
use crate::subject::{Probed, Subject};
use crate::verdict::{pattern, timed};
use data_mover::DeviceError;

pub(crate) async fn prove<D: Probed>(subject: &Subject<D>, scratch: &Scratch) -> Result<Verdict, DeviceError> {
    let unit = &subject.unit;
    let identity = unit.identity();
    let limits = identity.limits;
    if limits.unmap == 0 {
        // A host does not send a command that is not announced.
        return Ok(Primitive::Unmap.announced(subject));
    }
    let bytes = usize::try_from(scratch.part * u64::from(identity.block_bytes)).unwrap_or(0);
    let unmapped = async {
        scratch.write(unit, scratch.at(0), pattern(11, bytes)).await?;
        scratch.note_unmap(scratch.extent(0));
        let mapped = unit.is_unmapped(scratch.extent(0)).await?;
        // Verified after the first command: the timed ones would hide one that takes effect late.
        unit.unmap(&[scratch.extent(0)]).await?;
        let found = unit.read(scratch.extent(0)).await?;
        let after = unit.is_unmapped(scratch.extent(0)).await?;
        let cost = timed(|| unit.wire_bytes(), async |_| unit.unmap(&[scratch.extent(0)]).await).await?;
        Ok::<_, DeviceError>((cost, found, mapped, after))
    };
    let ((latency, wire_bytes), found, before, after) = match unmapped.await {
        Ok(unmapped) => unmapped,
        Err(error) => return Verdict::failed(Primitive::Unmap, error),
    };
    let zeros = found.iter().all(|byte| *byte == 0);
    if unit.zeros_when_unmapped() && !zeros {
        return Ok(Verdict::wrong(Primitive::Unmap, "LBPRZ is set, but unmapped blocks do not read as zeros"));
    }
    if zeros {
        scratch.settle(scratch.at(0), &found);
    }
    let detail = match (before, after) {
        (Some(true), _) => {
            let words = "GET LBA STATUS reports blocks as unmapped that were just written";
            return Ok(Verdict::wrong(Primitive::Unmap, words));
        }
        (_, Some(true)) => "GET LBA STATUS agrees",
        // A range smaller than the unit's granularity may stay mapped.
        (_, Some(false)) if u64::from(limits.unmap_granularity) <= scratch.part => {
            let words = "UNMAP ended with GOOD, but GET LBA STATUS still reports the blocks as mapped";
            return Ok(Verdict::wrong(Primitive::Unmap, words));
        }
        (_, Some(false)) => "GET LBA STATUS still reports the blocks, less than a grain, as mapped",
        (_, None) => "the unit has no GET LBA STATUS",
    };
    let grain = grain(u64::from(limits.unmap_granularity) * u64::from(identity.block_bytes));
    let reason = format!("UNMAP, {grain}, LBPRZ={}; {detail}", u8::from(unit.zeros_when_unmapped()));
    Ok(Verdict {
        latency: Some(latency),
        wire_bytes: Some(wire_bytes),
        ..Verdict::new(Primitive::Unmap, Status::Supported, reason)
    })
}

/// Describes the unit's granularity.
fn grain(bytes: u64) -> String {
    if bytes == 0 { "no grain reported".to_owned() } else { format!("grain {}", text::size::format(bytes)) }
}

#[cfg(test)]
mod tests {
    use super::grain;

    #[test]
    fn a_grain_of_one_block_is_not_nothing() {
        let all = [0, 512, 4096, 1 << 20].map(grain);
        assert_eq!(all, ["no grain reported", "grain 512 B", "grain 4 KiB", "grain 1 MiB"]);
    }
}
