//! `nfs client expire`: a client of NFSv4 loses its opens and locks.

use super::NfsClientError;
use crate::control::Control;
use crate::error::ControlError;
use crate::events::Draft;
use crate::request::Request;

/// Revokes the opens and locks of a client, and its right to reclaim them. The client learns it with its next
/// call, and may open and lock again. On return, its calls and copies that were in progress have ended.
#[derive(Clone, Debug)]
pub struct NfsClientExpire {
    /// Client id.
    pub id: u64,
}

impl Request for NfsClientExpire {
    type Reply = ();
    const NAME: &'static str = "nfs-client-expire";

    async fn run(&self, control: &Control) -> Result<(), ControlError> {
        let expired = control.live().expire_nfs_client(self.id).ok_or(NfsClientError::NotServed)?;
        if expired.await { Ok(()) } else { Err(NfsClientError::no_client(self.id)) }
    }

    fn event(&self, (): &()) -> Option<Draft> {
        let id = format!("{:016x}", self.id);
        let message = format!("opens and locks of NFS client {id} revoked");
        Some(Draft::info("nfs-client-expired", id, message))
    }
}
