//! NFSv4 as the entry of records and NFSv3 see it.

use super::compound;
use super::server::Server;
use crate::connection::CallFacts;
use crate::reservations::{Access, Opens};
use crate::rpc::{NoResults, Version4};
use bytes::Bytes;
use nfs_state::{FileKey, IoAccess};
use vfs::{FileId, FileSystem};

impl<F: FileSystem> Version4 for Server<F> {
    async fn compound(&self, call: CallFacts<'_>, arguments: Bytes) -> Result<Vec<Bytes>, NoResults> {
        compound::execute(self, call, arguments).await
    }
}

impl<F: FileSystem> Opens for Server<F> {
    fn denies(&self, object: u64, file: FileId, access: Access) -> bool {
        let access = match access {
            Access::Read => IoAccess::Read,
            Access::Write => IoAccess::Write,
        };
        let key = FileKey { share: object, file: file.0 };
        self.state().check_anonymous_io(&key, access, self.uptime()).is_err()
    }

    fn permits_removal(&self, object: u64, file: FileId) -> bool {
        let key = FileKey { share: object, file: file.0 };
        self.state().check_remove(&key, self.uptime()).is_ok()
    }
}
