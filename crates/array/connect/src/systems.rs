//! The steps of each system, one file each, and what several systems have in common.

pub(crate) mod esxi;
pub(crate) mod kubernetes;
pub(crate) mod libvirt;
pub(crate) mod linux;
pub(crate) mod linux_share;
pub(crate) mod proxmox;
pub(crate) mod windows;

use crate::quote::sh;
use crate::{Command, Facts, LUN, Step, System};

/// Administrator's machine, with the command line of the array.
const ARRAY: &str = "where the windlass command is";

/// Address and port of a portal, apart.
fn split(portal: &str) -> (&str, &str) {
    let (address, port) = portal.rsplit_once(':').unwrap_or((portal, "3260"));
    (address.trim_start_matches('[').trim_end_matches(']'), port)
}

/// First portal; a placeholder if there is none.
fn first(facts: &Facts) -> &str {
    facts.portals.first().map_or("ADDRESS:3260", String::as_str)
}

/// Name of the initiator, if the host has one alone. Machines of a cluster that are one host have a name each.
fn only_initiator(facts: &Facts) -> Option<&str> {
    match facts.initiators.as_slice() {
        [name] => Some(name),
        _ => None,
    }
}

/// LUN as text; a placeholder if the volume is not granted.
fn lun(facts: &Facts) -> String {
    facts.lun.map_or_else(|| LUN.to_owned(), |lun| lun.to_string())
}

/// Device of a volume on a Linux host, over one path or several: udev links it to the multipath device if there is one.
fn device(facts: &Facts) -> String {
    format!("/dev/disk/by-id/wwn-0x{}", facts.naa)
}

/// What the array shows of the host.
fn watch(system: System, facts: &Facts) -> Step {
    let (host, volume) = (facts.host.as_str(), facts.volume.as_str());
    Step {
        id: "watch",
        title: "Look at it from the array".to_owned(),
        why: "Logins, paths and offload appear within two seconds; nothing is needed from the host.".to_owned(),
        place: ARRAY,
        optional: true,
        commands: vec![
            sh(&["windlass", "connect", system.name(), host, "--volume", volume, "--watch"]),
            sh(&["windlass", "offload", "stats", volume]),
            sh(&["windlass", "offload", "log", volume]),
        ],
        undo: Vec::new(),
    }
}

/// Step that nothing undoes.
fn step(id: &'static str, title: &str, why: &str, place: &'static str, commands: Vec<Command>) -> Step {
    Step { id, title: title.to_owned(), why: why.to_owned(), place, optional: false, commands, undo: Vec::new() }
}
