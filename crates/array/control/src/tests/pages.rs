//! Lists in parts.

use super::{Array, run_jobs};
use crate::*;
use pool::{BlockId, Incident, Place};

fn names(part: &Part<VolumeView>) -> Vec<&str> {
    part.views.iter().map(|view| view.record.name.as_str()).collect()
}

#[test]
fn a_part_begins_after_its_key_even_if_that_was_deleted() {
    let array = Array::new();
    for name in ["d", "b", "a", "c"] {
        array.create(name);
    }
    let page = |after: Option<&str>, limit| Page {
        start: after.map_or(Start::Beginning, |after| Start::After(after.to_owned())),
        ..Page::first(VolumeList::default(), limit)
    };
    let first = array.run(page(None, 2)).unwrap();
    assert_eq!((names(&first), first.next.as_deref()), (vec!["a", "b"], Some("b")));
    array.run(VolumeDelete { volume: "b".to_owned(), now: true, ..VolumeDelete::default() }).unwrap();
    array.create("aa");
    let second = array.run(page(Some("b"), 2)).unwrap();
    assert_eq!((names(&second), &second.next), (vec!["c", "d"], &None));
    let none = array.run(page(Some("d"), 2)).unwrap();
    assert_eq!((names(&none), &none.next), (vec![], &None));
    let all = array.run(page(None, usize::MAX)).unwrap();
    assert_eq!((names(&all), &all.next), (vec!["a", "aa", "c", "d"], &None));
}

/// Reads a list one element at a time and compares it with the whole list.
fn agrees<L: Listed + Clone>(array: &Array, list: L)
where
    L::View: std::fmt::Debug,
{
    let whole = array.run(list.clone()).unwrap();
    let parts = walk(array, &list, None, 1);
    assert!(whole.len() > 1, "{} has {whole:?}", L::NAME);
    assert_eq!(format!("{parts:?}"), format!("{whole:?}"), "{}", L::NAME);
    // In any order, the parts have the same elements, and the reverse order is another one.
    let sorted = |views: &[L::View]| {
        let mut texts: Vec<String> = views.iter().map(|view| format!("{view:?}")).collect();
        texts.sort();
        texts
    };
    for column in L::COLUMNS {
        for sort in [column.name.to_owned(), format!("-{}", column.name)] {
            let parts = walk(array, &list, Some(sort), 2);
            assert_eq!(sorted(&parts), sorted(&whole), "{} by {}", L::NAME, column.name);
        }
    }
    let end = array.run(Page { start: Start::End, ..Page::first(list.clone(), 1) }).unwrap();
    assert_eq!((end.total, end.next), (whole.len(), None), "{}", L::NAME);
    assert_eq!(format!("{:?}", end.views.last()), format!("{:?}", whole.last()), "{}", L::NAME);
    let second = array.run(Page { start: Start::Offset(1), ..Page::first(list, 1) }).unwrap();
    assert_eq!(format!("{:?}", second.views.first()), format!("{:?}", whole.get(1)), "{}", L::NAME);
}

/// Reads a list in parts of this length.
fn walk<L: Listed + Clone>(array: &Array, list: &L, sort: Option<String>, limit: usize) -> Vec<L::View> {
    let mut page = Page { sort, ..Page::first(list.clone(), limit) };
    let mut views = Vec::new();
    loop {
        let part = array.run(page.clone()).unwrap();
        views.extend(part.views);
        let Some(next) = part.next else { return views };
        let start = Start::After(next);
        assert_ne!(page.start, start, "{} by {:?}", L::NAME, page.sort);
        page.start = start;
    }
}

