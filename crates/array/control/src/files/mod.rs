//! Files of shares: paths, and what administration does with files. Each verb has its own file.
//!
//! `control` knows shares and paths. The file systems of the running array know the files ([`crate::LiveFiles`]); no
//! document is about one. Every request takes one step of the file system, whatever the size of the file, so that
//! none is a job.

mod create;
pub(crate) mod error;
mod list;
mod punch;
mod rehearsal;
mod reserve;
mod show;

pub use create::{FileCreate, FileFrom};
pub use error::FileError;
pub use list::{FileList, FileListView};
pub use punch::FilePunch;
pub use rehearsal::{FileChange, FileRehearsal};
pub use reserve::FileReserve;
pub use show::{FileShow, FileView};
