use super::Array;
use crate::memory::live::MemoryNfs;
use crate::*;
use futures_executor::block_on;
use jiff::Timestamp;
use pool::ObjectId;

fn client(id: u64, owner: &str) -> NfsClientInfo {
    NfsClientInfo {
        id,
        owner: owner.to_owned(),
        implementation: String::new(),
        standing: NfsClientStanding::Active,
        renewed: Timestamp::UNIX_EPOCH,
        reclaim_complete: true,
        sessions: 1,
        opens: 2,
        locks: 1,
        copies: 0,
        revoked: 0,
    }
}

fn lock(share: ObjectId, file: u64, client: u64, offset_bytes: u64) -> NfsLockInfo {
    NfsLockInfo { share, file, client, owner: "o".to_owned(), offset_bytes, length_bytes: None, exclusive: true }
}

/// Array with an NFS server that has two clients; one share is `vms`.
fn served() -> (Array, ObjectId) {
    let array = Array::new();
    let share = array.run(ShareCreate::new("vms")).unwrap().view.object.id;
    array.run(ShareCreate::new("other")).unwrap();
    let locks = vec![lock(share, 9, 2, 10), lock(share, 9, 1, 0), lock(share, 4, 1, 5), lock(ObjectId(99), 1, 2, 0)];
    let clients = vec![client(2, "Linux b"), client(1, "Linux a")];
    let grace = NfsGrace { seconds: 7, reclaiming: 1 };
    let nfs = MemoryNfs { clients, locks, grace, ..MemoryNfs::default() };
    *array.live.nfs.borrow_mut() = Some(nfs);
    (array, share)
}

fn clients(most: usize) -> NfsClientList {
    NfsClientList { from: 0, most }
}

fn locks(share: Option<&str>) -> NfsLockList {
    NfsLockList { share: share.map(str::to_owned), from: 0, most: 10_000 }
}

#[test]
fn without_a_server_the_lists_say_so() {
    let array = Array::new();
    assert_eq!(array.code(clients(1)), "nfs-not-served");
    assert_eq!(array.code(locks(None)), "nfs-not-served");
    assert_eq!(array.code(NfsGraceShow), "nfs-not-served");
    assert_eq!(array.code(NfsClientExpire { id: 1 }), "nfs-not-served");
}

#[test]
fn locks_are_selected_by_share_and_snapshot() {
    let (array, share) = served();
    let snapshot = SnapshotCreate { volume: "vms".to_owned(), name: "monday".to_owned() };
    array.run(snapshot).unwrap();
    let object = {
        let directory = array.control.directory();
        let of_share = directory.share_of(share).unwrap().id;
        directory.snapshots_of(of_share).next().unwrap().object
    };
    array.live.nfs.borrow_mut().as_mut().unwrap().locks.push(lock(object, 3, 1, 7));
    let of = |share: Option<&str>| -> Vec<(Option<String>, u64, u64)> {
        let locks = array.run(locks(share)).unwrap().elements;
        locks.into_iter().map(|view| (view.share, view.lock.file, view.lock.offset_bytes)).collect()
    };
    let vms = || Some("vms".to_owned());
    assert_eq!(of(Some("vms")), [(vms(), 9, 10), (vms(), 9, 0), (vms(), 4, 5)]);
    assert_eq!(of(Some("other")), []);
    let monday = (Some("vms@monday".to_owned()), 3, 7);
    assert_eq!(of(Some("vms@monday")), std::slice::from_ref(&monday));
    assert_eq!(of(None).len(), 5);
    assert_eq!(of(None)[3..], [(None, 1, 0), monday], "of a share that is gone");
    for unknown in ["nosuch", "nosuch@monday", "vms@friday"] {
        assert_eq!(array.code(locks(Some(unknown))), "not-found", "{unknown}");
    }
    assert_eq!(array.run(NfsGraceShow).unwrap(), NfsGrace { seconds: 7, reclaiming: 1 });
}

#[test]
fn a_client_that_is_expired_loses_its_locks_and_an_event_tells() {
    let (array, _) = served();
    array.run(NfsClientExpire { id: 1 }).unwrap();
    assert_eq!(array.run(locks(Some("vms"))).unwrap().elements.len(), 1);
    let missing = array.run(NfsClientExpire { id: 0x30 }).unwrap_err();
    assert_eq!(missing.to_string(), "there is no nfs-client 0000000000000030");
    let events = array.run(EventList { since: None, filter: EventFilter::default(), limit: 100 }).unwrap();
    let told = |event: &Event| event.code == "nfs-client-expired" && event.subject == "0000000000000001";
    assert!(events.iter().any(told));
}

/// Regression: the list of all locks was made each second, also when nobody read it.
#[test]
fn a_list_is_made_in_short_turns_and_only_if_it_is_asked_for() {
    let (array, share) = served();
    let all_clients = (0..1000).map(|id| client(id, "many")).collect();
    let all_locks = (0..1000).map(|file| lock(share, file, 1, 0)).collect();
    *array.live.nfs.borrow_mut() = Some(MemoryNfs { clients: all_clients, locks: all_locks, ..MemoryNfs::default() });
    let _mirror = block_on(array.control.mirror());
    for _ in 0..1000 {
        block_on(array.control.publish_facts());
    }
    assert_eq!(array.live.nfs_parts.get(), 0);
    assert_eq!(array.run(locks(None)).unwrap().elements.len(), 1000);
    assert_eq!(array.live.nfs_parts.get(), 4);
    let mut request = clients(300);
    let mut ids = Vec::new();
    loop {
        let part = array.run(request.clone()).unwrap();
        assert!(part.elements.len() == 300 || part.next.is_none());
        ids.extend(part.elements.iter().map(|client| client.id));
        let Some(next) = part.next else { break };
        request.from = next;
    }
    assert!(ids.into_iter().eq(0..1000));
}