#[test]
fn the_parts_of_every_list_are_the_list() {
    let array = Array::new();
    for name in ["v1", "v1-a", "v2"] {
        array.create(name);
        array.run(SnapshotCreate { volume: name.to_owned(), name: "monday".to_owned() }).unwrap();
        array.run(VolumeReclaim { volume: name.to_owned(), share_percent: None }).unwrap();
    }
    for (at, host) in ["h1", "h1-a", "h2"].into_iter().enumerate() {
        let initiator = format!("iqn.2026-01.org.example:{host}");
        array.create_host(host, &initiator);
        array.log_in(9 + u64::try_from(at).unwrap(), &initiator);
        array.grant("v1", Some(host), None).unwrap();
        let group = HostGroupCreate { name: format!("g{at}"), ..HostGroupCreate::default() };
        array.run(group).unwrap();
    }
    array.grant("v2", None, None).unwrap();
    let objects: Vec<_> = array.control.directory().volumes_by_name().map(|volume| volume.object).collect();
    let registration = |initiator: &str, isid| Registration {
        initiator: format!("iqn.2026-01.org.example:{initiator}"),
        isid,
        target_port: 1,
        key: 7,
        holder: true,
    };
    for object in &objects {
        let registrations = vec![registration("h1", 9), registration("h1-a", 9), registration("h1", 10)];
        let reserved_by = Some(registration("h1", 9));
        let of_volume = Reservations { registrations, reserved_by, ..Reservations::default() };
        array.live.reservations.borrow_mut().insert(object.0, of_volume);
        for primitive in Primitive::ALL {
            array.live.offload.borrow_mut().push(super::offload::row(*object, "v", primitive));
        }
    }
    for name in ["s2", "s1"] {
        let share = array.run(ShareCreate::new(name)).unwrap().view.object.id;
        let clients = [OffloadClient::Others, OffloadClient::Host([192, 0, 2, 7].into()), OffloadClient::Api];
        let row =
            |client| ClientOffloadRow { client, primitive: Primitive::Clone, counters: OffloadCounters::default() };
        array.live.offload_by_client.borrow_mut().insert(share.0, clients.map(row).to_vec());
    }
    let places = [0, 1].map(|at| Place { object: objects[0], offset_bytes: at << 12, block: BlockId(at) });
    array.catalog.incidents.replace(places.map(Incident::BadBlock).to_vec());
    array.catalog.full_below.set(true);
    run_jobs(&array.control);
    agrees(&array, VolumeList::default());
    agrees(&array, SnapshotList::default());
    agrees(&array, HostList::default());
    agrees(&array, HostGroupList);
    agrees(&array, AccessList::default());
    agrees(&array, SessionList::default());
    agrees(&array, JobList);
    agrees(&array, ReservationList::default());
    agrees(&array, ShareList::default());
    agrees(&array, OffloadStatistics::default());
    agrees(&array, OffloadStatistics { by_client: true, ..OffloadStatistics::default() });
    agrees(&array, AlertList);
}

fn query<L: Listed + Clone>(list: L, sort: &str) -> Page<L> {
    Page { sort: Some(sort.to_owned()), ..Page::first(list, usize::MAX) }
}

#[test]
fn a_list_is_sorted_by_two_columns_and_then_by_its_own_key() {
    let array = Array::new();
    for name in ["d", "b", "a", "c"] {
        array.create(name);
    }
    array.run(VolumeSet { size_bytes: Some(2 << 30), ..volume_set("b") }).unwrap();
    let size = array.run(VolumeShow { volume: "a".to_owned() }).unwrap().object.size_bytes;
    assert_ne!(size, 2 << 30);
    let sorted = |sort: &str| {
        let part = array.run(query(VolumeList::default(), sort)).unwrap();
        names(&part).concat()
    };
    assert_eq!((sorted("size_bytes").as_str(), sorted("-size_bytes").as_str()), ("acdb", "bacd"));
    assert_eq!((sorted("size_bytes,-name").as_str(), sorted("-size_bytes,-created").as_str()), ("dcab", "bcad"));
    assert_eq!(sorted("created"), "dbac");
}

