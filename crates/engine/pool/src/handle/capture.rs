//! New captures, which their creator keeps or deletes.

use super::{Pool, Submitted, closed};
use crate::interface::operation::{Failure, OperationId};
use crate::interface::{Catalog, CatalogChange, ObjectId};
use crate::request::Request;
use block::BlockDevice;
use media::Media;

/// Capture that is deleted when it is dropped, unless it is kept.
#[derive(Debug)]
pub struct NewCapture<M: Media> {
    pool: Pool<M>,
    id: ObjectId,
    /// Its creation, if that is in progress.
    creation: Option<OperationId>,
    kept: bool,
}

impl<M: Media> Pool<M> {
    /// Creates an empty capture. If the future is dropped, no capture is left, also if its creation takes effect later.
    pub async fn create_capture(&self, size_bytes: u64) -> Result<NewCapture<M>, Failure> {
        let id = self.new_object_id();
        let (operation, reply) = Request::catalog(vec![CatalogChange::CreateCapture { id, size_bytes }]).into_parts();
        let mut capture = NewCapture { pool: self.clone(), id, creation: None, kept: false };
        let created = match self.submit(operation) {
            Submitted::Finished(outcome) => outcome,
            Submitted::InFlight(creation, receiver) => {
                capture.creation = Some(creation);
                let created = receiver.await.unwrap_or_else(|_| Err(closed()));
                capture.creation = None;
                created
            }
        };
        Request::reply(reply, created?)?;
        Ok(capture)
    }
}

impl<M: Media> NewCapture<M> {
    /// The capture.
    pub const fn id(&self) -> ObjectId {
        self.id
    }

    /// Keeps the capture.
    pub fn keep(mut self) -> ObjectId {
        self.kept = true;
        self.id
    }
}

impl<M: Media> Drop for NewCapture<M> {
    fn drop(&mut self) {
        let is_awaited = |creation: &OperationId| self.pool.0.awaited.borrow().contains_key(creation);
        if self.kept {
            return;
        }
        match self.creation.filter(is_awaited) {
            Some(creation) => {
                self.pool.0.unwanted.borrow_mut().insert(creation, self.id);
            }
            None => self.pool.volume(self.id).discard(),
        }
    }
}
