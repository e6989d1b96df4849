//! Snapshots of shares that clients mount.

use crate::kit::{Array, client};
use control::{ExportGrantee, ExportRevoke, ShareRollback, ShareSet, SnapshotCreate, SnapshotDelete};
use daemon::memory::TemporaryDirectory;
use nfs::v4::attributes::{Attribute, Fattr};
use nfs::v4::open::{OpenArguments, OpenClaim, OpenHow, share_access, share_deny};
use nfs::v4::{Stable, StateOwner, Stateid, Status};
use nfs_client::{ClientError, File, Identity, Options, Session, Share};

/// All permissions of ACCESS, and those that change nothing.
const ALL_ACCESS: u32 = 0x3f;
const READ_LOOKUP_EXECUTE: u32 = 0x23;

async fn session(array: &Array) -> Session {
    Session::connect(&array.nfs.to_string(), &Identity::root("test", [1; 8]), Options::default()).await.unwrap()
}

async fn take(array: &Array, name: &str) {
    array.handle.call(SnapshotCreate { volume: "vms".to_owned(), name: name.to_owned() }).await.unwrap();
}

async fn open_to_read(share: &Share, name: &str) -> Result<File, ClientError> {
    let arguments = OpenArguments {
        seqid: 0,
        share_access: share_access::READ | share_access::WANT_NO_DELEGATION,
        share_deny: share_deny::NONE,
        owner: StateOwner { client: 0, owner: b"reader"[..].into() },
        how: OpenHow::NoCreate,
        claim: OpenClaim::Null(name.into()),
    };
    share.open_with(share.root(), arguments).await.map(|(file, _)| file)
}

async fn content(share: &Share, name: &str) -> Vec<u8> {
    let file = open_to_read(share, name).await.unwrap();
    let (content, _) = share.read(&file, 0, 100).await.unwrap();
    share.close(file).await.unwrap();
    content.to_vec()
}

fn status<T: std::fmt::Debug>(result: Result<T, ClientError>) -> Option<Status> {
    result.unwrap_err().status()
}

/// Array with the share `vms`, whose snapshot `monday` has the file `a` with other content.
async fn furnish(array: &Array) -> (Session, Share) {
    array.create_share("vms").await;
    let session = session(array).await;
    let share = Share::find(&session, "vms").await.unwrap();
    let file = share.create_file(share.root(), "a").await.unwrap();
    share.write(&file, 0, b"monday".to_vec().into(), Stable::FileSync).await.unwrap();
    take(array, "monday").await;
    share.write(&file, 0, b"friday".to_vec().into(), Stable::FileSync).await.unwrap();
    share.close(file).await.unwrap();
    share.create_file(share.root(), "new").await.unwrap();
    (session, share)
}

#[test]
fn a_snapshot_is_mounted_read_only_beside_its_share() {
    let directory = TemporaryDirectory::new();
    let array = Array::start(directory.path());
    client(async {
        let (session, share) = furnish(&array).await;
        let snapshot = Share::find(&session, "vms@monday").await.unwrap();
        assert_eq!(content(&snapshot, "a").await, b"monday");
        assert_eq!(content(&share, "a").await, b"friday");
        assert_eq!(status(open_to_read(&snapshot, "new").await), Some(Status::NOENT));

        assert_eq!(status(snapshot.open(snapshot.root(), "a", OpenHow::NoCreate).await), Some(Status::ROFS));
        assert_eq!(status(snapshot.create_file(snapshot.root(), "b").await), Some(Status::ROFS));
        assert_eq!(status(snapshot.remove(snapshot.root(), "a").await), Some(Status::ROFS));
        let mode = Fattr::new([Attribute::Mode(0o600)]);
        let set = snapshot.set_attributes(snapshot.root(), Stateid { seqid: 0, other: [0; 12] }, mode).await;
        assert_eq!(status(set), Some(Status::ROFS));
        let permitted = snapshot.access(snapshot.root(), ALL_ACCESS).await.unwrap();
        assert_eq!(permitted & !READ_LOOKUP_EXECUTE, 0, "{permitted:x}");

        // The same number of the file, in another file system.
        let (one, other) = (share.lookup(&["a"]).await.unwrap(), snapshot.lookup(&["a"]).await.unwrap());
        let [one, other] = [(&share, one.handle), (&snapshot, other.handle)];
        let of =
            async |(share, handle): (&Share, nfs::v4::Filehandle)| share.attributes(&handle, &[8, 20]).await.unwrap();
        let (one, other) = (of(one).await, of(other).await);
        assert!(one[0] != other[0] && one[1] == other[1], "{one:?} {other:?}");
        assert_eq!(content(&share, "a").await, b"friday");
    });
    array.stop();
}