fn volume_set(volume: &str) -> VolumeSet {
    VolumeSet {
        volume: volume.to_owned(),
        name: None,
        size_bytes: None,
        write_cache: None,
        reserve: None,
        overwrite_reserve_percent: None,
        zero_detection: None,
        warn_percent: None,
        critical_percent: None,
        labels: std::collections::BTreeMap::new(),
        policy: None,
    }
}

/// Rows that appear, disappear and move while a list is read by a column of which many are equal.
#[test]
fn under_a_sort_key_rows_that_stay_are_read_exactly_once() {
    let array = Array::new();
    for number in 0..40 {
        array.create(&format!("v{number:02}"));
    }
    for seed in 0..20 {
        let random = random::Random::new(seed);
        let mut names: Vec<String> =
            array.run(VolumeList::default()).unwrap().into_iter().map(|view| view.record.name).collect();
        let (mut seen, mut page) = (Vec::new(), query(VolumeList::default(), "-size_bytes"));
        page.limit = 3;
        loop {
            let part = array.run(page.clone()).unwrap();
            seen.extend(part.views.into_iter().map(|view| view.record.name));
            let Some(next) = part.next else { break };
            page.start = Start::After(next);
            let gone = names.swap_remove(usize::try_from(random.below(names.len() as u64)).unwrap());
            array.run(VolumeDelete { volume: gone.clone(), now: true, ..VolumeDelete::default() }).unwrap();
            seen.retain(|name| *name != gone);
            array.create(&format!("n{seed}-{}", random.below(1 << 40)));
        }
        for name in &names {
            assert_eq!(seen.iter().filter(|other| *other == name).count(), 1, "{name} with seed {seed}");
        }
    }
}

/// Only the rows of the part were counted, and all others preceded or followed them as if they had
/// no value.
#[test]
fn an_order_by_a_counted_column_has_counts_of_all_rows() {
    let array = Array::new();
    let mut objects = ["a", "b", "c"].map(|name| array.create(name).object.id);
    let mirror = futures_executor::block_on(array.control.mirror());
    for bytes in [4096, 8192] {
        objects.iter().zip(1..).for_each(|(object, times)| array.catalog.set_mapped(*object, times * bytes));
        futures_executor::block_on(array.control.publish_facts());
        let page = Page { limit: 1, ..query(VolumeList::default(), "-unique_bytes") };
        let (stale, _) = mirror.stale_counts(&page).unwrap();
        futures_executor::block_on(array.control.recount(stale));
        let first = mirror.read(&page).unwrap();
        let largest = ["c", "a"][usize::from(bytes == 8192)];
        assert_eq!((names(&first), first.views[0].unique_bytes), (vec![largest], Some(3 * bytes)));
        assert_eq!(mirror.stale_counts(&page).unwrap().0, Vec::<Vec<_>>::new(), "all are as new as the facts");
        objects.reverse();
    }
    // In another order, a part has its own counts.
    array.catalog.set_mapped(objects[0], 4096);
    futures_executor::block_on(array.control.publish_facts());
    let page = Page { limit: 1, ..query(VolumeList::default(), "size_bytes") };
    assert_eq!(mirror.stale_counts(&page).unwrap().0.len(), 1);
    let hosts = Page::first(HostList::default(), 1);
    assert_eq!(mirror.stale_counts(&hosts).unwrap().0.len(), 0);
}

#[test]
fn unknown_sort_keys_and_foreign_cursors_are_refused() {
    let array = Array::new();
    array.create("a");
    let refused = |page: Page<VolumeList>| match array.run(page).unwrap_err() {
        ControlError::InvalidQuery(detail) => detail,
        other => panic!("{other:?}"),
    };
    assert!(refused(query(VolumeList::default(), "colour")).contains("name, size_bytes"));
    assert!(refused(query(VolumeList::default(), "name,-name")).contains("repeated"));
    assert!(refused(query(VolumeList::default(), "name,created,size_bytes")).contains("at most 2"));
    assert!(refused(query(VolumeList::default(), "")).contains("no sort key"));
    for foreign in ["a", "", "[[1,2],\"a\"]", "[[],\"a\"]", "{}", "[[{}],\"a\"]"] {
        let start = Start::After(foreign.to_owned());
        assert!(refused(Page { start, ..query(VolumeList::default(), "name") }).contains("after"), "{foreign}");
    }
}

