use super::{About, Array, run_jobs};
use crate::*;
use futures_executor::block_on;
use futures_util::FutureExt;
use pool::{BlockId, Catalog, CatalogChange, Incident, ObjectId, Place, PoolError};
use std::time::Duration;

fn job<R: Request<Reply: About<JobView>>>(array: &Array, request: R) -> (JobView, bool) {
    array.run(request).unwrap().about()
}

fn scrub() -> PoolScrub {
    PoolScrub { pool: "p0".to_owned(), share_percent: None }
}

fn reclaim(volume: &str) -> VolumeReclaim {
    VolumeReclaim { volume: volume.to_owned(), share_percent: None }
}

fn show(array: &Array, started: &JobView) -> JobView {
    job(array, JobShow { job: started.id.to_string() }).0
}

fn events(array: &Array) -> Vec<(String, String)> {
    let action = EventList { since: None, filter: EventFilter::default(), limit: 1000 };
    let events = array.run(action).unwrap();
    events.into_iter().map(|event| (event.code, event.message)).collect()
}

#[test]
fn reclaim_gives_zeros_back_and_says_how_much() {
    let array = Array::new();
    let object = array.create("v1").object.id;
    array.catalog.set_mapped(object, 8 << 20);
    array.catalog.zeros.borrow_mut().insert((object.0, 0), 4096);
    array.catalog.zeros.borrow_mut().insert((object.0, 3 << 20), 8192);
    let (started, created) = job(&array, reclaim("v1"));
    assert!(created);
    let (again, created) = job(&array, reclaim("v1"));
    assert_eq!((again.id, created), (started.id, false));
    run_jobs(&array.control);
    let done = show(&array, &started);
    assert_eq!((done.state, done.subject.as_str()), (JobState::Done, "v1"));
    let JobReport::Reclaim(report) = done.report else { panic!() };
    assert_eq!((report.deallocated_bytes, report.volumes), (12288, 1));
    assert!(done.finished.is_some() && done.done == done.total);
    assert!(array.catalog.documents("job/").is_empty());
    assert!(events(&array).iter().any(|(code, message)| code == "job-done" && message.starts_with("reclaim of v1")));
    let cancel = JobCancel { job: started.id.to_string() };
    assert_eq!(array.code(cancel), "job-ended");
    assert_eq!(array.code(JobShow { job: "ffff-none".to_owned() }), "not-found");
    assert_eq!(array.code(reclaim("v2")), "not-found");
    let share = |share_percent| VolumeReclaim { volume: "v1".to_owned(), share_percent };
    assert_eq!(array.code(share(Some(0))), "invalid-setting");
    assert_eq!(array.code(share(Some(101))), "invalid-setting");
}

#[test]
fn reclaim_of_all_volumes_goes_around_those_that_are_deleted() {
    let array = Array::new();
    for name in ["v1", "v2", "v3"] {
        let object = array.create(name).object.id;
        array.catalog.zeros.borrow_mut().insert((object.0, 0), 4096);
        array.catalog.set_mapped(object, 4096);
    }
    let (started, _) = job(&array, PoolReclaim { pool: "p0".to_owned(), share_percent: None });
    array.run(VolumeDelete { volume: "v2".to_owned(), now: true, ..VolumeDelete::default() }).unwrap();
    run_jobs(&array.control);
    let JobReport::Reclaim(report) = show(&array, &started).report else { panic!() };
    assert_eq!((report.volumes, report.deallocated_bytes), (2, 8192));
}

#[test]
fn a_reclaim_whose_volume_is_deleted_says_so() {
    let array = Array::new();
    array.create("v1");
    let (started, _) = job(&array, reclaim("v1"));
    array.run(VolumeDelete { volume: "v1".to_owned(), now: true, ..VolumeDelete::default() }).unwrap();
    // Error of the pool if the volume is deleted during a step.
    array.catalog.gone.replace(Some(PoolError::Stopped("the volume no longer exists".to_owned())));
    run_jobs(&array.control);
    let ended = show(&array, &started);
    assert_eq!(ended.state, JobState::Failed("volume v1 was deleted meanwhile".to_owned()));
    let told = ("job-failed".to_owned(), "reclaim of v1 failed: volume v1 was deleted meanwhile".to_owned());
    assert!(events(&array).contains(&told));
}

