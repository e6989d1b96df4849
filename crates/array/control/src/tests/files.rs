//! Files of shares, over file systems that a test makes up.

use super::Array;
use crate::*;
use futures_util::future::{FutureExt, ready};
use jiff::Timestamp;
use pool::{Catalog, CatalogChange, ObjectId, ObjectKind, PoolError};
use std::cell::RefCell;
use std::rc::Rc;

/// File systems whose every call has the same result, and is noted.
#[derive(Debug, Default)]
struct Files {
    calls: RefCell<Vec<String>>,
    refusal: RefCell<Option<FileRefusal>>,
    captured: RefCell<Option<CapturedFile>>,
}

impl Files {
    fn call<T: 'static>(&self, what: String, result: T) -> FileCall<T> {
        self.calls.borrow_mut().push(what);
        ready(self.refusal.take().map_or(Ok(result), Err)).boxed_local()
    }
}

fn info(at: &FilePlace) -> FileInfo {
    FileInfo {
        path: at.path.clone(),
        kind: FileKind::File,
        size_bytes: 5000,
        used_bytes: 8192,
        mode: 0o644,
        uid: 0,
        gid: 0,
        links: 1,
        modified: Timestamp::UNIX_EPOCH,
        space: None,
        damaged: false,
    }
}

impl LiveFiles for Files {
    fn list(&self, at: FilePlace, part: FilePart) -> FileCall<FileListing> {
        self.call(format!("list {} {part:?}", at.path), FileListing { files: vec![info(&at)], next: None })
    }

    fn show(&self, at: FilePlace) -> FileCall<FileInfo> {
        self.call(format!("show {:?} {}", at.snapshot, at.path), info(&at))
    }

    fn create(&self, at: FilePlace, source: FileSource, attributes: FileAttributes) -> FileCall<FileInfo> {
        let source = match source {
            FileSource::File(from) => format!("{}:{}", from.share, from.path),
            FileSource::Volume { object, size_bytes } => format!("{object} of {size_bytes}"),
        };
        self.call(format!("create {} {source} {:?}", at.path, attributes.mode), info(&at))
    }

    fn capture(&self, at: FilePlace) -> FileCall<CapturedFile> {
        let none = CapturedFile::new(ObjectId(0), 0, || {});
        self.call(format!("capture {}", at.path), self.captured.take().unwrap_or(none))
    }

    fn reserve(&self, at: FilePlace, range: FileRange) -> FileCall<FileInfo> {
        self.call(format!("reserve {} {range:?}", at.path), info(&at))
    }

    fn punch(&self, at: FilePlace, range: FileRange) -> FileCall<FileInfo> {
        self.call(format!("punch {} {range:?}", at.path), info(&at))
    }
}

/// Array with a share `vms`, its snapshot `monday`, and a volume `v1`.
fn array() -> (Array, Rc<Files>) {
    let array = Array::new();
    let files: Rc<Files> = Rc::default();
    let served: Rc<dyn LiveFiles> = files.clone();
    array.live.files.replace(Some(served));
    array.run(ShareCreate::new("vms")).unwrap();
    array.run(SnapshotCreate { volume: "vms".to_owned(), name: "monday".to_owned() }).unwrap();
    array.create("v1");
    (array, files)
}

/// Captures a file of this size, as the running array would.
fn captures(array: &Array, files: &Files, size_bytes: u64) -> ObjectId {
    let capture = array.catalog.new_object_id();
    let changes = vec![CatalogChange::CreateCapture { id: capture, size_bytes: 1 << 20 }];
    futures_executor::block_on(array.catalog.commit(changes)).unwrap();
    array.catalog.set_mapped(capture, 8192);
    let discard = {
        let catalog = array.catalog.clone();
        move || {
            let delete = vec![CatalogChange::DeleteObject { id: capture }];
            let _after_power_loss = catalog.commit(delete).now_or_never();
        }
    };
    files.captured.replace(Some(CapturedFile::new(capture, size_bytes, discard)));
    capture
}

fn of_file(name: &str, path: &str) -> VolumeCreate {
    VolumeCreate { name: name.to_owned(), source_file: Some(path.to_owned()), ..VolumeCreate::default() }
}

fn events(array: &Array) -> Vec<(String, String)> {
    let list = EventList { since: None, filter: EventFilter::default(), limit: 100 };
    array.run(list).unwrap().into_iter().map(|event| (event.code.to_string(), event.message)).collect()
}

