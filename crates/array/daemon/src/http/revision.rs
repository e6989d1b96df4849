//! Revisions of objects in HTTP: `ETag` and `If-Match` (RFC 9110 §8.8.3, §13.1.1).

use crate::http::convert;
use crate::http::problem::Fault;
use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use control::{ControlError, Deleted, Guarded, Read, Request, Tagged, Target};
use reactor::ArrayHandle;
use serde::Serialize;
use uuid::Uuid;

/// Condition of a change: the tags of the object that the client knows. Absent, or `*`: whatever
/// the object is.
pub(super) struct IfMatch(Option<Vec<String>>);

impl<S: Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Fault> {
        let mut tags = Vec::new();
        for value in parts.headers.get_all(header::IF_MATCH) {
            let malformed = || Fault::malformed("If-Match has quoted tags, separated by commas, or *".to_owned());
            for word in value.to_str().map_err(|_| malformed())?.split(',').map(str::trim) {
                if word == "*" {
                    return Ok(Self(None));
                }
                // A weak tag matches nothing here (RFC 9110 §8.8.3.2).
                let strong = word.strip_prefix("W/").is_none();
                let word = word.strip_prefix("W/").unwrap_or(word);
                let tag = word.strip_prefix('"').and_then(|word| word.strip_suffix('"')).ok_or_else(malformed)?;
                tags.push(if strong { tag.to_owned() } else { String::new() });
            }
        }
        let has_condition = parts.headers.contains_key(header::IF_MATCH);
        Ok(Self(has_condition.then_some(tags)))
    }
}

impl IfMatch {
    /// Tags of the condition; absent: whatever the object is.
    pub(super) fn into_tags(self) -> Option<Vec<String>> {
        self.0
    }

    /// Checks the condition for an object of the management plane. `present`: the object, with this id and tag.
    pub(super) fn check(&self, id: Uuid, tag: &str, present: &impl Serialize) -> Result<(), Fault> {
        if self.0.as_ref().is_none_or(|tags| tags.iter().any(|of| of == tag)) {
            return Ok(());
        }
        let error = Box::new(ControlError::ChangedMeanwhile { id });
        let present = Box::new(serde_json::to_value(present).unwrap_or_default());
        Err(Fault::Outdated { error, present })
    }
}

/// Reads one object, with its tag.
pub(super) async fn show<R: Read + Target, T: Serialize>(
    array: &ArrayHandle,
    request: R,
    convert: impl Fn(R::Reply) -> T,
) -> Result<Response, Fault> {
    let (view, tag) = array.read(Tagged(request)).await?;
    Ok(tagged(Json(convert(view)), Some(&tag)))
}

/// Changes one object if the condition holds. The answer has its new tag. `present`: read of the
/// object, which the refusal contains.
pub(super) async fn change<R: Request + Target, P: Read<Reply = R::Reply>, T: Serialize>(
    array: &ArrayHandle,
    IfMatch(tags): IfMatch,
    request: R,
    present: P,
    convert: impl Fn(R::Reply) -> T,
) -> Result<Response, Fault> {
    match array.call(Guarded { request, tags }).await {
        Ok((view, tag)) => Ok(tagged(Json(convert(view)), tag.as_ref())),
        Err(error) => Err(with_present(array, error, present, convert).await),
    }
}

/// Deletes one object if the condition holds.
pub(super) async fn delete<R: Request + Target, P: Read, T: Serialize>(
    array: &ArrayHandle,
    IfMatch(tags): IfMatch,
    request: R,
    present: P,
    convert: impl Fn(P::Reply) -> T,
) -> Result<Response, Fault> {
    match array.call(Guarded { request, tags }).await {
        Ok(_) => Ok(StatusCode::NO_CONTENT.into_response()),
        Err(error) => Err(with_present(array, error, present, convert).await),
    }
}

/// Deletes one object if the condition holds: to the trash, or for good.
pub(super) async fn discard<R: Request<Reply = Deleted> + Target, P: Read, T: Serialize>(
    array: &ArrayHandle,
    IfMatch(tags): IfMatch,
    request: R,
    present: P,
    convert: impl Fn(P::Reply) -> T,
) -> Result<Response, Fault> {
    match array.call(Guarded { request, tags }).await {
        Ok((Deleted { trashed: Some(view), .. }, _)) => Ok(Json(convert::trashed(view)).into_response()),
        Ok((Deleted { trashed: None, .. }, _)) => Ok(StatusCode::NO_CONTENT.into_response()),
        Err(error) => Err(with_present(array, error, present, convert).await),
    }
}

/// Adds the present object to the refusal of a change that expected another one.
pub(super) async fn with_present<P: Read, T: Serialize>(
    array: &ArrayHandle,
    error: ControlError,
    present: P,
    convert: impl Fn(P::Reply) -> T,
) -> Fault {
    if !matches!(error, ControlError::ChangedMeanwhile { .. }) {
        return error.into();
    }
    match array.read(present).await {
        Ok(view) => {
            let present = serde_json::to_value(convert(view)).unwrap_or_default();
            Fault::Outdated { error: Box::new(error), present: Box::new(present) }
        }
        // It was deleted since.
        Err(gone) => gone.into(),
    }
}

pub(super) fn tagged(body: impl IntoResponse, tag: Option<&String>) -> Response {
    let mut response = body.into_response();
    if let Some(tag) = tag.and_then(|tag| HeaderValue::from_str(&format!("\"{tag}\"")).ok()) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}
