//! `/api/v1/reservations` and `/api/v1/volumes/{volume}/reservations`.

use crate::http::answer::listing;
use crate::http::dry_run::DryRun;
use crate::http::extract::Path;
use crate::http::problem::Fault;
use crate::http::{answer, convert};
use api::{Registration, ReservationFilter, Reservations};
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use control::{ReservationClear, ReservationList, ReservationShow};
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(of_volume, clear))
}

listing! {
    /// Lists all registrations of initiators with volumes, and all reservations; by volume and
    /// initiator. Sort keys: `volume`, `host`, `initiator`.
    "reservation_list" list, "/api/v1/reservations", "reservations", ReservationFilter => wanted, Registration,
    convert::reservation
}

fn wanted(ReservationFilter { volume }: ReservationFilter) -> Result<ReservationList, Fault> {
    Ok(ReservationList { volume })
}

/// Returns registrations and reservation of one volume.
#[utoipa::path(
    get,
    path = "/api/v1/volumes/{volume}/reservations",
    operation_id = "volume_reservations",
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

/// Removes the reservation of a volume and all registrations with it, such as those of hosts that are gone. Hosts
/// that share the volume lose what keeps them apart: only hosts that are stopped or fenced may have been registered.
#[utoipa::path(
    delete,
    path = "/api/v1/volumes/{volume}/reservations",
    operation_id = "reservation_clear",
    tag = "reservations",
    params(("volume" = String, Path, description = "Name or id")),
    responses((status = 204, description = "Cleared"))
)]
pub(super) async fn clear(
    State(array): State<ArrayHandle>,
    dry_run: DryRun,
    Path(volume): Path<String>,
) -> Result<Response, Fault> {
    answer::without_body(&array, dry_run, ReservationClear { volume }).await
}
