//! Samples: what they count, what they forget, and the series made from them.

use super::{Array, offload};
use crate::*;
use pool::ObjectId;

/// Counters of a volume after this many reads of 4 KiB, each of this latency.
fn counters(volume: ObjectId, reads: u64, latency_us: u64) -> VolumeCounters {
    let mut read = LatencyHistogram::default();
    (0..reads).for_each(|_| read.record(latency_us * 1000));
    let io = IoStatistics { reads, read_bytes: reads << 12, ..IoStatistics::default() };
    VolumeCounters { volume, io, queue_depth: 3, latency: IoLatency { read, ..IoLatency::default() } }
}

fn set(array: &Array, counters: VolumeCounters) {
    let mut all = array.live.counters.borrow_mut();
    all.retain(|other| other.volume != counters.volume);
    all.push(counters);
}

/// Publishes, and takes a sample. Returns it.
fn sample(array: &Array, mirror: &Mirror, processor_ns: u64) -> std::sync::Arc<Sample> {
    futures_executor::block_on(array.control.publish_facts());
    mirror.sample(processor_ns).unwrap();
    mirror.read(&SampleLatest::default()).unwrap().unwrap().sample
}

#[test]
fn a_sample_has_what_happened_since_the_last_one() {
    let array = Array::new();
    let object = array.create("v1").record.object;
    set(&array, counters(object, 100, 7));
    let mirror = futures_executor::block_on(array.control.mirror());
    assert_eq!(mirror.read(&SampleLatest::default()).unwrap().map(|view| view.sample), None);
    // Activity before the mirror began is in no sample.
    let first = sample(&array, &mirror, 0);
    assert_eq!((first.array.io, first.units.len(), first.array.queue_depth), (IoSample::default(), 0, 3));
    set(&array, counters(object, 130, 90));
    let second = sample(&array, &mirror, 0);
    let io = second.unit(object).unwrap();
    assert_eq!((io.reads, io.writes, io.read_bytes), (30, 0, 30 << 12));
    assert_eq!(second.array.io, io);
    let idle = sample(&array, &mirror, 0);
    assert_eq!((idle.array.io, idle.unit(object)), (IoSample::default(), Some(IoSample::default())));
}

#[test]
fn latencies_are_those_of_the_interval() {
    let array = Array::new();
    let object = array.create("v1").record.object;
    let mirror = futures_executor::block_on(array.control.mirror());
    let mut now = counters(object, 1000, 5000);
    set(&array, now.clone());
    assert!(sample(&array, &mirror, 0).array.io.p99_us >= 4096);
    (0..100).for_each(|_| now.latency.read.record(10_000));
    now.io.reads += 100;
    set(&array, now);
    let io = sample(&array, &mirror, 0).array.io;
    assert_eq!((io.reads, io.p50_us <= 12, io.p99_us <= 12), (100, true, true), "{io:?}");
}

#[test]
fn offloads_sessions_and_processor_time_are_counted() {
    let array = Array::new();
    let object = array.create("v1").record.object;
    let mirror = futures_executor::block_on(array.control.mirror());
    let start = sample(&array, &mirror, 1_000_000_000);
    array.log_in(9, "iqn.2026-01.org.example:h1");
    array.live.sessions.borrow_mut()[0].read_bytes = 70;
    array.live.sessions.borrow_mut()[0].written_bytes = 5;
    let row = |primitive, commands, bytes| {
        let counters = OffloadCounters { commands, bytes, host_bytes_avoided: 2 * bytes, ..OffloadCounters::default() };
        OffloadRow { counters, ..offload::row(object, "v1", primitive) }
    };
    array.live.offload.replace(vec![row(Primitive::Ats, 3, 512), row(Primitive::Xcopy, 2, 1 << 20)]);
    let busy = sample(&array, &mirror, 1_500_000_000);
    let seconds = busy.at.duration_since(start.at).as_millis();
    assert_eq!(u64::try_from(seconds).unwrap(), busy.interval_ms);
    // All processor time since the start is no work of the first second.
    assert_eq!(start.array.busy_per_mille, None);
    assert_eq!(busy.array.busy_per_mille.map(u64::from), Some(500_000 / busy.interval_ms));
    assert_eq!((busy.array.sent_bytes, busy.array.received_bytes), (70, 5));
    // A lock is no data that the array moved.
    assert_eq!(busy.array.offloaded_bytes, 1 << 20);
    let of = |sample: &Sample, wanted| {
        let found = sample.primitives.iter().find(|(primitive, _)| *primitive == wanted);
        found.map(|(_, of)| (of.commands, of.bytes, of.host_bytes_avoided))
    };
    assert_eq!((of(&busy, Primitive::Ats), of(&busy, Primitive::Zero)), (Some((3, 512, 1024)), None));
    array.live.offload.borrow_mut()[1] = row(Primitive::Xcopy, 3, 3 << 20);
    array.live.sessions.borrow_mut().clear();
    let more = sample(&array, &mirror, 1_500_000_000);
    assert_eq!((of(&more, Primitive::Xcopy), of(&more, Primitive::Ats)), (Some((1, 2 << 20, 4 << 20)), None));
    assert_eq!((more.array.sent_bytes, more.array.busy_per_mille), (0, Some(0)));
}

