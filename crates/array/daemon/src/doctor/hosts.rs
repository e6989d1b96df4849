//! Hosts: the ways to the array, and who may use it.

use super::{Evidence, Finding, count, names, warning};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

pub(super) fn portals(evidence: &Evidence) -> Result<String, Finding> {
    let portals = &evidence.status.portals;
    let is = |address: &str, kind: fn(&IpAddr) -> bool| {
        address.parse::<SocketAddr>().is_ok_and(|address| kind(&address.ip()))
    };
    if portals.iter().any(|portal| is(&portal.listen, IpAddr::is_unspecified)) {
        return Ok("hosts can use any address of this machine".to_owned());
    }
    if !portals.is_empty() && portals.iter().all(|portal| is(&portal.listen, IpAddr::is_loopback)) {
        return Err(warning(
            "all portals are on this machine alone (loopback): no other host can reach them",
            "[iscsi] listen in the configuration, with an address of this machine; then restart the array",
        ));
    }
    if portals.len() == 1 {
        return Err(warning(
            "there is one portal: hosts have a single path",
            "[iscsi] listen in the configuration, with a second address in another network; then restart the array",
        ));
    }
    Ok(format!("hosts can use {}", count(portals.len(), "portal")))
}

pub(super) fn paths(evidence: &Evidence) -> Result<String, Finding> {
    let portals = evidence.status.portals.len();
    let mut used: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for session in &evidence.sessions {
        if let Some(host) = &session.host {
            used.entry(host).or_default().insert(&session.portal);
        }
    }
    let single: Vec<_> = used.iter().filter(|(_, portals)| portals.len() == 1).map(|(host, _)| *host).collect();
    match portals > 1 && !single.is_empty() {
        true => Err(warning(
            format!("over a single portal: {}", names(single.iter().copied())),
            "let the host discover the other portals, and log in to all; it needs multipath then",
        )),
        false => Ok(format!("{} logged in", count(used.len(), "host"))),
    }
}

pub(super) fn strangers(evidence: &Evidence) -> Result<String, Finding> {
    let unknown = evidence.sessions.iter().filter(|session| session.host.is_none());
    let unknown: BTreeSet<_> = unknown.map(|session| session.initiator.as_str()).collect();
    match unknown.first() {
        Some(first) => Err(warning(
            format!("logged in, and no host of the array: {}", names(unknown.iter().copied())),
            format!("windlass host create NAME --iqn {first}"),
        )),
        None => Ok("every session is of a host that the array knows".to_owned()),
    }
}

pub(super) fn open_access(evidence: &Evidence) -> Result<String, Finding> {
    let open: BTreeSet<_> =
        evidence.grants.iter().filter(|grant| grant.host == api::ANY_HOST).map(|grant| grant.volume.as_str()).collect();
    match open.first() {
        Some(first) => Err(warning(
            format!("any host may use {}", names(open.iter().copied())),
            format!("windlass access grant {first} --host HOST, windlass access revoke {first} --any"),
        )),
        None => Ok("every volume is granted to known hosts alone".to_owned()),
    }
}

pub(super) fn unused(evidence: &Evidence) -> Result<String, Finding> {
    let unused =
        evidence.hosts.iter().filter(|host| !host.luns.is_empty() && host.sessions == 0 && !host.iqns.is_empty());
    let unused: Vec<_> = unused.map(|host| host.name.as_str()).collect();
    match unused.first() {
        Some(first) => Err(warning(
            format!("with access, and not logged in: {}", names(unused.iter().copied())),
            format!("windlass connect linux {first} VOLUME  says what to enter there; or delete the host"),
        )),
        None => Ok(format!("{}, and each with access is logged in", count(evidence.hosts.len(), "host"))),
    }
}
