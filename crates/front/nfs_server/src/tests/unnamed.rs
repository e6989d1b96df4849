//! Files without a name: their release, and what earlier runs have left of them.

use super::kit::{Kit, OBJECT, any, end, get};
use super::opens::{close, open, stateid};
use nfs::v4::open::share_access::READ;
use nfs::v4::operations::Operation;
use nfs::v4::{Filehandle, Status};
use vfs::memory::MemoryFileSystem;
use vfs::{FileSystem, FsError};

/// The files of a client that is gone are not released at the cost of other clients.
#[test]
fn a_call_does_not_wait_for_the_release_of_files_that_it_has_not_closed() {
    let kit = Kit::new();
    let handles: Vec<_> = ["f", "g", "h"]
        .map(|name| {
            kit.file(name, b"content");
            let _ = stateid(&kit, open(name, READ, 0));
            let handle = kit.handle(&format!("s/{name}"));
            assert_eq!(kit.status_at("s", Operation::Remove(name.into())), Ok(()));
            handle
        })
        .into();
    let gone = kit.client_id();
    kit.join("client-1", true);
    kit.file("own", b"content");
    let held = stateid(&kit, open("own", READ, 0));
    assert_eq!(kit.server.state().revoke_client(gone, kit.uptime()), Ok(()));
    let there = || {
        let put = |handle: &Filehandle| Operation::PutFilehandle(handle.clone());
        handles.iter().filter(|handle| kit.status([put(handle), get(&[1])]).is_ok()).count()
    };
    kit.engine.hold_back(true);
    assert_eq!(there(), 3);
    kit.engine.hold_back(false);
    assert_eq!(there(), 3);
    // A call that closes does its share of the work.
    assert_eq!(kit.status_at("s/own", close(held)), Ok(()));
    assert_eq!(there(), 2);
    assert_eq!(end(kit.server.advance(kit.uptime())), Ok(()));
    assert_eq!(there(), 0);
}

/// A share of which a file without a name was left, as by an earlier run, and the handle of the file.
fn with_orphan(kit: &Kit, name: &str, object: u64) -> (MemoryFileSystem, Filehandle) {
    let fs = kit.engine.create(kit.now());
    kit.publish(name, object, &fs, any());
    let file = kit.file_in(&fs, "f", b"content");
    let handle = kit.handle(&format!("{name}/f"));
    assert!(end(fs.hold(file)).is_ok());
    assert_eq!(kit.status_at(name, Operation::Remove("f".into())), Ok(()));
    kit.engine.restart(false);
    (fs, handle)
}

#[test]
fn files_without_a_name_go_from_each_share_whatever_becomes_of_the_others() {
    let kit = Kit::new();
    let there =
        |handle: &Filehandle| kit.status([Operation::PutFilehandle(handle.clone()), get(&[1])]) != Err(Status::STALE);
    let advance = || end(kit.server.advance(kit.uptime()));
    let (gone, _) = with_orphan(&kit, "gone", 1);
    let (_, first) = with_orphan(&kit, "first", 20);
    assert_eq!(gone.delete(), Ok(()));
    assert!(there(&first));
    // The error is that of the share that is gone; it comes again until the share is withdrawn.
    assert_eq!((advance(), there(&first)), (Err(FsError::Gone), false));
    assert_eq!(advance(), Err(FsError::Gone));
    assert!(kit.server.shares().borrow_mut().withdraw(1, kit.now()));
    assert_eq!(advance(), Ok(()));
    // A share that is published later.
    let (_, second) = with_orphan(&kit, "second", 21);
    assert!(there(&second));
    assert_eq!((advance(), there(&second)), (Ok(()), false));
    // A share that was withdrawn, and comes back.
    assert!(kit.server.shares().borrow_mut().withdraw(20, kit.now()));
    assert_eq!(advance(), Ok(()));
    let (_, third) = with_orphan(&kit, "first", 20);
    assert_eq!((advance(), there(&third)), (Ok(()), false));
}

#[test]
fn a_share_is_swept_again_after_a_roll_back() {
    let kit = Kit::new();
    let (_, handle) = with_orphan(&kit, "other", 20);
    let there = || kit.status([Operation::PutFilehandle(handle.clone()), get(&[1])]) != Err(Status::STALE);
    let advance = || end(kit.server.advance(kit.uptime()));
    assert_eq!((advance(), there()), (Ok(()), false));
    // A snapshot that was taken while a file without a name was open contains it.
    let held = kit.file("f", b"content");
    let back = kit.handle("s/f");
    assert!(end(kit.fs.hold(held)).is_ok());
    assert_eq!(kit.status_at("s", Operation::Remove("f".into())), Ok(()));
    kit.engine.restart(false);
    let back = || kit.status([Operation::PutFilehandle(back.clone()), get(&[1])]) != Err(Status::STALE);
    assert_eq!((advance(), back()), (Ok(()), true));
    kit.server.content_replaced(OBJECT);
    assert_eq!((advance(), back()), (Ok(()), false));
}