#[test]
fn text_is_found_in_names_and_addresses_whatever_its_case() {
    let array = Array::new();
    array.create("Win-DC1");
    array.create("linux");
    let naa = array.run(VolumeShow { volume: "linux".to_owned() }).unwrap().record.naa.to_string();
    let found = |text: &str| {
        let page = Page { text: Some(text.to_owned()), ..Page::first(VolumeList::default(), 1) };
        let part = array.run(page).unwrap();
        (part.total, names(&part).concat())
    };
    assert_eq!(found("win-d"), (1, "Win-DC1".to_owned()));
    assert_eq!(found(&naa.to_uppercase()), (1, "linux".to_owned()));
    assert_eq!((found("i").0, found("zzz")), (2, (0, String::new())));
    array.create_host("h1", "iqn.2026-01.org.example:h1");
    let page = Page { text: Some("EXAMPLE:H".to_owned()), ..Page::first(HostList::default(), 9) };
    assert_eq!(array.run(page).unwrap().total, 1);
}

#[test]
fn volumes_are_chosen_by_who_sees_them_and_by_what_they_have() {
    let array = Array::new();
    for name in ["own", "grouped", "open", "hidden"] {
        array.create(name);
    }
    array.create_host("h1", "iqn.2026-01.org.example:h1");
    array.run(HostGroupCreate { name: "g1".to_owned(), hosts: vec!["h1".to_owned()] }).unwrap();
    array.grant("own", Some("h1"), None).unwrap();
    array.grant("open", None, None).unwrap();
    let grantee = Grantee::Group("g1".to_owned());
    array.run(AccessGrant { volume: "grouped".to_owned(), grantee: grantee.clone(), lun: None }).unwrap();
    array.run(SnapshotCreate { volume: "hidden".to_owned(), name: "s".to_owned() }).unwrap();
    array.run(VolumeSet { size_bytes: Some(4 << 30), reserve: Some(Reserve::Thick), ..volume_set("own") }).unwrap();
    let listed = |list: VolumeList| names(&array.run(Page::first(list, 9)).unwrap()).join(" ");
    let seen_by = |grantee| listed(VolumeList { seen_by: Some(grantee), ..VolumeList::default() });
    assert_eq!(seen_by(Grantee::Host("h1".to_owned())), "grouped open own");
    assert_eq!((seen_by(grantee).as_str(), seen_by(Grantee::Any).as_str()), ("grouped", "open"));
    let has = |has| listed(VolumeList { has: Some(has), ..VolumeList::default() });
    assert_eq!((has(VolumeHas::NoHost).as_str(), has(VolumeHas::OpenAccess).as_str()), ("hidden", "open"));
    assert_eq!((has(VolumeHas::Snapshots).as_str(), has(VolumeHas::Alert).as_str()), ("hidden", ""));
    let reserve = |reserve| listed(VolumeList { reserve: Some(reserve), ..VolumeList::default() });
    assert_eq!((reserve(Reserve::Thick).as_str(), reserve(Reserve::Thin).as_str()), ("own", "grouped hidden open"));
    assert_eq!(listed(VolumeList { min_size_bytes: Some(4 << 30), ..VolumeList::default() }), "own");
    let unknown = VolumeList { seen_by: Some(Grantee::Host("nobody".to_owned())), ..VolumeList::default() };
    assert!(matches!(array.run(unknown), Err(ControlError::NotFound { noun: Noun::Host, .. })));
}
