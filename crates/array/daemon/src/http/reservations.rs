//! `/api/v1/reservations` and `/api/v1/volumes/{volume}/reservations`.

use crate::http::extract::{Path, Query};
use crate::http::problem::Fault;
use crate::http::{answer, convert};
use api::{List, PageQuery, Registration, ReservationQuery, Reservations};
use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use control::{ReservationList, ReservationShow};
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(of_volume))
}

/// Lists all registrations of initiators with volumes, and all reservations; by volume and
/// initiator.
#[utoipa::path(
    get,
    path = "/api/v1/reservations",
    tag = "reservations",
    params(ReservationQuery),
    responses((status = 200, body = List<Registration>))
)]
pub(super) async fn list(
    State(array): State<ArrayHandle>,
    Query(ReservationQuery { volume, limit, after }): Query<ReservationQuery>,
    uri: Uri,
) -> Result<Json<List<Registration>>, Fault> {
    answer::page(&array, ReservationList { volume }, PageQuery { limit, after }, &uri, convert::reservation).await
}

/// Returns registrations and reservation of one volume.
#[utoipa::path(
    get,
    path = "/api/v1/volumes/{volume}/reservations",
    tag = "reservations",
    params(("volume" = String, Path, description = "Name or id")),
    responses((status = 200, body = Reservations))
)]
pub(super) async fn of_volume(
    State(array): State<ArrayHandle>,
    Path(volume): Path<String>,
) -> Result<Json<Reservations>, Fault> {
    answer::show(&array, ReservationShow { volume }, convert::reservations).await
}
