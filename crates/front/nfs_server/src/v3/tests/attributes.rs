//! GETATTR, SETATTR, ACCESS, FSSTAT, FSINFO, PATHCONF.

use super::{F_BYTES, at, changed, do_set, refuses_set, set, unchanged, with_f};
use crate::testing::{Bench, RO, S, UNSET, bad, entry, good, mode, sys};
use nfs::v3::{AccessArguments, FileType, Filehandle, NewAttributes, Request, SetTime, Stable, Status, Time, access};

fn access_of(bench: &Bench, file: &Filehandle, wanted: u32) -> u32 {
    let request = Request::Access(AccessArguments { file: file.clone(), access: wanted });
    let results = good!(bench.v3(&request), Access);
    assert_eq!(results.attributes, Some(bench.attributes(file)));
    results.access
}

/// E100
#[test]
fn attributes_of_a_file() {
    let (bench, root, f) = with_f();
    let file = bench.attributes(&f);
    assert_eq!((file.kind, file.mode, file.links, file.uid, file.gid), (FileType::Regular, 0o644, 1, 0, 0));
    assert_eq!((file.size_bytes, file.used_bytes), (F_BYTES, 45_056));
    assert_eq!(file.fsid, (S << 32) ^ 5);
    let directory = bench.attributes(&root);
    assert_eq!((directory.kind, directory.fsid), (FileType::Directory, file.fsid));
    assert_ne!(directory.fileid, file.fileid);
}

/// E101
#[test]
fn a_handle_with_another_bit_is_bad() {
    let (bench, _, f) = with_f();
    for bit in 0..256 {
        let mut bytes = f.to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(bench.status(&Request::GetAttributes(bytes.into())), Some(Status::BADHANDLE), "{bit}");
    }
    let short = Filehandle::from(&f[..31]);
    assert_eq!(bench.status(&Request::GetAttributes(short)), Some(Status::BADHANDLE));
}

#[test]
fn the_pseudo_root_of_version_4_is_no_file_of_version_3() {
    let bench = Bench::new();
    let pseudo = crate::testing::SETTINGS.handle_key.seal(crate::handle::Target::PseudoRoot);
    assert_eq!(bench.status(&Request::GetAttributes(pseudo[..].into())), Some(Status::BADHANDLE));
}

/// E102
#[test]
fn a_handle_of_a_deleted_file_is_stale() {
    let (bench, root, f) = with_f();
    assert_eq!(bench.status(&Request::Remove(entry(&root, "F"))), None);
    assert_eq!(bench.status(&Request::GetAttributes(f)), Some(Status::STALE));
}

/// E104
#[test]
fn a_mode_is_set() {
    let (bench, _, f) = with_f();
    let old = bench.attributes(&f);
    let wcc = do_set(&bench, &f, mode(0o10_0600));
    let new = bench.attributes(&f);
    assert_eq!(wcc, changed(&old, &new));
    assert_eq!((new.mode, &new.modified), (0o600, &old.modified));
    assert!(at(&new.changed) > at(&old.changed));
}

/// E105
#[test]
fn a_size_needs_write_permission() {
    let (bench, _, f) = with_f();
    bench.user(1000);
    refuses_set(&bench, &f, NewAttributes { size_bytes: Some(0), ..UNSET }, Status::ACCES);
}

/// E107
#[test]
fn a_guard_is_the_time_of_the_last_change() {
    let (bench, _, f) = with_f();
    let old = bench.attributes(&f);
    let Time { seconds, nanoseconds } = old.changed;
    for guard in [
        Time { seconds, nanoseconds: nanoseconds ^ 1 },
        Time { seconds: seconds - 1, nanoseconds },
        Time { seconds, nanoseconds: 1_000_000_000 },
    ] {
        let (status, wcc) = bad!(bench.v3(&set(&f, mode(0o600), Some(guard))), SetAttributes);
        assert_eq!((status, wcc), (Status::NOT_SYNC, unchanged(&old)));
    }
    assert_eq!(bench.status(&set(&f, mode(0o600), Some(old.changed))), None);
    assert_eq!(bench.attributes(&f).mode, 0o600);
}

