use super::{Array, volume};
use crate::PoolRefusal;
use crate::*;
use futures_executor::block_on;
use futures_util::FutureExt;
use pool::{Catalog, CatalogChange, Growth, PoolError, Reservation};

const GIB: u64 = 1 << 30;

fn pool(array: &Array) -> PoolView {
    array.run(PoolShow { pool: "p0".to_owned() }).unwrap()
}

fn create(name: &str, gib: u64) -> VolumeCreate {
    VolumeCreate { name: name.to_owned(), size_bytes: Some(gib * GIB), ..VolumeCreate::default() }
}

fn set(name: &str) -> VolumeSet {
    VolumeSet { volume: name.to_owned(), ..VolumeSet::default() }
}

pub(super) fn codes(array: &Array) -> Vec<String> {
    let action = EventList { since: None, filter: EventFilter::default(), limit: 100 };
    let events = array.run(action).unwrap();
    events.into_iter().map(|event| event.code).collect()
}

#[test]
fn the_pools_sum_is_what_is_used() {
    let array = Array::new();
    let v1 = array.create("v1").object.id;
    array.catalog.set_mapped(v1, 3 << 20);
    let v2 = array.create("v2").object.id;
    array.catalog.set_mapped(v2, 5 << 20);
    array.run(SnapshotCreate { volume: "v1".to_owned(), name: "s".to_owned() }).unwrap();
    let pool = pool(&array);
    let own = pool.unique_bytes.unwrap() + pool.snapshot_bytes.unwrap();
    assert_eq!(pool.space.used_bytes, pool.space.metadata_bytes + own + pool.shared_bytes.unwrap());
    assert_eq!((pool.unique_bytes, pool.shared_bytes), (Some(5 << 20), Some(3 << 20)));
    array.catalog.counting.set(true);
    array.catalog.set_mapped(array.create("v3").object.id, 4096);
    let pools = array.run(PoolList).unwrap();
    assert_eq!((pools[0].shared_bytes, pools[0].unique_bytes), (None, None));
}

#[test]
fn a_thick_volume_has_space_kept_free() {
    let array = Array::new();
    let thick = VolumeCreate { reserve: Some(Reserve::Thick), ..create("v1", 4) };
    let (made, _) = volume(array.run(thick.clone()));
    assert_eq!(made.object.reservation, Some(Reservation { overwrite_percent: 100 }));
    assert_eq!(pool(&array).available_bytes, pool(&array).space.free_bytes - 4 * GIB);
    assert!(!volume(array.run(thick.clone())).1);
    assert_eq!(array.code(create("v1", 4)), "exists");
    let half = VolumeSet { overwrite_reserve_percent: Some(50), ..set("v1") };
    let (changed, _) = volume(array.run(half.clone()));
    assert_eq!(changed.object.reservation, Some(Reservation { overwrite_percent: 50 }));
    let thin = VolumeSet { reserve: Some(Reserve::Thin), ..set("v1") };
    assert_eq!(volume(array.run(thin)).0.object.reservation, None);
    assert_eq!(array.code(half), "not-thick");
    let too_much = VolumeCreate { overwrite_reserve_percent: Some(101), ..thick };
    assert_eq!(array.code(VolumeCreate { name: "v2".to_owned(), ..too_much }), "invalid-reservation");
    let no_room = PoolError::NoRoomForReservation { needed_bytes: 7, available_bytes: 5 };
    array.catalog.fail_next.replace(Some(no_room));
    let error = array.run(SnapshotCreate { volume: "v1".to_owned(), name: "s".to_owned() }).unwrap_err();
    assert_eq!(error, PoolRefusal::NoRoomForReservation { needed_bytes: 7, available_bytes: 5 }.into());
    assert_eq!(error.code(), "no-space");
}

#[test]
fn a_pool_is_full_when_all_that_is_free_is_promised() {
    let array = Array::new();
    let thick = VolumeCreate { reserve: Some(Reserve::Thick), ..create("v1", 4) };
    volume(array.run(thick));
    array.catalog.size_bytes.set(4 * GIB + (64 << 20));
    assert_eq!(pool(&array).state, PoolState::Full);
    assert!(pool(&array).space.free_bytes >= 4 * GIB);
}

