//! Why a primitive was not proved.

use super::primitive::{Primitive, Verdict};
use crate::verdict::Status;
use nfs::v4::Status as Nfs4;
use nfs_client::ClientError;

/// Reason why a primitive is not proved.
#[derive(Debug)]
pub(super) enum Fault {
    /// A call failed.
    Client(ClientError),
    /// The behaviour of the server was wrong, or the primitive does nothing.
    Wrong(String),
    /// The primitive could not be tried.
    Untried(String),
}

impl From<ClientError> for Fault {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

/// The primitive does not do what it should.
pub(super) fn wrong<T>(reason: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Wrong(reason.into()))
}

/// The primitive could not be tried.
pub(super) fn untried<T>(reason: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Untried(reason.into()))
}

impl Fault {
    /// Verdict on the primitive; `Err` if the session broke.
    pub(super) fn verdict(self, primitive: Primitive) -> Result<Verdict, ClientError> {
        let (status, reason) = match self {
            Self::Wrong(reason) => (Status::NotSupported, reason),
            Self::Untried(reason) => (Status::Unknown, reason),
            Self::Client(error) => {
                let status = match &error {
                    ClientError::Status { status, .. } if says_nothing(*status) => Status::Unknown,
                    ClientError::Status { .. } | ClientError::Rpc(_) | ClientError::Malformed(_) => {
                        Status::NotSupported
                    }
                    ClientError::Connect { .. }
                    | ClientError::Lost { .. }
                    | ClientError::Timeout { .. }
                    | ClientError::SessionLost(_) => return Err(error),
                };
                (status, error.to_string())
            }
        };
        Ok(Verdict::new(primitive, status, reason))
    }
}

/// Whether a status is about space, permission or time, and so says nothing about the primitive.
const fn says_nothing(status: Nfs4) -> bool {
    matches!(status, Nfs4::NOSPC | Nfs4::DQUOT | Nfs4::ACCESS | Nfs4::PERM | Nfs4::ROFS | Nfs4::DELAY | Nfs4::GRACE)
}
