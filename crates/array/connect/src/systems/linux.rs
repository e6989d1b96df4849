//! Linux with open-iscsi and dm-multipath. The guest of `cargo xtask vm` runs the same commands.

use super::{device, only_initiator, step, watch};
use crate::quote::{line, posix, sh, without_mount};
use crate::{ARRAY_SECRET, CHAP_SECRET, Command, Facts, Shell, Step, System};

/// Where the commands are entered.
pub(super) const PLACE: &str = "on the host, as root";
/// Section of dm-multipath for the array: the file that the packages have.
const MULTIPATH: &str = include_str!("../../../../../packaging/multipath.conf");

/// Packages of the initiator and of multipath.
const INSTALL: &str = "if command -v apt-get >/dev/null; then apt-get install -y open-iscsi multipath-tools; \
                       else dnf install -y iscsi-initiator-utils device-mapper-multipath; fi";

pub(crate) fn steps(facts: &Facts) -> Vec<Step> {
    let mut steps = paths(facts);
    steps.push(check(facts));
    steps.push(file_system(facts));
    steps.push(watch(System::Linux, facts));
    steps
}

/// Steps until the host has the disk, over all paths.
pub(super) fn paths(facts: &Facts) -> Vec<Step> {
    let target = facts.target.as_str();
    let mut steps = vec![step(
        "initiator",
        "iSCSI initiator and multipath",
        "The host logs in with open-iscsi and uses all paths with dm-multipath. Once for each host.",
        PLACE,
        vec![line(Shell::Sh, INSTALL), sh(&["systemctl", "enable", "--now", "iscsid"])],
    )];
    steps.extend(only_initiator(facts).map(initiator_name));
    steps.push(multipath());
    let discover = |portal: &String| sh(&["iscsiadm", "-m", "discovery", "-t", "sendtargets", "-p", portal]);
    steps.push(step(
        "discovery",
        "Discovery",
        "The array tells the host its target and all portals.",
        PLACE,
        facts.portals.iter().map(discover).collect(),
    ));
    steps.extend(facts.chap.as_ref().map(|_| chap(facts)));
    steps.push(Step {
        undo: vec![
            sh(&["multipath", "-f", &map(facts)]),
            sh(&["iscsiadm", "-m", "node", "-T", target, "-u"]),
            sh(&["iscsiadm", "-m", "node", "-T", target, "-o", "delete"]),
        ],
        ..step(
            "login",
            "Login",
            "A session for each portal, now and at each start. A session that exists already looks for new volumes.",
            PLACE,
            vec![
                sh(&["iscsiadm", "-m", "node", "-T", target, "-o", "update", "-n", "node.startup", "-v", "automatic"]),
                sh(&["iscsiadm", "-m", "node", "-T", target, "-l"]),
                sh(&["iscsiadm", "-m", "session", "--rescan"]),
            ],
        )
    });
    steps
}

fn initiator_name(name: &str) -> Step {
    let content = posix(&format!("InitiatorName={name}"));
    Step {
        optional: true,
        ..step(
            "name",
            "Name of the initiator",
            "The array knows the host by this name. Not needed if the file has it already.",
            PLACE,
            vec![
                line(Shell::Sh, format!("echo {content} >/etc/iscsi/initiatorname.iscsi")),
                sh(&["systemctl", "restart", "iscsid"]),
            ],
        )
    }
}

fn multipath() -> Step {
    let name = "/etc/multipath/conf.d/windlass.conf";
    Step {
        undo: vec![sh(&["rm", "-f", name]), sh(&["multipathd", "reconfigure"])],
        ..step(
            "multipath",
            "Several paths",
            "Without this section dm-multipath uses one path at a time. Hosts wait five minutes for an array that restarts.",
            PLACE,
            vec![
                sh(&["mkdir", "-p", "/etc/multipath/conf.d"]),
                line(Shell::Sh, format!("cat >{name} <<'END'\n{MULTIPATH}END")),
                // Its service does not start without this file.
                sh(&["touch", "/etc/multipath.conf"]),
                sh(&["systemctl", "enable", "--now", "multipathd"]),
                sh(&["multipathd", "reconfigure"]),
            ],
        )
    }
}

fn chap(facts: &Facts) -> Step {
    let set = |name: &str, value: &str| -> Command {
        let record = format!("node.session.auth.{name}");
        sh(&["iscsiadm", "-m", "node", "-T", &facts.target, "-o", "update", "-n", &record, "-v", value])
    };
    let mut commands = Vec::new();
    if let Some(chap) = &facts.chap {
        commands.extend(
            [("authmethod", "CHAP"), ("username", &chap.user), ("password", CHAP_SECRET)].map(|(n, v)| set(n, v)),
        );
        if let Some(user) = &chap.mutual_user {
            commands.extend([("username_in", user.as_str()), ("password_in", ARRAY_SECRET)].map(|(n, v)| set(n, v)));
        }
    }
    step(
        "chap",
        "CHAP",
        "The host proves that it is the host. The array never shows the secret again.",
        PLACE,
        commands,
    )
}

fn file_system(facts: &Facts) -> Step {
    let (device, directory) = (device(facts), format!("/mnt/{}", facts.volume));
    let entry = posix(&format!("{device} {directory} xfs _netdev,nofail 0 0"));
    Step {
        optional: true,
        undo: vec![sh(&["umount", &directory]), without_mount(&device)],
        ..step(
            "file-system",
            "File system",
            "mkfs.xfs refuses a volume that has a file system. fstrim gives back the space of deleted files, weekly.",
            PLACE,
            vec![
                sh(&["mkfs.xfs", &device]),
                sh(&["mkdir", "-p", &directory]),
                line(Shell::Sh, format!("echo {entry} >>/etc/fstab")),
                sh(&["mount", &directory]),
                sh(&["systemctl", "enable", "--now", "fstrim.timer"]),
            ],
        )
    }
}

/// Name of the volume in dm-multipath.
fn map(facts: &Facts) -> String {
    format!("3{}", facts.naa)
}

/// Looks at disk and paths.
pub(super) fn check(facts: &Facts) -> Step {
    step(
        "check",
        "Check",
        "The disk, one line for each path, and DISC-MAX above 0: the host can give space back.",
        PLACE,
        vec![
            sh(&["ls", "-l", &device(facts)]),
            sh(&["multipath", "-ll", &map(facts)]),
            sh(&["lsblk", "-o", "NAME,VENDOR,MODEL,SIZE,DISC-MAX", &device(facts)]),
        ],
    )
}