/// Regression: a pool that was critical, refused writes of 1 MiB, or was on a full file system was
/// shown as healthy.
#[test]
fn the_pool_shows_its_state() {
    const MIB: u64 = 1 << 20;
    let array = Array::new();
    let object = array.create("v1").object.id;
    array.catalog.size_bytes.set(GIB);
    // The remaining 64 MiB are metadata.
    let at = |left: u64| {
        array.catalog.set_mapped(object, GIB - 64 * MIB - left);
        block_on(array.control.look());
        pool(&array).state
    };
    assert_eq!(at(300 * MIB), PoolState::Healthy);
    assert_eq!(at(200 * MIB), PoolState::LowSpace);
    assert_eq!(at(2 * MIB), PoolState::LowSpace);
    // A write of 1 MiB also needs map pages.
    assert_eq!(at(MIB + 4096), PoolState::Full);
    assert_eq!(array.run(StatusShow).unwrap().health, Health::Degraded);
    // The state lasts as long as its alert: until several large writes fit again.
    assert_eq!((at(3 * MIB), at(5 * MIB)), (PoolState::Full, PoolState::LowSpace));
    // A threshold is left two percent below it.
    assert_eq!((at(GIB * 21 / 100), at(GIB * 23 / 100)), (PoolState::LowSpace, PoolState::Healthy));
    array.catalog.full_below.set(true);
    assert_eq!((at(300 * MIB), at(MIB)), (PoolState::BelowFull, PoolState::BelowFull));
    assert_eq!(array.run(StatusShow).unwrap().health, Health::Degraded);
    array.catalog.full_below.set(false);
    assert_eq!(at(300 * MIB), PoolState::Healthy);
    array.live.stopped.replace(Some("write failed".to_owned()));
    assert_eq!(at(MIB), PoolState::Stopped);
}

/// Regression: a volume of 100 GiB was created without a warning in a pool that refused writes; a
/// limit far below the present total was set without one, too.
#[test]
fn changes_that_space_may_not_suffice_for_bring_a_warning() {
    let array = Array::new();
    let codes = |warnings: Vec<Warning>| warnings.iter().map(|warning| warning.code).collect::<Vec<_>>();
    let made = |name| volume(array.run(create(name, 1))).0;
    let v1 = made("v1");
    assert_eq!(codes(v1.warnings), [""; 0]);
    array.catalog.size_bytes.set(GIB);
    for (mapped, code) in [(850 << 20, "low-space"), (GIB, "pool-full")] {
        array.catalog.set_mapped(v1.object.id, mapped);
        assert_eq!(codes(made(code).warnings), [code]);
        let grow = VolumeSet { size_bytes: Some(mapped + 3 * GIB), ..set("v1") };
        assert_eq!(codes(array.run(grow.clone()).unwrap().warnings), [code]);
        // A change that needs no space, and a repeated one, bring no warning.
        assert_eq!(codes(array.run(grow).unwrap().warnings), [""; 0]);
        assert_eq!(codes(made(code).warnings), [""; 0]);
    }
    array.catalog.full_below.set(true);
    assert_eq!(codes(made("v2").warnings), ["below-full"]);
    let limit = |percent| {
        let commitment = Some(Commitment::Percent(percent));
        array.run(PoolSet { pool: "p0".to_owned(), commitment, ..PoolSet::default() }).unwrap().warnings
    };
    // `v1` with 4 GiB and three volumes of 1 GiB in a pool of 1 GiB.
    assert_eq!(
        limit(250)[0].message,
        "the volumes have 700 % of pool p0 together, above the limit of 250 %: no volume can be created or grown"
    );
    assert_eq!(codes(limit(700)), [""; 0]);
    let off = PoolSet { pool: "p0".to_owned(), commitment: Some(Commitment::Unlimited), ..PoolSet::default() };
    assert_eq!(codes(array.run(off).unwrap().warnings), [""; 0]);
}