/// Work of the management plane is shown with its progress and end, and is nowhere after a restart.
#[test]
fn work_of_the_management_plane_is_a_job_that_cannot_be_cancelled() {
    let array = Array::new();
    let start = |work| array.run(ManagementJobStart { work, total: 10 }).unwrap();
    let (apply, bundle) = (start(ManagementWork::Apply), start(ManagementWork::Bundle));
    assert_eq!((apply.kind.name(), bundle.kind.name(), apply.done, apply.total), ("apply", "bundle", 0, 10));
    array.run(ManagementJobProgress { job: apply.id, done: 4, total: 12 }).unwrap();
    let mut background = Box::pin(array.control.background());
    let mut go_on = || (0..100).for_each(|_| assert!((&mut background).now_or_never().is_none()));
    go_on();
    let now = show(&array, &apply);
    assert_eq!((now.state, now.done, now.total), (JobState::Running, 4, 12));
    let name = apply.id.to_string();
    assert_eq!(array.code(JobCancel { job: name.clone() }), "job-goes-on");
    assert_eq!(array.code(JobSet { job: name, share_percent: 50 }), "job-goes-on");
    assert!(array.catalog.documents("job/").is_empty());
    array.run(ManagementJobEnd { job: apply.id, result: Err("1 of 2 steps".to_owned()) }).unwrap();
    array.run(ManagementJobEnd { job: bundle.id, result: Ok("bundle of 1 MiB".to_owned()) }).unwrap();
    go_on();
    assert_eq!(show(&array, &apply).state, JobState::Failed("1 of 2 steps".to_owned()));
    assert_eq!(show(&array, &bundle).state, JobState::Done);
    assert_eq!(array.code(ManagementJobProgress { job: apply.id, done: 5, total: 12 }), "job-ended");
    let told = ("job-failed".to_owned(), "apply of p0 failed: 1 of 2 steps".to_owned());
    assert!(events(&array).contains(&told), "{:?}", events(&array));
    assert!(events(&array).contains(&("job-done".to_owned(), "bundle of p0: bundle of 1 MiB".to_owned())));
    let again = Array::over(array.catalog.clone()).unwrap();
    assert!(again.run(JobList).unwrap().is_empty());
}

#[test]
fn a_job_yields_to_hosts_by_its_share() {
    let array = Array::new();
    array.create("v1");
    job(&array, reclaim("v1"));
    let watched = || array.environment.slept.get();
    run_jobs(&array.control);
    let idle = watched();
    array.live.busy.set(true);
    job(&array, VolumeReclaim { volume: "v1".to_owned(), share_percent: Some(20) });
    run_jobs(&array.control);
    let busy = watched() - idle;
    // 1024 steps of a millisecond, and pauses four times as long for hosts.
    assert!(busy > Duration::from_secs(4), "{idle:?} {busy:?}");
}

#[test]
fn a_cancelled_job_keeps_what_it_did_and_leaves_no_document() {
    let array = Array::new();
    array.create("v1");
    let (started, _) = job(&array, reclaim("v1"));
    array.run(JobCancel { job: started.id.to_string()[28..].to_owned() }).unwrap();
    run_jobs(&array.control);
    assert_eq!(show(&array, &started).state, JobState::Cancelled);
    assert!(array.catalog.documents("job/").is_empty());
    let (check, _) = job(&array, PoolCheck { pool: "p0".to_owned(), share_percent: None });
    run_jobs(&array.control);
    assert_eq!(show(&array, &check).state, JobState::Done);
    let pool = array.run(PoolShow { pool: "p0".to_owned() }).unwrap();
    assert_eq!(pool.examined.check.unwrap().count, 0);
}

