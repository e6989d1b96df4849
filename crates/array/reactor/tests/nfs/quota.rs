//! Quotas of shares: what clients see of them, and what is refused.

use crate::kit::{Array, client};
use control::{ShareSet, SnapshotCreate};
use nfs::v4::attributes::Attribute;
use nfs::v4::{Stable, Status};
use nfs_client::{File, Identity, Options, Session, Share};

const MIB: u64 = 1 << 20;

async fn set_quota(array: &Array, quota_bytes: Option<u64>) {
    let set = ShareSet { share: "vms".to_owned(), quota_bytes: Some(quota_bytes), ..ShareSet::default() };
    array.handle.call(set).await.unwrap();
}

/// Session of a client, and the share with that quota.
async fn share(array: &Array, quota_bytes: u64) -> Share {
    array.create_share("vms").await;
    set_quota(array, Some(quota_bytes)).await;
    let identity = Identity::root("test", [1; 8]);
    let session = Session::connect(&array.nfs.to_string(), &identity, Options::default()).await.unwrap();
    Share::find(&session, "vms").await.unwrap()
}

/// Writes a MiB.
async fn write(share: &Share, file: &File, number: u64) -> Result<(), Option<Status>> {
    let data = vec![number as u8 + 1; MIB as usize];
    let written = share.write(file, number * MIB, data.into(), Stable::FileSync).await;
    written.map(|written| assert_eq!(u64::from(written.count_bytes), MIB)).map_err(|error| error.status())
}

/// `quota_avail_hard`, `quota_avail_soft`, `quota_used`, `space_avail`, `space_free`, `space_total`.
async fn space(share: &Share) -> [u64; 6] {
    let found = share.attributes(share.root(), &[38, 39, 40, 42, 43, 44]).await.unwrap();
    let value = |attribute: &Attribute| match attribute {
        Attribute::QuotaAvailableHard(bytes)
        | Attribute::QuotaAvailableSoft(bytes)
        | Attribute::QuotaUsed(bytes)
        | Attribute::SpaceAvailable(bytes)
        | Attribute::SpaceFree(bytes)
        | Attribute::SpaceTotal(bytes) => *bytes,
        other => panic!("{other:?}"),
    };
    found.iter().map(value).collect::<Vec<_>>().try_into().unwrap()
}

#[test]
fn a_client_sees_the_quota_and_writes_beyond_it_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    client(async {
        let share = share(&array, 4 * MIB).await;
        assert_eq!(space(&share).await, [4 * MIB, 4 * MIB, 0, 4 * MIB, 4 * MIB, 4 * MIB]);
        let file = share.create_file(share.root(), "disk").await.unwrap();
        for number in 0..3 {
            write(&share, &file, number).await.unwrap();
        }
        let [hard, soft, used, available, free, total] = space(&share).await;
        assert!((3 * MIB..4 * MIB).contains(&used), "{used}");
        assert_eq!([hard, soft, available, free], [total - used; 4]);
        assert_eq!(write(&share, &file, 3).await, Err(Some(Status::DQUOT)));
        assert_eq!(space(&share).await[2], used, "a refused write takes nothing");
        // What is written again takes nothing, and a larger quota is in force at once.
        write(&share, &file, 1).await.unwrap();
        set_quota(&array, Some(5 * MIB)).await;
        write(&share, &file, 3).await.unwrap();
        set_quota(&array, None).await;
        write(&share, &file, 4).await.unwrap();
        assert!(space(&share).await[5] > 100 * MIB);
    });
    array.stop();
}

#[test]
fn a_quota_below_what_is_used_refuses_growth_and_lets_files_go() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    client(async {
        let share = share(&array, 4 * MIB).await;
        let file = share.create_file(share.root(), "a").await.unwrap();
        for number in 0..3 {
            write(&share, &file, number).await.unwrap();
        }
        set_quota(&array, Some(MIB)).await;
        let [hard, _, used, ..] = space(&share).await;
        assert!(hard == 0 && used >= 3 * MIB, "{hard} {used}");
        assert_eq!(write(&share, &file, 3).await, Err(Some(Status::DQUOT)));
        // It is open: the array keeps it under another name, which takes a block.
        share.remove(share.root(), "a").await.unwrap();
        assert_eq!(write(&share, &file, 3).await, Err(Some(Status::DQUOT)));
        share.close(file).await.unwrap();
        let gone = async {
            while space(&share).await[2] > MIB {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(20), gone).await.unwrap();
        let file = share.create_file(share.root(), "b").await.unwrap();
        share.write(&file, 0, vec![1; 4096].into(), Stable::FileSync).await.unwrap();
    });
    array.stop();
}

#[test]
fn reservations_and_clones_count_and_so_do_snapshots_of_them() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    client(async {
        let share = share(&array, 3 * MIB).await;
        let reserved = share.create_file(share.root(), "reserved").await.unwrap();
        share.allocate(&reserved, 0, 2 * MIB).await.unwrap();
        let refused = share.allocate(&reserved, 2 * MIB, 2 * MIB).await.unwrap_err();
        assert!(matches!(refused.status(), Some(Status::DQUOT | Status::NOSPC)), "{refused:?}");
        write(&share, &reserved, 0).await.unwrap();
        // What is written is promised once more when a snapshot shares it.
        let take = SnapshotCreate { volume: "vms".to_owned(), name: "monday".to_owned() };
        let refused = array.handle.call(take.clone()).await.unwrap_err();
        assert_eq!(refused.code(), "quota-exceeded");
        // So it is when a clone does, which counts itself.
        let copy = share.create_file(share.root(), "copy").await.unwrap();
        let refused = share.clone_range((&reserved, 0), (&copy, 0), MIB).await.unwrap_err();
        assert_eq!(refused.status(), Some(Status::DQUOT));
        set_quota(&array, Some(5 * MIB)).await;
        share.clone_range((&reserved, 0), (&copy, 0), MIB).await.unwrap();
        let refused = share.clone_range((&reserved, 0), (&copy, MIB), MIB).await.unwrap_err();
        assert_eq!(refused.status(), Some(Status::DQUOT));
        set_quota(&array, Some(20 * MIB)).await;
        array.handle.call(take).await.unwrap();
    });
    array.stop();
}
