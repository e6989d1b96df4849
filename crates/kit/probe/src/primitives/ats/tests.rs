#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use super::*;
use data_mover::memory::{MemoryDevice, MemoryUnit};
use data_mover::{CopyDescriptor, Gate, Identity, LbaStatus};
use std::rc::Rc;

/// Path to a unit whose COMPARE AND WRITE is not coherent: commands `first` to `last` miscompare
/// without comparing.
struct Lying {
    device: MemoryDevice,
    commands: Cell<u32>,
    first: u32,
    last: u32,
    /// READ returns another number each time.
    restless: bool,
}

impl Lying {
    fn new(device: &MemoryDevice, first: u32, last: u32) -> Self {
        Self { device: device.clone(), commands: Cell::new(0), first, last, restless: false }
    }
}

impl Device for Lying {
    fn identity(&self) -> &Identity {
        self.device.identity()
    }

    async fn read(&self, extent: Extent) -> Result<Bytes, DeviceError> {
        let mut found = self.device.read(extent).await?.to_vec();
        if self.restless {
            found[..4].copy_from_slice(&u32::MAX.wrapping_sub(self.commands.get() & 1).to_be_bytes());
        }
        Ok(found.into())
    }

    async fn write(&self, lba: u64, data: Bytes) -> Result<(), DeviceError> {
        self.device.write(lba, data).await
    }

    async fn compare_and_write(&self, lba: u64, expected: Bytes, new: Bytes) -> Result<Compared, DeviceError> {
        let number = self.commands.replace(self.commands.get() + 1);
        // Lets the other session run.
        tokio::task::yield_now().await;
        match (self.first..=self.last).contains(&number) {
            true => Ok(Compared::Miscompare),
            false => self.device.compare_and_write(lba, expected, new).await,
        }
    }

    async fn write_zeros(&self, extent: Extent, unmap: bool) -> Result<(), DeviceError> {
        self.device.write_zeros(extent, unmap).await
    }

    async fn unmap(&self, extents: &[Extent]) -> Result<(), DeviceError> {
        self.device.unmap(extents).await
    }

    async fn extended_copy(&self, source: &[u8; 16], segments: &[CopyDescriptor]) -> Result<(), DeviceError> {
        self.device.extended_copy(source, segments).await
    }

    async fn lba_status(&self, lba: u64) -> Result<Vec<LbaStatus>, DeviceError> {
        self.device.lba_status(lba).await
    }

    async fn reserve(&self) -> Result<(), DeviceError> {
        self.device.reserve().await
    }

    async fn release(&self) -> Result<(), DeviceError> {
        self.device.release().await
    }

    async fn read_reserved(&self, extent: Extent) -> Result<Bytes, DeviceError> {
        self.device.read_reserved(extent).await
    }

    async fn write_reserved(&self, lba: u64, data: Bytes) -> Result<(), DeviceError> {
        self.device.write_reserved(lba, data).await
    }

    async fn reset(&self) -> Result<(), DeviceError> {
        self.device.reset().await
    }

    fn only_while(&self, gate: Gate) {
        self.device.only_while(gate);
    }
}

/// Result of the tries with two such sessions; afterwards the range must be restorable.
fn tried(sessions: impl FnOnce(&MemoryDevice) -> [Lying; 2]) -> Result<String, Fault> {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let device = MemoryDevice::new(&Rc::new(MemoryUnit::default()), 1, 1, 8192);
        let scratch = Scratch::keep(&device, (2048, true), true).await.unwrap();
        let [one, other] = sessions(&device);
        let result = tries(&one, &other, &scratch, || 0).await.map(|(reason, ..)| reason);
        scratch.check(&device).await.unwrap();
        scratch.restore(&device).await.unwrap();
        assert_eq!(device.unit().allocated(), 0);
        result
    })
}

fn wrong(result: Result<String, Fault>) -> &'static str {
    match result {
        Err(Fault::Wrong(words)) => words,
        result => panic!("{result:?}"),
    }
}

const NEVER: u32 = u32::MAX;

#[test]
fn two_sessions_that_are_coherent_lose_no_update() {
    let result = tried(|device| [Lying::new(device, NEVER, NEVER), Lying::new(device, NEVER, NEVER)]).unwrap();
    assert!(result.starts_with("COMPARE AND WRITE, 1 block announced; 1000 updates of two sessions"), "{result}");
}

/// Regression: the write test did not end.
#[test]
fn a_session_whose_compare_and_write_always_miscompares_ends() {
    let expected = "COMPARE AND WRITE of data that was just read miscompares";
    let result = tried(|device| [Lying::new(device, NEVER, NEVER), Lying::new(device, 0, NEVER)]);
    assert_eq!(wrong(result), expected);
    // After the two commands before, and those that are timed.
    let result = tried(|device| [Lying::new(device, 11, NEVER), Lying::new(device, 100, NEVER)]);
    assert_eq!(wrong(result), expected);
    // Numbers up to the last one, and beyond it.
    let restless = |device: &MemoryDevice| Lying { restless: true, ..Lying::new(device, 0, NEVER) };
    assert_eq!(wrong(tried(|device| [Lying::new(device, NEVER, NEVER), restless(device)])), expected);
}

/// Regression: the timed commands were not checked.
#[test]
fn a_miscompare_of_a_timed_command_is_reported() {
    let result = tried(|device| [Lying::new(device, 5, 5), Lying::new(device, NEVER, NEVER)]);
    assert_eq!(wrong(result), "COMPARE AND WRITE of data that was just written miscompares");
}

/// Regression: the range was not restored, and another host was blamed.
#[test]
fn the_content_is_restored_although_compare_and_write_miscompares() {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let device = MemoryDevice::new(&Rc::new(MemoryUnit::default()), 1, 1, 8192);
        let before = pattern(5, 192 << 10);
        device.unit().poke(2048, &before);
        let scratch = Scratch::keep(&device, (2048, false), true).await.unwrap();
        let lying = || Lying::new(&device, 0, NEVER);
        let result = tries(&lying(), &lying(), &scratch, || 0).await.map(|(reason, ..)| reason);
        assert_eq!(wrong(result), "COMPARE AND WRITE of an equal block miscompares");
        scratch.restore(&lying()).await.unwrap();
        assert_eq!(device.read(Extent { lba: 2048, blocks: 384 }).await.unwrap(), before);
    });
}
