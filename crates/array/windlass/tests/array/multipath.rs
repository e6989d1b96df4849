//! One logical unit over two portals as one device: paths are cut while a load verifies every byte
//! it reads.

use crate::fixture::run;
use array_process::array::{Array, ArrayOptions, Volume, free_portal};
use bytes::Bytes;
use data_mover::{Compared, Device, DeviceError, Extent};
use initiator::url::Url;
use initiator::{Multipath, MultipathError, MultipathOptions, Options, Policy};
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const BLOCKS: u64 = 8;
const BYTES: usize = 4096;
const PLACES: u64 = 512;

struct TwoPortals {
    array: Array,
    volume: Volume,
    // Dropped after the array.
    directory: TempDir,
}

fn two_portals(arguments: &[&str]) -> TwoPortals {
    let directory = TempDir::new().unwrap();
    let array = Array::start(ArrayOptions {
        executable: PathBuf::from(env!("CARGO_BIN_EXE_windlass")),
        state_directory: directory.path().join("state"),
        portals: vec![free_portal().unwrap(), free_portal().unwrap()],
        pool_size: "256M".into(),
        arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
    })
    .unwrap();
    let volume = array.create_volume("v1", "16M").unwrap();
    assert_eq!(volume.urls.len(), 2);
    TwoPortals { array, volume, directory }
}

impl TwoPortals {
    fn urls(&self) -> Vec<Url> {
        self.volume.urls.iter().map(|url| url.parse().unwrap()).collect()
    }
}

fn options(host: &str, policy: Policy) -> MultipathOptions {
    MultipathOptions {
        session: Options {
            initiator_name: format!("iqn.2026-01.org.example:{host}"),
            timeout: Duration::from_secs(10),
            ..Options::default()
        },
        policy,
        login_pause: Duration::from_millis(20),
        check_after: Duration::from_millis(200),
        patience: Duration::from_secs(20),
    }
}

fn stamped(place: u64, generation: u64) -> Bytes {
    random::sector::stamped(0, place * BYTES as u64, BYTES as u64, generation).into()
}

/// Sixteen guests write and read their own places until `stop` is set; every read must return the
/// last write. Counts the operations.
async fn verifying_load(device: &Multipath, stop: &Cell<bool>, written: &RefCell<Vec<u64>>, operations: &Cell<u64>) {
    let guest = async |guest: u64| {
        let mut turn = 0_u64;
        while !stop.get() {
            let place = guest + turn.wrapping_mul(7) % (PLACES / 16) * 16;
            turn += 1;
            let index = usize::try_from(place).unwrap();
            let generation = written.borrow()[index] + 1;
            device.write(place * BLOCKS, stamped(place, generation)).await.unwrap();
            written.borrow_mut()[index] = generation;
            let found = device.read(Extent { lba: place * BLOCKS, blocks: BLOCKS }).await.unwrap();
            assert_eq!(found, stamped(place, generation), "place {place} after {generation} writes");
            operations.set(operations.get() + 2);
        }
    };
    let guests: Vec<_> = (0..16).map(guest).collect();
    futures_util::future::join_all(guests).await;
}

