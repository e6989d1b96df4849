//! Extended attributes, RFC 8276.

use super::kit::{Kit, OBJECT};
use crate::access::{Hosts, Rule, Rules};
use nfs::v4::attributes::Attribute;
use nfs::v4::compound::CompoundOutcome;
use nfs::v4::names::CreateType;
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::xattr::{ListArguments, ListOk, SetArguments, SetOption};
use nfs::v4::{Name, Status};

fn set(kit: &Kit, path: &str, option: SetOption, name: &str, value: &[u8]) -> Outcome {
    let arguments = SetArguments { option, name: name.into(), value: value.into() };
    kit.at(path, [Operation::SetXattr(arguments)])
}

fn get(kit: &Kit, path: &str, name: &str) -> Result<Vec<u8>, Status> {
    match kit.at(path, [Operation::GetXattr(name.into())]) {
        Outcome::GetXattr(value) => value.map(|value| value.to_vec()),
        other => panic!("{other:?}"),
    }
}

fn list(kit: &Kit, cookie: u64, max_count_bytes: u32) -> Result<ListOk, Status> {
    match kit.at("s/f", [Operation::ListXattrs(ListArguments { cookie, max_count_bytes })]) {
        Outcome::ListXattrs(results) => results,
        other => panic!("{other:?}"),
    }
}

fn remove(kit: &Kit, path: &str, name: &str) -> Result<(), Status> {
    kit.status_at(path, Operation::RemoveXattr(name.into()))
}

fn with_file() -> Kit {
    let kit = Kit::new();
    kit.file("f", &[1; 5000]);
    kit
}

