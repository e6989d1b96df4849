use super::space::codes;
use super::*;
use crate::{JobKind, JobReport, JobView, SanitizeRecord, SanitizeReport};
use pool::{Catalog, ObjectId};

fn store(array: &Array, object: ObjectId, failed: Option<bool>) {
    let record = failed.map(|failed| {
        move |volume| SanitizeRecord {
            volume,
            overwrite: None,
            unrestricted_exit: false,
            failed,
            reason: failed.then(|| "the pool is full".to_owned()),
            job: None,
        }
    });
    block_on(array.control.store_sanitize_operation(object, record, Some(ESX01))).unwrap();
}

#[test]
fn a_sanitize_operation_is_told_and_its_failure_stays_an_alert() {
    let array = Array::new();
    let object = array.create("v1").object.id;
    store(&array, object, Some(false));
    store(&array, object, Some(true));
    let alerts = |array: &Array| {
        let alerts = array.run(AlertList).unwrap();
        alerts.into_iter().map(|alert| (alert.code, alert.subject)).collect::<Vec<_>>()
    };
    assert_eq!(alerts(&array), [("sanitize-failed", "v1".to_owned())]);
    let again = Array::over(array.catalog.clone()).unwrap();
    assert_eq!(alerts(&again), [("sanitize-failed", "v1".to_owned())]);
    store(&again, object, None);
    assert_eq!(alerts(&again), []);
    let told: Vec<_> = codes(&array).into_iter().filter(|code| code.starts_with("sanitize")).collect();
    assert_eq!(told, ["sanitize-started", "sanitize-failed"]);
    assert!(codes(&again).contains(&"sanitize-ended".to_owned()));
}

/// Regression: the event was "a host erases volume disk", without the initiator.
#[test]
fn the_event_of_a_sanitize_operation_names_the_initiator() {
    let array = Array::new();
    let message = |name: &str| {
        store(&array, array.create(name).object.id, Some(false));
        let events = array.run(EventList { since: None, filter: EventFilter::default(), limit: 1 }).unwrap();
        events[0].message.clone()
    };
    assert_eq!(message("v1"), format!("initiator {ESX01} erases volume v1 by SANITIZE"));
    array.create_host("esx01", ESX01);
    assert_eq!(message("v2"), format!("initiator {ESX01} (host esx01) erases volume v2 by SANITIZE"));
}

fn jobs(array: &Array) -> Vec<JobView> {
    array.run(JobList).unwrap()
}

/// A sanitize operation is a job with progress and keeps its id after a restart; it cannot be
/// cancelled or paced.
#[test]
fn a_sanitize_operation_is_a_job_that_cannot_be_cancelled() {
    let array = Array::new();
    let object = array.create("v1").object.id;
    store(&array, object, Some(false));
    array.control.sanitize_progress(object, 1 << 20, 1 << 30);
    let job = jobs(&array).remove(0);
    assert_eq!((job.kind, job.kind.name(), job.kind.unit()), (JobKind::Sanitize, "sanitize", "bytes"));
    assert_eq!((job.subject.as_str(), job.total), ("v1", 1 << 30));
    assert_eq!(job.report, JobReport::Sanitize(SanitizeReport { passes: None }));
    let name = job.id.to_string();
    let refused = array.run(JobCancel { job: name.clone() }).unwrap_err();
    assert_eq!(refused.code(), "sanitize-goes-on");
    assert!(refused.to_string().contains("cannot be cancelled"), "{refused}");
    assert_eq!(array.code(JobSet { job: name.clone(), share_percent: 50 }), "sanitize-goes-on");
    assert_eq!(jobs(&array).remove(0).state, JobState::Running);

    let again = Array::over(array.catalog.clone()).unwrap();
    assert!(jobs(&again).is_empty());
    let kept = again.control.resume_sanitize_operations().unwrap();
    assert_eq!(kept.len(), 1);
    let resumed = jobs(&again).remove(0);
    assert_eq!((resumed.id, resumed.started, resumed.done), (job.id, job.started, 0));
    store(&again, object, None);
    run_jobs(&again.control);
    let done = jobs(&again).remove(0);
    assert_eq!((done.state, done.done), (JobState::Done, 1 << 30));
    assert!(again.catalog.documents("job/").is_empty());
    let ended = again.run(JobCancel { job: name });
    assert_eq!(ended.unwrap_err().code(), "job-ended");
}

#[test]
fn a_sanitize_operation_that_fails_or_loses_its_volume_is_a_failed_job() {
    let array = Array::new();
    let object = array.create("v1").object.id;
    store(&array, object, Some(false));
    store(&array, object, Some(true));
    run_jobs(&array.control);
    let failed = JobState::Failed("sanitizing volume v1 has failed: the pool is full; the volume answers no reads or writes until it is sanitized again".to_owned());
    assert_eq!(jobs(&array).remove(0).state, failed);

    let gone = array.create("v2").object.id;
    store(&array, gone, Some(false));
    array.run(VolumeDelete { volume: "v2".to_owned(), now: true, ..VolumeDelete::default() }).unwrap();
    array.control.sanitize_stopped(gone);
    // The second call has no effect.
    array.control.sanitize_stopped(gone);
    run_jobs(&array.control);
    let states: Vec<_> = jobs(&array).into_iter().map(|job| job.state).collect();
    assert_eq!(states, [JobState::Failed("volume v2 was deleted meanwhile".to_owned()), failed]);
}
