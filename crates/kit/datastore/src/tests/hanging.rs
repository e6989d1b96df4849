//! Hosts that lock by reservation, one of which hangs during an update with the whole logical unit
//! reserved.

use super::*;

/// Creates a path to the unit that hangs once for `time_hung`, in the command after the next
/// `after` ones.
fn hanging(run: &World, after: &Rc<Cell<Option<u64>>>, time_hung: Duration) -> Rc<MemoryDevice> {
    let (time, after) = (run.time.clone(), after.clone());
    let delay: Delay = Rc::new(move || {
        let (time, now) = (time.clone(), after.get());
        after.set(now.and_then(|left| left.checked_sub(1)));
        let hangs = now == Some(0);
        Box::pin(async move {
            time.sleep(if hangs { time_hung } else { Duration::from_micros(200) }).await;
        })
    });
    let host = run.next_host.replace(run.next_host.get() + 1);
    let device = MemoryDevice::new(&run.medium, host, 1, SECTORS).with_delay(delay);
    Rc::new(device.with(|identity| (run.without)(&mut identity.limits)))
}

async fn touch_until(store: &Rc<Datastore<MemoryDevice>>, run: &World, end: Duration) -> u64 {
    let mut touched = 0;
    while run.time.now() < end {
        store.touch("disk").await.unwrap();
        touched += 1;
        run.time.sleep(Duration::from_millis(40)).await;
    }
    touched
}

/// Regression: the living hosts stopped when they could not renew their heartbeats, because no host
/// broke a reservation.
#[test]
fn a_host_that_hangs_with_a_reservation_is_survived_and_writes_nothing_when_it_wakes_up() {
    let mut broken = 0;
    for time_hung in [8, 11, 40] {
        for after in 0..24 {
            let world = World::with(after, Settings::default(), |limits| limits.compare_and_write = 0);
            let run = world.clone();
            broken += world.time.run(async move {
                run.format().await;
                let hangs_after = Rc::new(Cell::new(None));
                let device = hanging(&run, &hangs_after, Duration::from_secs(time_hung));
                let one = Datastore::mount(device, run.mover(), Host { name: "one".into() }).await.unwrap();
                let (_, two) = run.mount("two").await;
                let disk = DiskOptions { format: DiskFormat::Thin, size: 1 << 20 };
                two.create_disk("disk", disk, &|_| ()).await.unwrap();
                one.renew().await.unwrap();
                hangs_after.set(Some(after));
                // The first host survives if it wakes up early enough; nothing renews its heartbeat
                // meanwhile.
                let hung = async {
                    let mut touched = 0;
                    while one.touch("disk").await.is_ok() && touched < 3 {
                        touched += 1;
                    }
                    touched
                };
                let end = run.time.now() + Duration::from_secs(60);
                let living = alive(&two, touch_until(&two, &run, end));
                let (by_one, by_two) = future::join(hung, living).await;
                let file = two.list().await.unwrap().remove(0);
                // An update that was not acknowledged may have been written.
                let all = by_one + by_two;
                assert!((all..=all + 1).contains(&file.touched), "{after}: {} of {by_one} and {by_two}", file.touched);
                let report = two.check().await.unwrap();
                assert_eq!(report.problems, Vec::<String>::new(), "{after}");
                two.mover().tally().reservations_broken
            });
        }
    }
    assert!(broken >= 20, "{broken}");
}
