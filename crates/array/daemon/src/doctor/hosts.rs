//! Hosts: the ways to the array, and who may use it.

use super::{Evidence, Finding, count, names, warning};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use text::terminal::word;

/// True if an address of a portal is of this kind.
fn is(address: &str, kind: fn(&IpAddr) -> bool) -> bool {
    address.parse::<SocketAddr>().is_ok_and(|address| kind(&address.ip()))
}

/// True if a portal takes connections at every address of the machine.
fn is_everywhere(evidence: &Evidence) -> bool {
    evidence.status.portals.iter().any(|portal| is(&portal.listen, IpAddr::is_unspecified))
}

pub(super) fn portals(evidence: &Evidence) -> Result<String, Finding> {
    let portals = &evidence.status.portals;
    if is_everywhere(evidence) {
        return Ok("hosts can use any address of this machine".to_owned());
    }
    if !portals.is_empty() && portals.iter().all(|portal| is(&portal.listen, IpAddr::is_loopback)) {
        return Err(warning(
            "all portals are on this machine alone (loopback): no other host can reach them",
            "[iscsi] listen in the configuration, with an address of this machine; then restart the array",
        ));
    }
    // An array that serves files alone has a portal that no host uses.
    if portals.len() == 1 && !evidence.grants.is_empty() {
        return Err(warning(
            "there is one portal: hosts have a single path",
            "[iscsi] listen in the configuration, with a second address in another network; then restart the array",
        ));
    }
    Ok(format!("hosts can use {}", count(portals.len(), "portal")))
}

pub(super) fn paths(evidence: &Evidence) -> Result<String, Finding> {
    // A host with several initiators is a cluster: each machine needs several portals.
    let mut used: BTreeMap<(&str, String), BTreeSet<&str>> = BTreeMap::new();
    for session in &evidence.sessions {
        if let Some(host) = &session.host {
            used.entry((host, session.initiator.to_ascii_lowercase())).or_default().insert(&session.portal);
        }
    }
    // Addresses that hosts can use: at a portal for every address, those that some host uses.
    let usable: BTreeSet<&str> = match is_everywhere(evidence) {
        true => used.values().flatten().copied().collect(),
        false => {
            let portals = evidence.status.portals.iter();
            let reached =
                portals.filter(|portal| portal.redirect.is_none() && !is(&portal.listen, IpAddr::is_loopback));
            reached.map(|portal| portal.listen.as_str()).collect()
        }
    };
    let of_host = |host: &str| used.keys().filter(|(other, _)| *other == host).count();
    let shown = |(host, initiator): &(&str, String)| match of_host(host) {
        1 => (*host).to_owned(),
        _ => format!("{host} ({initiator})"),
    };
    let single = used.iter().filter(|(_, portals)| portals.len() == 1);
    let single: Vec<String> = single.map(|(side, _)| shown(side)).collect();
    match usable.len() > 1 && !single.is_empty() {
        true => Err(warning(
            format!("over a single portal: {}", names(single.iter().map(String::as_str))),
            "let the host discover the other portals, and log in to all; it needs multipath then",
        )),
        false => {
            let hosts: BTreeSet<&str> = used.keys().map(|(host, _)| *host).collect();
            Ok(format!("{} logged in", count(hosts.len(), "host")))
        }
    }
}

pub(super) fn strangers(evidence: &Evidence) -> Result<String, Finding> {
    let unknown = evidence.sessions.iter().filter(|session| session.host.is_none());
    let unknown: BTreeSet<_> = unknown.map(|session| session.initiator.as_str()).collect();
    match unknown.first() {
        Some(first) => Err(warning(
            format!("logged in, and no host of the array: {}", names(unknown.iter().copied())),
            "create a host with the name of the initiator, or end its session",
        )
        .enter(format!("windlass host create NAME --iqn {}", word(first)))),
        None => Ok("every session is of a host that the array knows".to_owned()),
    }
}

pub(super) fn open_access(evidence: &Evidence) -> Result<String, Finding> {
    let is_open = |host: &str| host == api::ANY_HOST;
    let volumes = evidence.grants.iter().filter(|grant| is_open(&grant.host)).map(|grant| grant.volume.as_str());
    let shares = evidence.exports.iter().filter(|export| is_open(&export.host)).map(|export| export.share.as_str());
    let open: BTreeSet<_> = volumes.chain(shares).collect();
    match open.first() {
        Some(first) => Err(warning(
            format!("any host may use {}", names(open.iter().copied())),
            "revoke that access, which interrupts hosts, and grant it to the hosts that need it",
        )
        .enter(format!("windlass access revoke {} --any", word(first)))
        .enter(format!("windlass access grant {} --host HOST", word(first)))),
        None => Ok("every volume and share is granted to known hosts alone".to_owned()),
    }
}

pub(super) fn unused(evidence: &Evidence) -> Result<String, Finding> {
    let unused =
        evidence.hosts.iter().filter(|host| !host.luns.is_empty() && host.sessions == 0 && !host.iqns.is_empty());
    let of_iscsi = evidence.hosts.iter().filter(|host| !host.iqns.is_empty()).count();
    let unused: Vec<_> = unused.map(|host| host.name.as_str()).collect();
    match unused.first() {
        Some(first) => Err(warning(
            format!("with access, and not logged in: {}", names(unused.iter().copied())),
            "log it in; the command says what to enter there. Or delete the host",
        )
        .enter(format!("windlass connect linux {} --volume VOLUME", word(first)))),
        None => Ok(format!(
            "{} with initiator names, and each with access to volumes is logged in",
            count(of_iscsi, "host")
        )),
    }
}
