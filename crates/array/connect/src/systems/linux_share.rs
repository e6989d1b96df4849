//! A Linux host that mounts a share.

use super::linux::PLACE;
use super::{ARRAY, step};
use crate::quote::{line, posix, sh, without_mount};
use crate::server::{Server, ShareFacts};
use crate::{Shell, Step};

const INSTALL: &str =
    "if command -v apt-get >/dev/null; then apt-get install -y nfs-common; else dnf install -y nfs-utils; fi";

pub(crate) fn steps(facts: &ShareFacts, server: &Server) -> Vec<Step> {
    let ShareFacts { share, path, v4, host, access, read_only, directory, .. } = facts;
    let (options, source) = (server.options(*v4, *read_only), server.source(path));
    let entry = posix(&format!("{source}  {directory}  nfs  {options},_netdev,nofail  0  0"));
    vec![
        step("client", "NFS client", "Once for each host.", PLACE, vec![line(Shell::Sh, INSTALL)]),
        Step {
            undo: vec![sh(&["umount", directory])],
            ..step(
                "mount",
                &format!("Mount share {share} on {host}{access}"),
                "The options are those that the array serves best; a lost connection makes programs wait.",
                PLACE,
                vec![sh(&["mkdir", "-p", directory]), line(Shell::Sh, server.mount(path, *v4, *read_only, directory))],
            )
        },
        Step {
            optional: true,
            undo: vec![without_mount(&source)],
            ..step(
                "fstab",
                "Mount it at each start",
                "The start of the host does not wait for the array.",
                PLACE,
                vec![line(Shell::Sh, format!("echo {entry} >>/etc/fstab"))],
            )
        },
        look(facts),
        Step {
            optional: true,
            ..step(
                "watch",
                "Look at it from the array",
                "Work that hosts leave to the array, and reads and writes.",
                ARRAY,
                vec![
                    sh(&["windlass", "offload", "stats", share, "--by", "client"]),
                    sh(&["windlass", "offload", "log", share]),
                    sh(&["windlass", "share", "stat", share]),
                ],
            )
        },
    ]
}

fn look(facts: &ShareFacts) -> Step {
    let ShareFacts { v4, directory, .. } = facts;
    let file = |name: &str| format!("{directory}/{name}");
    let mut commands =
        vec![line(Shell::Sh, format!("nfsstat -m                     # {}", if *v4 { "vers=4.2" } else { "vers=3" }))];
    if *v4 {
        let (a, b, c) = (posix(&file("A")), posix(&file("B")), posix(&file("C")));
        let lines = [
            format!("cp --reflink=always {a} {b}     # a clone: no data is moved"),
            format!("fallocate -l 1G {c}            # reserves space"),
            format!("fallocate -p -o 0 -l 1G {c}    # gives it back"),
            format!("grep -A999 -F {} /proc/self/mountstats | grep -E 'CLONE|ALLOCATE|COPY'", posix(directory)),
        ];
        commands.extend(lines.map(|text| line(Shell::Sh, text)));
    }
    Step {
        optional: true,
        ..step(
            "check",
            "Check",
            "The version that was negotiated, and what the array does for the host.",
            PLACE,
            commands,
        )
    }
}