/// Regression: while the file system below was full, refused changes advised to delete volumes or
/// snapshots, which frees no space there.
#[test]
fn a_change_that_the_file_system_below_has_no_room_for_gets_the_advice_of_the_alert() {
    let array = Array::new();
    array.create("v1");
    let snapshot = SnapshotCreate { volume: "v1".to_owned(), name: "s".to_owned() };
    array.catalog.full_below.set(true);
    let alert = array.run(AlertList).unwrap().remove(0);
    array.catalog.fail_next.replace(Some(PoolError::PoolFull));
    let of_snapshot = array.run(snapshot.clone()).unwrap_err();
    array.catalog.fail_next.replace(Some(PoolError::PoolFull));
    let of_volume = array.run(create("v2", 1)).unwrap_err();
    for error in [of_snapshot, of_volume] {
        assert_eq!((error.code(), error.class()), ("below-full", Class::NoSpace));
        assert_eq!((error.to_string(), error.help().as_deref()), (alert.message.clone(), Some(alert.help)));
    }
    array.catalog.full_below.set(false);
    array.catalog.fail_next.replace(Some(PoolError::PoolFull));
    assert_eq!(array.code(snapshot), "no-space");
}

#[test]
fn zero_detection_is_a_setting_of_the_volume() {
    let array = Array::new();
    let off = VolumeCreate { zero_detection: Some(false), ..create("v1", 1) };
    assert!(!volume(array.run(off)).0.object.zero_detection);
    let on = VolumeSet { zero_detection: Some(true), ..set("v1") };
    assert!(volume(array.run(on)).0.object.zero_detection);
}

/// The sum decides about over-commitment, and is not computed anew for each request.
#[test]
fn the_sum_of_volume_sizes_follows_every_change() {
    let array = Array::new();
    let agrees = |array: &Array| {
        let view = array.run(PoolShow { pool: "p0".to_owned() }).unwrap();
        assert_eq!(array.control.pool().provisioned_bytes(), view.provisioned_bytes);
        view.provisioned_bytes / GIB
    };
    volume(array.run(create("v1", 4)));
    array.run(SnapshotCreate { volume: "v1".to_owned(), name: "monday".to_owned() }).unwrap();
    let clone = VolumeCreate { source: Some("v1@monday".to_owned()), ..create("v2", 6) };
    volume(array.run(clone));
    assert_eq!(agrees(&array), 10);
    array.run(VolumeSet { size_bytes: Some(9 * GIB), ..set("v1") }).unwrap();
    assert_eq!(agrees(&array), 15);
    let snapshot = "monday".to_owned();
    array.run(VolumeRollback { volume: "v1".to_owned(), snapshot, keep: None, force: false }).unwrap();
    assert_eq!(agrees(&array), 10);
    array.catalog.fail_next.replace(Some(PoolError::PoolFull));
    assert_eq!(array.code(create("v3", 1)), "no-space");
    assert_eq!(agrees(&array), 10);
    array.run(VolumeDelete { volume: "v2".to_owned(), now: true, ..VolumeDelete::default() }).unwrap();
    assert_eq!((agrees(&array), agrees(&Array::over(array.catalog).unwrap())), (4, 4));
}

/// The size of an address space is not space that was promised to a host.
#[test]
fn the_sum_of_volume_sizes_leaves_out_address_spaces() {
    let array = Array::new();
    volume(array.run(create("v1", 4)));
    let id = array.catalog.new_object_id();
    let space = CatalogChange::CreateVolume { id, size_bytes: pool::ADDRESS_SPACE_BYTES };
    block_on(array.catalog.commit(vec![space])).unwrap();
    assert_eq!(array.control.pool().provisioned_bytes(), 4 * GIB);
    let again = Array::over(array.catalog).unwrap();
    assert_eq!(again.control.pool().provisioned_bytes(), 4 * GIB);
}

