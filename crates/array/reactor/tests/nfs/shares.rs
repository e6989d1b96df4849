//! Shares that are created, used, changed and deleted while they are served.

use crate::kit::{Array, client};
use control::{
    ExportCheck, ExportGrant, ExportGrantee, ExportRevoke, ExportView, HostCreate, HostGroupCreate, ShareDelete,
    ShareRollback, ShareShow, SnapshotCreate,
};
use nfs::v4::open::OpenHow;
use nfs::v4::{Stable, Status};
use nfs_client::{Identity, Options, Session, Share};

async fn session(array: &Array) -> Session {
    Session::connect(&array.nfs.to_string(), &Identity::root("test", [1; 8]), Options::default()).await.unwrap()
}

#[test]
fn a_share_is_served_as_soon_as_it_is_granted() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    client(async {
        let session = session(&array).await;
        let absent = Share::find(&session, "vms").await.err();
        assert_eq!(absent.and_then(|error| error.status()), Some(Status::NOENT));
        array.create_share("vms").await;
        let share = Share::find(&session, "vms").await.unwrap();
        let file = share.create_file(share.root(), "disk").await.unwrap();
        let data: Vec<u8> = (0..1u32 << 20).map(|at| (at % 251) as u8).collect();
        let written = share.write(&file, 0, data.clone().into(), Stable::FileSync).await.unwrap();
        assert_eq!(written.count_bytes, 1 << 20);
        let (read, end) = share.read(&file, 0, 1 << 20).await.unwrap();
        assert!(end && read == data);
        share.close(file).await.unwrap();
        session.end().await.unwrap();
    });
    array.stop();
}

#[test]
fn access_that_is_revoked_ends_and_a_deleted_share_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    client(async {
        array.create_share("vms").await;
        array.create_share("other").await;
        let session = session(&array).await;
        let (share, other) =
            (Share::find(&session, "vms").await.unwrap(), Share::find(&session, "other").await.unwrap());
        let file = share.create_file(share.root(), "disk").await.unwrap();
        let kept = other.create_file(other.root(), "disk").await.unwrap();
        let revoke = ExportRevoke { share: "vms".to_owned(), grantee: Some(ExportGrantee::Any) };
        array.handle.call(revoke).await.unwrap();
        let refused = share.write(&file, 0, vec![1; 10].into(), Stable::FileSync).await.unwrap_err();
        assert_eq!(refused.status(), Some(Status::ACCESS));
        array.handle.call(ShareDelete { share: "vms".to_owned(), with_snapshots: false, now: true }).await.unwrap();
        let refused = share.write(&file, 0, vec![1; 10].into(), Stable::FileSync).await.unwrap_err();
        assert_eq!(refused.status(), Some(Status::STALE));
        other.write(&kept, 0, vec![1; 10].into(), Stable::FileSync).await.unwrap();
    });
    array.stop();
}

/// Files that are not in the snapshot are stale, those in it have its content, and what a client had open is revoked.
#[test]
fn a_share_is_rolled_back_under_its_client() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    client(async {
        array.create_share("vms").await;
        let session = session(&array).await;
        let share = Share::find(&session, "vms").await.unwrap();
        let kept = share.create_file(share.root(), "kept").await.unwrap();
        share.write(&kept, 0, b"before".to_vec().into(), Stable::FileSync).await.unwrap();
        array.handle.call(SnapshotCreate { volume: "vms".to_owned(), name: "monday".to_owned() }).await.unwrap();
        share.write(&kept, 0, b"after!".to_vec().into(), Stable::FileSync).await.unwrap();
        let new = share.create_file(share.root(), "new").await.unwrap();
        let rollback = ShareRollback { share: "vms".to_owned(), snapshot: "monday".to_owned(), keep: None };
        array.handle.call(rollback).await.unwrap();
        let revoked = share.write(&kept, 0, b"late".to_vec().into(), Stable::FileSync).await.unwrap_err();
        assert_eq!(revoked.status(), Some(Status::ADMIN_REVOKED));
        let gone = share.attributes(&new.handle, &[4]).await.unwrap_err();
        assert_eq!(gone.status(), Some(Status::STALE));
        let file = share.open(share.root(), "kept", OpenHow::NoCreate).await.unwrap();
        assert_eq!(file.handle, kept.handle);
        let (content, _) = share.read(&file, 0, 100).await.unwrap();
        assert_eq!(content, b"before"[..]);
    });
    array.stop();
}

/// `connect` looked for rules with the name of the host alone.
#[test]
fn the_rule_that_decides_about_a_host_is_the_one_of_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    client(async {
        array.create_share("vms").await;
        let addresses = vec!["10.0.0.1".parse().unwrap(), "192.0.2.1".parse().unwrap()];
        array.handle.call(HostCreate { name: "pve1".to_owned(), addresses, ..HostCreate::default() }).await.unwrap();
        let check = async || {
            let check = ExportCheck { share: "vms".to_owned(), host: "pve1".to_owned() };
            let view = array.handle.call(check).await.unwrap();
            let rule = |(_, rule): (_, Option<ExportView>)| rule.map(|rule| rule.grantee.word());
            view.addresses.into_iter().map(rule).collect::<Vec<_>>()
        };
        let rule = |text: &str| Some(text.to_owned());
        assert_eq!(check().await, [rule("any"), rule("any")]);
        let network = ExportGrantee::Network("10.0.0.0/8".parse().unwrap());
        array.handle.call(ExportGrant { grantee: network, ..array.grant_of("vms") }).await.unwrap();
        assert_eq!(check().await, [rule("10.0.0.0/8"), rule("any")]);
        let revoke = ExportRevoke { share: "vms".to_owned(), grantee: Some(ExportGrantee::Any) };
        array.handle.call(revoke).await.unwrap();
        assert_eq!(check().await, [rule("10.0.0.0/8"), None]);
        let group = HostGroupCreate { name: "pve".to_owned(), hosts: vec!["pve1".to_owned()] };
        array.handle.call(group).await.unwrap();
        let grantee = ExportGrantee::Group("pve".to_owned());
        array.handle.call(ExportGrant { grantee, ..array.grant_of("vms") }).await.unwrap();
        assert_eq!(check().await, [rule("group:pve"), rule("group:pve")]);
        let share = array.handle.read(ShareShow { share: "vms".to_owned() }).await.unwrap();
        assert_eq!(share.portals, [array.nfs.to_string()]);
    });
    array.stop();
}
