//! Files that administration lists and clones, that become volumes and are made of volumes, while hosts use both.

use crate::kit::{Array, client};
use control::{
    AccessGrant, ControlError, FileCreate, FileFrom, FileKind, FileList, FilePart, FilePunch, FileRange, FileReserve,
    FileShow, FileView, Grantee, OffloadClient, OffloadLog, OffloadStatistics, PoolList, Request, SnapshotCreate,
    VolumeCreate, VolumeShow,
};
use initiator::url::Url;
use initiator::{LogicalUnit, Options as IscsiOptions, Session as IscsiSession, cdb};
use iscsi::initiator::TransferRequest;
use nfs::v4::Stable;
use nfs::v4::names::CreateType;
use nfs::v4::open::OpenHow;
use nfs_client::{Identity, Options, Session, Share};
use unit::Primitive;

/// Size of the template: it ends inside a block.
const TEMPLATE_BYTES: usize = (3 << 20) + 1000;

async fn share(array: &Array) -> Share {
    let identity = Identity::root("test", [1; 8]);
    let session = Session::connect(&array.nfs.to_string(), &identity, Options::default()).await.unwrap();
    Share::find(&session, "vms").await.unwrap()
}

/// Content that tells each of its parts.
fn content() -> Vec<u8> {
    let data = (0..TEMPLATE_BYTES).map(|at| (at % 251) as u8 ^ (at >> 12) as u8);
    data.enumerate().map(|(at, byte)| if at >> 20 == 1 { 0 } else { byte }).collect()
}

async fn write(share: &Share, directory: &nfs_client::Directory, name: &str, data: &[u8]) {
    let file = share.create_file(directory, name).await.unwrap();
    let mut at = 0;
    while at < data.len() {
        let piece = data[at..data.len().min(at + (256 << 10))].to_vec();
        let written = share.write(&file, at as u64, piece.into(), Stable::FileSync).await.unwrap();
        at += written.count_bytes as usize;
    }
    share.close(file).await.unwrap();
}

async fn read(share: &Share, directory: &nfs_client::Directory, name: &str) -> Vec<u8> {
    let file = share.open(directory, name, OpenHow::NoCreate).await.unwrap();
    let mut all = Vec::new();
    loop {
        let (data, end) = share.read(&file, all.len() as u64, 256 << 10).await.unwrap();
        all.extend_from_slice(&data);
        if end {
            share.close(file).await.unwrap();
            return all;
        }
    }
}

/// Logical unit of a volume, as a host sees it.
async fn unit(array: &Array, volume: &str) -> LogicalUnit {
    let grant = AccessGrant { volume: volume.to_owned(), grantee: Grantee::Any, lun: None };
    array.handle.call(grant).await.unwrap();
    let shown = array.handle.read(VolumeShow { volume: volume.to_owned() }).await.unwrap();
    let url: Url = shown.luns[0].iscsi_url.parse().unwrap();
    let session = IscsiSession::connect(&url, &IscsiOptions::default()).await.unwrap();
    LogicalUnit::find(&session, url.lun).await.unwrap()
}

async fn blocks(unit: &LogicalUnit, bytes: usize) -> Vec<u8> {
    let mut all = Vec::new();
    while all.len() < bytes {
        let count = (bytes - all.len()).min(256 << 10) / 512;
        all.extend_from_slice(&unit.read_blocks(all.len() as u64 / 512, count as u32).await.unwrap());
    }
    all
}

fn of_file(name: &str, file: &str) -> VolumeCreate {
    VolumeCreate { name: name.to_owned(), source_file: Some(file.to_owned()), ..VolumeCreate::default() }
}

fn new_file(path: &str, from: FileFrom) -> FileCreate {
    FileCreate { path: path.to_owned(), from, mode: None, owner: None }
}

/// Bytes of content in the pool: of volumes and shares, without metadata of the pool.
async fn stored_bytes(array: &Array) -> u64 {
    let space = array.handle.read(PoolList).await.unwrap()[0].space;
    space.used_bytes - space.metadata_bytes
}

async fn stat(array: &Array, path: &str) -> Result<FileView, ControlError> {
    array.handle.call(FileShow { path: path.to_owned() }).await
}

async fn code<R: Request>(array: &Array, request: R) -> &'static str {
    array.handle.call(request).await.err().map_or("done", |error| error.code())
}

