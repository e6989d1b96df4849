//! Every primitive on a logical unit in memory that lies about it: it answers GOOD, but does
//! nothing, half of the work, something else, or does it later. A liar with the status Supported
//! shows that the proof is worthless.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use super::*;
use data_mover::memory::{Lie, MemoryDevice, MemoryUnit};
use data_mover::{Device, Extent};
use std::rc::Rc;

impl Probed for MemoryDevice {
    /// There is no wire.
    fn wire_bytes(&self) -> u64 {
        0
    }

    fn zeros_when_unmapped(&self) -> bool {
        true
    }

    async fn provisioning_page(&self) -> Result<Option<bytes::Bytes>, DeviceError> {
        Ok(Some(bytes::Bytes::from_static(&[0, 0xb2, 0, 4, 11, 0xe4, 2, 0])))
    }

    async fn provisioning_log(&self) -> Result<Option<bytes::Bytes>, DeviceError> {
        Ok(None)
    }

    async fn is_unmapped(&self, extent: Extent) -> Result<Option<bool>, DeviceError> {
        let first = self.lba_status(extent.lba).await?.first().copied();
        Ok(first.map(|first| !first.mapped && first.extent.blocks >= extent.blocks))
    }
}

fn lies_of(primitive: Primitive) -> &'static [Lie] {
    match primitive {
        Primitive::Ats => &[
            Lie::CompareNothing,
            Lie::CompareBlind,
            Lie::CompareNever,
            Lie::CompareLate,
            Lie::CompareRefused,
            Lie::ReadWrong,
        ],
        Primitive::Xcopy => {
            &[Lie::CopyNothing, Lie::CopyHalf, Lie::CopyWrong, Lie::CopyLate, Lie::CopyRefused, Lie::ReadWrong]
        }
        Primitive::Zero => {
            &[Lie::ZeroNothing, Lie::ZeroHalf, Lie::ZeroWrong, Lie::ZeroLate, Lie::ZeroRefused, Lie::ReadWrong]
        }
        Primitive::Unmap => &[
            Lie::UnmapNothing,
            Lie::UnmapHalf,
            Lie::UnmapZeros,
            Lie::UnmapLate,
            Lie::UnmapRefused,
            Lie::StatusNothing,
            Lie::StatusAll,
            Lie::ReadWrong,
        ],
        // Alerts are pages only: alerts.rs has their liars.
        Primitive::Alerts => &[],
    }
}

fn verdict_of(primitive: Primitive, lie: Option<Lie>) -> Verdict {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let device = MemoryDevice::new(&Rc::new(MemoryUnit::default()), 1, 1, 8192);
        let scratch = Scratch::keep(&device, (2048, true), true).await.unwrap();
        device.set_lie(lie);
        let subject = Subject { unit: device.clone(), other: device };
        primitive.prove(&subject, &scratch).await.unwrap()
    })
}

#[test]
fn every_proof_notices_every_liar() {
    let mut noticed = 0;
    for primitive in Primitive::ALL {
        let honest = verdict_of(primitive, None);
        assert_eq!(honest.status, Status::Supported, "{}: {}", primitive.name(), honest.reason);
        assert!(!lies_of(primitive).is_empty(), "{}", primitive.name());
        for &lie in lies_of(primitive) {
            let verdict = verdict_of(primitive, Some(lie));
            assert_eq!(verdict.status, Status::NotSupported, "{}, {lie:?}: {}", primitive.name(), verdict.reason);
            noticed += 1;
        }
    }
    println!("{noticed} liars noticed");
}
