//! What an administrator sees of clients, and the revocation of what one has.

use crate::kit::{Array, client, lock, lock_as, open_to_read};
use control::{
    DryRun, ExportGrant, ExportGrantee, NfsClientExpire, NfsClientList, NfsClientStanding, NfsGraceShow, NfsLockList,
    NfsLockView, Request, ShareCreate, SnapshotCreate, Squash,
};
use nfs::v4::locks::LockType;
use nfs::v4::operations::Operation;
use nfs::v4::{Stable, Status};
use nfs_client::{Compound, Identity, Options, Session, Share};
use std::time::Duration;

/// Repeats a request until its reply is as expected, and returns that.
async fn shown<R: Request + Clone>(array: &Array, request: R, expected: impl Fn(&R::Reply) -> bool) -> R::Reply {
    let shown = async {
        loop {
            let reply = array.handle.call(request.clone()).await.unwrap();
            if expected(&reply) {
                return reply;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), shown).await.unwrap()
}

const CLIENTS: NfsClientList = NfsClientList { from: 0, most: 9 };

async fn locks(array: &Array, share: &str) -> Vec<NfsLockView> {
    array.handle.call(NfsLockList { share: Some(share.to_owned()), from: 0, most: 9 }).await.unwrap().elements
}

#[test]
fn clients_and_locks_are_listed_and_a_client_is_expired() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    client(async {
        array.create_share("vms").await;
        array.create_share("other").await;
        assert_eq!(array.handle.call(CLIENTS).await.unwrap().elements, []);
        let identity = Identity::root("pve1", [1; 8]);
        let session = Session::connect(&array.nfs.to_string(), &identity, Options::default()).await.unwrap();
        let share = Share::find(&session, "vms").await.unwrap();
        let file = share.create_file(share.root(), "disk").await.unwrap();
        lock(&share, &file, b"one", 10, 20).await;
        lock(&share, &file, b"another", 100, u64::MAX).await;

        let clients = array.handle.call(CLIENTS).await.unwrap().elements;
        let [pve1] = &clients[..] else { panic!("{clients:?}") };
        assert!(pve1.owner.contains("pve1"), "{pve1:?}");
        assert_eq!((pve1.standing, pve1.sessions, pve1.opens), (NfsClientStanding::Active, 1, 1));
        let of_vms = locks(&array, "vms").await;
        let seen: Vec<_> =
            of_vms.iter().map(|view| (view.lock.offset_bytes, view.lock.length_bytes, view.lock.exclusive)).collect();
        assert_eq!(seen, [(10, Some(20), true), (100, None, true)]);
        assert!(of_vms.iter().all(|view| view.lock.client == pve1.id && view.share.as_deref() == Some("vms")));
        assert_eq!(locks(&array, "other").await, []);
        assert_eq!(array.handle.call(NfsGraceShow).await.unwrap().seconds, 0);

        array.handle.call(NfsClientExpire { id: pve1.id }).await.unwrap();
        assert_eq!(locks(&array, "vms").await, []);
        let refused = share.write(&file, 0, vec![1; 10].into(), Stable::FileSync).await.unwrap_err();
        assert_eq!(refused.status(), Some(Status::ADMIN_REVOKED));
        let unknown = array.handle.call(NfsClientExpire { id: 1 }).await.unwrap_err();
        assert_eq!(unknown.code(), "not-found");
    });
    array.stop();
}