#[test]
fn a_file_becomes_a_volume_and_a_volume_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    client(async {
        array.create_share("vms").await;
        let share = share(&array).await;
        let templates = share.create(share.root(), "templates", CreateType::Directory, 0o755).await.unwrap().handle;
        let mut expected = content();
        write(&share, &templates, "t.img", &expected).await;
        let before = stat(&array, "vms/templates/t.img").await.unwrap().info;
        let space = before.space.unwrap();
        assert_eq!((before.kind, before.size_bytes), (FileKind::File, TEMPLATE_BYTES as u64));
        assert_eq!((space.mapped_bytes, space.unshared_bytes), ((2 << 20) + 4096, (2 << 20) + 4096));

        let stored = stored_bytes(&array).await;
        let made = array.handle.call(of_file("vm1", "vms/templates/t.img")).await.unwrap().view;
        assert_eq!(stored_bytes(&array).await, stored);
        assert_eq!((made.object.size_bytes, made.object.mapped_bytes), ((3 << 20) + 4096, space.mapped_bytes));
        assert_eq!(made.source.and_then(|source| source.name).as_deref(), Some("vms"));
        assert_eq!(made.unique_bytes, Some(0), "all blocks are those of the file");
        let after = stat(&array, "vms/templates/t.img").await.unwrap().info.space.unwrap();
        assert_eq!((after.mapped_bytes, after.unshared_bytes), (space.mapped_bytes, 0));
        expected.resize((3 << 20) + 4096, 0);
        let lun = unit(&array, "vm1").await;
        assert!(blocks(&lun, expected.len()).await == expected);

        // A host changes the volume; the file that is made of it has the change, the template has not.
        expected[8192..8192 + 4096].fill(0x77);
        let data = TransferRequest::Out(vec![0x77; 4096].into());
        lun.run("WRITE", cdb::write16(16, 8, true), data).await.unwrap();
        let back = new_file("vms/back.img", FileFrom::Volume("vm1".to_owned()));
        let stored = stored_bytes(&array).await;
        let view = array.handle.call(back.clone()).await.unwrap();
        assert!(stored_bytes(&array).await <= stored + 2 * 4096, "a name, and a bitmap of regions");
        assert_eq!((view.info.size_bytes, view.info.mode, view.info.links), ((3 << 20) + 4096, 0o600, 1));
        assert_eq!(view.info.space.unwrap().unshared_bytes, 0);
        assert!(read(&share, share.root(), "back.img").await == expected);
        assert!(read(&share, &templates, "t.img").await == content());
        assert_eq!(code(&array, back).await, "exists");
        assert_eq!(code(&array, of_file("vm1", "vms/templates/t.img")).await, "exists");
        assert!(blocks(&lun, expected.len()).await == expected);
    });
    array.stop();
}

#[test]
fn files_are_listed_cloned_reserved_and_punched() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    client(async {
        array.create_share("vms").await;
        let share = share(&array).await;
        let dir = share.create(share.root(), "dir", CreateType::Directory, 0o755).await.unwrap().handle;
        let link = CreateType::Link("dir".into());
        share.create(share.root(), "link", link, 0o777).await.unwrap();
        write(&share, &dir, "a", &[1; 10_000]).await;
        array.handle.call(SnapshotCreate { volume: "vms".to_owned(), name: "monday".to_owned() }).await.unwrap();
        write(&share, &dir, "a", &[2; 10_000]).await;

        let old = new_file("vms/dir/old", FileFrom::File("vms@monday/dir/a".to_owned()));
        let view = array.handle.call(FileCreate { owner: Some((5, 6)), mode: Some(0o600), ..old }).await.unwrap();
        assert_eq!((view.info.uid, view.info.gid, view.info.mode, view.snapshots), (5, 6, 0o600, 1));
        array.handle.call(new_file("vms/dir/new", FileFrom::File("vms/dir/a".to_owned()))).await.unwrap();
        assert_eq!(read(&share, &dir, "old").await, [1; 10_000]);
        assert_eq!(read(&share, &dir, "new").await, [2; 10_000]);

        let mut part = FilePart { after: 0, most: 2, space: true };
        let mut paths = Vec::new();
        loop {
            let listed = array.handle.call(FileList { path: "vms/dir".to_owned(), part }).await.unwrap().listing;
            assert!(listed.files.iter().all(|file| file.space.is_some_and(|space| space.mapped_bytes == 12_288)));
            paths.extend(listed.files.into_iter().map(|file| file.path));
            match listed.next {
                Some(next) => part.after = next,
                None => break,
            }
        }
        paths.sort();
        assert_eq!(paths, ["dir/a", "dir/new", "dir/old"]);

        let range = FileRange { offset_bytes: 0, length_bytes: None };
        let reserved = array.handle.call(FileReserve { path: "vms/dir/a".to_owned(), range }).await.unwrap();
        assert_eq!(reserved.info.space.map(|space| space.promised_bytes), Some(12_288), "all of it is shared");
        let range = FileRange { offset_bytes: 4096, length_bytes: Some(4096) };
        let punched = array.handle.call(FilePunch { path: "vms/dir/a".to_owned(), range }).await.unwrap().info;
        let space = punched.space.unwrap();
        assert_eq!((punched.size_bytes, space.mapped_bytes, space.promised_bytes), (10_000, 8192, 8192));
        let expected = [vec![2; 4096], vec![0; 4096], vec![2; 10_000 - 8192]].concat();
        assert!(read(&share, &dir, "a").await == expected && read(&share, &dir, "new").await == [2; 10_000]);

        for (path, expected) in [
            ("vms/link/a", "symbolic-link"),
            ("vms/dir/a/b", "not-directory"),
            ("vms/dir/none", "not-found"),
            ("vms/none/a", "not-found"),
            ("vms/dir/../dir/a", "invalid-path"),
            ("vms/dir//a", "invalid-path"),
            ("none/a", "not-found"),
            ("vms@none/dir/a", "not-found"),
            ("/a", "invalid-path"),
        ] {
            let error = stat(&array, path).await.err().map(|error| error.code());
            assert_eq!(error, Some(expected), "{path}");
        }
        let link = stat(&array, "vms/link").await.unwrap().info;
        assert_eq!(link.kind, FileKind::Symlink, "a link at the end is the file itself");
        for file in ["vms/link", "vms/dir", "vms"] {
            assert_eq!(code(&array, of_file("vm2", file)).await, "not-regular", "{file}");
            assert_eq!(code(&array, new_file("vms/x", FileFrom::File(file.to_owned()))).await, "not-regular");
        }
        write(&share, &dir, "empty", &[]).await;
        assert_eq!(code(&array, of_file("vm2", "vms/dir/empty")).await, "empty-file");
        let small = VolumeCreate { size_bytes: Some(4096), ..of_file("vm2", "vms/dir/a") };
        assert_eq!(code(&array, small).await, "would-shrink");
        let range = FileRange { offset_bytes: u64::MAX, length_bytes: Some(2) };
        for path in ["vms/dir/a", "vms/dir/empty"] {
            assert_eq!(code(&array, FilePunch { path: path.to_owned(), range }).await, "invalid-range");
        }
        // An empty file has no whole to reserve.
        let whole = FileReserve { path: "vms/dir/empty".to_owned(), range: FileRange::default() };
        let refused = array.handle.call(whole).await.unwrap_err();
        assert_eq!(refused.code(), "range-required");
        assert!(refused.help().is_some_and(|help| help.contains("give a range")), "{refused}");
        let range = FileRange { offset_bytes: 1 << 44, length_bytes: Some(1) };
        assert_eq!(code(&array, FileReserve { path: "vms/dir/a".to_owned(), range }).await, "file-too-large");
        let range = FileRange::default();
        assert_eq!(code(&array, FileReserve { path: "vms@monday/dir/a".to_owned(), range }).await, "read-only");
        let into_snapshot = new_file("vms@monday/x", FileFrom::File("vms/dir/a".to_owned()));
        assert_eq!(code(&array, into_snapshot).await, "read-only");
        // A larger volume than its file.
        let large = VolumeCreate { size_bytes: Some(1 << 30), ..of_file("vm3", "vms@monday/dir/a") };
        let made = array.handle.call(large).await.unwrap().view;
        assert_eq!((made.object.size_bytes, made.object.mapped_bytes), (1 << 30, 12_288));
    });
    array.stop();
}

