//! The file system of a share: the one place that names it.

use super::super::ArrayPool;
use control::{Environment, ShareRecord};
use files::{Files, Object, Root};
use media::Media;
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
    let engine = PoolEngine::new(pool.clone(), random);
    Rc::new(Files::open(engine, Object(share.object.0), root, false))
}

/// Writes access times that are only in memory.
pub(super) async fn write_access_times<M: Media + 'static>(share: &ShareFiles<M>) -> Result<(), FsError> {
    share.write_access_times().await
}
