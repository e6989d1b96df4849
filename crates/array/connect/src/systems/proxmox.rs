//! Proxmox VE: the steps of Linux on each node, and a storage over LVM that all nodes share.

use super::{device, linux, own_name, step, watch};
use crate::quote::sh;
use crate::{Facts, Step, System};

const EACH: &str = "on each node, as root";

pub(crate) fn steps(facts: &Facts) -> Vec<Step> {
    // Each node has a name of its own.
    let paths = linux::paths(facts).into_iter().filter(|step| step.id != "name");
    let mut steps: Vec<Step> = paths.map(|step| Step { place: EACH, ..step }).collect();
    steps.push(Step { place: EACH, ..linux::check(facts) });
    steps.push(storage(facts));
    steps.push(watch(System::Proxmox, facts));
    steps
}

fn storage(facts: &Facts) -> Step {
    let (device, name) = (device(facts), own_name(facts));
    Step {
        optional: true,
        undo: vec![sh(&["pvesm", "remove", &name]), sh(&["vgchange", "-an", &name])],
        ..step(
            "storage",
            "Storage",
            "LVM on the volume, shared by all nodes. Disks on it have no snapshots of their own: take those of the array, \
             or give each machine a volume of its own. issue_discards = 1 in lvm.conf gives back the space of deleted disks.",
            "on one node, as root",
            vec![
                sh(&["pvcreate", &device]),
                sh(&["vgcreate", &name, &device]),
                sh(&["pvesm", "add", "lvm", &name, "--vgname", &name, "--shared", "1", "--content", "images,rootdir"]),
                sh(&["pvesm", "status", "--storage", &name]),
            ],
        )
    }
}