/// E108
#[test]
fn times_are_set_and_have_less_than_a_second_of_nanoseconds() {
    let (bench, _, f) = with_f();
    let time = |nanoseconds| SetTime::ClientTime(Time { seconds: u32::MAX, nanoseconds });
    refuses_set(&bench, &f, NewAttributes { accessed: time(1_000_000_000), ..UNSET }, Status::INVAL);
    refuses_set(&bench, &f, NewAttributes { modified: time(u32::MAX), ..UNSET }, Status::INVAL);
    do_set(&bench, &f, NewAttributes { accessed: time(999_999_999), modified: SetTime::ServerTime, ..UNSET });
    let file = bench.attributes(&f);
    assert_eq!(file.accessed, Time { seconds: u32::MAX, nanoseconds: 999_999_999 });
    assert!(file.modified.seconds + 1 >= bench.seconds.get());
}

/// E110
#[test]
fn an_owner_of_all_ones_stays() {
    let (bench, _, f) = with_f();
    do_set(&bench, &f, NewAttributes { uid: Some(5), gid: Some(6), ..UNSET });
    do_set(&bench, &f, NewAttributes { uid: Some(u32::MAX), gid: Some(u32::MAX), ..UNSET });
    let file = bench.attributes(&f);
    assert_eq!((file.uid, file.gid), (5, 6));
}

/// E111, E112
#[test]
fn sizes_have_limits() {
    let (bench, root, f) = with_f();
    let size = |bytes| NewAttributes { size_bytes: Some(bytes), ..UNSET };
    refuses_set(&bench, &f, size((1 << 44) + 1), Status::FBIG);
    refuses_set(&bench, &f, size(u64::MAX), Status::FBIG);
    refuses_set(&bench, &root, size(0), Status::INVAL);
    do_set(&bench, &f, size(1 << 44));
    assert_eq!(bench.attributes(&f).size_bytes, 1 << 44);
}

/// E113
#[test]
fn only_user_0_gives_files_away() {
    let (bench, _, f) = with_f();
    do_set(&bench, &f, NewAttributes { uid: Some(1000), ..UNSET });
    bench.user(1000);
    refuses_set(&bench, &f, NewAttributes { uid: Some(2000), ..UNSET }, Status::PERM);
}

/// E114
#[test]
fn a_change_by_others_clears_set_id_bits() {
    let (bench, _, f) = with_f();
    do_set(&bench, &f, NewAttributes { mode: Some(0o6777), uid: Some(1000), ..UNSET });
    do_set(&bench, &f, mode(0o6777));
    bench.user(2000);
    good!(bench.write(&f, 0, b"x", Stable::FileSync), Write);
    assert_eq!(bench.attributes(&f).mode, 0o777);
}

/// E121
#[test]
fn access_of_files_and_directories() {
    let (bench, root, f) = with_f();
    assert_eq!(access_of(&bench, &f, 0x3f), access::READ | access::MODIFY | access::EXTEND);
    assert_eq!(access_of(&bench, &root, 0x3f), 0x1f);
    assert_eq!(access_of(&bench, &f, access::READ | 0xffff_ff00), access::READ);
    do_set(&bench, &f, mode(0o755));
    assert_eq!(access_of(&bench, &f, u32::MAX), 0x2d);
    bench.user(1000);
    assert_eq!(access_of(&bench, &f, 0x3f), access::READ | access::EXECUTE);
}

/// E122
#[test]
fn access_of_a_read_only_export() {
    let (bench, ..) = with_f();
    let root = bench.root(RO);
    let f = bench.lookup(&root, "F").file;
    assert_eq!(access_of(&bench, &f, 0x3f), access::READ);
    assert_eq!(access_of(&bench, &root, 0x3f), access::READ | access::LOOKUP);
    bench.files.set_read_only(true);
    let f = bench.lookup(&bench.root(S), "F").file;
    assert_eq!(access_of(&bench, &f, 0x3f), access::READ);
}

