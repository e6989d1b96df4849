//! Snapshots of shares that clients mount.

use crate::kit::{Array, client, open_to_read};
use control::{
    ExportGrant, ExportGrantee, ExportRevoke, HostCreate, HostGroupCreate, HostGroupSet, OffloadLog, OffloadStatistics,
    ShareRollback, ShareSet, SnapshotCreate, SnapshotDelete,
};
use nfs::v4::attributes::{Attribute, Fattr};
use nfs::v4::open::OpenHow;
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::{Stable, Stateid, Status};
use nfs_client::{ClientError, Compound, Identity, Options, Session, Share};
use unit::{Primitive, Reason};

/// All permissions of ACCESS, and those that change nothing.
const ALL_ACCESS: u32 = 0x3f;
const READ_LOOKUP_EXECUTE: u32 = 0x23;

async fn session(array: &Array) -> Session {
    Session::connect(&array.nfs.to_string(), &Identity::root("test", [1; 8]), Options::default()).await.unwrap()
}

async fn take(array: &Array, name: &str) {
    array.handle.call(SnapshotCreate { volume: "vms".to_owned(), name: name.to_owned() }).await.unwrap();
}

async fn content(share: &Share, name: &str) -> Vec<u8> {
    let file = open_to_read(share, name).await.unwrap();
    let (content, _) = share.read(&file, 0, 100).await.unwrap();
    share.close(file).await.unwrap();
    content.to_vec()
}

fn status<T>(result: Result<T, ClientError>) -> Option<Status> {
    result.err().unwrap().status()
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
    let directory = tempfile::tempdir().unwrap();
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
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    client(async {
        let (session, share) = furnish(&array).await;
        let snapshot = Share::find(&session, "vms@monday").await.unwrap();
        let file = open_to_read(&snapshot, "a").await.unwrap();
        array.handle.call(SnapshotDelete { snapshot: "vms@monday".to_owned(), now: true }).await.unwrap();
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
    let directory = tempfile::tempdir().unwrap();
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
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    let handle = client(async {
        let (session, _) = furnish(&array).await;
        let snapshot = Share::find(&session, "vms@monday").await.unwrap();
        snapshot.root().clone()
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

/// The log named them as operations on a deleted share, and their counters were in no list.
#[test]
fn operations_on_a_snapshot_are_counted_and_logged_as_those_of_its_share() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    client(async {
        let (session, _) = furnish(&array).await;
        let snapshot = Share::find(&session, "vms@monday").await.unwrap();
        let file = open_to_read(&snapshot, "a").await.unwrap();
        assert_eq!(status(snapshot.deallocate(&file, 0, 10).await), Some(Status::ROFS));
        let log = OffloadLog { filter: control::OffloadLogFilter::of("vms"), limit: 9, ..OffloadLog::default() };
        let logged = array.handle.read(log).await.unwrap();
        let seen: Vec<_> = logged.iter().map(|view| (&*view.volume, view.deleted, view.entry.reason)).collect();
        assert_eq!(seen, [("vms@monday", false, Reason::ReadOnly)]);
        let counters = OffloadStatistics { volume: Some("vms".to_owned()), ..OffloadStatistics::default() };
        let counted = array.handle.read(counters).await.unwrap();
        let seen: Vec<_> = counted.iter().map(|view| (view.row.primitive, view.row.counters.refused)).collect();
        assert_eq!(seen, [(Primitive::Free, 1)]);
    });
    array.stop();
}

/// Each change of a share published it and all its snapshots again, so that clients read the root again.
#[test]
fn a_change_that_concerns_no_client_is_not_published() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    client(async {
        let (session, share) = furnish(&array).await;
        let operations = Compound::reading([Operation::PutRootFilehandle, Operation::GetFilehandle]);
        let mut outcomes = session.call(&operations).await.unwrap();
        outcomes.skip(1).unwrap();
        let Ok(Outcome::GetFilehandle(Ok(root))) = outcomes.next_success() else { panic!("no handle of the root") };
        let change = async || share.attributes(&root, &[3]).await.unwrap();
        let group = HostGroupCreate { name: "g".to_owned(), hosts: Vec::new() };
        array.handle.call(group).await.unwrap();
        let grantee = ExportGrantee::Group("g".to_owned());
        array.handle.call(ExportGrant { grantee, ..array.grant_of("vms") }).await.unwrap();
        let iqns = vec!["iqn.2026-01.org.example:h".to_owned()];
        array.handle.call(HostCreate { name: "h".to_owned(), iqns, ..HostCreate::default() }).await.unwrap();
        let before = change().await;
        // The host has no address, so that the rule of the group stays as it is.
        let join = HostGroupSet { group: "g".to_owned(), add: vec!["h".to_owned()], ..HostGroupSet::default() };
        array.handle.call(join).await.unwrap();
        assert_eq!(change().await, before);
        take(&array, "tuesday").await;
        assert_ne!(change().await, before);
    });
    array.stop();
}
