#![expect(clippy::unwrap_used, reason = "tests")]

mod limits;

use super::*;
use control::{AlertList, Severity};
use media::{Fault, FaultEffect, FaultOperation};
use std::time::Duration;
use world::Kind;

/// Runs a future of its own, outside of a seed.
pub(crate) fn in_virtual_time(future: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(future);
}

/// Without it, a failure could not be replayed.
#[test]
fn a_seed_gives_the_same_history_again() {
    for seed in [1, 2, 3] {
        let (one, other) = (run(seed, 150, false), run(seed, 150, false));
        assert_eq!(one.failure, None);
        assert_eq!(one.report, other.report);
    }
    assert_ne!(run(1, 150, false).report.history, run(2, 150, false).report.history);
}

#[test]
fn some_seeds_are_clean() {
    let mut sum = Report::default();
    for seed in 10..30 {
        let outcome = run(seed, 200, false);
        assert_eq!(outcome.failure, None);
        sum.logins += outcome.report.logins;
        sum.kills += outcome.report.kills;
        sum.unanswered += outcome.report.unanswered;
        sum.file_operations += outcome.report.file_operations;
    }
    assert!(sum.logins > 40 && sum.kills > 5 && sum.unanswered > 5 && sum.file_operations > 500, "{sum:?}");
}

/// A run with one host whose array has started.
async fn started(seed: u64) -> Run {
    let executors = World::of(seed, 1).executors;
    started_with(seed, executors).await
}

/// A run with one host whose array has started with as many executors.
async fn started_with(seed: u64, executors: usize) -> Run {
    let mut world = World::of(seed, 1);
    world.executors = executors;
    (world.hosts, world.volumes, world.digests, world.immediate, world.delay) = (1, 1, false, false, 0);
    world.nfs_hosts = 0;
    let run = Run::new(Rc::new(Shared::new(world, false)));
    machine::format(&run.disk, seed).unwrap();
    let machine = Machine::start(&run.shared, &run.disk, run.began).await.unwrap();
    machine.furnish(&run.shared).await.unwrap();
    run.machine.replace(Some(machine));
    run
}

impl Run {
    /// The file system below the pool is full: no block of the data area can be written.
    fn fill_below(&self) {
        let data = 2048..media::Disk::block_count(&self.disk) - 1;
        self.disk.plant(Fault::sticky(FaultOperation::Write, FaultEffect::NoSpace).on_blocks(data));
        self.shared.troubled.set(true);
    }

    /// Ends the array as a kill does, and starts it again with these portals.
    async fn restart(&mut self, portals: &[SocketAddr]) {
        self.machine.take();
        self.disk = self.disk.crash();
        let machine = Machine::start_with(&self.shared, &self.disk, self.began, portals).await;
        self.machine.replace(Some(machine.unwrap()));
    }

    /// Codes of the alerts that need attention. Volumes are open to everybody here, which is one for information.
    async fn alerts(&self) -> Vec<&'static str> {
        let control = self.machine.borrow().as_ref().unwrap().array.control().clone();
        let alerts = self.poll_with(control.execute(AlertList)).await.unwrap().unwrap();
        alerts.into_iter().filter(|alert| alert.severity > Severity::Info).map(|alert| alert.code).collect()
    }

    async fn wait(&self, seconds: u64) {
        self.poll_with(sleep(Duration::from_secs(seconds))).await.unwrap();
    }
}

/// The alert came with the first checkpoint after the start, half a minute later or when hosts had written enough.
#[test]
fn an_array_that_starts_on_a_full_file_system_reports_it_at_once() {
    in_virtual_time(async {
        let mut run = started(1).await;
        run.fill_below();
        let mut host = Host::new(run.shared.clone(), 0, run.connector(), 0);
        run.poll_with(host.send(Kind::Write, 3)).await.unwrap().unwrap();
        assert_eq!(run.shared.report.get().failed, 0, "the log takes them");
        run.restart(&[machine::portal(0)]).await;
        run.wait(3).await;
        assert_eq!(run.alerts().await, ["below-full"]);
        // It ends without a restart.
        run.disk.clear_faults();
        run.wait(120).await;
        assert_eq!(run.alerts().await, [""; 0]);
    });
}

/// With a full log, the document of a new portal had no room, and the array did not start: no host had a path any more.
#[test]
fn with_a_full_log_an_array_starts_and_its_new_portal_waits() {
    in_virtual_time(async {
        let mut run = started(1).await;
        let mut host = Host::new(run.shared.clone(), 0, run.connector(), 0);
        run.poll_with(host.send(Kind::Write, 300)).await.unwrap().unwrap();
        run.fill_below();
        let failed = || run.shared.report.get().failed;
        // Large records first, and then small ones, until not even those have room.
        for kind in [Kind::Write, Kind::Unmap] {
            let before = failed();
            run.poll_with(host.send(kind, 400)).await.unwrap().unwrap();
            assert!(failed() > before + 10, "the log is not full");
        }
        run.restart(&[machine::portal(0), machine::portal(1)]).await;
        let log_in = async |index| {
            let mut host = Host::new(run.shared.clone(), 0, run.connector_to(index), 0);
            run.poll_with(host.send(Kind::TestUnitReady, 1)).await.unwrap()
        };
        assert_eq!(log_in(0).await, Ok(()), "the portal that was there before");
        assert_eq!(run.alerts().await, ["below-full", "portal-unrecorded"], "sorted by condition");
        let refused = log_in(1).await.unwrap_err();
        assert!(refused.contains("SERVICE_UNAVAILABLE"), "{refused}");

        run.disk.clear_faults();
        run.wait(120).await;
        assert_eq!(run.alerts().await, ["logins-refused"], "the host at the new portal has tried long enough");
        run.wait(1200).await;
        assert_eq!(run.alerts().await, [""; 0]);
        assert_eq!((log_in(0).await, log_in(1).await), (Ok(()), Ok(())));
    });
}
