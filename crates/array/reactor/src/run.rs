//! The reactor's thread: opens the pool, serves until it is told to stop, closes the pool.

use crate::array::Array;
use crate::configuration::ReactorConfiguration;
use crate::iscsi::isns;
use crate::iscsi::listener::{accept, listen};
use crate::setup::ArraySetup;
use crate::starter::{ReactorChannels, Ready};
use crate::threads::Threads;
use crate::{NfsConfiguration, ServeError, SystemEnvironment, nfs, store, threads};
use anyhow::Context;
use std::rc::Rc;
use std::time::Duration;

/// Runs the array's reactor on this thread; a [`ReactorStarter`](crate::ReactorStarter).
///
/// Unit tests do without it, as the whole engine is compiled for it once more.
#[cfg(not(test))]
pub fn run(configuration: ReactorConfiguration, channels: ReactorChannels) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start tokio")?;
    // Unknown words are reported before the first initiator connects.
    logical_unit_profile()?;
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, serve(configuration, channels))
}

async fn serve(configuration: ReactorConfiguration, channels: ReactorChannels) -> Result<(), ServeError> {
    let ReactorChannels { requests, ready, mut shutdown } = channels;
    // Portals open before the pool is created or its log replayed: a port in use is reported at
    // once, and initiators wait instead of being refused.
    let (listeners, portals) = listen(&configuration)?;
    let (nfs_listeners, nfs) = nfs::listener::listen(&configuration.nfs.listen)?;
    let pool = store::open(&configuration)?;
    let setup = ArraySetup {
        array: configuration.array.clone(),
        memory_bytes: configuration.memory_bytes,
        portals: portals.clone(),
        advertise_configured: !configuration.advertise.is_empty(),
        explicit_asymmetric_access: configuration.explicit_asymmetric_access,
        abort_of_finished_task: configuration.abort_of_finished_task,
        profile: logical_unit_profile()?,
        nfs: NfsConfiguration { listen: nfs.clone(), ..configuration.nfs.clone() },
    };
    let measurements = requests.measurements();
    let array = Array::open(pool, setup, Rc::new(SystemEnvironment), &measurements).await?;
    let threads = Threads::start(array.iscsi(), configuration.threads, &measurements)?;
    let place = threads::place(array.iscsi().clone(), configuration.placement, measurements);
    let placing = tokio::task::spawn_local(place);
    let answering = tokio::task::spawn_local(crate::answer(array.control.clone(), requests));
    let mut accepting: Vec<_> = listeners
        .into_iter()
        .enumerate()
        .map(|(index, listener)| tokio::task::spawn_local(accept(array.iscsi().clone(), listener, index)))
        .collect();
    let mut serves_nfs = Vec::new();
    if let Some(frontend) = array.nfs() {
        let accept = |listener| tokio::task::spawn_local(Rc::clone(frontend).accept(listener));
        accepting.extend(nfs_listeners.into_iter().map(accept));
        serves_nfs = nfs;
    }
    let target = array.control.directory().target().to_owned();
    let registrar = isns::Registrar::start(&configuration.isns, &array.iscsi().registration);
    let _manager_gone = ready.send(Ready { portals, nfs: serves_nfs, target });

    // A stop request and a closed channel both mean stop.
    let _stop = (&mut shutdown).await;
    for task in &accepting {
        task.abort();
    }
    // Requests end beside the calls of hosts, so that no wait adds to another one.
    let answered = tokio::time::timeout(Duration::from_secs(10), answering);
    let _finished = tokio::join!(registrar.stop(), array.shut_down_frontends(), answered);
    placing.abort();
    let closed = array.close().await;
    threads.ended().await;
    closed
}

/// Presentation of logical units, from the variable `WINDLASS_SCSI_PROFILE`: words such as
/// `removable` and `512e`, see [`scsi_target::Profile`]. The default suits hosts; conformance
/// suites also test the alternatives.
fn logical_unit_profile() -> Result<scsi_target::Profile, ServeError> {
    const VARIABLE: &str = "WINDLASS_SCSI_PROFILE";
    let words = std::env::var_os(VARIABLE).unwrap_or_default();
    let wrong = |reason: String| ServeError::Configuration(format!("{VARIABLE}: {reason}"));
    let words = words.to_str().ok_or_else(|| wrong("not UTF-8".into()))?;
    words.parse().map_err(|error: scsi_target::UnknownWord| wrong(error.to_string()))
}
