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
    let page = |after: Option<&str>, limit| Page { list: VolumeList, after: after.map(str::to_owned), limit };
    let first = array.run(page(None, 2)).unwrap();
    assert_eq!((names(&first), first.next.as_deref()), (vec!["a", "b"], Some("b")));
    array.run(VolumeDelete { volume: "b".to_owned(), with_snapshots: false }).unwrap();
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
    let (mut parts, mut after) = (Vec::new(), None);
    loop {
        let part = array.run(Page { list: list.clone(), after: after.clone(), limit: 1 }).unwrap();
        parts.extend(part.views);
        match part.next {
            Some(next) => assert_ne!(after.replace(next.clone()), Some(next)),
            None => break,
        }
    }
    assert!(whole.len() > 1, "{} has {whole:?}", L::NAME);
    assert_eq!(format!("{parts:?}"), format!("{whole:?}"), "{}", L::NAME);
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
    let places = [0, 1].map(|at| Place { object: objects[0], offset_bytes: at << 12, block: BlockId(at) });
    array.catalog.incidents.replace(places.map(Incident::BadBlock).to_vec());
    array.catalog.full_below.set(true);
    run_jobs(&array.control);
    agrees(&array, VolumeList);
    agrees(&array, SnapshotList { volume: None });
    agrees(&array, HostList);
    agrees(&array, HostGroupList);
    agrees(&array, AccessList::default());
    agrees(&array, SessionList);
    agrees(&array, JobList);
    agrees(&array, ReservationList::default());
    agrees(&array, OffloadStatistics::default());
    agrees(&array, AlertList);
}
