//! What outlives a restart of the array: files, handles, and the opens of clients that reclaim them.

use crate::kit::{Array, LEASE, client};
use nfs::v4::open::{DelegationType, OpenArguments, OpenClaim, OpenHow, share_access, share_deny};
use nfs::v4::operations::Operation;
use nfs::v4::{Filehandle, Stable, StateOwner, Status};
use nfs_client::{Compound, File, Identity, Options, Session, Share};
use std::time::Instant;

/// Options of a client that does not repeat what is refused for now.
const IMPATIENT: Options =
    Options { minor: 2, slots: 8, timeout: std::time::Duration::from_secs(20), patience: std::time::Duration::ZERO };

async fn connect(array: &Array, name: &str, options: Options) -> Session {
    Session::connect(&array.nfs.to_string(), &Identity::root(name, [1; 8]), options).await.unwrap()
}

fn open(claim: OpenClaim) -> OpenArguments {
    OpenArguments {
        seqid: 0,
        share_access: share_access::BOTH | share_access::WANT_NO_DELEGATION,
        share_deny: share_deny::WRITE,
        owner: StateOwner { client: 0, owner: b"owner"[..].into() },
        how: OpenHow::NoCreate,
        claim,
    }
}

async fn write(share: &Share, file: &File, data: &'static [u8]) -> Result<(), Option<Status>> {
    let written = share.write(file, 0, data.into(), Stable::FileSync).await.map_err(|error| error.status())?;
    assert_eq!(written.count_bytes as usize, data.len());
    Ok(())
}

/// A file that `keeper` has open, with others kept from writing. Its handle.
async fn furnish(array: &Array) -> Filehandle {
    array.create_share("vms").await;
    let session = connect(array, "keeper", IMPATIENT).await;
    let share = Share::find(&session, "vms").await.unwrap();
    let file = share.create_file(share.root(), "disk").await.unwrap();
    write(&share, &file, b"before").await.unwrap();
    share.close(file).await.unwrap();
    let (file, _) = share.open_with(share.root(), open(OpenClaim::Null("disk".into()))).await.unwrap();
    file.handle
}

/// An array that was restarted while `keeper` had that file open, and the file's handle.
fn restarted(directory: &tempfile::TempDir) -> (Array, Filehandle) {
    let array = Array::start(directory.path());
    let handle = client(furnish(&array));
    array.stop();
    (Array::start(directory.path()), handle)
}

/// `keeper` after the restart, before its reclaims are complete.
async fn returned(array: &Array) -> Session {
    let keeper = Identity::root("keeper", [1; 8]);
    Session::connect_for_reclaim(&array.nfs.to_string(), &keeper, IMPATIENT).await.unwrap()
}

#[test]
fn a_client_reclaims_its_open_and_others_wait_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let (array, handle) = restarted(&directory);
    client(async {
        let started = Instant::now();
        let other = connect(&array, "other", IMPATIENT).await;
        let others = Share::find(&other, "vms").await.unwrap();
        let refused = others.open(others.root(), "disk", OpenHow::NoCreate).await.unwrap_err();
        assert_eq!(refused.status(), Some(Status::GRACE));

        let session = returned(&array).await;
        let share = Share::find(&session, "vms").await.unwrap();
        let (file, _) = share.open_with(&handle, open(OpenClaim::Previous(DelegationType::None))).await.unwrap();
        let (content, _) = share.read(&file, 0, 100).await.unwrap();
        assert_eq!(content, b"before"[..]);
        let complete = Compound::changing([Operation::ReclaimComplete(false)]);
        session.call(&complete).await.unwrap().finish().unwrap();
        write(&share, &file, b"after").await.unwrap();

        // The grace period is over, and the open denies what it has denied before.
        let denied = others.open(others.root(), "disk", OpenHow::NoCreate).await.unwrap_err();
        assert_eq!(denied.status(), Some(Status::SHARE_DENIED));
        others.create_file(others.root(), "new").await.unwrap();
        assert!(started.elapsed() < LEASE, "the grace period lasted until its end");
    });
    array.stop();
}

/// A client that does not come back holds up the others for a lease, and can reclaim nothing after that.
#[test]
fn a_client_that_does_not_come_back_loses_its_open() {
    let directory = tempfile::tempdir().unwrap();
    let (array, handle) = restarted(&directory);
    client(async {
        let other = connect(&array, "other", IMPATIENT).await;
        let others = Share::find(&other, "vms").await.unwrap();
        let started = Instant::now();
        let file = loop {
            match others.open(others.root(), "disk", OpenHow::NoCreate).await {
                Ok(file) => break file,
                Err(error) if error.status() == Some(Status::GRACE) && started.elapsed() < 4 * LEASE => {
                    tokio::time::sleep(LEASE / 10).await;
                }
                Err(error) => panic!("{error}"),
            }
        };
        write(&others, &file, b"other").await.unwrap();
        let session = returned(&array).await;
        let share = Share::find(&session, "vms").await.unwrap();
        let refused = share.open_with(&handle, open(OpenClaim::Previous(DelegationType::None))).await.err();
        assert_eq!(refused.and_then(|error| error.status()), Some(Status::NO_GRACE));
    });
    array.stop();
}

/// Handles, content and the session's end: a client whose server restarted under it sees a new session, and the same
/// files.
#[test]
fn files_and_handles_outlive_restarts() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    let data: Vec<u8> = (0..3u32 << 20).map(|at| (at % 251) as u8).collect();
    let handle = client(async {
        array.create_share("vms").await;
        let session = connect(&array, "a", Options::default()).await;
        let share = Share::find(&session, "vms").await.unwrap();
        let file = share.create_file(share.root(), "disk").await.unwrap();
        for (at, piece) in data.chunks(1 << 20).enumerate() {
            share.write(&file, (at as u64) << 20, piece.to_vec().into(), Stable::Unstable).await.unwrap();
        }
        share.commit(&file.handle).await.unwrap();
        let handle = file.handle.clone();
        share.close(file).await.unwrap();
        session.end().await.unwrap();
        handle
    });
    array.stop();
    for _ in 0..2 {
        let array = Array::start(directory.path());
        client(async {
            let session = connect(&array, "a", Options::default()).await;
            let share = Share::find(&session, "vms").await.unwrap();
            assert_eq!(share.lookup(&["disk"]).await.unwrap().handle, handle);
            let file = share.open(share.root(), "disk", OpenHow::NoCreate).await.unwrap();
            for (at, piece) in data.chunks(1 << 20).enumerate() {
                let (read, _) = share.read(&file, (at as u64) << 20, 1 << 20).await.unwrap();
                assert!(read == piece);
            }
            share.close(file).await.unwrap();
            session.end().await.unwrap();
        });
        array.stop();
    }
}