#[test]
fn reads_of_a_share_are_bytes_of_the_network() {
    let array = Array::new();
    let share = array.run(ShareCreate::new("s1")).unwrap().view.record.object;
    let mirror = futures_executor::block_on(array.control.mirror());
    set(&array, counters(share, 2, 9));
    let sample = sample(&array, &mirror, 0);
    assert_eq!((sample.array.sent_bytes, sample.array.received_bytes), (2 << 12, 0));
}

#[test]
fn samples_of_ten_minutes_are_kept_and_volumes_are_bounded() {
    let array = Array::new();
    let objects: Vec<ObjectId> = (0..600).map(|number| array.create(&format!("v{number}")).record.object).collect();
    let mirror = futures_executor::block_on(array.control.mirror());
    for (number, object) in objects.iter().enumerate() {
        set(&array, counters(*object, 1 + u64::try_from(number).unwrap(), 9));
    }
    let busiest = sample(&array, &mirror, 0);
    assert_eq!((busiest.units.len(), u64::from(busiest.array.io.reads)), (512, 600 * 601 / 2));
    // Others are not idle: what they did is not known.
    let reads = |object| busiest.unit(object).map(|io| io.reads);
    assert_eq!((reads(objects[599]), reads(objects[0])), (Some(600), None));
    let series = ["volume.v599.read_ops", "volume.v0.read_ops"].map(str::to_owned).to_vec();
    let view = mirror.read(&History { series, from: None, to: None, points: 1000 }).unwrap();
    let points: Vec<usize> = view.series.iter().map(|series| series.average.iter().flatten().count()).collect();
    assert_eq!(points, [1, 0]);
    let [quiet, busy] =
        [objects[0], objects[599]].map(|object| array.control.directory().volume_of(object).unwrap().id);
    let view = mirror.read(&SampleLatest { units: vec![quiet, busy], ..SampleLatest::default() }).unwrap().unwrap();
    assert_eq!(view.units.iter().map(|unit| unit.id).collect::<Vec<_>>(), [busy]);
    array.live.counters.borrow_mut().clear();
    for _ in 0..700 {
        sample(&array, &mirror, 0);
    }
    let history = History { series: vec!["array.read_ops".to_owned()], from: None, to: None, points: 1000 };
    let view = mirror.read(&history).unwrap();
    let values = &view.series[0].average;
    assert_eq!((view.step_seconds, values.iter().flatten().filter(|value| **value > 0.0).count()), (1, 0));
    assert!(values.len() <= 601 && values.iter().flatten().count() > 100, "{values:?}");
}

#[test]
fn points_are_means_and_maxima_of_their_steps_and_gaps_are_no_zeros() {
    let array = Array::new();
    let object = array.create("v1").record.object;
    let mirror = futures_executor::block_on(array.control.mirror());
    let mut ends = Vec::new();
    for reads in [10, 40, 40] {
        let before = array.live.counters.borrow().first().map_or(0, |counters| counters.io.reads);
        set(&array, counters(object, before + reads, 9));
        ends.push(sample(&array, &mirror, 0));
    }
    let series = ["volume.v1.read_ops", "volume.v1.latency_p99", "array.read_bytes"].map(str::to_owned).to_vec();
    let view = mirror.read(&History { series, from: None, to: None, points: 2 }).unwrap();
    let [reads, latency, bytes] = &view.series[..] else { panic!("{view:?}") };
    let rates: Vec<f64> = ends.iter().map(|sample| reads_per_second(sample)).collect();
    let mean = rates.iter().sum::<f64>() / 3.0;
    assert_eq!((reads.average[0], reads.max[0]), (None, None), "nothing is known of the first five minutes");
    let last = reads.average.last().copied().flatten().unwrap();
    assert!((last - mean).abs() < 1e-9, "{last}, not {mean}");
    assert_eq!(reads.max.last().copied().flatten(), rates.iter().copied().reduce(f64::max));
    assert!(latency.average.last().unwrap().unwrap() >= 9.0 && bytes.unit == "B/s");
    // No operation has no latency, and its rate is zero.
    sample(&array, &mirror, 0);
    let from = Some(ends[2].at.saturating_add(jiff::SignedDuration::from_millis(1)).unwrap());
    let series = ["volume.v1.read_ops", "volume.v1.latency_p99"].map(str::to_owned).to_vec();
    let view = mirror.read(&History { series, from, to: None, points: 1 }).unwrap();
    let values: Vec<Option<f64>> = view.series.iter().map(|series| series.average[0]).collect();
    assert_eq!(values, [Some(0.0), None]);
}

