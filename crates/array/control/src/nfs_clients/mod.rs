//! State of the NFS server that outlives its runs: the number of the run, the key of filehandles, and the
//! clients that may reclaim their opens and locks after a restart.

mod record;
mod store;

pub use record::NfsClientRecord;
pub use store::{NfsClientChange, NfsRun};
