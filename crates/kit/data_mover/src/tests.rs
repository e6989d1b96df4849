use crate::memory::{BLOCK_BYTES, MemoryDevice, MemoryUnit};
use crate::virtual_time::VirtualTime;
use crate::{Clock, DataMover, Device, DeviceError, Extent, Locking, Patient, Reason, Sense, Settings};
use bytes::Bytes;
use futures_executor::block_on;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

const BLOCKS: u64 = 1 << 20;
const BLOCK: u64 = BLOCK_BYTES as u64;

fn mover(settings: Settings) -> DataMover {
    DataMover::new(settings, Rc::new(VirtualTime::default()))
}

fn unit(number: u8) -> MemoryDevice {
    MemoryDevice::new(&Rc::new(MemoryUnit::default()), 1, number, BLOCKS)
}

fn pattern(blocks: u64) -> Vec<u8> {
    (0..blocks * BLOCK).map(|at| (at / 7 % 251) as u8 + 1).collect()
}

fn fill(device: &MemoryDevice, lba: u64, blocks: u64) -> Vec<u8> {
    let data = pattern(blocks);
    device.unit().poke(lba, &data);
    data
}

fn read(device: &MemoryDevice, lba: u64, blocks: u64) -> Bytes {
    block_on(device.read(Extent { lba, blocks })).unwrap()
}

#[test]
fn a_copy_is_the_array_s_work_and_the_host_s_when_it_cannot_be() {
    let switched_off = Settings { hardware_accelerated_move: false, ..Settings::default() };
    type Change = fn(&mut crate::Identity);
    let cases: [(Settings, Change, Option<Reason>); 7] = [
        (Settings::default(), |_| (), None),
        (switched_off, |_| (), Some(Reason::SwitchedOff)),
        (Settings::default(), |unit| unit.array = "OTHER".into(), Some(Reason::DifferentArray)),
        (Settings::default(), |unit| unit.naa = None, Some(Reason::NoDesignator)),
        (Settings::default(), |unit| unit.limits.copy_segments = 0, Some(Reason::NotSupported)),
        (Settings::default(), |unit| unit.limits.copy_segment = 100, None),
        (Settings { max_hardware_transfer_bytes: 512, ..Settings::default() }, |_| (), None),
    ];
    for (settings, change, reason) in cases {
        let source = unit(1);
        let destination = unit(2).with_source(&source).with(change);
        let data = fill(&source, 100, 10_000);
        let mover = mover(settings);
        let reported = Cell::new(0);
        let progress = |bytes| reported.set(reported.get() + bytes);
        let moved = block_on(mover.copy((&source, 100), (&destination, 7), 10_000, &progress)).unwrap();
        let bytes = 10_000 * BLOCK;
        assert_eq!(read(&destination, 7, 10_000), data);
        assert_eq!(reported.get(), bytes);
        match reason {
            None => assert_eq!((moved.offloaded_bytes, moved.host_bytes()), (bytes, 0)),
            Some(reason) => assert_eq!((moved.offloaded_bytes, moved.by_host.get(&reason)), (0, Some(&bytes))),
        }
        assert_eq!(mover.tally().copied, moved);
    }
}

#[test]
fn a_source_unknown_to_the_array_is_copied_by_the_host() {
    let (source, destination) = (unit(1), unit(2));
    let data = fill(&source, 0, 5000);
    let mover = mover(Settings::default());
    let moved = block_on(mover.copy((&source, 0), (&destination, 0), 5000, &|_| ())).unwrap();
    assert_eq!(read(&destination, 0, 5000), data);
    assert_eq!(moved.by_host.get(&Reason::DifferentArray), Some(&(5000 * BLOCK)));
    let refused = Reason::Refused(Sense { key: 0xa, code: 0x0d, qualifier: 4 });
    assert_eq!(refused.to_string(), "refused with sense ah/0dh/04h");
}

