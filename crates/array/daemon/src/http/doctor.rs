//! `/api/v1/doctor`: what an administrator should mend.

use crate::doctor::{Evidence, Machine, Places, examine};
use crate::http::problem::Fault;
use crate::http::{channels, convert, people};
use crate::notices::Desk;
use crate::people::Gate;
use api::{Examined, List};
use axum::extract::State;
use axum::{Extension, Json};
use control::ControlError;
use jiff::Timestamp;
use reactor::ArrayHandle;
use std::sync::Arc;
use tokio::sync::Semaphore;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(list))
}

/// Place for one examination at a time on the array: each looks at everything.
#[derive(Clone)]
pub(super) struct Examinations(Arc<Semaphore>);

impl Default for Examinations {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

/// Examines the array and its machine: what is as it should be, and what should be mended. It changes nothing.
#[utoipa::path(
    get,
    path = "/api/v1/doctor",
    operation_id = "doctor_list",
    tag = "system",
    responses((status = 200, body = List<Examined>))
)]
pub(super) async fn list(
    State(array): State<ArrayHandle>,
    Extension(Examinations(places)): Extension<Examinations>,
    Extension(gate): Extension<Arc<Gate>>,
    Extension(desk): Extension<Arc<Desk>>,
    Extension(of_machine): Extension<Arc<Places>>,
) -> Result<Json<List<Examined>>, Fault> {
    let _place = places.acquire().await;
    let looking = tokio::task::spawn_blocking(move || Machine::look(&of_machine));
    let evidence = Evidence {
        now: Timestamp::now(),
        status: convert::status(array.read(control::StatusShow).await?),
        hosts: all(&array, control::HostList { group: None, has: None }, convert::host).await?,
        sessions: all(&array, control::SessionList { host: None, portal: None }, convert::session).await?,
        grants: all(&array, control::AccessList { volume: None, grantee: None }, convert::access).await?,
        exports: all(&array, control::ExportList { share: None, grantee: None }, convert::export).await?,
        schedules: all(&array, control::ScheduleList, convert::schedule).await?,
        users: gate.see(|people| people.users().into_iter().map(people::account).collect()),
        tokens: gate.see(|people| people.tokens().into_iter().map(people::token).collect()),
        channels: desk
            .see(|notices| notices.channels().iter().map(|record| channels::shown(notices, record)).collect()),
        machine: looking.await.map_err(|error| ControlError::Damaged { reason: error.to_string() })?,
    };
    Ok(Json(List::whole(examine(&evidence))))
}

/// All objects of a list.
async fn all<R: control::Read<Reply = Vec<V>>, V, T>(
    array: &ArrayHandle,
    list: R,
    convert: impl Fn(V) -> T,
) -> Result<Vec<T>, Fault> {
    Ok(array.read(list).await?.into_iter().map(convert).collect())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

    use crate::http::peer::Peer;
    use crate::http::{Surroundings, guarded};
    use crate::memory::{TemporaryDirectory, spawn};
    use axum::Extension;
    use axum::body::Body;
    use axum::http::Request;
    use std::sync::Arc;
    use std::time::Duration;
    use tower::ServiceExt;

    /// Each listener had a place of its own.
    #[tokio::test]
    async fn one_examination_goes_on_whatever_its_listener() {
        let directory = TemporaryDirectory::new();
        let (surroundings, array) = (Surroundings::of(directory.path(), false), spawn(|_, _, _| {}));
        let place = surroundings.examinations.0.acquire().await.unwrap();
        let ask = || {
            let app = guarded(array.clone(), Arc::default(), surroundings.clone(), None);
            let request = Request::builder().uri("/api/v1/doctor").body(Body::empty()).unwrap();
            app.layer(Extension(Peer::Local { uid: 0 })).oneshot(request)
        };
        for _listener in 0..2 {
            assert!(tokio::time::timeout(Duration::from_millis(50), ask()).await.is_err());
        }
        drop(place);
        assert_eq!(ask().await.unwrap().status(), 200);
    }
}