/// Waits until a counter has grown by `by`.
async fn more(counter: &Cell<u64>, by: u64) {
    let (wanted, deadline) = (counter.get() + by, Instant::now() + Duration::from_secs(120));
    while counter.get() < wanted {
        assert!(Instant::now() < deadline, "{} of {wanted}", counter.get());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Waits until all paths are up again.
async fn back(device: &Multipath) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while device.paths().iter().any(|path| path.down.is_some()) {
        assert!(Instant::now() < deadline, "{:?}", device.paths());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn a_path_is_cut_under_a_verifying_load_again_and_again() {
    for policy in [Policy::RoundRobin, Policy::OneActive] {
        let array = two_portals(&[]);
        run(async {
            let device = Multipath::connect(&array.urls(), &options("one", policy)).await.unwrap();
            assert!(device.designator().starts_with("naa.6"));
            let stop = Cell::new(false);
            let written = RefCell::new(vec![0; PLACES as usize]);
            let operations = Cell::new(0);
            let cuts = async {
                for cut in 0..12 {
                    more(&operations, 64).await;
                    let index = match policy {
                        Policy::RoundRobin => cut % 2,
                        // The path in use.
                        Policy::OneActive => usize::from(device.paths()[0].down.is_some() || cut % 2 == 1),
                    };
                    device.cut(index);
                }
                back(&device).await;
                stop.set(true);
            };
            tokio::join!(verifying_load(&device, &stop, &written, &operations), cuts);
            let paths = device.paths();
            assert!(paths.iter().all(|path| path.down.is_none()), "{paths:?}");
            assert!(paths.iter().map(|path| path.losses).sum::<u64>() >= 6, "{paths:?}");
            assert!(paths.iter().all(|path| path.counters.commands > 20), "{paths:?}");
            assert_eq!(device.counters().commands, paths.iter().map(|path| path.counters.commands).sum::<u64>());
            // Another host sees all writes.
            let other = Multipath::connect(&array.urls()[1..], &options("two", policy)).await.unwrap();
            for (place, generation) in
                written.into_inner().into_iter().enumerate().filter(|(_, generation)| *generation > 0)
            {
                let place = place as u64;
                let found = other.read(Extent { lba: place * BLOCKS, blocks: BLOCKS }).await.unwrap();
                assert_eq!(found, stamped(place, generation));
            }
        });
    }
}

#[test]
fn locks_are_taken_once_whatever_is_cut() {
    let array = two_portals(&[]);
    run(async {
        let connect = async |host| Multipath::connect(&array.urls(), &options(host, Policy::RoundRobin)).await.unwrap();
        let (one, two) = (connect("one").await, connect("two").await);
        let (stop, attempts) = (Cell::new(false), Cell::new(0));
        // A counter that two hosts increment: no step is lost or applied twice.
        let raise = async |device: &Multipath, host: u64| {
            let mut raised = 0_u64;
            let mut unknown = 0_u64;
            while !stop.get() {
                attempts.set(attempts.get() + 1);
                let before = device.read(Extent { lba: 0, blocks: 1 }).await.unwrap();
                let count = u64::from_le_bytes(before[..8].try_into().unwrap()) + 1;
                let mut after = vec![0; 512];
                after[..8].copy_from_slice(&count.to_le_bytes());
                // The host's number, so that the same count of another host is a different image.
                after[8..16].copy_from_slice(&host.to_le_bytes());
                match device.compare_and_write(0, before, after.into()).await {
                    Ok(Compared::Written) => raised += 1,
                    Ok(Compared::Miscompare) => {}
                    Err(DeviceError::Lost(reason)) => {
                        assert!(reason.contains("does not show the result"), "{reason}");
                        unknown += 1;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            (raised, unknown)
        };
        let cuts = async {
            for cut in 0..20 {
                more(&attempts, 32).await;
                (if cut % 3 == 0 { &two } else { &one }).cut(cut % 2);
            }
            stop.set(true);
        };
        let (first, second, ()) = tokio::join!(raise(&one, 1), raise(&two, 2), cuts);
        let end = one.read(Extent { lba: 0, blocks: 1 }).await.unwrap();
        let count = u64::from_le_bytes(end[..8].try_into().unwrap());
        let (known, unknown) = (first.0 + second.0, first.1 + second.1);
        assert!(
            known > 50 && (known..=known + unknown).contains(&count),
            "{count}, {known} known and {unknown} unknown"
        );
    });
}

#[test]
fn no_path_is_an_error_after_a_while_and_the_array_comes_back() {
    let mut array = two_portals(&[]);
    run(async {
        let patient = options("one", Policy::RoundRobin);
        let device = Multipath::connect(&array.urls(), &patient).await.unwrap();
        let impatient = MultipathOptions { patience: Duration::from_millis(300), ..options("two", Policy::OneActive) };
        let other = Multipath::connect(&array.urls(), &impatient).await.unwrap();
        device.write(0, stamped(1, 1)).await.unwrap();
        array.array.kill().unwrap();
        let began = Instant::now();
        let error = other.read(Extent { lba: 0, blocks: 8 }).await.unwrap_err();
        assert!(began.elapsed() >= Duration::from_millis(300));
        assert!(
            matches!(&error, DeviceError::Lost(reason) if reason.starts_with("no path for 0.3 s: iscsi://")),
            "{error}"
        );
        array.array.restart().unwrap();
        // Operations that waited for a path continue.
        assert_eq!(device.read(Extent { lba: 0, blocks: 8 }).await.unwrap(), stamped(1, 1));
        assert_eq!(other.read(Extent { lba: 0, blocks: 8 }).await.unwrap(), stamped(1, 1));
    });
}

#[test]
fn a_reservation_stays_on_its_path_and_is_lost_with_it() {
    let array = two_portals(&[]);
    run(async {
        let device = Multipath::connect(&array.urls(), &options("one", Policy::RoundRobin)).await.unwrap();
        let other = Multipath::connect(&array.urls(), &options("two", Policy::RoundRobin)).await.unwrap();
        device.reserve().await.unwrap();
        for place in 0..4 {
            // Alternating paths would conflict with the device's own reservation.
            device.write(place * BLOCKS, stamped(place, 1)).await.unwrap();
        }
        assert_eq!(other.write(0, stamped(0, 9)).await, Err(DeviceError::ReservationConflict));
        let holder = device.paths().iter().position(|path| path.counters.commands > 8).unwrap();
        device.cut(holder);
        let error = device.write(0, stamped(0, 2)).await.unwrap_err();
        assert!(matches!(&error, DeviceError::Lost(reason) if reason.contains("reservation")), "{error}");
        device.release().await.unwrap();
        // The array noticed the loss of the session, and released its reservation.
        let deadline = Instant::now() + Duration::from_secs(10);
        while other.write(0, stamped(0, 3)).await == Err(DeviceError::ReservationConflict) {
            assert!(Instant::now() < deadline, "the reservation of a lost session stays");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(device.read(Extent { lba: 0, blocks: 8 }).await.unwrap(), stamped(0, 3));
    });
}

#[test]
fn digests_go_over_all_paths_and_wrong_paths_are_refused() {
    let array = two_portals(&[]);
    let other_volume = array.array.create_volume("v2", "16M").unwrap();
    run(async {
        let digests = |url: &String| format!("{url}?header_digest=crc32c&data_digest=crc32c").parse::<Url>().unwrap();
        let urls: Vec<Url> = array.volume.urls.iter().map(digests).collect();
        let settings = options("one", Policy::RoundRobin);
        let device = Multipath::connect(&urls, &settings).await.unwrap();
        for place in 0..8 {
            device.write(place * BLOCKS, stamped(place, 5)).await.unwrap();
            device.cut(usize::try_from(place % 2).unwrap());
            assert_eq!(device.read(Extent { lba: place * BLOCKS, blocks: BLOCKS }).await.unwrap(), stamped(place, 5));
        }
        // Sessions with the same name and ISID would end those of the device.
        let settings = options("two", Policy::RoundRobin);
        // The URL of another logical unit.
        let mixed = [array.urls()[0].clone(), other_volume.url().parse().unwrap()];
        let refused = Multipath::connect(&mixed, &settings).await;
        assert!(matches!(refused, Err(MultipathError::Different { .. })));
        // One path without an answer stays down; if none answers, the connect fails.
        let nobody: Url = "iscsi://127.0.0.1:1/iqn.2026-01.org.example:t/0".parse().unwrap();
        let half = [nobody.clone(), array.urls()[1].clone()];
        let half = Multipath::connect(&half, &options("three", Policy::RoundRobin)).await.unwrap();
        assert_eq!(half.read(Extent { lba: 0, blocks: 8 }).await.unwrap(), stamped(0, 5));
        assert!(
            half.paths()[0].down.as_deref().is_some_and(|reason| reason.starts_with("cannot connect to 127.0.0.1:1"))
        );
        assert!(matches!(Multipath::connect(&[nobody], &settings).await, Err(MultipathError::Path { .. })));
        assert!(matches!(Multipath::connect(&[], &settings).await, Err(MultipathError::NoPath)));
    });
}

#[test]
fn chap_is_done_again_at_every_login() {
    let array = two_portals(&[]);
    let file = |name: &str, secret: &str| {
        let path = array.directory.path().join(name);
        std::fs::write(&path, secret).unwrap();
        format!("file:{}", path.display())
    };
    let (own, theirs) = (file("own", "own-secret-of-16-and-more"), file("theirs", "another-secret-of-16-and-more"));
    let host = ["host", "create", "esx1", "--iqn", "iqn.2026-01.org.example:esx1"];
    let chap =
        ["--chap-user", "esx1", "--chap-secret", &own, "--mutual-chap-user", "array", "--mutual-chap-secret", &theirs];
    array.array.command(&[&host[..], &chap].concat()).unwrap();
    array.array.command(&["access", "revoke", "v1", "--any", "--yes"]).unwrap();
    array.array.command(&["access", "grant", "v1", "--host", "esx1"]).unwrap();
    let with = |url: &String, own: &str, theirs: &str| -> Url {
        let rest = url.strip_prefix("iscsi://").unwrap();
        format!("iscsi://esx1%{own}@{rest}?target_user=array&target_password={theirs}").parse().unwrap()
    };
    let urls = |own, theirs| array.volume.urls.iter().map(|url| with(url, own, theirs)).collect::<Vec<_>>();
    run(async {
        let settings = options("esx1", Policy::RoundRobin);
        let right = urls("own-secret-of-16-and-more", "another-secret-of-16-and-more");
        let device = Multipath::connect(&right, &settings).await.unwrap();
        for place in 0..8 {
            device.write(place * BLOCKS, stamped(place, 7)).await.unwrap();
            device.cut(usize::try_from(place % 2).unwrap());
        }
        back(&device).await;
        assert!(
            device.paths().iter().all(|path| path.losses > 0 && !path.url.contains("secret")),
            "{:?}",
            device.paths()
        );
        for (own, theirs) in
            [("wrong-secret-of-16-and-more", "another-secret-of-16-and-more"), ("own-secret-of-16-and-more", "x")]
        {
            let refused = Multipath::connect(&urls(own, theirs), &settings).await;
            assert!(matches!(refused, Err(MultipathError::Path { .. })), "{own} {theirs}");
        }
    });
}
