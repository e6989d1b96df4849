//! The caller for whom a stream is open.

use crate::people::{Caller, CallerKind, Gate};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use std::convert::Infallible;
use std::sync::Arc;
use uuid::Uuid;

/// Owner of a stream, whatever the sign-in: kind, id of the user or token, and user of a local process.
pub(super) type Owner = (CallerKind, Option<Uuid>, Option<u32>);

/// Caller for whom a stream is open. Absent without a guard, as in tests of handlers.
pub(in crate::http) struct Holder(Option<(Arc<Gate>, Caller)>);

impl<S: Sync> FromRequestParts<S> for Holder {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let gate = parts.extensions.get::<Arc<Gate>>();
        Ok(Self(gate.zip(parts.extensions.get::<Caller>()).map(|(gate, caller)| (Arc::clone(gate), caller.clone()))))
    }
}

impl Holder {
    /// Owner of its streams.
    pub(super) fn owner(&self) -> Option<Owner> {
        self.0.as_ref().map(|(_, caller)| (caller.kind, caller.id, caller.uid))
    }

    /// Its sign-in; absent for tokens and local processes.
    pub(super) fn sign_in(&self) -> Option<Uuid> {
        self.0.as_ref().and_then(|(_, caller)| caller.sign_in)
    }

    /// True while its credentials are accepted: what follows the end of a sign-in or token is not for it.
    pub(super) fn stands(&self) -> bool {
        self.0.as_ref().is_none_or(|(gate, caller)| gate.stands(caller))
    }
}