/// Regression: a volume had zeros for the time before its creation, which lowered its first means.
#[test]
fn a_volume_has_no_values_before_it_was_created() {
    let array = Array::new();
    let mirror = futures_executor::block_on(array.control.mirror());
    sample(&array, &mirror, 0);
    let object = array.create("v1").record.object;
    futures_executor::block_on(array.control.publish_facts());
    set(&array, counters(object, 10, 9));
    let rate = reads_per_second(&sample(&array, &mirror, 0));
    let series = vec!["volume.v1.read_ops".to_owned()];
    let view = mirror.read(&History { series, from: None, to: None, points: 2 }).unwrap();
    let mean = view.series[0].average.last().copied().flatten().unwrap();
    assert!((mean - rate).abs() < 1e-9, "{mean}, not {rate}");
}

fn reads_per_second(sample: &Sample) -> f64 {
    f64::from(sample.array.io.reads) * 1000.0 / sample.interval_ms as f64
}

#[test]
fn volumes_are_sorted_by_what_they_did_in_the_last_minute() {
    let array = Array::new();
    let [a, b] = ["a", "b"].map(|name| array.create(name).record.object);
    let mirror = futures_executor::block_on(array.control.mirror());
    set(&array, counters(a, 5, 900));
    set(&array, counters(b, 50, 9));
    sample(&array, &mirror, 0);
    let sorted = |sort: &str| {
        let page = Page { sort: Some(sort.to_owned()), ..Page::first(VolumeList::default(), 9) };
        let views = mirror.read(&page).unwrap().views;
        views.into_iter().map(|view| view.record.name).collect::<String>()
    };
    assert_eq!((sorted("-operations_per_minute"), sorted("-p99_us")), ("ba".to_owned(), "ab".to_owned()));
    assert_eq!(sorted("bytes_per_minute"), "ab");
}

#[test]
fn the_busiest_of_the_last_minute_are_volumes_and_shares_that_exist() {
    let array = Array::new();
    let [a, b, gone] = ["a", "b", "gone"].map(|name| array.create(name).record.object);
    let share = array.run(ShareCreate::new("s1")).unwrap().view.record.object;
    let mirror = futures_executor::block_on(array.control.mirror());
    let start = sample(&array, &mirror, 0);
    for (object, reads) in [(a, 60), (b, 0), (gone, 90), (share, 600)] {
        set(&array, counters(object, reads, 9));
    }
    let busy = sample(&array, &mirror, 0);
    array.run(VolumeDelete { volume: "gone".to_owned(), with_snapshots: false, now: true, revoke: false }).unwrap();
    let view = mirror.read(&SampleLatest { busiest: 5, ..SampleLatest::default() }).unwrap().unwrap();
    let found: Vec<(bool, &str)> = view.busiest.iter().map(|busy| (busy.is_share, busy.name.as_str())).collect();
    assert_eq!(found, [(true, "s1"), (false, "a")]);
    let ms = start.interval_ms + busy.interval_ms;
    assert_eq!(
        (view.busiest[0].operations, view.busiest[0].bytes),
        ((600_000 + ms / 2) / ms, (600_000 * 4096 + ms / 2) / ms)
    );
    let first = mirror.read(&SampleLatest { busiest: 1, ..SampleLatest::default() }).unwrap().unwrap();
    assert_eq!(first.busiest.len(), 1);
    assert!(mirror.read(&SampleLatest::default()).unwrap().unwrap().busiest.is_empty());
}