#[test]
fn a_snapshot_that_is_deleted_under_its_mount_is_stale() {
    let directory = TemporaryDirectory::new();
    let array = Array::start(directory.path());
    client(async {
        let (session, share) = furnish(&array).await;
        let snapshot = Share::find(&session, "vms@monday").await.unwrap();
        let file = open_to_read(&snapshot, "a").await.unwrap();
        array.handle.call(SnapshotDelete { snapshot: "vms@monday".to_owned() }).await.unwrap();
        assert_eq!(status(snapshot.read(&file, 0, 10).await), Some(Status::STALE));
        assert_eq!(status(Share::find(&session, "vms@monday").await), Some(Status::NOENT));
        assert_eq!(content(&share, "a").await, b"friday");
        // A new one of the same name is another file system.
        take(&array, "monday").await;
        assert_eq!(status(snapshot.attributes(snapshot.root(), &[20]).await), Some(Status::STALE));
        let snapshot = Share::find(&session, "vms@monday").await.unwrap();
        assert_eq!(content(&snapshot, "a").await, b"friday");
    });
    array.stop();
}

#[test]
fn snapshots_follow_the_name_the_access_and_the_roll_back_of_their_share() {
    let directory = TemporaryDirectory::new();
    let array = Array::start(directory.path());
    client(async {
        let (session, share) = furnish(&array).await;
        let monday = Share::find(&session, "vms@monday").await.unwrap();
        let rollback =
            ShareRollback { share: "vms".to_owned(), snapshot: "monday".to_owned(), keep: Some("friday".to_owned()) };
        array.handle.call(rollback).await.unwrap();
        let friday = Share::find(&session, "vms@friday").await.unwrap();
        for (share, expected) in [(&share, b"monday"), (&monday, b"monday"), (&friday, b"friday")] {
            assert_eq!(content(share, "a").await, expected);
        }
        let rename = ShareSet { share: "vms".to_owned(), name: Some("machines".to_owned()), ..ShareSet::default() };
        array.handle.call(rename).await.unwrap();
        assert_eq!(status(Share::find(&session, "vms@monday").await), Some(Status::NOENT));
        assert!(Share::find(&session, "machines@monday").await.is_ok());
        assert_eq!(content(&monday, "a").await, b"monday", "handles do not depend on the name");
        let revoke = ExportRevoke { share: "machines".to_owned(), grantee: Some(ExportGrantee::Any) };
        array.handle.call(revoke).await.unwrap();
        assert_eq!(status(Share::find(&session, "machines@monday").await), Some(Status::NOENT));
        assert_eq!(status(monday.attributes(monday.root(), &[20]).await), Some(Status::ACCESS));
    });
    array.stop();
}

#[test]
fn snapshots_are_served_after_a_restart() {
    let directory = TemporaryDirectory::new();
    let array = Array::start(directory.path());
    let handle = client(async {
        let (session, _) = furnish(&array).await;
        let snapshot = Share::find(&session, "vms@monday").await.unwrap();
        let handle = snapshot.root().clone();
        session.end().await.unwrap();
        handle
    });
    array.stop();
    let array = Array::start(directory.path());
    client(async {
        let session = session(&array).await;
        let snapshot = Share::find(&session, "vms@monday").await.unwrap();
        assert_eq!((content(&snapshot, "a").await.as_slice(), snapshot.root()), (&b"monday"[..], &handle));
    });
    array.stop();
}
