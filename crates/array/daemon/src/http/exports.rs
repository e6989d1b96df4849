//! `/api/v1/exports` and `/api/v1/shares/{share}/exports`.

use crate::http::answer::listing;
use crate::http::dry_run::{self, DryRun};
use crate::http::extract::{Body, Path, made};
use crate::http::problem::Fault;
use crate::http::{answer, convert};
use api::{ANY_HOST, Export, ExportFilter, ExportGrant, NoFilter};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use control::ExportGrantee;
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(list_of, grant, revoke_all)).routes(routes!(revoke))
}

listing! {
    /// Lists the export rules of all shares, by share, the most exact first. Sort keys: `share`, `host`.
    "export_list" list, "/api/v1/exports", "access", ExportFilter => wanted, Export, convert::export
}

fn wanted(ExportFilter { share, host }: ExportFilter) -> Result<control::ExportList, Fault> {
    Ok(control::ExportList { share, grantee: host.map(grantee).transpose()? })
}

listing! {
    /// Lists the export rules of one share, the most exact first. Sort keys: `share`, `host`.
    "share_exports" list_of, "/api/v1/shares/{share}/exports" of "share", "access", NoFilter => own, Export,
    convert::export
}

fn own(share: String, _: NoFilter) -> Result<control::ExportList, Fault> {
    Ok(control::ExportList { share: Some(share), grantee: None })
}

/// Grants a host, the hosts of a group or network, or any host access to a share. It replaces the
/// rule about the same hosts.
#[utoipa::path(
    post,
    path = "/api/v1/shares/{share}/exports",
    operation_id = "export_grant",
    tag = "access",
    params(("share" = String, Path, description = "Name or id")),
    request_body = ExportGrant,
    responses(
        (status = 201, description = "Granted or changed", body = Export),
        (status = 200, description = "It was granted already", body = Export)
    )
)]
pub(super) async fn grant(
    State(array): State<ArrayHandle>,
    DryRun(is_dry): DryRun,
    Path(share): Path<String>,
    Body(body): Body<ExportGrant>,
) -> Result<Response, Fault> {
    let grantee = match (body.host, body.group, body.network, body.any) {
        (Some(host), None, None, false) => ExportGrantee::Host(host),
        (None, Some(group), None, false) => ExportGrantee::Group(group),
        (None, None, Some(network), false) => self::network(&network)?,
        (None, None, None, true) => ExportGrantee::Any,
        _ => return Err(invalid("exactly one of host, group, network and any is needed".to_owned())),
    };
    let anonymous = match (body.anonymous_uid, body.anonymous_gid) {
        (Some(uid), Some(gid)) => Some((uid, gid)),
        (None, None) => None,
        _ => return Err(invalid("anonymous_uid and anonymous_gid are given together".to_owned())),
    };
    let request = control::ExportGrant {
        share,
        grantee,
        read_only: body.read_only,
        squash: body.squash.map(convert::wanted_squash),
        anonymous,
        privileged_port: body.privileged_port,
    };
    if is_dry {
        return dry_run::answer(&array, request).await;
    }
    let outcome = array.call(request).await?;
    let export = convert::export(outcome.view);
    let location = format!("/api/v1/shares/{}/exports/{}", export.share, export.host.replace('/', "%2F"));
    Ok(made(outcome.changed, &location, export))
}

/// Revokes every export rule of a share.
#[utoipa::path(
    delete,
    path = "/api/v1/shares/{share}/exports",
    operation_id = "export_revoke_all",
    tag = "access",
    params(("share" = String, Path, description = "Name or id")),
    responses((status = 204, description = "Revoked"))
)]
pub(super) async fn revoke_all(
    State(array): State<ArrayHandle>,
    dry_run: DryRun,
    Path(share): Path<String>,
) -> Result<Response, Fault> {
    answer::without_body(&array, dry_run, control::ExportRevoke { share, grantee: None }).await
}

/// Revokes one export rule.
#[utoipa::path(
    delete,
    path = "/api/v1/shares/{share}/exports/{host}",
    operation_id = "export_revoke",
    tag = "access",
    params(
        ("share" = String, Path, description = "Name or id"),
        ("host" = String, Path, description = "Name or id, `group:NAME`, `ADDRESS/PREFIX` or `any`")
    ),
    responses((status = 204, description = "Revoked"))
)]
pub(super) async fn revoke(
    State(array): State<ArrayHandle>,
    dry_run: DryRun,
    Path((share, host)): Path<(String, String)>,
) -> Result<Response, Fault> {
    answer::without_body(&array, dry_run, control::ExportRevoke { share, grantee: Some(grantee(host)?) }).await
}

/// Parses a host's name, `group:NAME`, a network, or the word for any host.
fn grantee(word: String) -> Result<ExportGrantee, Fault> {
    Ok(match word.strip_prefix("group:") {
        Some(group) => ExportGrantee::Group(group.to_owned()),
        None if word == ANY_HOST => ExportGrantee::Any,
        None if word.contains('/') => network(&word)?,
        None => ExportGrantee::Host(word),
    })
}

fn network(text: &str) -> Result<ExportGrantee, Fault> {
    let parsed = text.parse().map(ExportGrantee::Network);
    parsed.map_err(|error: control::NetworkError| invalid(format!("{text:?} is not a network: {error}")))
}

fn invalid(detail: String) -> Fault {
    Fault::InvalidRequest { status: StatusCode::UNPROCESSABLE_ENTITY, detail }
}
