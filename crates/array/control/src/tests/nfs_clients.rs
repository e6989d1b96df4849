use super::Array;
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
    let facts = NfsFacts { clients, locks, grace: NfsGrace { seconds: 7, reclaiming: 1 } };
    *array.live.nfs.borrow_mut() = Some(facts);
    (array, share)
}

#[test]
fn without_a_server_the_lists_say_so() {
    let array = Array::new();
    assert_eq!(array.run(NfsClientList).unwrap_err().code(), "nfs-not-served");
    assert_eq!(array.run(NfsLockList { share: None }).unwrap_err().code(), "nfs-not-served");
    assert_eq!(array.run(NfsGraceShow).unwrap_err().code(), "nfs-not-served");
    assert_eq!(array.code(NfsClientExpire { id: 1 }), "nfs-not-served");
}

#[test]
fn clients_and_locks_are_sorted_and_locks_selected_by_share() {
    let (array, _) = served();
    let ids: Vec<u64> = array.run(NfsClientList).unwrap().iter().map(|client| client.id).collect();
    assert_eq!(ids, [1, 2]);
    let of = |share: Option<&str>| -> Vec<(Option<String>, u64, u64)> {
        let locks = array.run(NfsLockList { share: share.map(str::to_owned) }).unwrap();
        locks.into_iter().map(|view| (view.share, view.lock.file, view.lock.offset_bytes)).collect()
    };
    let vms = || Some("vms".to_owned());
    assert_eq!(of(Some("vms")), [(vms(), 4, 5), (vms(), 9, 0), (vms(), 9, 10)]);
    assert_eq!(of(Some("other")), []);
    assert_eq!(of(None).len(), 4);
    assert_eq!(of(None)[3], (None, 1, 0), "of a share that is gone");
    assert_eq!(array.run(NfsLockList { share: Some("nosuch".to_owned()) }).unwrap_err().code(), "not-found");
    assert_eq!(array.run(NfsGraceShow).unwrap(), NfsGrace { seconds: 7, reclaiming: 1 });
}

#[test]
fn a_client_that_is_expired_loses_its_locks_and_an_event_tells() {
    let (array, _) = served();
    array.run(NfsClientExpire { id: 1 }).unwrap();
    assert_eq!(array.run(NfsLockList { share: Some("vms".to_owned()) }).unwrap().len(), 1);
    let missing = array.run(NfsClientExpire { id: 0x30 }).unwrap_err();
    assert_eq!(missing.to_string(), "there is no nfs-client 0000000000000030");
    let events = array.run(EventList { since: None, filter: EventFilter::default(), limit: 100 }).unwrap();
    let told = |event: &Event| event.code == "nfs-client-expired" && event.subject == "0000000000000001";
    assert!(events.iter().any(told));
}

/// With many locks a list is long; between two of its parts the hosts are served.
#[test]
fn the_mirror_lists_all_parts_at_most_once_a_second() {
    let (array, share) = served();
    let clients: Vec<_> = (0..1000).map(|id| client(id, "many")).collect();
    let locks: Vec<_> = (0..1000).map(|file| lock(share, file, 1, 0)).collect();
    *array.live.nfs.borrow_mut() = Some(NfsFacts { clients, locks, grace: NfsGrace::default() });
    let mirror = block_on(array.control.mirror());
    let counts = || {
        let locks = mirror.read(&NfsLockList { share: None }).unwrap().len();
        (mirror.read(&NfsClientList).unwrap().len(), locks)
    };
    assert_eq!(counts(), (1000, 1000));
    // The clock of the test advances a millisecond at each look.
    let empty = || *array.live.nfs.borrow_mut() = Some(NfsFacts::default());
    empty();
    block_on(array.control.publish_facts());
    assert_eq!(counts(), (1000, 1000));
    for _ in 0..1000 {
        block_on(array.control.publish_facts());
    }
    assert_eq!(counts(), (0, 0));
    // A change by the administrator lists the clients again at once.
    *array.live.nfs.borrow_mut() = Some(NfsFacts { clients: vec![client(1, "a")], ..NfsFacts::default() });
    array.run(NfsClientExpire { id: 1 }).unwrap();
    block_on(array.control.publish_facts());
    assert_eq!(counts(), (1, 0));
}