#[test]
fn over_commitment_has_a_limit() {
    let array = Array::new();
    volume(array.run(create("v1", 60)));
    let limit = |commitment| PoolSet { pool: "p0".to_owned(), commitment: Some(commitment), ..PoolSet::default() };
    array.run(limit(Commitment::Percent(200))).unwrap();
    volume(array.run(create("v2", 68)));
    let error = array.run(create("v3", 1)).unwrap_err();
    let (provisioned_bytes, limit_bytes) = (128 * GIB, 128 * GIB);
    assert_eq!(
        error,
        PoolRefusal::OverCommitted {
            provisioned_bytes,
            needed_bytes: GIB,
            limit_bytes,
            percent: 200,
            sufficient_percent: Some(202),
            pool: "p0".to_owned()
        }
        .into()
    );
    assert_eq!(
        error.to_string(),
        "the volumes would have 129 GiB together, and the limit is 128 GiB (200 % of the pool)"
    );
    // Regression: the advice was a fixed percentage, which could be the present one. This one suffices.
    let suffices = ("commitment", "202".to_owned());
    assert_eq!(error.parameters(), [("pool", "p0".to_owned()), suffices]);
    let clone = VolumeCreate { source: Some("v1".to_owned()), size_bytes: None, ..create("v3", 0) };
    assert_eq!(array.code(clone), "over-commitment");
    let grow = VolumeSet { size_bytes: Some(61 * GIB), ..set("v1") };
    assert_eq!(array.code(grow.clone()), "over-commitment");
    let again = Array::over(array.catalog.clone()).unwrap();
    assert_eq!(again.code(grow.clone()), "over-commitment");
    again.run(limit(Commitment::Unlimited)).unwrap();
    again.run(grow).unwrap();
    assert_eq!(again.code(limit(Commitment::Percent(0))), "invalid-setting");
}

#[test]
fn hosts_hear_that_thresholds_were_set() {
    let array = Array::new();
    let object = array.create("v1").object.id;
    let told = |object| {
        let changed = Change::ThresholdsChanged { object };
        array.live.published.borrow().iter().filter(|change| **change == changed).count()
    };
    let volume = |percent| VolumeSet { warn_percent: Some(Some(percent)), ..set("v1") };
    for (percent, times) in [(50, 1), (50, 1), (60, 2)] {
        array.run(volume(percent)).unwrap();
        assert_eq!((told(Some(object)), told(None)), (times, 0));
    }
    let pool = |percent, commitment| {
        let pool = PoolSet { pool: "p0".to_owned(), warn_percent: percent, commitment, ..PoolSet::default() };
        array.run(pool).unwrap();
        told(None)
    };
    assert_eq!(pool(Some(40), None), 1);
    assert_eq!((pool(Some(40), None), pool(None, Some(Commitment::Unlimited))), (1, 1));
}

#[test]
fn a_threshold_is_told_once_and_not_again_after_a_restart() {
    let array = Array::new();
    let object = array.create("v1").object.id;
    array.run(VolumeSet { warn_percent: Some(Some(50)), ..set("v1") }).unwrap();
    array.catalog.set_mapped(object, GIB / 2);
    let look = |array: &Array| block_on(array.control.look());
    look(&array);
    look(&array);
    let told = |array: &Array| codes(array).iter().filter(|code| *code == "threshold-reached").count();
    assert_eq!(told(&array), 1);
    let reached = Change::ThresholdReached { object: Some(object), level: Level::Warning };
    assert_eq!(array.live.published.borrow().iter().filter(|change| **change == reached).count(), 1);
    let again = Array::over(array.catalog.clone()).unwrap();
    look(&again);
    assert_eq!(told(&again), 1);
    let alerts = again.run(AlertList).unwrap();
    assert_eq!((alerts[0].code, alerts[0].subject.as_str()), ("volume-threshold", "v1"));
    again.catalog.set_mapped(object, GIB / 10);
    look(&again);
    assert!(codes(&again).contains(&"threshold-left".to_owned()));
    again.catalog.set_mapped(object, GIB);
    look(&again);
    assert_eq!(told(&again), 2);
    again.run(VolumeSet { warn_percent: Some(None), ..set("v1") }).unwrap();
    let alerts = again.run(AlertList).unwrap();
    assert!(alerts.is_empty());
    assert_eq!(array.code(VolumeSet { warn_percent: Some(Some(0)), ..set("v1") }), "invalid-setting");
}

