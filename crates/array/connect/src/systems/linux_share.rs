//! A Linux host that mounts a share.

use super::linux::PLACE;
use super::{ARRAY, host_step, step};
use crate::quote::{line, posix, sh, with_mount, without_mount};
use crate::server::Server;
use crate::share::ShareFacts;
use crate::{Command, Shell, Step};

const INSTALL: &str =
    "if command -v apt-get >/dev/null; then apt-get install -y nfs-common; else dnf install -y nfs-utils; fi";

pub(crate) fn steps(facts: &ShareFacts, server: &Server) -> Vec<Step> {
    let ShareFacts { share, path, v4, host, .. } = facts;
    let (access, read_only, directory) = (facts.access(), facts.is_read_only(), facts.directory.as_str());
    let (options, source) = (server.options(*v4, read_only), server.source(path));
    let rest = format!("{directory}  nfs  {options},_netdev,nofail  0  0");
    vec![
        host_step("client", "NFS client", "The host mounts with it.", PLACE, vec![line(Shell::Sh, INSTALL)]),
        Step {
            undo: vec![sh(&["umount", directory])],
            ..step(
                "mount",
                &format!("Mount share {share} on {host}{access}"),
                "The options are those that the array serves best; a lost connection makes programs wait.",
                PLACE,
                vec![sh(&["mkdir", "-p", directory]), line(Shell::Sh, server.mount(path, *v4, read_only, directory))],
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
                with_mount(&source, &rest).into(),
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
    let mut commands = vec![line(
        Shell::Sh,
        format!("nfsstat -m                     # {}", if facts.v4 { "vers=4.2" } else { "vers=3" }),
    )];
    if facts.v4 {
        let directory = facts.directory.as_str();
        commands.extend((!facts.is_read_only()).then(|| sample(directory)));
        let statistics = format!(
            "grep -A999 -F {} /proc/self/mountstats | grep -E 'CLONE|ALLOCATE|COPY'",
            posix(&format!(" mounted on {directory} with "))
        );
        commands.push(line(Shell::Sh, statistics));
    }
    Step {
        optional: true,
        ..step(
            "check",
            "Check",
            "The version that was negotiated, and what the array does for the host, tried with files that are new and go again.",
            PLACE,
            commands,
        )
    }
}

/// Reserves, clones and punches new files, and deletes them.
fn sample(directory: &str) -> Command {
    let lines = [
        format!("if file=$(mktemp -p {}); then", posix(directory)),
        "  fallocate -l 16M \"$file\"                     # reserves space".to_owned(),
        "  cp --reflink=always \"$file\" \"$file.clone\"   # a clone: no data is moved".to_owned(),
        "  fallocate -p -o 0 -l 16M \"$file\"             # gives the space back".to_owned(),
        "  rm -f \"$file\" \"$file.clone\"".to_owned(),
        "fi".to_owned(),
    ];
    line(Shell::Sh, lines.join("\n"))
}