#[test]
fn work_that_the_host_cannot_do_either_is_an_error() {
    let (source, destination) = (unit(1), unit(2));
    let outside = block_on(mover(Settings::default()).copy((&source, 0), (&destination, BLOCKS - 1), 2, &|_| ()));
    assert!(matches!(outside, Err(DeviceError::Refused { command: "WRITE", .. })), "{outside:?}");
    source.cut();
    let lost = block_on(mover(Settings::default()).copy((&source, 0), (&destination, 0), 2, &|_| ()));
    assert!(matches!(lost, Err(DeviceError::Lost(_))), "{lost:?}");
}

#[test]
fn zeros_are_the_array_s_work_and_the_host_s_when_they_cannot_be() {
    let off = Settings { hardware_accelerated_init: false, ..Settings::default() };
    for (settings, write_same, reason) in [
        (Settings::default(), 8192, None),
        (Settings::default(), 1, None),
        (Settings::default(), 0, Some(Reason::NotSupported)),
        (off, 8192, Some(Reason::SwitchedOff)),
    ] {
        let device = unit(1).with(|unit| unit.limits.write_same = write_same);
        let data = fill(&device, 0, 10_000);
        let mover = mover(settings);
        let moved = block_on(mover.zero(&device, Extent { lba: 1, blocks: 9000 }, false, &|_| ())).unwrap();
        assert!(read(&device, 1, 9000).iter().all(|byte| *byte == 0));
        assert_eq!(
            (read(&device, 0, 1), read(&device, 9001, 999)),
            (Bytes::copy_from_slice(&data[..512]), Bytes::copy_from_slice(&data[9001 * 512..]))
        );
        assert_eq!(moved.by_host.keys().next().copied(), reason);
        assert_eq!(moved.offloaded_bytes + moved.host_bytes(), 9000 * BLOCK);
    }
}

/// Regression: an UNMAP was sent with more descriptors than its list can count, of which the array
/// saw some; and a refused UNMAP kept blocks from being freed.
#[test]
fn unmap_fits_its_list_and_may_be_an_advice() {
    let device = unit(1).with(|unit| unit.limits.unmap_descriptors = u16::MAX.into());
    fill(&device, 0, 10_000);
    let mover = mover(Settings::default());
    let scattered: Vec<_> = (0..5000).map(|number| Extent { lba: number * 2, blocks: 1 }).collect();
    assert_eq!(block_on(mover.unmap(&device, &scattered)), Ok(5000 * BLOCK));
    assert_eq!(device.unit().allocated(), 5000);
    device.refuse_unmap(true);
    let all = [Extent { lba: 0, blocks: 10_000 }];
    assert!(matches!(block_on(mover.unmap(&device, &all)), Err(DeviceError::Refused { .. })));
    assert_eq!(block_on(mover.unmap_as_hint(&device, &all)), Ok(0));
    let refused = Reason::Refused(Sense { key: 5, code: 0x26, qualifier: 0 });
    assert_eq!(mover.tally().not_unmapped.get(&refused), Some(&(10_000 * BLOCK)));
}

#[test]
fn unmap_keeps_to_the_limits_of_the_unit() {
    let device = unit(1).with(|unit| (unit.limits.unmap, unit.limits.unmap_descriptors) = (1000, 2));
    fill(&device, 0, 4000);
    let mover = mover(Settings::default());
    let extents = [(0, 1500), (2000, 100), (2200, 100), (2400, 100)].map(|(lba, blocks)| Extent { lba, blocks });
    let unmapped = block_on(mover.unmap(&device, &extents)).unwrap();
    assert_eq!((unmapped, device.unit().allocated()), (1800 * BLOCK, 2200));
    // 1000 | 500 + 100 | 100 + 100
    assert_eq!(device.unit().commands(), 3);
    let without = unit(1).with(|unit| unit.limits.unmap = 0);
    assert_eq!(block_on(mover.unmap(&without, &extents)), Ok(0));
}