/// They were in no statistics, though the same operations over NFS were.
#[test]
fn operations_of_administration_are_counted_and_logged_as_those_of_clients() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    client(async {
        array.create_share("vms").await;
        let share = share(&array).await;
        write(&share, share.root(), "a", &[1; 20_000]).await;
        array.handle.call(new_file("vms/b", FileFrom::File("vms/a".to_owned()))).await.unwrap();
        array.handle.call(of_file("vm1", "vms/a")).await.unwrap();
        let range = FileRange { offset_bytes: 0, length_bytes: Some(4096) };
        array.handle.call(FileReserve { path: "vms/a".to_owned(), range }).await.unwrap();
        array.handle.call(FilePunch { path: "vms/a".to_owned(), range }).await.unwrap();
        assert_eq!(code(&array, new_file("vms/b", FileFrom::File("vms/a".to_owned()))).await, "exists");

        let of_clients =
            OffloadStatistics { volume: Some("vms".to_owned()), by_client: true, ..OffloadStatistics::default() };
        let rows = array.handle.read(of_clients).await.unwrap();
        let seen: Vec<_> = rows
            .iter()
            .map(|view| {
                let (client, counters) = (view.client.as_ref().unwrap().client, &view.row.counters);
                (client, view.row.primitive, counters.ok, counters.refused, counters.bytes)
            })
            .collect();
        let expected = [
            (OffloadClient::Api, Primitive::Clone, 2, 1, 40_000),
            (OffloadClient::Api, Primitive::Reserve, 1, 0, 4096),
            (OffloadClient::Api, Primitive::Free, 1, 0, 4096),
        ];
        assert_eq!(seen, expected);
        let log = array.handle.read(OffloadLog {
            filter: control::OffloadLogFilter::of("vms"),
            limit: 9,
            ..OffloadLog::default()
        });
        let log = log.await.unwrap();
        let seen: Vec<_> = log.iter().map(|view| (&*view.entry.initiator, view.entry.command)).collect();
        assert_eq!(seen, [("api", "CLONE")]);
        assert!(log[0].entry.detail.starts_with("file vms/b: "), "{log:?}");
    });
    array.stop();
}
