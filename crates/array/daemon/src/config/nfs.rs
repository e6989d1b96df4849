//! Section `[nfs]`: the NFS server, which a listen address starts.

use super::file::Nfs;
use super::wrong;
use nfs_state::{MAX_LEASE, MIN_LEASE};
use reactor::{NfsConfiguration, NfsVersions, ServeError};
use std::net::SocketAddr;
use std::time::Duration;

/// Largest number of clients of NFSv4, which their ids have room for.
const MAX_CLIENTS: u32 = 1 << 16;
/// Memory of kept replies: at least and at most.
const REPLAY_BYTES: std::ops::RangeInclusive<u64> = 1 << 20..=1 << 30;

/// Merges options over the section over the built-in values.
pub(super) fn merge(listen: &[SocketAddr], section: Nfs) -> Result<NfsConfiguration, ServeError> {
    let listen = match (listen.is_empty(), section.listen) {
        (false, _) => listen.to_vec(),
        (true, listen) => listen.unwrap_or_default().into_iter().map(|address| address.0).collect(),
    };
    let built_in = NfsConfiguration::default();
    let configuration = NfsConfiguration {
        listen,
        versions: section.versions.map_or(Ok(built_in.versions), |names| versions(&names))?,
        portmap: section.portmap.unwrap_or(built_in.portmap),
        lease: section.lease_seconds.map_or(built_in.lease, Duration::from_secs),
        max_clients: section.max_clients.unwrap_or(built_in.max_clients),
        replay_memory_bytes: section.replay_memory.map_or(built_in.replay_memory_bytes, |size| size.0),
    };
    check(&configuration)?;
    Ok(configuration)
}

fn check(configuration: &NfsConfiguration) -> Result<(), ServeError> {
    if !(MIN_LEASE..=MAX_LEASE).contains(&configuration.lease) {
        let (given, [least, most]) =
            (configuration.lease.as_secs(), [MIN_LEASE, MAX_LEASE].map(|lease| lease.as_secs()));
        return Err(wrong(format!("[nfs] lease_seconds = {given}: a lease has {least} to {most} seconds")));
    }
    if !(1..=MAX_CLIENTS).contains(&configuration.max_clients) {
        return Err(wrong(format!("[nfs] max_clients = {}: 1 to {MAX_CLIENTS}", configuration.max_clients)));
    }
    if !REPLAY_BYTES.contains(&configuration.replay_memory_bytes) {
        let [least, most] = [*REPLAY_BYTES.start(), *REPLAY_BYTES.end()].map(api::size::format);
        return Err(wrong(format!("[nfs] replay_memory: {least} to {most}")));
    }
    Ok(())
}

/// Returns the configuration as a section; `None` if NFS is not served.
pub(super) fn to_section(configuration: &NfsConfiguration) -> Option<Nfs> {
    let named = |served: bool, names: &[&str]| names.iter().filter(|_| served).map(|name| (*name).to_owned()).collect();
    let [v3, v4]: [Vec<String>; 2] =
        [named(configuration.versions.v3, &["3"]), named(configuration.versions.v4, &["4.1", "4.2"])];
    (!configuration.listen.is_empty()).then(|| Nfs {
        listen: Some(configuration.listen.iter().copied().map(super::file::PortalAddress).collect()),
        versions: Some([v3, v4].concat()),
        portmap: Some(configuration.portmap),
        lease_seconds: Some(configuration.lease.as_secs()),
        max_clients: Some(configuration.max_clients),
        replay_memory: Some(super::file::Size(configuration.replay_memory_bytes)),
    })
}

/// Reads names of versions. 4.1 and 4.2 are one server: a host chooses.
fn versions(names: &[String]) -> Result<NfsVersions, ServeError> {
    let has = |name| names.iter().any(|given| given == name);
    if let Some(other) = names.iter().find(|name| !["3", "4.1", "4.2"].contains(&name.as_str())) {
        return Err(wrong(format!("[nfs] versions: {other:?} is none of \"3\", \"4.1\" and \"4.2\"")));
    }
    if has("4.1") != has("4.2") {
        return Err(wrong("[nfs] versions: \"4.1\" and \"4.2\" are served together or not at all".to_owned()));
    }
    match (has("3"), has("4.2")) {
        (false, false) => Err(wrong("[nfs] versions is empty: name \"3\", or \"4.1\" and \"4.2\"".to_owned())),
        (v3, v4) => Ok(NfsVersions { v3, v4 }),
    }
}
