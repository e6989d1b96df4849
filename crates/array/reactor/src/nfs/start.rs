//! Begin of a run of the NFS server: its number, its key, and the clients that may reclaim.

use crate::{NfsConfiguration, ServeError, VERSION};
use bytes::Bytes;
use control::{ControlError, Loaded, NfsClientRecord, PoolRefusal};
use nfs::v4::Time;
use nfs::v4::session::ImplementationId;
use nfs_server::handle::HandleKey;
use nfs_state::{Config, Identity, Limits, Record, State};
use std::time::Duration;

/// What a server starts with.
pub(crate) struct Start {
    pub handle_key: HandleKey,
    /// State of clients of NFSv4; absent if that is not served.
    pub state: Option<State>,
    pub v3: bool,
    pub portmap: bool,
}

/// Begins a run, durably. `None` if NFS is not configured, or the pool has no space for the number of the run: then
/// stateids of an earlier run could be taken for those of this one.
pub(crate) async fn begin(loaded: &Loaded, configuration: &NfsConfiguration) -> Result<Option<Start>, ServeError> {
    if configuration.listen.is_empty() {
        return Ok(None);
    }
    let run = match loaded.begin_nfs_run(configuration.lease).await {
        Ok(run) => run,
        Err(error @ ControlError::Pool(PoolRefusal::NoSpace { .. } | PoolRefusal::BelowFull)) => {
            tracing::error!(%error, "NFS is not served: make space in the pool, and restart");
            return Ok(None);
        }
        Err(error) => return Err(ServeError::Failed(anyhow::Error::new(error))),
    };
    // On all addresses, and in all runs: a client that finds another owner takes it for another server.
    let name = Bytes::from(loaded.shared_directory().borrow().array().id.to_string());
    let implementation = ImplementationId {
        domain: "windlass.org".into(),
        name: "Windlass".into(),
        // Builds of one version are alike, whenever they are made.
        date: Time { seconds: 0, nanoseconds: 0 },
    };
    let config = Config {
        lease: configuration.lease,
        limits: Limits {
            clients: configuration.max_clients,
            cached_replies_bytes: configuration.replay_memory_bytes,
            ..Limits::default()
        },
        ..Config::new(
            run.boot,
            Identity { server_owner: name.clone(), scope: name, implementation: Some(implementation) },
        )
    };
    let record = |NfsClientRecord { owner, boot, denies }| Record { owner, boot, denies };
    let records = run.clients.into_iter().map(record).collect();
    let state = State::new(config, records, run.previous_lease, Duration::ZERO)
        .map_err(|error| ServeError::Configuration(format!("[nfs] {error}")))?;
    tracing::info!(run = run.boot, version = VERSION, "NFS server started");
    Ok(Some(Start {
        handle_key: HandleKey::new(run.handle_key),
        state: configuration.versions.v4.then_some(state),
        v3: configuration.versions.v3,
        portmap: configuration.portmap,
    }))
}