#[test]
fn a_value_is_what_was_set_and_a_change_of_the_file() {
    let kit = with_file();
    let before = kit.attribute("s/f", 3);
    match set(&kit, "s/f", SetOption::Either, "user.attr1", b"value") {
        Outcome::SetXattr(Ok(info)) => {
            assert_eq!((info.atomic, Attribute::Change(info.before)), (true, before));
            assert_eq!(kit.attribute("s/f", 3), Attribute::Change(info.after));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(get(&kit, "s/f", "user.attr1"), Ok(b"value".to_vec()));
    assert_eq!(remove(&kit, "s/f", "user.attr1"), Ok(()));
    assert_eq!(get(&kit, "s/f", "user.attr1"), Err(Status::NOXATTR));
    assert_eq!(remove(&kit, "s/f", "user.attr1"), Err(Status::NOXATTR));
}

#[test]
fn creation_and_replacement_are_told_apart() {
    let kit = with_file();
    assert_eq!(set(&kit, "s/f", SetOption::Replace, "a", b"1").status(), Err(Status::NOXATTR));
    assert_eq!(set(&kit, "s/f", SetOption::Create, "a", b"1").status(), Ok(()));
    assert_eq!(set(&kit, "s/f", SetOption::Create, "a", b"2").status(), Err(Status::EXIST));
    assert_eq!(set(&kit, "s/f", SetOption::Replace, "a", b"3").status(), Ok(()));
    assert_eq!(get(&kit, "s/f", "a"), Ok(b"3".to_vec()));
}

#[test]
fn names_are_listed_in_pieces() {
    let kit = with_file();
    assert_eq!(list(&kit, 0, 4096), Ok(ListOk { cookie: 0, names: Vec::new().into(), eof: true }));
    let names: Vec<String> = (0..30).map(|number| format!("name-{number:02}")).collect();
    for name in &names {
        assert_eq!(set(&kit, "s/f", SetOption::Create, name, b"x").status(), Ok(()));
    }
    for bytes in [28, 100, 4096] {
        let (mut cookie, mut found) = (0, Vec::new());
        loop {
            let page = list(&kit, cookie, bytes).unwrap_or_else(|status| panic!("{status}"));
            found.extend(page.names.iter().map(|name| String::from_utf8_lossy(name).into_owned()));
            cookie = page.cookie;
            if page.eof {
                break;
            }
        }
        assert_eq!(found, names, "{bytes}");
    }
    assert_eq!(list(&kit, 0, 27), Err(Status::TOOSMALL));
    assert_eq!(list(&kit, 0, 15), Err(Status::TOOSMALL));
    assert_eq!(list(&kit, 31, 4096), Err(Status::BAD_COOKIE));
    assert_eq!(list(&kit, u64::MAX, 4096), Err(Status::BAD_COOKIE));
    assert_eq!(list(&kit, 30, 4096).map(|page| (page.names.len(), page.eof)), Ok((0, true)));
}

#[test]
fn attributes_have_limits() {
    let kit = with_file();
    assert_eq!(set(&kit, "s/f", SetOption::Either, "a", &vec![1; 65_537]).status(), Err(Status::XATTR2BIG));
    assert_eq!(set(&kit, "s/f", SetOption::Either, &"n".repeat(256), b"").status(), Err(Status::NAMETOOLONG));
    assert_eq!(set(&kit, "s/f", SetOption::Either, "", b"").status(), Err(Status::INVAL));
    assert_eq!(set(&kit, "s/f", SetOption::Either, "a\0", b"").status(), Err(Status::BADCHAR));
    let not_text = Operation::GetXattr(Name::from(&b"\xff"[..]));
    assert_eq!(kit.status_at("s/f", not_text), Err(Status::INVAL));
}

#[test]
fn files_and_directories_have_attributes_and_others_have_none() {
    let kit = with_file();
    kit.directory("s", "d");
    assert_eq!(kit.create("s", "l", CreateType::Link("f".into())).status(), Ok(()));
    assert_eq!(set(&kit, "s/d", SetOption::Either, "a", b"1").status(), Ok(()));
    assert_eq!(set(&kit, "s/l", SetOption::Either, "a", b"1").status(), Err(Status::WRONG_TYPE));
    assert_eq!(get(&kit, "s/l", "a"), Err(Status::WRONG_TYPE));
    assert_eq!(get(&kit, "", "a"), Err(Status::NOTSUPP));
    kit.user.set(1000);
    assert_eq!(get(&kit, "s/d", "a"), Ok(b"1".to_vec()));
    assert_eq!(set(&kit, "s/d", SetOption::Either, "a", b"2").status(), Err(Status::ACCESS));
}

#[test]
fn attributes_of_the_server_are_read_and_neither_listed_nor_changed() {
    let kit = with_file();
    for (name, value) in [("capacity", "5000"), ("used", "8192"), ("unshared", "8192"), ("reserved", "0")] {
        for suffix in ["", "@", "@7"] {
            let name = format!("windlass.{name}{suffix}");
            assert_eq!(get(&kit, "s/f", &name), Ok(value.as_bytes().to_vec()), "{name}");
            assert_eq!(set(&kit, "s/f", SetOption::Either, &name, b"1").status(), Err(Status::ACCESS));
            assert_eq!(remove(&kit, "s/f", &name), Err(Status::ACCESS));
        }
    }
    assert_eq!(list(&kit, 0, 4096).map(|page| page.names.len()), Ok(0));
    assert_eq!(get(&kit, "s/f", "windlass.other"), Err(Status::NOXATTR));
    assert_eq!(get(&kit, "s", "windlass.used"), Err(Status::NOXATTR));
    assert_eq!(kit.create("s", "l", CreateType::Link("f".into())).status(), Ok(()));
    assert_eq!(get(&kit, "s/l", "windlass.used"), Err(Status::WRONG_TYPE));
}

#[test]
fn a_read_only_export_changes_no_attribute() {
    let kit = with_file();
    kit.publish("s", OBJECT, &kit.fs, Rules(vec![Rule { read_only: true, ..Rule::new(Hosts::Any) }]));
    assert_eq!(set(&kit, "s/f", SetOption::Either, "a", b"1").status(), Err(Status::ROFS));
    assert_eq!(remove(&kit, "s/f", "a"), Err(Status::ROFS));
}

#[test]
fn minor_version_1_has_no_extended_attributes() {
    let kit = with_file();
    kit.minor.set(1);
    assert_eq!(kit.at("s/f", [Operation::GetXattr("a".into())]), Outcome::Illegal(Status::OP_ILLEGAL));
}
