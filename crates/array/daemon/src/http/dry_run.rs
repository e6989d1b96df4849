//! Dry runs: `?dry_run=true` makes a change say what it would do.
//!
//! The guard takes the parameter out of the query ([`take`]): it alone decides whether a request is a dry run, so that
//! no change is made that the audit takes for one. An operation whose row has no dry run refuses the parameter.

use crate::http::operations::Operation;
use crate::http::problem::Fault;
use crate::http::revision::{IfMatch, with_present};
use crate::http::{convert, extract};
use api::{Broken, Effect, Warning};
use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use control::{Guarded, Read, Rehearsed, Target};
use reactor::ArrayHandle;
use serde::Serialize;

/// Name of the parameter.
pub(super) const PARAMETER: &str = "dry_run";

/// Whether a request is a dry run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DryRun(pub(super) bool);

impl<S: Sync> FromRequestParts<S> for DryRun {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Fault> {
        Ok(parts.extensions.get::<Self>().copied().unwrap_or_default())
    }
}

/// Takes the parameter out of the query of a change, for the handler. Returns whether it is a dry run.
///
/// Errors: the operation has none, or the parameter is neither `true` nor `false`, or there twice.
pub(super) fn take(parts: &mut Parts, operation: &Operation) -> Result<bool, Fault> {
    let query = parts.uri.query().unwrap_or_default();
    let is_ours = |pair: &str| {
        extract::parse::<Vec<(String, String)>>(&[pair])
            .is_ok_and(|pairs| pairs.iter().any(|(name, _)| name == PARAMETER))
    };
    let (ours, others): (Vec<&str>, Vec<&str>) = query.split('&').partition(|pair| is_ours(pair));
    let wanted = match ours.as_slice() {
        [] => return Ok(false),
        _ if !operation.has_dry_run => {
            return Err(Fault::malformed(format!("{} has no dry run", operation.name)));
        }
        ["dry_run=true"] => true,
        ["dry_run=false"] => false,
        _ => return Err(Fault::malformed("dry_run is true or false".to_owned())),
    };
    let mut path = parts.uri.path().to_owned();
    if others.iter().any(|pair| !pair.is_empty()) {
        path = format!("{path}?{}", others.join("&"));
    }
    let malformed = |error: axum::http::Error| Fault::malformed(error.to_string());
    parts.uri = Uri::builder().path_and_query(path).build().map_err(malformed)?;
    parts.extensions.insert(DryRun(wanted));
    Ok(wanted)
}

/// Answers what a change of the array would do.
pub(super) async fn answer<R: Rehearsed>(array: &ArrayHandle, request: R) -> Result<Response, Fault> {
    Ok(Json(convert::effect(array.call(control::DryRun(request)).await?)).into_response())
}

/// Answers what a change of one object would do, if the condition holds. `present`: as in
/// [`revision`](super::revision).
pub(super) async fn answer_if<R: Rehearsed + Target, P: Read, T: Serialize>(
    array: &ArrayHandle,
    condition: IfMatch,
    request: R,
    present: P,
    convert: impl Fn(P::Reply) -> T,
) -> Result<Response, Fault> {
    let tags = condition.into_tags();
    match array.call(Guarded { request: control::DryRun(request), tags }).await {
        Ok((effect, _)) => Ok(Json(convert::effect(effect)).into_response()),
        Err(error) => Err(with_present(array, error, present, convert).await),
    }
}

/// Answers what a change of the management plane would do. `planned`: what breaks, and warnings; or the refusal of
/// the change, which is a part of the answer if it depends on the state.
pub(super) fn planned(planned: Result<(Vec<Broken>, Vec<Warning>), Fault>) -> Result<Response, Fault> {
    let effect = match planned {
        Ok((breaks, warnings)) => Effect { allowed: true, breaks, warnings, ..Effect::default() },
        Err(fault) => {
            let problem = fault.problem();
            if problem.status != StatusCode::CONFLICT.as_u16() {
                return Err(fault);
            }
            Effect { problem: Some(problem), ..Effect::default() }
        }
    };
    Ok(Json(effect).into_response())
}
