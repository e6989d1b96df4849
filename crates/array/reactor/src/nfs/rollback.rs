//! Roll-back of a share to its snapshot, in a transaction of the file system.

use super::super::state::Reactor;
use super::Nfs;
use super::file_system;
use super::service::timestamp;
use control::ShareRollbackError;
use futures_util::future::LocalBoxFuture;
use media::Media;
use pool::{ObjectId, PoolError};
use std::rc::Rc;
use vfs::FsError;

/// Gives a share the content of its snapshot. `nfs`: the server that has the share open; without one, nobody has.
pub(crate) fn roll_back<M: Media + 'static>(
    reactor: &Rc<Reactor<M>>,
    nfs: Option<&Rc<Nfs<M>>>,
    share: ObjectId,
    snapshot: ObjectId,
) -> LocalBoxFuture<'static, Result<(), ShareRollbackError>> {
    let Some(record) = reactor.directory().share_of(share).cloned() else {
        return Box::pin(std::future::ready(Err(ShareRollbackError::NotOpen)));
    };
    let (reactor, nfs) = (Rc::clone(reactor), nfs.map(Rc::clone));
    Box::pin(async move {
        let (pool, environment) = (&reactor.pool, &reactor.environment);
        let (files, source) = match &nfs {
            Some(nfs) => (nfs.file_system(&record), nfs.snapshot_file_system(&record, snapshot)),
            None => (
                file_system::open(pool, environment, &record),
                Rc::new(file_system::open_snapshot(pool, environment, &record, snapshot)),
            ),
        };
        // Opens of files that may not be in the snapshot end before, and those that came meanwhile end after.
        // No piece of a copy is written after the reply.
        let revoke = async || {
            if let Some(nfs) = &nfs {
                nfs.service.content_replaced(share.0);
                nfs.service.barred_copies_ended().await;
            }
        };
        revoke().await;
        let rolled_back = files.roll_back(&source, timestamp(reactor.environment.now())).await;
        revoke().await;
        rolled_back.map_err(refused)
    })
}

fn refused(error: FsError) -> ShareRollbackError {
    match error {
        FsError::Quota => ShareRollbackError::Quota,
        FsError::NoSpace(_) => ShareRollbackError::Pool(PoolError::PoolFull),
        FsError::Stopped { reason } => ShareRollbackError::Pool(PoolError::Stopped(reason)),
        error => ShareRollbackError::Pool(PoolError::Damaged(error.to_string())),
    }
}
