//! Handles, the pseudo root, and who may use a share.

use super::kit::{Kit, OBJECT, any, get, go, lookup, read};
use crate::access::{Hosts, Rule, Rules};
use crate::handle::{HandleKey, Target};
use nfs::v4::attributes::Attribute;
use nfs::v4::compound::CompoundOutcome;
use nfs::v4::names::{CreateType, RenameArguments, SecurityFlavor, SecurityStyle};
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::{FileSystemId, Filehandle, Status};
use vfs::FileId;

fn put(handle: &Filehandle) -> Operation {
    Operation::PutFilehandle(handle.clone())
}

/// Rules for a host that is not the client.
fn others() -> Rules {
    Rules(vec![Rule::new(Hosts::Host([[10, 0, 0, 2].into()].into()))])
}

#[test]
fn the_root_and_the_public_handle_are_one_and_stay_the_same() {
    let (kit, again) = (Kit::new(), Kit::new());
    let root = kit.handle("");
    assert_eq!(kit.last([Operation::PutPublicFilehandle, Operation::GetFilehandle]), {
        Outcome::GetFilehandle(Ok(root.clone()))
    });
    assert_eq!(again.handle(""), root);
    assert_eq!(kit.attribute("", 2), Attribute::HandleExpireType(0));
    assert_eq!(kit.last([put(&root), Operation::GetFilehandle]), Outcome::GetFilehandle(Ok(root)));
}

#[test]
fn a_handle_leads_back_to_its_file() {
    let kit = Kit::new();
    kit.directory("s", "d");
    let handle = kit.handle("s/d");
    assert!(handle.len() <= 56);
    let outcome = kit.last([put(&handle), Operation::GetFilehandle]);
    assert_eq!(outcome, Outcome::GetFilehandle(Ok(handle.clone())));
    assert_eq!(kit.last([put(&handle), get(&[1])]), kit.at("s/d", [get(&[1])]));
}

#[test]
fn a_handle_that_the_server_has_not_made_is_bad() {
    let kit = Kit::new();
    let status = |handle: &[u8]| kit.status([put(&handle.into())]);
    assert_eq!(status(&[7; 32]), Err(Status::BADHANDLE));
    assert_eq!(status(&[]), Err(Status::BADHANDLE));
    assert_eq!(status(&[0; 128]), Err(Status::BADHANDLE));
    let mut flipped = kit.handle("s").to_vec();
    flipped[9] ^= 1;
    assert_eq!(status(&flipped), Err(Status::BADHANDLE));
    let foreign = HandleKey::new([4; 16]).seal(Target::PseudoRoot);
    assert_eq!(status(&foreign), Err(Status::BADHANDLE));
    assert_eq!(kit.status([Operation::PutFilehandle(vec![0; 129].into())]), Err(Status::BADXDR));
}

#[test]
fn the_handle_of_a_deleted_file_is_stale() {
    let kit = Kit::new();
    kit.directory("s", "d");
    let handle = kit.handle("s/d");
    assert_eq!(kit.status_at("s", Operation::Remove("d".into())), Ok(()));
    assert_eq!(kit.status([put(&handle), get(&[1])]), Err(Status::STALE));
    let never = HandleKey::new([3; 16]).seal(Target::File { object: OBJECT, epoch: 0, file: FileId(99_999) });
    assert_eq!(kit.status([put(&never[..].into()), get(&[1])]), Err(Status::STALE));
}

#[test]
fn handles_of_another_epoch_or_of_a_withdrawn_share_are_stale() {
    let kit = Kit::new();
    let handle = kit.handle("s");
    kit.publish_epoch("s", OBJECT, &kit.fs, any(), 1);
    assert_eq!(kit.status([put(&handle)]), Err(Status::STALE));
    let handle = kit.handle("s");
    assert!(kit.server.shares().borrow_mut().withdraw(OBJECT, kit.now()));
    assert_eq!(kit.status([put(&handle)]), Err(Status::STALE));
    assert_eq!(kit.status_at("", lookup("s")), Err(Status::NOENT));
}

#[test]
fn a_share_without_a_rule_for_the_client_is_not_there() {
    let kit = Kit::new();
    let handle = kit.handle("s");
    kit.publish("s", OBJECT, &kit.fs, others());
    assert_eq!(kit.status_at("", lookup("s")), Err(Status::NOENT));
    // Who had it is refused, and not told that it is gone.
    assert_eq!(kit.status([put(&handle)]), Err(Status::ACCESS));
}

#[test]
fn a_rule_for_privileged_ports_refuses_others() {
    let kit = Kit::new();
    let handle = kit.handle("s");
    kit.publish("s", OBJECT, &kit.fs, Rules(vec![Rule { privileged_port: true, ..Rule::new(Hosts::Any) }]));
    assert_eq!(kit.status([put(&handle)]), Ok(()));
    kit.port.set(1024);
    assert_eq!(kit.status([put(&handle)]), Err(Status::ACCESS));
    assert_eq!(kit.status_at("", lookup("s")), Err(Status::ACCESS));
}