/// Polls the background tasks a few times, like a daemon that stops soon.
fn a_little(control: &Control, rounds: u32) {
    let mut left = rounds;
    let some = std::future::poll_fn(|context| {
        left -= 1;
        context.waker().wake_by_ref();
        if left == 0 { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    });
    block_on(futures_util::future::select(Box::pin(control.background()), Box::pin(some)));
}

#[test]
fn a_job_goes_on_where_it_was_after_a_restart() {
    let array = Array::new();
    let object = array.create("v1").object.id;
    array.catalog.set_mapped(object, 1 << 30);
    array.catalog.zeros.borrow_mut().insert((object.0, 0), 4096);
    array.catalog.zeros.borrow_mut().insert((object.0, 1000 << 20), 8192);
    let (started, _) = job(&array, reclaim("v1"));
    a_little(&array.control, 20);
    let before = show(&array, &started);
    assert!(before.done > 0 && before.done < before.total, "{before:?}");
    block_on(array.control.close());
    let again = Array::over(array.catalog.clone()).unwrap();
    let resumed = show(&again, &started);
    assert_eq!((resumed.state, resumed.done), (JobState::Running, before.done));
    run_jobs(&again.control);
    let JobReport::Reclaim(report) = show(&again, &started).report else { panic!() };
    assert_eq!((report.deallocated_bytes, report.scanned_bytes), (12288, 1 << 30));
}

/// Replied changes survive a kill right after the reply.
#[test]
fn jobs_are_started_changed_and_cancelled_for_good() {
    let array = Array::new();
    array.create("v1");
    array.create("v2");
    let restart = || Array::over(array.catalog.clone()).unwrap();
    let told = |array: &Array, code: &str| events(array).iter().filter(|(known, _)| known == code).count();
    let (v1, _) = job(&array, reclaim("v1"));
    let (v2, _) = job(&array, reclaim("v2"));
    let (check, _) = job(&array, PoolCheck { pool: "p0".to_owned(), share_percent: Some(7) });
    let again = restart();
    assert_eq!((show(&again, &v1).state, show(&again, &v2).state), (JobState::Running, JobState::Running));
    assert_eq!((show(&again, &check).state, show(&again, &check).share_percent), (JobState::Running, 7));
    assert_eq!(told(&again, "job-started"), 3);
    job(&array, JobSet { job: v1.id.to_string(), share_percent: 40 });
    let again = restart();
    assert_eq!((show(&again, &v1).share_percent, told(&again, "job-changed")), (40, 1));

    // A cancellation survives, too: progress that the job would have stored later does not restore
    // it.
    job(&array, JobCancel { job: v1.id.to_string() });
    job(&array, JobCancel { job: check.id.to_string() });
    let again = restart();
    for ended in [&v1, &check] {
        assert_eq!(again.code(JobShow { job: ended.id.to_string() }), "not-found");
    }
    assert_eq!((show(&again, &v2).state, told(&again, "job-cancelled")), (JobState::Running, 2));
    let (anew, created) = job(&array, reclaim("v1"));
    assert!(created && anew.id != v1.id);
    run_jobs(&array.control);
    assert_eq!((show(&array, &v1).state, show(&array, &anew).state), (JobState::Cancelled, JobState::Done));
    assert_eq!(told(&array, "job-cancelled"), 2, "told once");
    assert!(array.catalog.documents("job/").is_empty());
    // A request whose change cannot be stored fails.
    array.catalog.fail_next.replace(Some(PoolError::PoolFull));
    assert_eq!(array.code(reclaim("v1")), "no-space");
    let (kept, _) = job(&array, reclaim("v1"));
    array.catalog.fail_next.replace(Some(PoolError::PoolFull));
    assert_eq!(array.code(JobCancel { job: kept.id.to_string() }), "no-space");
    run_jobs(&array.control);
    assert_eq!(show(&array, &kept).state, JobState::Done);
}

fn bad(object: ObjectId, offset_bytes: u64, block: u64) -> Place {
    Place { object, offset_bytes, block: BlockId(block) }
}

#[test]
fn a_full_file_system_below_the_pool_is_told_once_and_its_end_too() {
    let array = Array::new();
    let told = |array: &Array| -> Vec<String> {
        events(array).into_iter().map(|(code, _)| code).filter(|code| code.starts_with("below")).collect()
    };
    let alerts = |array: &Array| array.control.alerts().into_iter().filter(|alert| alert.code == "below-full").count();
    array.catalog.full_below.set(true);
    a_little(&array.control, 3);
    assert_eq!((told(&array), alerts(&array)), (vec!["below-full".to_owned()], 1));
    array.catalog.full_below.set(false);
    a_little(&array.control, 3);
    assert_eq!((told(&array), alerts(&array)), (vec!["below-full".to_owned(), "below-has-room".to_owned()], 0));
}

#[test]
fn a_bad_block_is_told_with_volume_lba_and_snapshots_and_goes_when_a_scrub_is_clean() {
    let array = Array::new();
    let v1 = array.create("v1").object.id;
    array.run(SnapshotCreate { volume: "v1".to_owned(), name: "monday".to_owned() }).unwrap();
    let snapshots = array.run(SnapshotList::default()).unwrap();
    let monday = snapshots[0].object.id;
    let all = [bad(v1, 4096, 7), bad(monday, 4096, 7), bad(v1, 8192, 8), bad(monday, 8192, 8), bad(monday, 1 << 20, 9)];
    array.catalog.bad.replace(all.to_vec());
    // A host's read finds the first bad block.
    array.catalog.incidents.replace(vec![Incident::BadBlock(all[0]), Incident::BadBlock(all[0])]);
    a_little(&array.control, 3);
    let told = |array: &Array| -> Vec<String> {
        events(array).into_iter().filter(|(code, _)| code == "bad-block").map(|(_, message)| message).collect()
    };
    assert_eq!(told(&array), ["LBA 8 to 15 of v1 cannot be read, nor in snapshot monday"]);
    let (started, _) = job(&array, scrub());
    run_jobs(&array.control);
    assert_eq!(
        told(&array)[1..],
        [
            "LBA 16 to 23 of v1 cannot be read, nor in snapshot monday",
            "LBA 2048 to 2055 of v1 cannot be read in snapshot monday"
        ]
    );
    let JobReport::Scrub(report) = show(&array, &started).report else { panic!() };
    assert_eq!(report.bad_blocks, 3);
    assert_eq!((report.bad[0].lba, report.bad[0].blocks, report.bad[0].in_volume), (8, 16, true));
    assert_eq!((report.bad[1].lba, report.bad[1].in_volume, report.bad.len()), (2048, false, 2));
    let alerts = |array: &Array| array.run(AlertList).unwrap();
    assert_eq!((alerts(&array)[0].code, alerts(&array)[0].severity), ("bad-blocks", Severity::Critical));
    let again = Array::over(array.catalog.clone()).unwrap();
    assert_eq!(alerts(&again)[0].message, "3 blocks of 4 KiB cannot be read");
    let pool = again.run(PoolShow { pool: "p0".to_owned() }).unwrap();
    assert_eq!(pool.examined.scrub.unwrap().bad.len(), 2);
    again.catalog.bad.borrow_mut().clear();
    job(&again, scrub());
    run_jobs(&again.control);
    assert!(alerts(&again).is_empty());
}

/// Damage of one map: all other objects are shown, and scrub and check finish and report it.
#[test]
fn damaged_metadata_of_one_volume_is_named_and_hides_nothing_else() {
    let array = Array::new();
    let good = array.create("good").object.id;
    let bad = array.create("bad").object.id;
    array.run(SnapshotCreate { volume: "good".to_owned(), name: "s".to_owned() }).unwrap();
    array.create("last");
    array.catalog.set_mapped(good, 4096);
    array.catalog.damaged.borrow_mut().insert(bad.0);
    let volumes = array.run(VolumeList::default()).unwrap();
    let unique: Vec<_> = volumes.iter().map(|volume| (volume.record.name.as_str(), volume.unique_bytes)).collect();
    assert_eq!(unique, [("bad", None), ("good", Some(0)), ("last", Some(0))]);
    let pool = |array: &Array| array.run(PoolShow { pool: "p0".to_owned() }).unwrap();
    assert_eq!(
        (pool(&array).unique_bytes, pool(&array).shared_bytes, pool(&array).state),
        (None, None, PoolState::Damaged)
    );
    array.run(PoolList).unwrap();
    array.run(SnapshotList::default()).unwrap();
    array.run(MetricsShow).unwrap();
    let status = array.run(StatusShow).unwrap();
    assert_eq!(status.health, Health::Degraded);
    let sentence = format!("volume bad: block {} is not a map page", 4000 + bad.0);
    assert_eq!((status.alerts[0].code, &status.alerts[0].message), ("metadata-damaged", &sentence));
    assert!(status.alerts[0].help.contains("unmap or zero the range"));

    let (started, _) = job(&array, scrub());
    run_jobs(&array.control);
    let scrubbed = show(&array, &started);
    assert_eq!(scrubbed.state, JobState::Done);
    let JobReport::Scrub(report) = scrubbed.report else { panic!() };
    assert_eq!((&report.damaged, report.verified_bytes), (&vec![sentence.clone()], 3 << 30));
    let (started, _) = job(&array, PoolCheck { pool: "p0".to_owned(), share_percent: None });
    run_jobs(&array.control);
    let JobReport::Check(Some(report)) = show(&array, &started).report else { panic!() };
    assert_eq!(report.count, 1);
    assert!(report.findings[0].starts_with(&format!("volume bad (object {}): ", bad.0)), "{:?}", report.findings);
    let told = events(&array).into_iter().filter(|(code, _)| code == "metadata-damaged").count();
    assert_eq!(told, 2, "once for each sentence");

    block_on(array.control.close());
    // The damage is still known after a restart, without new events; a clean scrub and check end
    // it.
    let again = Array::over(array.catalog.clone()).unwrap();
    assert_eq!(pool(&again).state, PoolState::Damaged);
    again.run(VolumeList::default()).unwrap();
    assert_eq!(events(&again).into_iter().filter(|(code, _)| code == "metadata-damaged").count(), 2);
    again.catalog.damaged.borrow_mut().clear();
    job(&again, scrub());
    job(&again, PoolCheck { pool: "p0".to_owned(), share_percent: None });
    run_jobs(&again.control);
    assert_eq!(pool(&again).state, PoolState::Healthy);
    assert!(again.control.alerts().is_empty());
}

#[test]
fn a_job_that_cannot_keep_its_result_has_failed() {
    let array = Array::new();
    let (started, _) = job(&array, PoolCheck { pool: "p0".to_owned(), share_percent: None });
    array.catalog.fail_next.replace(Some(PoolError::PoolFull));
    run_jobs(&array.control);
    let JobState::Failed(reason) = show(&array, &started).state else { panic!() };
    assert!(reason.starts_with("its result could not be kept"), "{reason}");
}

/// Regression: the start of a job summed up all objects while it held the lock that changes of other
/// jobs wait for, and so did a repeated start that only showed the running job.
#[test]
fn the_start_of_a_job_delays_no_other_and_a_repeated_one_reads_no_objects() {
    let array = Array::new();
    let volumes = 3000;
    let ids: Vec<ObjectId> = (0..volumes).map(|_| array.catalog.new_object_id()).collect();
    let create = |id: &ObjectId| CatalogChange::CreateVolume { id: *id, size_bytes: 4096 };
    block_on(array.catalog.commit(ids.iter().map(create).collect())).unwrap();
    ids.iter().for_each(|id| array.catalog.set_mapped(*id, 4096));
    let (scrub, _) = job(&array, scrub());
    let reclaim = || PoolReclaim { pool: "p0".to_owned(), share_percent: None };
    array.catalog.listed.set(0);
    let mut start = Box::pin(array.control.execute(reclaim()));
    assert!((&mut start).now_or_never().is_none(), "the sum over {volumes} objects takes turns");
    let set = JobSet { job: scrub.id.to_string(), share_percent: 7 };
    assert_eq!(array.control.execute(set).now_or_never().unwrap().unwrap().share_percent, 7);
    let started = block_on(start).unwrap();
    assert!(started.changed && started.view.total == 4096 * volumes);
    let walked = array.catalog.listed.replace(0);
    assert!(walked < 2 * usize::try_from(volumes).unwrap(), "{walked} objects were read");

    let again = array.run(reclaim()).unwrap();
    assert_eq!((again.view.id, again.changed), (started.view.id, false));
    assert_eq!(array.catalog.listed.get(), 1);
}

fn reshare(volume: &str, with: &str) -> VolumeReshare {
    let (volume, with) = (volume.to_owned(), with.to_owned());
    VolumeReshare { volume, with, shift_bytes: 0, compare_only: false, share_percent: None }
}

/// A reshare says what it shared and freed; a dry run changes nothing; refusals come before a job starts.
#[test]
fn a_reshare_shares_copies_and_tells_the_gain() {
    let array = Array::new();
    let copy = array.create("copy").object.id;
    let original = array.create("original").object.id;
    array.catalog.set_mapped(copy, 64 << 20);
    array.catalog.set_mapped(original, 64 << 20);
    array.catalog.zeros.borrow_mut().insert((copy.0, 0), 8192);
    array.catalog.zeros.borrow_mut().insert((copy.0, 5 << 20), 16_384);
    let report = |started: &JobView| match show(&array, started).report {
        JobReport::Reshare(report) => report,
        other => panic!("{other:?}"),
    };
    let (tried, _) = job(&array, VolumeReshare { compare_only: true, ..reshare("copy", "original") });
    let (shifted, _) = job(&array, VolumeReshare { shift_bytes: -4096, ..reshare("copy", "copy") });
    assert_ne!(tried.id, shifted.id);
    run_jobs(&array.control);
    let would_be = report(&tried);
    assert_eq!((would_be.shared_bytes, would_be.freed_bytes, would_be.compare_only), (24_576, 12_288, true));
    array.catalog.zeros.borrow_mut().insert((copy.0, 0), 8192);
    array.catalog.zeros.borrow_mut().insert((copy.0, 5 << 20), 16_384);
    let (started, created) = job(&array, reshare("copy", "original"));
    assert!(created && !job(&array, reshare("copy", "original")).1);
    run_jobs(&array.control);
    let done = show(&array, &started);
    assert_eq!((done.state, done.subject.as_str(), done.kind.name()), (JobState::Done, "copy", "reshare"));
    let found = report(&started);
    assert_eq!((found.shared_bytes, found.freed_bytes, found.with.as_str()), (24_576, 12_288, "original"));
    let told = "reshare of copy: 24 KiB shared with original, 12 KiB freed";
    assert!(events(&array).contains(&("job-done".to_owned(), told.to_owned())), "{:?}", events(&array));
    assert_eq!(array.code(reshare("copy", "copy")), "reshare-with-itself");
    assert_eq!(array.code(reshare("copy", "none")), "not-found");
    assert_eq!(array.code(reshare("none", "copy")), "not-found");
    assert_eq!(array.code(reshare("copy", "original@none")), "not-found");
    let shifted = |shift_bytes| VolumeReshare { shift_bytes, ..reshare("copy", "original") };
    assert_eq!(array.code(shifted(512)), "invalid-setting");
    assert_eq!(array.code(VolumeReshare { share_percent: Some(0), ..reshare("copy", "original") }), "invalid-setting");
}

#[test]
fn a_reshare_whose_objects_go_away_says_which() {
    for gone in ["copy", "original"] {
        let array = Array::new();
        array.create("copy");
        array.create("original");
        let (started, _) = job(&array, reshare("copy", "original"));
        array.run(VolumeDelete { volume: gone.to_owned(), now: true, ..VolumeDelete::default() }).unwrap();
        run_jobs(&array.control);
        assert_eq!(show(&array, &started).state, JobState::Failed(format!("volume {gone} was deleted meanwhile")));
    }
}

#[test]
fn a_reshare_goes_on_where_it_was_after_a_restart() {
    let array = Array::new();
    let copy = array.create("copy").object.id;
    array.create("original");
    array.catalog.set_mapped(copy, 1 << 30);
    array.catalog.zeros.borrow_mut().insert((copy.0, 0), 4096);
    array.catalog.zeros.borrow_mut().insert((copy.0, 1000 << 20), 8192);
    let (started, _) = job(&array, reshare("copy", "original"));
    a_little(&array.control, 20);
    let before = show(&array, &started);
    assert!(before.done > 0 && before.done < before.total, "{before:?}");
    block_on(array.control.close());
    let again = Array::over(array.catalog.clone()).unwrap();
    assert_eq!(show(&again, &started).done, before.done);
    run_jobs(&again.control);
    let JobReport::Reshare(report) = show(&again, &started).report else { panic!() };
    assert_eq!((report.shared_bytes, report.scanned_bytes, report.with.as_str()), (12_288, 1 << 30, "original"));
}