/// Regression: an alert showed the usage of the last check, 87 % beside a pool that was 90 % full.
/// Severity and number are the present ones.
#[test]
fn an_alert_shows_the_use_of_now_and_the_severity_of_that() {
    let array = Array::new();
    let object = array.create("v1").object.id;
    array.catalog.size_bytes.set(GIB);
    array.catalog.set_mapped(object, 800 << 20);
    block_on(array.control.look());
    let alert = || {
        let alerts = array.run(AlertList).unwrap();
        (alerts[0].severity, alerts[0].message.clone())
    };
    let before = (Severity::Warning, "84 % of the pool is used or promised".to_owned());
    assert_eq!(alert(), before);
    array.catalog.set_mapped(object, 900 << 20);
    let after = (Severity::Critical, "94 % of the pool is used or promised".to_owned());
    assert_eq!(alert(), after);
    block_on(array.control.look());
    assert_eq!(alert(), after);
    array.catalog.set_mapped(object, 700 << 20);
    assert_eq!(alert().1, "74 % of the pool is used or promised");
    block_on(array.control.look());
    assert!(array.run(AlertList).unwrap().is_empty());
}

#[test]
fn a_volume_has_a_critical_threshold_above_the_one_that_warns() {
    let array = Array::new();
    let object = array.create("v1").object.id;
    let change = |warn, critical| VolumeSet { warn_percent: warn, critical_percent: critical, ..set("v1") };
    array.run(change(Some(Some(50)), Some(Some(80)))).unwrap();
    assert_eq!(array.code(change(Some(Some(80)), None)), "invalid-setting");
    assert_eq!(array.code(change(None, Some(Some(50)))), "invalid-setting");
    assert_eq!(array.code(change(None, Some(Some(101)))), "invalid-setting");
    let told = || -> Vec<(String, Severity)> {
        let events = array.run(EventList { since: None, filter: EventFilter::default(), limit: 1000 }).unwrap();
        let about = |event: &Event| event.code.starts_with("threshold") && event.subject == "v1";
        events.into_iter().filter(about).map(|event| (event.code, event.severity)).collect()
    };
    let at = |mapped| {
        array.catalog.set_mapped(object, mapped);
        block_on(array.control.look());
        block_on(array.control.look());
        let alerts = array.run(AlertList).unwrap();
        alerts.into_iter().map(|alert| (alert.code, alert.severity)).collect::<Vec<_>>()
    };
    assert_eq!(at(GIB / 2), [("volume-threshold", Severity::Warning)]);
    assert_eq!(at(GIB), [("volume-threshold", Severity::Critical)]);
    assert_eq!(at(GIB / 4), []);
    let (reached, left) = ("threshold-reached".to_owned(), "threshold-left".to_owned());
    let all = [(reached.clone(), Severity::Warning), (reached, Severity::Critical), (left, Severity::Info)];
    assert_eq!(told(), all);
    array.run(change(Some(None), None)).unwrap();
    assert_eq!(at(GIB), [("volume-threshold", Severity::Critical)]);
    array.run(change(None, Some(None))).unwrap();
    assert_eq!(at(GIB), []);
    // Documents without a critical threshold, from older versions, can be read.
    array.run(change(Some(Some(70)), None)).unwrap();
    let (key, document) = array.catalog.documents("volume/").remove(0);
    let document = String::from_utf8(document.to_vec()).unwrap();
    assert!(!document.contains("critical"), "{document}");
    array.catalog.put_document(&key, &document);
    Array::over(array.catalog.clone()).unwrap();
}

#[test]
fn the_pool_warns_is_full_and_has_space_again() {
    let array = Array::new();
    let object = array.create("v1").object.id;
    let look = || block_on(array.control.look());
    array.catalog.size_bytes.set(GIB);
    array.catalog.set_mapped(object, 820 << 20);
    look();
    array.catalog.set_mapped(object, 900 << 20);
    look();
    array.catalog.set_mapped(object, GIB);
    look();
    look();
    array.run(PoolGrow { pool: "p0".to_owned(), growth: Growth::Size(64 * GIB) }).unwrap();
    let told: Vec<String> =
        codes(&array).into_iter().filter(|code| code.starts_with("threshold") || code.starts_with("pool")).collect();
    assert_eq!(
        told,
        ["threshold-reached", "threshold-reached", "pool-full", "pool-grown", "threshold-left", "pool-space-back"]
    );
    let levels: Vec<Level> = array
        .live
        .published
        .borrow()
        .iter()
        .filter_map(|change| match change {
            Change::ThresholdReached { object: None, level } => Some(*level),
            _ => None,
        })
        .collect();
    assert_eq!(levels, [Level::Warning, Level::Critical]);
    let limits = |warn, critical| PoolSet {
        pool: "p0".to_owned(),
        warn_percent: warn,
        critical_percent: critical,
        ..PoolSet::default()
    };
    assert_eq!(array.code(limits(Some(95), None)), "invalid-setting");
    array.run(limits(Some(95), Some(99))).unwrap();
    assert_eq!(pool(&array).limits.warn_percent, 95);
}

