//! The file system of a share: the one place that names it.

use super::super::ArrayPool;
use control::{Environment, ShareRecord};
use files::{Files, Object, Root};
use media::Media;
use pool::ObjectId;
use pool_files::{PoolEngine, PoolFiles};
use std::rc::Rc;
use vfs::FsError;

/// File system of a share.
pub(super) type ShareFiles<M> = PoolFiles<M>;

/// Opens the file system of a share. There must be one at a time.
pub(super) fn open<M: Media + 'static>(
    pool: &ArrayPool<M>,
    environment: &Rc<dyn Environment>,
    share: &ShareRecord,
) -> Rc<ShareFiles<M>> {
    Rc::new(files(pool, environment, share, share.object, false))
}

/// Opens a snapshot of a share, read-only. There must be one at a time.
pub(super) fn open_snapshot<M: Media + 'static>(
    pool: &ArrayPool<M>,
    environment: &Rc<dyn Environment>,
    share: &ShareRecord,
    snapshot: ObjectId,
) -> ShareFiles<M> {
    files(pool, environment, share, snapshot, true)
}

fn files<M: Media + 'static>(
    pool: &ArrayPool<M>,
    environment: &Rc<dyn Environment>,
    share: &ShareRecord,
    object: ObjectId,
    read_only: bool,
) -> ShareFiles<M> {
    let random = {
        let environment = Rc::clone(environment);
        move || {
            let mut bytes = [0; 16];
            environment.fill_random(&mut bytes);
            bytes
        }
    };
    let root = Root {
        // The document has permission bits alone.
        mode: u16::try_from(share.root.mode & 0o7777).unwrap_or_default(),
        user: share.root.uid,
        group: share.root.gid,
        born: super::service::timestamp(share.root.born),
    };
    Files::open(PoolEngine::new(pool.clone(), random), Object(object.0), root, read_only)
}

/// Writes access times that are only in memory.
pub(super) async fn write_access_times<M: Media + 'static>(share: &ShareFiles<M>) -> Result<(), FsError> {
    share.write_access_times().await
}