/// Two hosts add to one counter, each seeing the other's every step.
#[test]
fn no_update_is_lost_either_way() {
    for (compare_and_write, locking) in [(1, Locking::CompareAndWrite), (0, Locking::Reservation)] {
        let medium = Rc::new(MemoryUnit::default());
        let (turn, time) = (Rc::new(Cell::new(0_u32)), VirtualTime::default());
        let host = |number| {
            let (turn, time) = (turn.clone(), time.clone());
            let delay: crate::memory::Delay = Rc::new(move || {
                turn.set(turn.get().wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
                time.sleep(Duration::from_micros((turn.get() >> 24).into()))
            });
            MemoryDevice::new(&medium, number, 1, BLOCKS)
                .with(|unit| unit.limits.compare_and_write = compare_and_write)
                .with_delay(delay)
        };
        let clock = time.clone();
        let add = move |device: MemoryDevice| {
            let mover = DataMover::new(Settings::default(), Rc::new(clock.clone()));
            async move {
                assert_eq!(mover.locking(&device), locking);
                let mut added = 0;
                while added < 100 {
                    let Ok(old) = device.read(Extent { lba: 5, blocks: 1 }).await else { continue };
                    let mut new = old.to_vec();
                    let count = u32::from_be_bytes(new[..4].try_into().unwrap());
                    new[..4].copy_from_slice(&(count + 1).to_be_bytes());
                    let update = mover.update(&device, 5, &old, &new.into()).await.unwrap();
                    added += u32::from(update);
                }
                let tally = mover.tally();
                assert_eq!(tally.atomic_updates + tally.reserved_updates, 100);
                tally
            }
        };
        let (one, two) = time.run(futures_util::future::join(add(host(1)), add(host(2))));
        let counter = medium_counter(&medium);
        assert_eq!(counter, 200);
        let (miscompares, conflicts) =
            (one.miscompares + two.miscompares, one.reservation_conflicts + two.reservation_conflicts);
        match locking {
            Locking::CompareAndWrite => assert!(miscompares > 0 && conflicts == 0),
            Locking::Reservation => assert!(conflicts > 0 && miscompares == 0),
        }
    }
}

fn medium_counter(medium: &Rc<MemoryUnit>) -> u32 {
    let block = read(&MemoryDevice::new(medium, 9, 1, BLOCKS), 5, 1);
    u32::from_be_bytes(block[..4].try_into().unwrap())
}

/// Regression: all updates shared one unordered lock, held for all tries of a RESERVE. A heartbeat
/// waited for every earlier update, each with 20 s of patience with other hosts.
#[test]
fn under_reservations_a_heartbeat_waits_for_one_update_at_most() {
    // Each update takes eight delays of 10 ms. In the second round another host holds the unit for
    // 3 s, and all updates wait for it.
    for held in [Duration::ZERO, Duration::from_secs(3)] {
        let time = VirtualTime::default();
        let clock = time.clone();
        let world = Rc::new(MemoryUnit::default());
        let delay: crate::memory::Delay = Rc::new(move || clock.sleep(Duration::from_millis(10)));
        let device = |host| MemoryDevice::new(&world, host, 1, BLOCKS).with_delay(delay.clone());
        let (mine, other, clock) = (device(1), device(2), time.clone());
        time.run(async move {
            let mover = DataMover::new(Settings::off(), Rc::new(clock.clone()));
            let zeros = Bytes::from(vec![0; BLOCK_BYTES as usize]);
            let new = Bytes::from(vec![1; BLOCK_BYTES as usize]);
            let order = std::cell::RefCell::new(Vec::new());
            let update = |number: u64, urgent: bool| {
                let (mover, mine, zeros, new, order, clock) = (&mover, &mine, &zeros, &new, &order, &clock);
                async move {
                    let come = clock.now();
                    let updated = match urgent {
                        true => mover.update_urgently(mine, number, zeros, new).await,
                        false => mover.update(mine, number, zeros, new).await,
                    };
                    assert!(updated.unwrap());
                    order.borrow_mut().push(number);
                    clock.now() - come
                }
            };
            let holder = async {
                if !held.is_zero() {
                    other.reserve().await.unwrap();
                    clock.sleep(held).await;
                    other.release().await.unwrap();
                }
            };
            let ordinary = async {
                clock.sleep(Duration::from_millis(20)).await;
                futures_util::future::join_all((0..50).map(|number| update(number, false))).await
            };
            let heartbeat = async {
                clock.sleep(Duration::from_millis(50)).await;
                update(1000, true).await
            };
            let ((), _, waited) = futures_util::future::join3(holder, ordinary, heartbeat).await;
            assert!(waited <= held + Duration::from_millis(200), "{waited:?} for a heartbeat, {held:?}");
            let first = order.borrow().iter().position(|number| *number == 1000).unwrap();
            assert!(first <= 1, "{first} updates before the heartbeat");
            order.borrow_mut().remove(first);
            assert_eq!(*order.borrow(), (0..50).collect::<Vec<_>>(), "first come is first served");
        });
    }
}

#[test]
fn logical_units_are_reserved_independently() {
    let time = VirtualTime::default();
    let clock = time.clone();
    let delay: crate::memory::Delay = Rc::new(move || clock.sleep(Duration::from_millis(10)));
    let (one, two) = (unit(1).with_delay(delay.clone()), unit(2).with_delay(delay));
    let clock = time.clone();
    time.run(async move {
        let mover = DataMover::new(Settings::off(), Rc::new(clock.clone()));
        let (zeros, new) = (Bytes::from(vec![0; BLOCK_BYTES as usize]), Bytes::from(vec![1; BLOCK_BYTES as usize]));
        let (a, b) =
            futures_util::future::join(mover.update(&one, 0, &zeros, &new), mover.update(&two, 0, &zeros, &new)).await;
        assert!(a.unwrap() && b.unwrap());
        assert_eq!(clock.now(), Duration::from_millis(80));
    });
}

/// Regression: one permit covered all commands of a zeroing or a copy; the rest was sent after it
/// had ended.
#[test]
fn a_permit_is_asked_for_before_every_command_that_changes_something() {
    type Work = fn(&DataMover, &Patient<MemoryDevice>) -> Result<(), DeviceError>;
    let works: [Work; 4] = [
        |mover, device| block_on(mover.zero(device, Extent { lba: 0, blocks: 4096 }, true, &|_| ())).map(drop),
        |mover, device| block_on(mover.copy((device, 0), (device, 8192), 4096, &|_| ())).map(drop),
        |mover, device| block_on(mover.unmap(device, &[Extent { lba: 0, blocks: 4096 }])).map(drop),
        |_, device| (0..8).try_for_each(|lba| block_on(device.write(lba, Bytes::from_static(&[7; 512])))),
    ];
    let host = Settings { software_transfer_bytes: 256 << 10, ..Settings::off() };
    let array = Settings { max_hardware_transfer_bytes: 256 << 10, ..Settings::default() };
    for work in works {
        for settings in [host, array] {
            let device = unit(1).with(|identity| {
                (identity.limits.write_same, identity.limits.unmap, identity.limits.copy_segment) = (512, 512, 128);
            });
            fill(&device, 0, 4096);
            let mover = Rc::new(DataMover::new(settings, Rc::new(VirtualTime::default())));
            let left = Rc::new(Cell::new(3_u32));
            let asked = left.clone();
            let patient = Patient::new(Rc::new(device.clone()), mover.clone(), Duration::ZERO);
            let permitted = patient.permitted(Rc::new(move || {
                let left = asked.get();
                asked.set(left.saturating_sub(1));
                if left == 0 { Err(DeviceError::Withdrawn(None)) } else { Ok(()) }
            }));
            assert_eq!(work(&mover, &permitted), Err(DeviceError::Withdrawn(None)));
            let before = device.unit().commands();
            // The fallback to writing needs the permit too; reads do not.
            assert_eq!(block_on(permitted.write(0, Bytes::from_static(&[7; 512]))), Err(DeviceError::Withdrawn(None)));
            assert_eq!(device.unit().commands(), before);
            block_on(permitted.read(Extent { lba: 0, blocks: 1 })).unwrap();
            block_on(patient.write(0, Bytes::from_static(&[7; 512]))).unwrap();
        }
    }
}