#[test]
fn a_pool_grows_or_says_in_a_sentence_why_not() {
    let array = Array::new();
    let grow = |growth| PoolGrow { pool: "p0".to_owned(), growth };
    let error = array.run(grow(Growth::Size(GIB))).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("cannot-grow", "the pool cannot grow: the pool has 68719476736 bytes already")
    );
    assert_eq!(array.code(grow(Growth::Device("sdb".into()))), "cannot-grow");
    array.run(grow(Growth::Device("/dev/sdb".into()))).unwrap();
    assert_eq!(pool(&array).space.size_bytes, 72 * GIB);
    assert_eq!(array.code(PoolGrow { pool: "p9".to_owned(), growth: Growth::Size(GIB) }), "not-found");
}

#[test]
fn a_report_tells_where_unmapped_bytes_went() {
    let array = Array::new();
    let object = array.create("v1").object.id;
    array.run(SnapshotCreate { volume: "v1".to_owned(), name: "s".to_owned() }).unwrap();
    let mut counters = OffloadCounters {
        commands: 4,
        ok: 4,
        bytes: 9000,
        deallocated_bytes: 8192,
        unaligned_bytes: 808,
        ..OffloadCounters::default()
    };
    (0..2).for_each(|_| counters.ineffective.add(Reason::BelowGrain));
    let row = OffloadRow { volume: object, name: "v1".to_owned(), primitive: Primitive::Unmap, counters };
    array.live.offload.replace(vec![row]);
    let space = array.run(VolumeSpace { volume: "v1".to_owned() }).unwrap();
    let report = space.unmapped;
    assert_eq!(
        (report.commands, report.deallocated_bytes, report.unaligned_bytes, report.below_grain_commands),
        (4, 8192, 808, 2)
    );
    assert_eq!((report.kept[0].snapshot.as_str(), report.kept[0].unique_bytes), ("v1@s", Some(0)));
}

/// A growth held the lock for changes until its checkpoint was durable, and every other change of
/// the array waited for it.
#[test]
fn changes_do_not_wait_for_a_growth() {
    let array = Array::new();
    array.catalog.growth_waits.set(true);
    let grow = PoolGrow { pool: "p0".to_owned(), growth: Growth::Size(128 * GIB) };
    let mut growth = Box::pin(array.control.execute(grow));
    assert!((&mut growth).now_or_never().is_none());
    // Regression: a second growth was refused as impossible (`cannot-grow`).
    assert_eq!(pool(&array).growing, Some(Growth::Size(128 * GIB)));
    let error = array.run(PoolGrow { pool: "p0".to_owned(), growth: Growth::Device("/dev/sdb".into()) }).unwrap_err();
    assert_eq!((error.code(), error.to_string().as_str()), ("growing", "pool p0 is growing already, to 128 GiB"));
    let create = VolumeCreate { name: "v1".to_owned(), size_bytes: Some(GIB), ..VolumeCreate::default() };
    array.control.execute(create).now_or_never().unwrap().unwrap();
    drop(growth);
    assert_eq!(pool(&array).growing, None);
}