/// E185
#[test]
fn space_falls_by_what_was_written() {
    let (bench, root, f) = with_f();
    bench.files.set_quota(Some(1 << 30));
    let space = || good!(bench.v3(&Request::FileSystemStatistics(root.clone())), FileSystemStatistics);
    let old = space();
    assert_eq!(old.total_bytes, 1 << 30);
    assert_eq!(old.attributes, Some(bench.attributes(&root)));
    good!(bench.write(&f, 1 << 20, &[7; 8192], Stable::FileSync), Write);
    let new = space();
    assert_eq!((old.free_bytes - new.free_bytes, old.available_bytes - new.available_bytes), (8192, 8192));
    assert_eq!((new.total_files, new.free_files), (old.total_files, new.available_files));
    bench.create(&root, "another");
    assert_eq!(space().free_files, new.free_files - 1);
}

/// E186
#[test]
fn limits_of_the_file_system() {
    let (bench, root, _) = with_f();
    let info = good!(bench.v3(&Request::FileSystemInformation(root.clone())), FileSystemInformation);
    assert_eq!((info.max_read_bytes, info.max_write_bytes), (1 << 20, 1 << 20));
    assert!(info.preferred_read_directory_bytes > 0);
    assert_eq!((info.max_file_bytes, info.properties), (1 << 44, 0x1b));
    assert_eq!(info.time_delta, Time { seconds: 0, nanoseconds: 1 });
    assert_eq!(info.attributes, Some(bench.attributes(&root)));
}

/// E187
#[test]
fn limits_of_paths() {
    let (bench, _, f) = with_f();
    let limits = good!(bench.v3(&Request::PathConfiguration(f.clone())), PathConfiguration);
    assert_eq!((limits.max_links, limits.max_name_bytes), (65_000, 255));
    assert!(limits.no_truncation && limits.chown_restricted && limits.case_preserving);
    assert!(!limits.case_insensitive);
    assert_eq!(limits.attributes, Some(bench.attributes(&f)));
}

#[test]
fn statistics_of_a_file_that_is_gone_are_stale() {
    let (bench, root, f) = with_f();
    assert_eq!(bench.status(&Request::Remove(entry(&root, "F"))), None);
    for request in [
        Request::FileSystemStatistics(f.clone()),
        Request::FileSystemInformation(f.clone()),
        Request::PathConfiguration(f.clone()),
        Request::Access(AccessArguments { file: f, access: 1 }),
    ] {
        assert_eq!(bench.status(&request), Some(Status::STALE), "{request:?}");
    }
}

#[test]
fn times_before_1970_are_1970() {
    let (bench, _, f) = with_f();
    let id = vfs::FileId(bench.attributes(&f).fileid);
    let old = vfs::Timestamp::new(-5, 7).unwrap_or_default();
    let set = vfs::SetAttributes { modified: Some(vfs::SetTime::To(old)), ..Default::default() };
    let root = vfs::Caller::root();
    let call = vfs::Call::new(&root, bench.moment().now);
    let done = crate::testing::ready(vfs::FileSystem::set_attributes(&bench.files, call, id, &set, None));
    assert!(done.is_ok());
    assert_eq!(bench.attributes(&f).modified, Time { seconds: 0, nanoseconds: 7 });
}

/// E113
#[test]
fn a_group_of_the_caller_may_be_set() {
    let (bench, _, f) = with_f();
    do_set(&bench, &f, NewAttributes { uid: Some(1000), ..UNSET });
    bench.credential.replace(sys(1000, &[50]));
    do_set(&bench, &f, NewAttributes { gid: Some(50), ..UNSET });
    refuses_set(&bench, &f, NewAttributes { gid: Some(51), ..UNSET }, Status::PERM);
}