#[test]
fn a_volume_from_a_file_replaces_its_capture_in_one_commit() {
    let (array, files) = array();
    let capture = captures(&array, &files, 5000);
    array.live.published.borrow_mut().clear();
    let made = array.run(of_file("vm1", "vms/dir/a.img")).unwrap();
    let view = made.view;
    assert_eq!((made.changed, view.object.size_bytes, view.object.mapped_bytes), (true, 8192, 8192));
    assert_eq!((view.object.kind, view.object.parent), (ObjectKind::Volume, Some(capture)));
    assert_eq!(array.catalog.captures(), []);
    assert_eq!(*array.live.published.borrow(), [Change::VolumeAdded { object: view.record.object }]);
    assert_eq!(view.source.and_then(|source| source.name).as_deref(), Some("vms"));
    let message = "volume vm1 created as a clone of vms/dir/a.img".to_owned();
    assert!(events(&array).contains(&("volume-created".to_owned(), message)));
    let tree = array.run(SnapshotTree { volume: "vms".to_owned() }).unwrap();
    let kinds: Vec<(&str, bool)> = tree.iter().map(|node| (node.name.as_str(), node.of_share)).collect();
    assert_eq!(kinds, [("vms", true), ("vms@monday", true), ("vm1", false)]);
    let again = Array::over(array.catalog.clone()).unwrap();
    assert_eq!(again.control.directory().volume("vm1").unwrap(), &view.record);
}

/// The capture stayed until the next start of the array.
#[test]
fn a_request_that_is_dropped_leaves_no_capture() {
    let (array, files) = array();
    captures(&array, &files, 5000);
    let mut request = Box::pin(array.control.execute(of_file("vm1", "vms/a")));
    // The file is captured, and the commit of the volume waits.
    array.catalog.crash_after.set(Some(0));
    assert!(request.as_mut().now_or_never().is_none());
    assert_eq!(array.catalog.captures().len(), 1);
    array.catalog.crash_after.set(None);
    drop(request);
    assert_eq!(array.catalog.captures(), []);
}

#[test]
fn a_power_loss_leaves_the_volume_or_nothing() {
    for commits in 0..4 {
        let (array, files) = array();
        let capture = captures(&array, &files, 5000);
        let (array, done) = array.crash_after(commits, of_file("vm1", "vms/a"));
        let made = array.control.directory().volume("vm1").is_ok();
        assert_eq!((made, done), (commits > 0, commits > 1), "{commits}");
        assert_eq!((array.catalog.object(capture), array.catalog.captures()), (None, vec![]), "{commits}");
    }
}

#[test]
fn a_refused_volume_leaves_no_capture() {
    let (array, files) = array();
    for (size_bytes, create, code) in [
        (0, of_file("vm1", "vms/a"), "empty-file"),
        (5000, VolumeCreate { size_bytes: Some(4096), ..of_file("vm1", "vms/a") }, "would-shrink"),
    ] {
        captures(&array, &files, size_bytes);
        assert_eq!(array.code(create), code);
        assert_eq!(array.catalog.captures(), []);
    }
    captures(&array, &files, 5000);
    array.catalog.fail_next.replace(Some(PoolError::PoolFull));
    assert_eq!(array.code(of_file("vm1", "vms/a")), "no-space");
    assert_eq!(array.catalog.captures(), []);
    // A request that is refused before the capture leaves none behind.
    files.calls.borrow_mut().clear();
    let two = VolumeCreate { source: Some("v1".to_owned()), ..of_file("vm1", "vms/a") };
    for (create, code) in [
        (of_file("v1", "vms/a"), "exists"),
        (of_file("vms", "vms/a"), "exists"),
        (two, "invalid-setting"),
        (of_file("vm1", "none/a"), "not-found"),
        (of_file("vm1", "/a"), "invalid-path"),
        (VolumeCreate { overwrite_reserve_percent: Some(10), ..of_file("vm1", "vms/a") }, "not-thick"),
    ] {
        assert_eq!(array.code(create), code);
    }
    assert_eq!(*files.calls.borrow(), [] as [String; 0]);
    array.live.files.replace(None);
    assert_eq!(array.code(of_file("vm1", "vms/a")), "share-not-open");
    assert!(array.control.directory().volume("vm1").is_err());
}

