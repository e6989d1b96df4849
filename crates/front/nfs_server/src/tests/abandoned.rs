//! Calls of a file system that were dropped: what they have left goes at the next advance.

use super::kit::end;
use crate::access::{Hosts, Rule, Rules};
use crate::handle::HandleKey;
use crate::{CopyPolicy, Protocols, Server4, Share, Shares};
use bytes::Bytes;
use files::testing::MemoryEngine;
use files::{Files, Root};
use nfs::v4::FileSystemId;
use nfs_state::{Config, Identity, State};
use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Waker};
use std::time::Duration;
use vfs::{
    Call, Caller, Exclusive, FileId, FileSystem, FsError, Name, New, NewKind, SetAttributes, Source, Stability,
    Timestamp,
};

/// Size of a clone that takes several steps, if it is shifted by a block.
const SIZE: u64 = 12 << 20;

fn create(files: &Files<MemoryEngine>, call: Call<'_>, name: &str) -> Result<FileId, FsError> {
    let new =
        New { what: NewKind::File { exclusive: Exclusive::Yes, hold: false }, attributes: SetAttributes::default() };
    Ok(end(files.create(call, files.root(), &Name::try_from(name)?, &new))?.file.file)
}

/// A server of one share.
fn server(files: &Rc<Files<MemoryEngine>>) -> Server4<Files<MemoryEngine>> {
    let name = Bytes::from_static(b"server");
    let identity = Identity { server_owner: name.clone(), scope: name, implementation: None };
    let state = State::new(Config::new(1, identity), Vec::new(), Duration::from_secs(30), Duration::ZERO);
    let state = state.unwrap_or_else(|error| panic!("{error}"));
    let shares = Rc::new(RefCell::new(Shares::new(Timestamp::default())));
    let share = Share {
        name: Name::try_from("s").unwrap_or_else(|error| panic!("{error}")),
        object: files.object().0,
        epoch: 0,
        fsid: FileSystemId { major: 1, minor: 0 },
        file_system: Rc::clone(files),
        rules: Rules(vec![Rule::new(Hosts::Any)]),
        copy: CopyPolicy::Share,
        protocols: Protocols { v3: false, v4: true },
        counted: None,
    };
    let published = shares.borrow_mut().publish(share, Timestamp::default());
    assert!(published.is_ok());
    Server4::new(HandleKey::new([3; 16]), shares, state, Box::new(|| 4))
}

#[test]
fn an_advance_frees_what_a_dropped_clone_has_used() -> Result<(), FsError> {
    let engine = MemoryEngine::new(1, false);
    let files = Rc::new(Files::open(engine.clone(), engine.create(), Root::default(), false));
    let caller = Caller::root();
    let call = Call::new(&caller, Timestamp::default());
    let (from, to) = (create(&files, call, "from")?, create(&files, call, "to")?);
    let data = Bytes::from(vec![7; 4096]);
    for at in [0, SIZE - 4096] {
        end(files.write(call, from, at, data.clone().into(), Stability::Durable))?;
    }
    let server = server(&files);
    let used = || end(files.capacity()).map(|capacity| capacity.used_bytes);
    let before = used()?;
    {
        let source = Source { file_system: &*files, file: from, offset_bytes: 0, length_bytes: None };
        let mut clone = pin!(files.clone_range(call, source, to, 4096));
        assert!(clone.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    assert!(used()? > before);
    // The grace period has not ended.
    end(server.advance(Duration::from_secs(1)))?;
    assert_eq!(used()?, before);
    Ok(())
}