#[test]
fn a_share_is_a_file_system_of_its_own() {
    let kit = Kit::new();
    kit.publish("t", 8, &kit.engine.create(kit.now()), any());
    let fsid = |path: &str| match kit.attribute(path, 8) {
        Attribute::Fsid(fsid) => fsid,
        other => panic!("{other:?}"),
    };
    assert_eq!(fsid(""), FileSystemId { major: 0, minor: 0 });
    assert_eq!(fsid("s"), FileSystemId { major: 107, minor: 0 });
    assert_eq!(fsid("t"), FileSystemId { major: 108, minor: 0 });
    let [Attribute::Fileid(fileid), Attribute::MountedOnFileid(entry)] = kit.attributes("s", &[20, 55])[..] else {
        panic!("two attributes")
    };
    assert_ne!(fileid, entry);
    kit.directory("s", "d");
    let [Attribute::Fileid(fileid), Attribute::MountedOnFileid(entry)] = kit.attributes("s/d", &[20, 55])[..] else {
        panic!("two attributes")
    };
    assert_eq!(fileid, entry);
}

#[test]
fn the_pseudo_root_is_a_directory_that_nobody_changes() {
    let kit = Kit::new();
    assert_eq!(kit.create("", "d", CreateType::Directory).status(), Err(Status::ROFS));
    assert_eq!(kit.status_at("", Operation::Remove("s".into())), Err(Status::ROFS));
    let rename = Operation::Rename(RenameArguments { old: "s".into(), new: "t".into() });
    assert_eq!(kit.between("", "", rename.clone()).status(), Err(Status::ROFS));
    assert_eq!(kit.between("", "s", rename).status(), Err(Status::XDEV));
    assert_eq!(kit.status_at("", read(0, 1)), Err(Status::ISDIR));
    assert_eq!(kit.status_at("", Operation::ReadLink), Err(Status::WRONG_TYPE));
    let attributes = kit.attributes("", &[1, 33, 35, 82]);
    assert!(attributes.contains(&Attribute::Mode(0o555)) && attributes.contains(&Attribute::Links(3)));
    assert!(attributes.contains(&Attribute::XattrSupport(false)));
}

#[test]
fn parents_lead_to_the_pseudo_root() {
    let kit = Kit::new();
    kit.directory("s", "d");
    kit.file("f", b"x");
    let parent = |path: &str| kit.at(path, [Operation::LookupParent, Operation::GetFilehandle]);
    assert_eq!(parent("s/d"), Outcome::GetFilehandle(Ok(kit.handle("s"))));
    assert_eq!(parent("s"), Outcome::GetFilehandle(Ok(kit.handle(""))));
    assert_eq!(kit.status_at("", Operation::LookupParent), Err(Status::NOENT));
    assert_eq!(kit.status_at("s/f", Operation::LookupParent), Err(Status::NOTDIR));
    assert_eq!(kit.create("s", "l", CreateType::Link("f".into())).status(), Ok(()));
    assert_eq!(kit.status_at("s/l", Operation::LookupParent), Err(Status::SYMLINK));
}

#[test]
fn a_saved_handle_is_restored() {
    let kit = Kit::new();
    kit.directory("s", "d");
    let saved = go("s/d").into_iter().chain([Operation::SaveFilehandle, Operation::PutRootFilehandle]);
    let restored = saved.chain([Operation::RestoreFilehandle, Operation::GetFilehandle]);
    assert_eq!(kit.last(restored), Outcome::GetFilehandle(Ok(kit.handle("s/d"))));
}

#[test]
fn security_information_names_auth_sys_first_and_ends_the_handle() {
    let kit = Kit::new();
    kit.file("f", b"x");
    let flavors = [1, 0].map(SecurityFlavor::Other);
    let name = Operation::SecurityInformation("f".into());
    match kit.at("s", [name.clone()]) {
        Outcome::SecurityInformation(Ok(found)) => assert_eq!(found[..], flavors),
        other => panic!("{other:?}"),
    }
    assert_eq!(kit.at("s", [name, Operation::GetFilehandle]).status(), Err(Status::NOFILEHANDLE));
    assert_eq!(kit.status_at("s", Operation::SecurityInformation("g".into())), Err(Status::NOENT));
    for style in [SecurityStyle::Current, SecurityStyle::Parent] {
        let operation = Operation::SecurityInformationNoName(style);
        match kit.at("s", [operation.clone()]) {
            Outcome::SecurityInformationNoName(Ok(found)) => assert_eq!(found[..], flavors),
            other => panic!("{other:?}"),
        }
        assert_eq!(kit.at("s", [operation, Operation::GetFilehandle]).status(), Err(Status::NOFILEHANDLE));
    }
    let parent = Operation::SecurityInformationNoName(SecurityStyle::Parent);
    assert_eq!(kit.status_at("", parent), Err(Status::NOENT));
}

#[test]
fn a_read_only_export_refuses_changes() {
    let kit = Kit::new();
    kit.directory("s", "d");
    let snapshot = kit.fs.snapshot().unwrap_or_else(|error| panic!("{error}"));
    kit.publish("s@x", 9, &snapshot, any());
    kit.publish("s", OBJECT, &kit.fs, Rules(vec![Rule { read_only: true, ..Rule::new(Hosts::Any) }]));
    for share in ["s", "s@x"] {
        assert_eq!(kit.status_at(share, Operation::Remove("d".into())), Err(Status::ROFS), "{share}");
        assert_eq!(kit.create(share, "e", CreateType::Fifo).status(), Err(Status::ROFS), "{share}");
    }
    assert_eq!(kit.attribute("s@x/d", 20), kit.attribute("s/d", 20));
    assert_ne!(kit.attribute("s@x/d", 8), kit.attribute("s/d", 8));
}

#[test]
fn a_stopped_pool_gives_no_reply() {
    let never = crate::failure::Failure::File(vfs::FsError::Stopped { reason: String::new() });
    assert_eq!(crate::v4::operations::row_of(9).map(|row| row.status(&never)), Some(None));
}
