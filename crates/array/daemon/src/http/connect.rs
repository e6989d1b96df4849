//! `/api/v1/connect` and `/api/v1/logins`.

use crate::http::answer::{self, listing};
use crate::http::convert;
use crate::http::extract::Query;
use crate::http::problem::Fault;
use api::{
    ConnectFacts, ConnectPlan, ConnectQuery, ConnectState, ConnectStateQuery, ConnectSystem, List, Login, LoginFilter,
    NfsVersion,
};
use axum::Json;
use axum::extract::State;
use connect::{Chap, Directory, Server, ShareAddress, ShareFacts, ShareRule, System};
use control::LoginList;
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(systems)).routes(routes!(plan)).routes(routes!(state)).routes(routes!(logins))
}

/// Lists the systems of hosts for which there are plans.
#[utoipa::path(
    get,
    path = "/api/v1/connect/systems",
    operation_id = "connect_systems",
    tag = "connect",
    responses((status = 200, body = List<ConnectSystem>))
)]
pub(super) async fn systems() -> Json<List<ConnectSystem>> {
    let fields = |system: System| match system {
        System::Esxi => vec!["adapter".to_owned()],
        system if system.uses_shares() => vec!["address".to_owned(), "directory".to_owned()],
        _ => Vec::new(),
    };
    let shown = |system: System| ConnectSystem {
        system: system.name().to_owned(),
        title: system.title().to_owned(),
        versions: system.versions().to_owned(),
        shares: system.uses_shares(),
        fields: fields(system),
    };
    Json(List::whole(System::ALL.into_iter().map(shown).collect()))
}

/// Returns what an administrator enters on a host so that it uses a volume or share, with the commands that undo it.
/// Changes nothing. Placeholders stand for secrets.
#[utoipa::path(
    get,
    path = "/api/v1/connect/plan",
    operation_id = "connect_plan",
    tag = "connect",
    params(ConnectQuery),
    responses((status = 200, body = ConnectPlan))
)]
pub(super) async fn plan(
    State(array): State<ArrayHandle>,
    Query(query): Query<ConnectQuery>,
) -> Result<Json<ConnectPlan>, Fault> {
    let Some(system) = System::named(&query.system) else {
        let names = System::ALL.map(System::name).join(", ");
        return Err(Fault::malformed(format!(
            "there are no plans for system {:?}: it is one of {names}",
            query.system
        )));
    };
    match (&query.volume, &query.share) {
        (Some(volume), None) => of_volume(&array, system, volume.clone(), &query).await,
        (None, Some(share)) => of_share(&array, system, share.clone(), &query).await,
        _ => Err(Fault::malformed("either volume or share is needed".to_owned())),
    }
}

async fn of_volume(
    array: &ArrayHandle,
    system: System,
    volume: String,
    query: &ConnectQuery,
) -> Result<Json<ConnectPlan>, Fault> {
    if query.address.is_some() || query.directory.is_some() {
        return Err(Fault::malformed("address and directory are for shares".to_owned()));
    }
    if query.adapter.is_some() && system != System::Esxi {
        return Err(Fault::malformed("adapter is for system esxi".to_owned()));
    }
    let found = array.read(control::ConnectFactsShow { host: query.host.clone(), volume }).await?;
    let shown = ConnectFacts {
        target: Some(found.target.clone()),
        portals: found.portals.clone(),
        lun: found.lun,
        naa: Some(found.naa.clone()),
        chap_user: found.chap.as_ref().map(|(user, _)| user.clone()),
    };
    let facts = connect::Facts {
        host: found.host,
        initiators: found.initiators,
        chap: found.chap.map(|(user, mutual_user)| Chap { user, mutual_user }),
        volume: found.volume,
        naa: found.naa,
        size_bytes: found.size_bytes,
        lun: found.lun,
        other_volumes: found.other_volumes,
        target: found.target,
        portals: found.portals,
        adapter: query.adapter.clone(),
    };
    Ok(Json(convert::plan(system, shown, connect::of_volume(system, &facts))))
}

async fn of_share(
    array: &ArrayHandle,
    system: System,
    share: String,
    query: &ConnectQuery,
) -> Result<Json<ConnectPlan>, Fault> {
    if !system.uses_shares() {
        return Err(Fault::malformed(format!("there are no plans with which {} uses a share", system.title())));
    }
    if query.adapter.is_some() {
        return Err(Fault::malformed("adapter is for system esxi".to_owned()));
    }
    let check = control::ExportCheck { share: share.clone(), host: query.host.clone() };
    let access = convert::share_host(array.call(check).await?);
    let share = convert::share(array.read(control::ShareShow { share }).await?);
    let no_server = || Fault::malformed("the array serves no files; address names its NFS server".to_owned());
    let address = query.address.as_deref().or(share.portals.first().map(String::as_str)).ok_or_else(no_server)?;
    let server = Server::parse(address).map_err(|error| Fault::malformed(error.to_string()))?;
    let directory = query.directory.clone().unwrap_or_else(|| format!("/mnt/{}", share.name));
    let facts = ShareFacts {
        v4: share.protocols.contains(&NfsVersion::V4),
        addresses: access.addresses.into_iter().map(share_address).collect(),
        directory: Directory::parse(&directory).map_err(|error| Fault::malformed(error.to_string()))?,
        share: share.name,
        path: share.path,
        host: access.host,
    };
    Ok(Json(convert::plan(system, ConnectFacts::default(), connect::of_share(&facts, &server))))
}

fn share_address(api::ShareHostAddress { address, rule }: api::ShareHostAddress) -> ShareAddress {
    let squash = |squash: api::Squash| match squash {
        api::Squash::None => "none",
        api::Squash::Root => "root",
        api::Squash::All => "all",
    };
    let of_rule =
        |rule: api::Export| ShareRule { read_only: rule.read_only, squash: squash(rule.squash), host: rule.host };
    ShareAddress { address: address.to_string(), rule: rule.map(of_rule) }
}

/// Returns how far a host is in using a volume: its logins, paths, what it has asked about and used, and what is
/// missing. Nothing is needed from the host, and the state is at most a second old.
#[utoipa::path(
    get,
    path = "/api/v1/connect/state",
    operation_id = "connect_state",
    tag = "connect",
    params(ConnectStateQuery),
    responses((status = 200, body = ConnectState))
)]
pub(super) async fn state(
    State(array): State<ArrayHandle>,
    Query(ConnectStateQuery { host, volume }): Query<ConnectStateQuery>,
) -> Result<Json<ConnectState>, Fault> {
    answer::show(&array, control::ConnectShow { host, volume }, convert::connect_state).await
}

listing! {
    /// Lists login attempts of initiators, accepted and refused, newest first. Equal ones are one row with a count; the
    /// array keeps the last 1 024 rows, and names without a host do not evict those of hosts. Sort keys: `time`,
    /// `initiator`, `host`, `from`, `count`.
    "login_list" logins, "/api/v1/logins", "sessions", LoginFilter => wanted, Login, convert::login
}

fn wanted(filter: LoginFilter) -> Result<LoginList, Fault> {
    let LoginFilter { host, outcome, refused, since } = filter;
    Ok(LoginList {
        host,
        outcome: outcome.map(convert::wanted_login_outcome),
        since,
        refused: refused.unwrap_or(false),
    })
}
