//! MOUNT over a file system in memory. The numbers are rows of the facts about the wire.

use crate::access::{Hosts, Network, Rule, Rules};
use crate::mount::mounts::MOST_BYTES;
use crate::testing::{Bench, RO, S, T, any, encoded, entry, good, mode, success};
use nfs::mount::{Export, MountEntry, Mounted, PROGRAM, Request, Results, Status};
use nfs::v3::{self, Filehandle};
use onc_rpc::auth::{Flavor, OpaqueAuth};

fn mount(bench: &Bench, path: impl AsRef<[u8]>) -> Result<Mounted, Status> {
    match bench.mount(&Request::Mount(path.as_ref().into())) {
        Results::Mount(results) => results,
        other => panic!("{other:?}"),
    }
}

fn handle(bench: &Bench, path: &str) -> Filehandle {
    mount(bench, path).unwrap_or_else(|status| panic!("{path}: {status}")).handle
}

fn exports(bench: &Bench) -> Vec<Export> {
    match bench.mount(&Request::Export) {
        Results::Export(exports) => exports.0,
        other => panic!("{other:?}"),
    }
}

fn dump(bench: &Bench) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match bench.mount(&Request::Dump) {
        Results::Dump(mounts) => {
            mounts.iter().map(|MountEntry { host, directory }| (text(host), text(directory))).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn unmount(bench: &Bench, path: &str) {
    assert_eq!(bench.mount(&Request::Unmount(path.into())), Results::Unmount);
}

/// D70
#[test]
fn a_share_is_mounted_by_its_name() {
    let bench = Bench::new();
    let mounted = mount(&bench, "/s").unwrap_or_else(|status| panic!("{status}"));
    assert_eq!((&mounted.handle, mounted.handle.len()), (&bench.root(S), 32));
    assert_eq!(mounted.flavors[0], Flavor::SYS);
}

/// D71, D73
#[test]
fn a_path_has_several_forms() {
    let bench = Bench::new();
    for path in ["/s/", "//s", "s", "/s//", "/./s/."] {
        assert_eq!(handle(&bench, path), bench.root(S), "{path}");
    }
    for path in ["/..", "/s/..", "/s/../t", "/", "", "//", "/."] {
        assert_eq!(mount(&bench, path), Err(Status::ACCES), "{path}");
    }
}

/// D74
#[test]
fn a_share_that_is_not_for_the_caller_is_like_one_that_is_not_there() {
    let bench = Bench::new();
    for path in ["/nothere", "/hidden", "/nothere/d", "/hidden/d"] {
        assert_eq!(mount(&bench, path), Err(Status::ACCES), "{path}");
    }
    bench.client([10, 9, 9, 9], 700);
    assert!(mount(&bench, "/hidden").is_ok());
    bench.change_share(S, |share| share.protocols.v3 = false);
    assert_eq!(mount(&bench, "/s"), Err(Status::ACCES));
    bench.change_share(T, |share| share.rules = Rules(vec![Rule { privileged_port: true, ..any() }]));
    bench.client([10, 0, 0, 1], 1024);
    assert_eq!(mount(&bench, "/t"), Err(Status::ACCES));
}

/// D75, D76
#[test]
fn a_directory_below_a_share_is_mounted_and_a_file_is_not() {
    let bench = Bench::new();
    let root = bench.root(S);
    let d = bench.make_directory(&root, "d");
    let e = bench.make_directory(&d, "e");
    bench.create(&d, "file");
    let link = v3::SymbolicLinkArguments { entry: entry(&root, "link"), attributes: mode(0o777), target: "d".into() };
    good!(bench.v3(&v3::Request::SymbolicLink(link)), SymbolicLink);
    assert_eq!((handle(&bench, "/s/d"), handle(&bench, "/s/d/e/")), (d, e));
    for path in ["/s/d/file", "/s/d/file/below", "/s/link", "/s/link/e"] {
        assert_eq!(mount(&bench, path), Err(Status::NOTDIR), "{path}");
    }
    assert_eq!(mount(&bench, "/s/nothing"), Err(Status::NOENT));
    assert_eq!(mount(&bench, "/s/d\0"), Err(Status::INVAL));
}

/// D75: a directory that the caller may not search hides what is below it.
#[test]
fn a_walk_needs_permission() {
    let bench = Bench::new();
    let d = bench.make_directory(&bench.root(S), "d");
    bench.make_directory(&d, "e");
    let set = v3::SetAttributesArguments { file: d, attributes: mode(0o700), guard: None };
    assert_eq!(bench.status(&v3::Request::SetAttributes(set)), None);
    bench.user(1000);
    assert_eq!(mount(&bench, "/s/d/e"), Err(Status::ACCES));
    assert_eq!(mount(&bench, "/s/d/nothing"), Err(Status::ACCES));
    assert!(mount(&bench, "/s/d").is_ok());
}

/// D77
#[test]
fn long_paths_and_names_are_refused() {
    let bench = Bench::new();
    let garbage = onc_rpc::message::AcceptStatus::GarbageArguments;
    let arguments = encoded(|writer| writer.opaque(&[b'/'; 1025]));
    assert_eq!(bench.accepted(PROGRAM, 3, 1, &arguments), garbage);
    assert_eq!(mount(&bench, "a".repeat(256)), Err(Status::NAMETOOLONG));
    assert_eq!(handle(&bench, &format!("{}s", "/".repeat(1023))), bench.root(S));
}

/// D78
#[test]
fn permission_to_mount_is_by_address() {
    let bench = Bench::new();
    bench.credential.replace(OpaqueAuth::none());
    assert_eq!(handle(&bench, "/s"), bench.root(S));
}

/// D80
#[test]
fn exports_have_the_clients_of_their_rules() {
    let bench = Bench::new();
    let network = Network::new([10, 0, 0, 0].into(), 24).unwrap_or_else(|| panic!("a network"));
    let host = Hosts::Host([[10, 0, 0, 7].into(), [10, 0, 0, 8].into()].into());
    let rules = Rules(vec![Rule::new(host), Rule::new(Hosts::Network(network)), any()]);
    bench.change_share(T, |share| share.rules = rules);
    let export = |path: &str, groups: &[&str]| Export {
        directory: path.into(),
        groups: groups.iter().map(|group| (*group).into()).collect::<Vec<_>>().into(),
    };
    let s = export("/s", &["*"]);
    let t = export("/t", &["10.0.0.7", "10.0.0.8", "10.0.0.0/24", "*"]);
    let ro = export("/ro", &["*"]);
    assert_eq!(exports(&bench), [s.clone(), t, ro]);
    bench.change_share(T, |share| share.rules = Rules::default());
    bench.change_share(RO, |share| share.protocols.v3 = false);
    assert_eq!(exports(&bench), [s]);
}

/// D81, D82
#[test]
fn mounts_are_listed_until_they_end() {
    let bench = Bench::new();
    let d = bench.make_directory(&bench.root(S), "d");
    assert!(dump(&bench).is_empty());
    unmount(&bench, "/s");
    for path in ["/s", "//s/", "/s/d", "/t"] {
        handle(&bench, path);
    }
    assert_eq!(handle(&bench, "/s/d"), d);
    assert_eq!(mount(&bench, "/nothere"), Err(Status::ACCES));
    let listed = |paths: &[&str]| paths.iter().map(|path| ("10.0.0.1".into(), (*path).into())).collect::<Vec<_>>();
    assert_eq!(dump(&bench), listed(&["/s", "/t", "/s/d"]));
    unmount(&bench, "s/");
    assert_eq!(dump(&bench), listed(&["/t", "/s/d"]));
    // Another host's mounts are its own.
    bench.client([10, 0, 0, 2], 700);
    unmount(&bench, "/t");
    assert_eq!(bench.mount(&Request::UnmountAll), Results::UnmountAll);
    assert_eq!(dump(&bench), listed(&["/t", "/s/d"]));
    bench.client([10, 0, 0, 1], 900);
    assert_eq!(bench.mount(&Request::UnmountAll), Results::UnmountAll);
    assert!(dump(&bench).is_empty());
    assert_eq!(bench.mount(&Request::UnmountAll), Results::UnmountAll);
}

#[test]
fn mounts_of_a_hidden_share_are_hidden() {
    let bench = Bench::new();
    bench.client([10, 9, 9, 9], 700);
    handle(&bench, "/hidden");
    assert_eq!(dump(&bench).len(), 1);
    bench.client([10, 0, 0, 1], 700);
    assert!(dump(&bench).is_empty());
}

#[test]
fn the_list_of_mounts_is_bounded() {
    let bench = Bench::new();
    let path = format!("/s/{}", "d".repeat(255));
    bench.make_directory(&bench.root(S), &"d".repeat(255));
    for host in 0..4000_u32 {
        let [_, _, c, d] = host.to_be_bytes();
        bench.client([10, 1, c, d], 700);
        handle(&bench, &path);
    }
    let call = bench.header(PROGRAM, 3, 2);
    let length = success(bench.reply(&call, &[])).remaining_bytes();
    let listed = dump(&bench);
    assert!(listed.len() > 1000 && length < MOST_BYTES + 16, "{} {length}", listed.len());
    assert_eq!(listed.last().map(|(host, _)| host.as_str()), Some("10.1.15.159"));
}

/// D84
#[test]
fn statuses_are_those_of_mount() {
    let bench = Bench::new();
    assert_eq!(bench.files.delete(), Ok(()));
    assert_eq!(mount(&bench, "/s"), Err(Status::NOENT));
    let allowed = [1, 2, 5, 13, 20, 22, 63, 10004, 10006];
    for status in v3::Status::ALL {
        assert!(allowed.contains(&super::mount_directory::of_v3(*status).number()), "{status}");
    }
}

/// D83
#[test]
fn a_handle_needs_no_mount() {
    let mut bench = Bench::new();
    let root = handle(&bench, "/s");
    let file = bench.create(&root, "f");
    bench.restart(false);
    assert!(dump(&bench).is_empty());
    assert_eq!(bench.attributes(&file).size_bytes, 0);
}