#[test]
fn a_file_is_made_of_a_file_or_a_volume() {
    let (array, files) = array();
    let share = array.control.directory().share("vms").unwrap().object;
    let volume = array.control.directory().volume("v1").unwrap().object;
    array.run(SnapshotCreate { volume: "v1".to_owned(), name: "tuesday".to_owned() }).unwrap();
    let snapshot = array.control.directory().snapshot("v1@tuesday").unwrap().object;
    let create = |from| FileCreate { path: "vms/new/".to_owned(), from, mode: Some(0o640), owner: None };
    let view = array.run(create(FileFrom::File("vms@monday/dir/a".to_owned()))).unwrap();
    assert_eq!((view.share.as_str(), view.info.path.as_str(), view.snapshots), ("vms", "new", 1));
    array.run(create(FileFrom::Volume("v1".to_owned()))).unwrap();
    array.run(create(FileFrom::Volume("v1@tuesday".to_owned()))).unwrap();
    let size = 1 << 30;
    let expected = [
        format!("create new {share}:dir/a Some(416)"),
        format!("create new {volume} of {size} Some(416)"),
        format!("create new {snapshot} of {size} Some(416)"),
    ];
    assert_eq!(*files.calls.borrow(), expected);
    assert_eq!(events(&array).iter().filter(|(code, _)| code == "file-cloned").count(), 3);
    assert_eq!(array.code(create(FileFrom::Volume("none".to_owned()))), "not-found");
    assert_eq!(array.code(create(FileFrom::Volume("vms".to_owned()))), "source-is-share");
    assert_eq!(
        array.code(FileCreate { mode: Some(0o10000), ..create(FileFrom::Volume("v1".to_owned())) }),
        "invalid-mode"
    );
    assert_eq!(files.calls.borrow().len(), 3);
}

#[test]
fn refusals_of_files_have_codes_and_nothing_is_reported_as_done() {
    let (array, files) = array();
    let punch = || FilePunch { path: "vms/a".to_owned(), range: FileRange::default() };
    let path = || "vms/a".to_owned();
    for (refusal, code, class) in [
        (FileRefusal::File(FileError::NotFound { path: path() }), "not-found", Class::NotFound),
        (FileRefusal::File(FileError::SymbolicLink { path: path() }), "symbolic-link", Class::Conflict),
        (FileRefusal::File(FileError::ReadOnly { path: path() }), "read-only", Class::Conflict),
        (FileRefusal::File(FileError::Damaged { path: path() }), "damaged", Class::Failed),
        (FileRefusal::Gone, "not-found", Class::NotFound),
        (FileRefusal::Quota, "quota-exceeded", Class::NoSpace),
        (FileRefusal::Pool(PoolError::PoolFull), "no-space", Class::NoSpace),
    ] {
        files.refusal.replace(Some(refusal));
        let error = array.run(punch()).unwrap_err();
        assert_eq!((error.code(), error.class()), (code, class));
    }
    assert!(events(&array).iter().all(|(code, _)| code != "file-punched"));
    array.run(punch()).unwrap();
    assert!(events(&array).iter().any(|(code, _)| code == "file-punched"));
    let part = FilePart { after: 0, most: 10, space: false };
    let listed = array.run(FileList { path: "vms@monday".to_owned(), part }).unwrap();
    assert_eq!((listed.share.as_str(), listed.listing.files.len()), ("vms@monday", 1));
}

#[test]
fn a_dry_run_of_a_file_looks_and_changes_nothing() {
    let (array, files) = array();
    let ask = |path: &str, change, range| array.run(FileRehearsal { path: path.to_owned(), change, range });
    let range = |offset_bytes, length_bytes| FileRange { offset_bytes, length_bytes: Some(length_bytes) };
    let effect = ask("vms/a.img", FileChange::Punch, range(4096, 8192)).unwrap();
    assert_eq!(effect.breaks[0].why, "904 B from byte 4096 become zeros");
    let codes = |effect: &Effect| effect.warnings.iter().map(|warning| warning.code).collect::<Vec<_>>();
    assert_eq!((codes(&effect), effect.frees_bytes), (vec!["content-kept"], None));
    let effect = ask("vms/a.img", FileChange::Reserve, range(0, 1 << 60)).unwrap();
    assert_eq!((codes(&effect), effect.takes_bytes), (vec!["size-changed", "no-space-to-keep"], Some(1 << 60)));
    // A snapshot does not change: a part of the answer, as of every refusal by the state of the array.
    let effect = ask("vms@monday/a.img", FileChange::Reserve, FileRange::default()).unwrap();
    assert_eq!(effect.problem.unwrap().code(), "read-only");
    assert_eq!(ask("vms/a.img", FileChange::Punch, range(0, 0)).unwrap_err().code(), "invalid-range");
    files.refusal.replace(Some(FileError::NotFound { path: "vms/b.img".to_owned() }.into()));
    assert_eq!(ask("vms/b.img", FileChange::Punch, range(0, 1)).unwrap_err().code(), "not-found");
    let calls = files.calls.borrow();
    assert!(calls.iter().all(|call| call.starts_with("show ")), "{calls:?}");
}
