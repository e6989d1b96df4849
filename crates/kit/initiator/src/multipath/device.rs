//! Handling of commands whose answer was lost with their path.

use super::{Multipath, Path, Shared};
use crate::logical_unit::LogicalUnit;
use bytes::Bytes;
use data_mover::{Compared, CopyDescriptor, Device, DeviceError, Extent, Gate, Identity, LbaStatus, Sense};
use tokio::time::Instant;

/// NOT READY, LOGICAL UNIT NOT ACCESSIBLE: the port is in transition, in standby, or unavailable
/// (SPC-4 §5.15.2).
fn is_other_port_required(error: &DeviceError) -> bool {
    matches!(error, DeviceError::Refused { sense: Sense { key: 2, code: 4, qualifier: 0x0a..=0x0c }, .. })
}

impl Shared {
    /// Sends a command over one path after another until it is answered. Only for commands that may
    /// be repeated.
    async fn run<T>(&self, command: impl AsyncFn(&LogicalUnit) -> Result<T, DeviceError>) -> Result<T, DeviceError> {
        self.run_until(command, || false).await.map(|(value, _)| value)
    }

    /// Like [`Self::run`], but returns the first lost answer if `stop` returns true. Also returns
    /// the index of the path that answered.
    async fn run_until<T>(
        &self,
        command: impl AsyncFn(&LogicalUnit) -> Result<T, DeviceError>,
        stop: impl Fn() -> bool,
    ) -> Result<(T, usize), DeviceError> {
        let deadline = Instant::now() + self.options.patience;
        let mut avoid = Vec::new();
        loop {
            let (index, unit) = self.path(&mut avoid, deadline).await?;
            match command(&unit).await {
                Ok(value) => return Ok((value, index)),
                // A malformed answer does not mean a lost path: it would come again.
                Err(error) if error.is_lost() && (unit.session().is_up() || stop()) => return Err(error),
                Err(error) if error.is_lost() => {}
                // Not carried out, so every command may be repeated.
                Err(error) if is_other_port_required(&error) => {
                    if Instant::now() >= deadline {
                        return Err(error);
                    }
                    avoid.push(index);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Result of a COMPARE AND WRITE without an answer; `None` when the block is unchanged, so that
    /// it can be sent again.
    async fn resolve(&self, lba: u64, expected: &Bytes, new: &Bytes) -> Result<Option<Compared>, DeviceError> {
        let extent = Extent { lba, blocks: expected.len() as u64 / u64::from(self.identity.block_bytes.max(1)) };
        let found = self.run(async |unit| unit.read(extent).await).await?;
        match found {
            found if found == *new => Ok(Some(Compared::Written)),
            found if found == *expected => Ok(None),
            _ => {
                let reason = format!(
                    "the response to COMPARE AND WRITE of LBA {lba} was lost with its path, and the present content does not show the result"
                );
                Err(DeviceError::Lost(reason))
            }
        }
    }
}

/// Whether a copy reads blocks that it has written.
fn overlaps_itself(segments: &[CopyDescriptor]) -> bool {
    let touches = |from: u64, to: u64, a: &CopyDescriptor, b: &CopyDescriptor| {
        from < to.saturating_add(u64::from(b.blocks)) && to < from.saturating_add(u64::from(a.blocks))
    };
    segments.iter().any(|source| segments.iter().any(|to| touches(source.source_lba, to.destination_lba, source, to)))
}

impl Device for Multipath {
    fn identity(&self) -> &Identity {
        &self.shared.identity
    }

    async fn read(&self, extent: Extent) -> Result<Bytes, DeviceError> {
        self.shared.run(async |unit| unit.read(extent).await).await
    }

    async fn write(&self, lba: u64, data: Bytes) -> Result<(), DeviceError> {
        self.shared.run(async |unit| unit.write(lba, data.clone()).await).await
    }

    /// A lost answer is resolved by reading: if the block holds the new data, it was written; if it
    /// holds the expected data, the command is sent again. Otherwise the result is
    /// [`DeviceError::Lost`], since other hosts may have written since.
    async fn compare_and_write(&self, lba: u64, expected: Bytes, new: Bytes) -> Result<Compared, DeviceError> {
        let mut lost = false;
        loop {
            let send = async |unit: &LogicalUnit| unit.compare_and_write(lba, expected.clone(), new.clone()).await;
            let answer = self.shared.run_until(send, || true).await;
            match answer {
                // A miscompare after a lost answer may be due to the earlier try of this command.
                Ok((Compared::Written, _)) => return Ok(Compared::Written),
                Ok((Compared::Miscompare, _)) if !lost => return Ok(Compared::Miscompare),
                Ok((Compared::Miscompare, _)) => {}
                Err(error) if error.is_lost() => lost = true,
                Err(error) => return Err(error),
            }
            if let Some(compared) = self.shared.resolve(lba, &expected, &new).await? {
                return Ok(compared);
            }
        }
    }

    async fn write_zeros(&self, extent: Extent, unmap: bool) -> Result<(), DeviceError> {
        self.shared.run(async |unit| unit.write_zeros(extent, unmap).await).await
    }

    async fn unmap(&self, extents: &[Extent]) -> Result<(), DeviceError> {
        self.shared.run(async |unit| unit.unmap(extents).await).await
    }

    /// A copy within the logical unit that overlaps itself is not repeated: its source may have
    /// been overwritten.
    async fn extended_copy(&self, source: &[u8; 16], segments: &[CopyDescriptor]) -> Result<(), DeviceError> {
        let once = Some(*source) == self.shared.identity.naa && overlaps_itself(segments);
        let send = async |unit: &LogicalUnit| unit.extended_copy(source, segments).await;
        self.shared.run_until(send, || once).await.map(drop)
    }

    async fn lba_status(&self, lba: u64) -> Result<Vec<LbaStatus>, DeviceError> {
        self.shared.run(async |unit| unit.lba_status(lba).await).await
    }

    /// Reserves over one path. While the reservation is held, all commands take that path; when it
    /// is lost they fail, because the reservation is lost too.
    async fn reserve(&self) -> Result<(), DeviceError> {
        let ((), index) = self.shared.run_until(async |unit| unit.reserve().await, || false).await?;
        self.shared.hold_reservation(index);
        Ok(())
    }

    /// A lost path has released its reservation.
    async fn release(&self) -> Result<(), DeviceError> {
        let released = self.shared.run_until(async |unit| unit.release().await, || true).await;
        let was_reserved = self.shared.reserved.take();
        match (released, was_reserved) {
            (Err(error), _) if error.is_lost() => Ok(()),
            (released, _) => released.map(drop),
        }
    }

    async fn read_reserved(&self, extent: Extent) -> Result<Bytes, DeviceError> {
        self.shared.run_until(async |unit| unit.read_reserved(extent).await, || true).await.map(|(data, _)| data)
    }

    async fn write_reserved(&self, lba: u64, data: Bytes) -> Result<(), DeviceError> {
        self.shared.run_until(async |unit| unit.write_reserved(lba, data.clone()).await, || true).await.map(drop)
    }

    async fn reset(&self) -> Result<(), DeviceError> {
        self.shared.run(async |unit| unit.reset().await).await
    }

    fn only_while(&self, gate: Gate) {
        for unit in self.shared.paths.iter().filter_map(Path::up) {
            unit.only_while(gate.clone());
        }
        self.shared.gates.borrow_mut().push(gate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_reads_what_it_wrote_is_found() {
        let copy = |source_lba, destination_lba, blocks| CopyDescriptor { source_lba, destination_lba, blocks };
        assert!(!overlaps_itself(&[copy(0, 100, 100), copy(200, 300, 100)]));
        assert!(overlaps_itself(&[copy(0, 99, 100)]));
        assert!(overlaps_itself(&[copy(0, 100, 50), copy(120, 300, 10)]));
        assert!(!overlaps_itself(&[]));
    }

    #[test]
    fn requests_for_another_port_differ_from_failures() {
        let refused =
            |key, code, qualifier| DeviceError::Refused { command: "READ", sense: Sense { key, code, qualifier } };
        assert!(is_other_port_required(&refused(2, 4, 0x0b)) && !is_other_port_required(&refused(2, 4, 1)));
        assert!(!is_other_port_required(&DeviceError::Full));
    }
}