#[test]
fn followers_get_each_change_once_or_are_told_that_they_missed_some() {
    let array = Array::new();
    let mirror = futures_executor::block_on(array.control.mirror());
    let (_, start) = mirror.known().unwrap();
    array.create("v1");
    array.run(VolumeDelete { volume: "v1".to_owned(), now: true, ..VolumeDelete::default() }).unwrap();
    let news = mirror.news(start).unwrap();
    let changes: Vec<(&str, bool)> =
        news.changes.as_ref().unwrap().iter().map(|change| (change.kind, change.deleted)).collect();
    assert_eq!(changes, [("volume", false), ("volume", true)]);
    assert_eq!(news.events.map(|events| events.len()), Some(2));
    let again = mirror.news(news.known).unwrap();
    assert_eq!((again.changes, again.events, again.known), (Some(Vec::new()), Some(Vec::new()), news.known));
    let future = Known { revision: news.known.revision + 1, ..news.known };
    assert_eq!(mirror.news(future).unwrap().changes, None);
    array.create_host("h0", "iqn.2026-01.org.example:h1");
    for number in 0..1100 {
        let (host, name) = (format!("h{number}"), Some(format!("h{}", number + 1)));
        array.run(HostSet { host, name, ..HostSet::default() }).unwrap();
    }
    let missed = mirror.news(news.known).unwrap();
    assert_eq!(missed.changes, None);
    let next = mirror.news(missed.known).unwrap();
    assert_eq!(next.changes, Some(Vec::new()));
}

#[test]
fn followers_get_jobs_and_alerts_when_they_change() {
    let array = Array::new();
    let mirror = futures_executor::block_on(array.control.mirror());
    let (_, start) = mirror.known().unwrap();
    let publish = || futures_executor::block_on(array.control.publish_facts());
    let states = |news: &News| news.jobs.iter().map(|job| job.state.name()).collect::<Vec<_>>();
    let codes =
        |news: &News| news.alerts.as_ref().map(|alerts| alerts.iter().map(|alert| alert.code).collect::<Vec<_>>());
    array.run(PoolScrub { pool: "p0".to_owned(), share_percent: None }).unwrap();
    publish();
    let began = mirror.news(start).unwrap();
    assert_eq!((states(&began), codes(&began)), (vec!["running"], None));
    super::run_jobs(&array.control);
    array.live.stopped.replace(Some("the disk is gone".to_owned()));
    publish();
    let ended = mirror.news(began.known).unwrap();
    assert_eq!((states(&ended), codes(&ended)), (vec!["done"], Some(vec!["pool-stopped"])));
    publish();
    let same = mirror.news(ended.known).unwrap();
    assert_eq!((states(&same), codes(&same), same.known), (Vec::new(), None, ended.known));
    array.live.stopped.take();
    publish();
    let cleared = mirror.news(ended.known).unwrap();
    assert_eq!((states(&cleared), codes(&cleared)), (Vec::new(), Some(Vec::new())));
    // A reader that knows nothing gets all.
    let all = mirror.news(Known { jobs: 0, alerts: 0, ..cleared.known }).unwrap();
    assert_eq!((states(&all), codes(&all)), (vec!["done"], Some(Vec::new())));
}

/// Events that had left the memory were skipped without a word.
#[test]
fn followers_are_told_of_events_that_are_not_in_memory_any_more() {
    let array = Array::new();
    let mirror = futures_executor::block_on(array.control.mirror());
    let (_, start) = mirror.known().unwrap();
    let raise = |count: usize| {
        let draft = || events::Draft::info("volume-created", "v1", "volume v1 created");
        (0..count).for_each(|_| array.control.raise(draft()));
        futures_executor::block_on(array.control.publish_facts());
    };
    let missed = |known: Known| mirror.news(known).unwrap().events.is_none();
    raise(9_990);
    assert_eq!(mirror.news(start).unwrap().events.map(|events| events.len()), Some(256));
    raise(20);
    assert!(missed(start), "the oldest have left the memory");
    let news = mirror.news(start).unwrap();
    assert!(!missed(news.known) && mirror.known().unwrap().1.event == news.known.event);
    assert!(missed(Known { event: news.known.event + 1, ..news.known }), "an event of the future");
    // More than the array keeps happened between two publications.
    raise(10_001);
    assert!(missed(news.known));
    raise(1);
    assert!(missed(news.known) && !missed(mirror.known().unwrap().1));
}
