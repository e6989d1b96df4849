//! Tokens with a scope of volumes: whether a request is about their volumes alone.

use crate::http::MAX_BODY_BYTES;
use crate::http::extract::parse;
use crate::http::operations::{Operation, Volumes};
use crate::http::problem::{Fault, Refusal};
use axum::body::Body;
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use identity::Glob;
use reactor::ArrayHandle;
use serde_json::Value;

/// Fields of a body that name other objects than volumes.
const OTHERS: [&str; 1] = ["source_file"];

/// Checks that every volume that a request names is in the scope. Returns its body, which that may read.
pub(super) async fn check(
    scope: &Glob,
    operation: &Operation,
    array: &ArrayHandle,
    parts: &mut Parts,
    body: Body,
) -> Result<Body, Fault> {
    let outside = |detail: String| Err(Refusal::OutsideScope { detail }.into());
    let fields = match operation.volumes {
        Volumes::None | Volumes::Grants => return Ok(body),
        Volumes::Job => {
            let named = parameter(parts, &["job"]).await.unwrap_or_default();
            check_job(scope, &named, array).await?;
            return Ok(body);
        }
        Volumes::Others => return outside(format!("the token is for the volumes {scope} alone")),
        Volumes::Path(fields) => {
            match parameter(parts, &["snapshot"]).await {
                Some(snapshot) => check_snapshot(scope, &snapshot, array).await?,
                None => {
                    let volume = parameter(parts, &["volume"]).await.unwrap_or_default();
                    check_name(scope, &volume, array).await?;
                }
            }
            fields
        }
        Volumes::Query => {
            let named = form_values(parts.uri.query().unwrap_or_default(), "volume").next();
            let Some(volume) = named else {
                return outside(format!("the token is for the volumes {scope} alone: name one with volume="));
            };
            check_name(scope, &volume, array).await?;
            return Ok(body);
        }
        Volumes::Body(fields) => fields,
    };
    if fields.is_empty() {
        return Ok(body);
    }
    let too_large = |_| Fault::InvalidRequest {
        status: axum::http::StatusCode::PAYLOAD_TOO_LARGE,
        detail: format!("a body has at most {MAX_BODY_BYTES} bytes"),
    };
    let bytes = axum::body::to_bytes(body, MAX_BODY_BYTES).await.map_err(too_large)?;
    // A body that is not JSON names nothing; its handler refuses it.
    let content: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    if OTHERS.iter().any(|field| content.get(field).is_some_and(|value| !value.is_null())) {
        return outside(format!("the token is for the volumes {scope} alone"));
    }
    for name in fields.iter().filter_map(|field| content.get(field)).flat_map(texts) {
        check_name(scope, name, array).await?;
    }
    Ok(Body::from(bytes))
}

/// Text, or texts of a list.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(values) => values.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Checks a volume or snapshot, by name or id. One that does not exist has to have a name in the scope.
async fn check_name(scope: &Glob, named: &str, array: &ArrayHandle) -> Result<(), Fault> {
    match array.read(control::VolumeShow { volume: named.to_owned() }).await {
        Ok(view) => check_pattern(scope, &view.record.name, named),
        // Some operations of volumes are also for shares.
        Err(_not_found) => match array.read(control::ShareShow { share: named.to_owned() }).await {
            Ok(_share) => Err(outside(scope, named)),
            Err(_not_found) => check_snapshot(scope, named, array).await,
        },
    }
}

/// Checks a snapshot, by name or id. A volume may have the name of a snapshot of another one.
async fn check_snapshot(scope: &Glob, named: &str, array: &ArrayHandle) -> Result<(), Fault> {
    let volume = match array.read(control::SnapshotShow { snapshot: named.to_owned() }).await {
        Ok(view) if view.of_share => return Err(outside(scope, named)),
        Ok(view) => view.volume,
        Err(_not_found) => named.split('@').next().unwrap_or_default().to_owned(),
    };
    check_pattern(scope, &volume, named)
}

/// Checks the volume of a job. A part of an id could find the jobs of others.
async fn check_job(scope: &Glob, named: &str, array: &ArrayHandle) -> Result<(), Fault> {
    uuid::Uuid::try_parse(named).map_err(|_part| outside(scope, named))?;
    let job = array.read(control::JobShow { job: named.to_owned() }).await?;
    let volume =
        array.read(control::VolumeShow { volume: job.subject }).await.map_err(|_other| outside(scope, named))?;
    check_pattern(scope, &volume.record.name, named)
}

/// Checks the name of the volume that `named` stands for.
fn check_pattern(scope: &Glob, volume: &str, named: &str) -> Result<(), Fault> {
    if scope.matches(volume) { Ok(()) } else { Err(outside(scope, named)) }
}

fn outside(scope: &Glob, named: &str) -> Fault {
    Refusal::OutsideScope { detail: format!("the token is for the volumes {scope} alone, not for {named:?}") }.into()
}

/// First of these parameters of the path.
pub(super) async fn parameter(parts: &mut Parts, names: &[&str]) -> Option<String> {
    let parameters = RawPathParams::from_request_parts(parts, &()).await.ok()?;
    parameters.iter().find(|(name, _)| names.contains(name)).map(|(_, value)| value.to_owned())
}

/// Values of a parameter of a query string.
pub(super) fn form_values<'a>(query: &'a str, name: &'a str) -> impl Iterator<Item = String> + 'a {
    form_pairs(query).filter(move |(own, _)| own == name).map(|(_, value)| value)
}

/// Names and values of a query string, decoded. A pair that cannot be decoded is left out.
pub(super) fn form_pairs(query: &str) -> impl Iterator<Item = (String, String)> + '_ {
    query.split('&').filter_map(|pair| parse::<Vec<(String, String)>>(&[pair]).ok()).flatten()
}