/// A set is counted together, each of its objects once, by the engine's count of several objects. Fails if the bytes
/// of a repeated object were added again, or the first object alone were counted.
#[test]
fn what_if_counts_a_set_together() {
    let array = Array::new();
    for (name, mib) in [("v1", 3), ("v2", 5)] {
        let object = array.create(name).object.id;
        array.catalog.set_mapped(object, mib << 20);
    }
    array.create("v3");
    array.run(SnapshotCreate { volume: "v3".to_owned(), name: "s".to_owned() }).unwrap();
    let request = |names: &[&str]| SpaceWhatIf {
        delete: names.iter().map(|name| (*name).to_owned()).collect(),
        with_snapshots: false,
    };
    let ask = |names: &[&str]| array.run(request(names)).unwrap();
    let both = ask(&["v2", "v1", "v3@s"]);
    let each: Vec<_> = both.each.iter().map(|(_, name, bytes)| (name.as_str(), bytes.unwrap())).collect();
    assert_eq!(each, [("v2", 5 << 20), ("v1", 3 << 20), ("v3@s", 0)]);
    assert_eq!(both.freed_bytes, Some(8 << 20));
    let again = ask(&["v1", "v2", "v1", both.each[0].0.to_string().as_str()]);
    assert_eq!((again.freed_bytes, again.each.len()), (Some(8 << 20), 2));
    assert_eq!(ask(&["v1"]).freed_bytes, Some(3 << 20));
    for (refused, code) in [(request(&["v9"]), "not-found"), (request(&["v3@t"]), "not-found")] {
        assert_eq!(array.code(refused), code);
    }
    assert_eq!(array.code(request(&[])), array.code(request(&["v1"; 257])));
    // A count that is not finished is no answer, and many such sets are not kept.
    array.catalog.counting.set(true);
    array.create("v4");
    for number in 0..20 {
        let other = format!("w{number}");
        array.create(&other);
        assert_eq!(ask(&["v4", &other]).freed_bytes, None);
    }
    assert!((1..=8).contains(&array.control.kept_what_ifs()));
}

/// The list that names what frees space. Fails without the default order, without the trash, with a granted volume in
/// it, or if an object were counted without the snapshots that go with it.
#[test]
fn what_frees_most_comes_first() {
    let array = Array::new();
    let mapped = |name: &str, mib: u64| {
        let object = array.create(name).object.id;
        array.catalog.set_mapped(object, mib << 20);
    };
    mapped("lone", 3);
    mapped("used", 9);
    mapped("old", 7);
    mapped("base", 1);
    array.grant("used", None, None).unwrap();
    array.run(SnapshotCreate { volume: "base".to_owned(), name: "s".to_owned() }).unwrap();
    array.run(VolumeDelete { volume: "old".to_owned(), ..VolumeDelete::default() }).unwrap();
    let frees = || PoolFrees { pool: "p0".to_owned() };
    let part = array.run(Page::first(frees(), 2)).unwrap();
    let shown = |views: &[FreeableView]| -> Vec<(FreeableKind, String, Option<u64>, u64)> {
        views
            .iter()
            .map(|of| (of.kind, of.name.clone(), of.frees_bytes.map(|bytes| bytes >> 20), of.snapshots))
            .collect()
    };
    let row = |kind, name: &str, mib, snapshots| (kind, name.to_owned(), Some(mib), snapshots);
    use FreeableKind::{Snapshot, Trash, Volume};
    assert_eq!(shown(&part.views), [row(Trash, "old", 7, 0), row(Volume, "lone", 3, 0)]);
    let start = Start::After(part.next.unwrap());
    let rest = array.run(Page { start, ..Page::first(frees(), 9) }).unwrap();
    assert_eq!((rest.total, rest.next), (4, None));
    assert_eq!(shown(&rest.views), [row(Snapshot, "base@s", 0, 0), row(Volume, "base", 0, 1)]);
    assert_eq!(array.code(Page::first(PoolFrees { pool: "p9".to_owned() }, 1)), "not-found");

    // A lock shows at the snapshot, and at the volume that would take it along.
    let until = array.environment.now() + jiff::SignedDuration::from_hours(48);
    array.run(SnapshotLock { snapshot: "base@s".to_owned(), until }).unwrap();
    let all = array.run(frees()).unwrap();
    let locked: Vec<bool> = all.iter().map(|of| of.locked_until.is_some()).collect();
    assert_eq!(locked, all.iter().map(|of| of.name.starts_with("base")).collect::<Vec<_>>());

    // What is in the trash counts together with others, by its id.
    let trash = part.views[0].id.to_string();
    let delete = vec![trash, "lone".to_owned(), "base".to_owned()];
    let answer = array.run(SpaceWhatIf { delete: delete.clone(), with_snapshots: true }).unwrap();
    assert_eq!(answer.freed_bytes, Some(10 << 20));
    let each: Vec<_> = answer.each.iter().map(|(_, name, bytes)| (name.as_str(), bytes.unwrap() >> 20)).collect();
    assert_eq!(each, [("old", 7), ("lone", 3), ("base", 0)]);
}
