//! Shares that are created, used, changed and deleted while they are served.

use crate::kit::{Array, client};
use control::{ExportGrantee, ExportRevoke, ShareDelete};
use daemon::memory::TemporaryDirectory;
use nfs::v4::{Stable, Status};
use nfs_client::{Identity, Options, Session, Share};

async fn session(array: &Array) -> Session {
    Session::connect(&array.nfs.to_string(), &Identity::root("test", [1; 8]), Options::default()).await.unwrap()
}

#[test]
fn a_share_is_served_as_soon_as_it_is_granted() {
    let directory = TemporaryDirectory::new();
    let array = Array::start(&directory, 0);
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
    let directory = TemporaryDirectory::new();
    let array = Array::start(&directory, 0);
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
        array.handle.call(ShareDelete { share: "vms".to_owned(), with_snapshots: false }).await.unwrap();
        let refused = share.write(&file, 0, vec![1; 10].into(), Stable::FileSync).await.unwrap_err();
        assert_eq!(refused.status(), Some(Status::STALE));
        other.write(&kept, 0, vec![1; 10].into(), Stable::FileSync).await.unwrap();
    });
    array.stop();
}
