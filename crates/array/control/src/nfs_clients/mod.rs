//! Clients of NFS: list, expire, locks and the grace period; and the state of the NFS server that outlives its
//! runs: the number of the run, the key of filehandles, and the clients that may reclaim their opens and locks after
//! a restart.

pub(crate) mod error;
mod expire;
mod list;
mod record;
mod store;

pub use error::NfsClientError;
pub use expire::NfsClientExpire;
pub use list::{NfsClientList, NfsGraceShow, NfsLockList, NfsLockView};
pub use record::NfsClientRecord;
pub use store::{NfsClientChange, NfsRun};
