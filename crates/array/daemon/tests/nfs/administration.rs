//! What an administrator sees of clients, and the revocation of what one has.

use crate::kit::{Array, client};
use control::{NfsClientExpire, NfsClientList, NfsClientStanding, NfsGraceShow, NfsLockList, Read};
use daemon::memory::TemporaryDirectory;
use nfs::v4::locks::{LockArguments, LockType, Locker, OpenToLockOwner};
use nfs::v4::operations::Operation;
use nfs::v4::{Stable, StateOwner, Status};
use nfs_client::{Compound, File, Identity, Options, Session, Share};
use std::time::Duration;

async fn lock(share: &Share, file: &File, owner: &'static [u8], offset_bytes: u64, length_bytes: u64) {
    let owner = StateOwner { client: 0, owner: owner.into() };
    let new = OpenToLockOwner { open_seqid: 0, open_stateid: file.stateid, lock_seqid: 0, owner };
    let lock =
        LockArguments { kind: LockType::Write, reclaim: false, offset_bytes, length_bytes, locker: Locker::New(new) };
    let compound = Compound::changing([Operation::Lock(Box::new(lock))]).on(&file.handle);
    share.session().call(&compound).await.unwrap().finish().unwrap();
}

/// What `request` shows once `expected` holds: lists of the NFS server are at most a second old.
async fn shown<R: Read + Clone>(array: &Array, request: R, expected: impl Fn(&R::Reply) -> bool) -> R::Reply {
    let shown = async {
        loop {
            let reply = array.handle.read(request.clone()).await.unwrap();
            if expected(&reply) {
                return reply;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), shown).await.unwrap()
}

#[test]
fn clients_and_locks_are_listed_and_a_client_is_expired() {
    let directory = TemporaryDirectory::new();
    let array = Array::start(directory.path());
    client(async {
        array.create_share("vms").await;
        array.create_share("other").await;
        assert_eq!(array.handle.read(NfsClientList).await.unwrap(), []);
        let identity = Identity::root("pve1", [1; 8]);
        let session = Session::connect(&array.nfs.to_string(), &identity, Options::default()).await.unwrap();
        let share = Share::find(&session, "vms").await.unwrap();
        let file = share.create_file(share.root(), "disk").await.unwrap();
        lock(&share, &file, b"one", 10, 20).await;
        lock(&share, &file, b"another", 100, u64::MAX).await;

        let clients = shown(&array, NfsClientList, |clients| clients.iter().any(|client| client.opens > 0)).await;
        let [pve1] = &clients[..] else { panic!("{clients:?}") };
        assert!(pve1.owner.contains("pve1"), "{pve1:?}");
        assert_eq!((pve1.standing, pve1.sessions, pve1.opens), (NfsClientStanding::Active, 1, 1));
        let of = async |share: &str| array.handle.read(NfsLockList { share: Some(share.to_owned()) }).await.unwrap();
        let locks = of("vms").await;
        let seen: Vec<_> =
            locks.iter().map(|view| (view.lock.offset_bytes, view.lock.length_bytes, view.lock.exclusive)).collect();
        assert_eq!(seen, [(10, Some(20), true), (100, None, true)]);
        assert!(locks.iter().all(|view| view.lock.client == pve1.id && view.share.as_deref() == Some("vms")));
        assert_eq!(of("other").await, []);
        assert_eq!(array.handle.read(NfsGraceShow).await.unwrap().seconds, 0);

        array.handle.call(NfsClientExpire { id: pve1.id }).await.unwrap();
        assert_eq!(of("vms").await, []);
        let refused = share.write(&file, 0, vec![1; 10].into(), Stable::FileSync).await.unwrap_err();
        assert_eq!(refused.status(), Some(Status::ADMIN_REVOKED));
        let unknown = array.handle.call(NfsClientExpire { id: 1 }).await.unwrap_err();
        assert_eq!(unknown.code(), "not-found");
    });
    array.stop();
}

#[test]
fn the_grace_period_is_shown_until_the_client_has_returned() {
    let directory = TemporaryDirectory::new();
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
        let grace = array.handle.read(NfsGraceShow).await.unwrap();
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