/// Snapshots are exported read-only; locks for reading exist.
#[test]
fn locks_in_a_snapshot_are_listed_by_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    client(async {
        array.create_share("vms").await;
        let identity = Identity::root("pve1", [1; 8]);
        let session = Session::connect(&array.nfs.to_string(), &identity, Options::default()).await.unwrap();
        let share = Share::find(&session, "vms").await.unwrap();
        let file = share.create_file(share.root(), "disk").await.unwrap();
        lock(&share, &file, b"one", 10, 20).await;
        array.handle.call(SnapshotCreate { volume: "vms".to_owned(), name: "nightly".to_owned() }).await.unwrap();
        let snapshot = Share::find(&session, "vms@nightly").await.unwrap();
        let file = open_to_read(&snapshot, "disk").await.unwrap();
        lock_as(LockType::Read, &snapshot, &file, b"two", (0, 5)).await;
        let seen = |locks: Vec<NfsLockView>| -> Vec<_> {
            locks.into_iter().map(|view| (view.share.unwrap_or_default(), view.lock.offset_bytes)).collect()
        };
        assert_eq!(seen(locks(&array, "vms").await), [("vms".to_owned(), 10)]);
        assert_eq!(seen(locks(&array, "vms@nightly").await), [("vms@nightly".to_owned(), 0)]);
        let unknown = NfsLockList { share: Some("vms@weekly".to_owned()), from: 0, most: 9 };
        assert_eq!(array.handle.call(unknown).await.unwrap_err().code(), "not-found");
    });
    array.stop();
}

#[test]
fn the_grace_period_is_shown_until_the_client_has_returned() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    let identity = Identity::root("keeper", [1; 8]);
    client(async {
        array.create_share("vms").await;
        let session = Session::connect(&array.nfs.to_string(), &identity, Options::default()).await.unwrap();
        let share = Share::find(&session, "vms").await.unwrap();
        share.create_file(share.root(), "disk").await.unwrap();
    });
    array.stop();
    let array = Array::start(directory.path());
    client(async {
        let grace = array.handle.call(NfsGraceShow).await.unwrap();
        assert!((1..=5).contains(&grace.seconds) && grace.reclaiming == 1, "{grace:?}");
        let address = array.nfs.to_string();
        let session = Session::connect_for_reclaim(&address, &identity, Options::default()).await.unwrap();
        let complete = Compound::changing([Operation::ReclaimComplete(false)]);
        session.call(&complete).await.unwrap().finish().unwrap();
        let grace = shown(&array, NfsGraceShow, |grace| grace.seconds == 0).await;
        assert_eq!(grace.reclaiming, 0);
    });
    array.stop();
}

/// Regression: a rule of a network took the right to write from a client that a broader rule had given it, and the dry
/// run said nothing.
#[test]
fn a_dry_run_of_a_narrower_rule_names_the_connected_client_that_loses_rights() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    client(async {
        array.handle.call(ShareCreate::new("vms")).await.unwrap();
        let rule = |grantee, read_only| ExportGrant {
            share: "vms".to_owned(),
            grantee,
            read_only,
            squash: Some(Squash::None),
            anonymous: None,
            privileged_port: false,
        };
        array.handle.call(rule(ExportGrantee::Any, false)).await.unwrap();
        let network = |text: &str| ExportGrantee::Network(text.parse().unwrap());
        let dry = |grant| async { array.handle.call(DryRun(grant)).await.unwrap() };
        let narrow = || rule(network("127.0.0.0/8"), true);
        let effect = dry(narrow()).await;
        assert_eq!((effect.breaks.len(), effect.warnings[0].code), (0, "narrower-rule"), "{effect:?}");

        let identity = Identity::root("pve1", [1; 8]);
        let session = Session::connect(&array.nfs.to_string(), &identity, Options::default()).await.unwrap();
        let share = Share::find(&session, "vms").await.unwrap();
        share.create_file(share.root(), "disk").await.unwrap();
        let effect = dry(narrow()).await;
        let [client] = &effect.breaks[..] else { panic!("{effect:?}") };
        assert_eq!(client.name, "127.0.0.1, connected to some share");
        assert!(client.why.contains("can only read share vms"), "{effect:?}");
        assert!(effect.warnings[0].message.contains("that of any host, which gives rw"), "{effect:?}");
        // The client is not in this network, and has a more exact rule than the next one.
        assert_eq!(dry(rule(network("192.0.2.0/24"), true)).await.breaks, []);
        array.handle.call(rule(network("127.0.0.1/32"), false)).await.unwrap();
        assert_eq!(dry(narrow()).await.breaks, []);
        // The dry run says what the rule does.
        array.handle.call(rule(network("127.0.0.1/32"), true)).await.unwrap();
        let refused = share.create_file(share.root(), "another").await.err().unwrap();
        assert_eq!(refused.status(), Some(Status::ROFS));
    });
    array.stop();
}
