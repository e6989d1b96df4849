//! Nouns that are only listed: `/api/v1/alerts`. Each has its row here, and no file of its own
//! before it has another operation.

use crate::http::answer::listing;
use crate::http::convert;
use api::Alert;
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(alerts))
}

listing! {
    /// Lists the conditions that need attention now, most severe first. Sort keys: `severity`, `code`, `subject`,
    /// `since`.
    "alert_list" alerts, "/api/v1/alerts", "events", NoFilter => |_| Ok(control::AlertList), Alert, convert::alert
}
