//! Linux with open-iscsi and dm-multipath. The guest of `cargo xtask vm` runs the same commands.

use super::{device, host_step, only_initiator, step, watch};
use crate::quote::{line, posix, secret, sh, with_mount, without_mount, write_line};
use crate::{ARRAY_SECRET, CHAP_SECRET, Chap, Command, Facts, Shell, Step, System};

/// Where the commands are entered.
pub(super) const PLACE: &str = "on the host, as root";
/// Section of dm-multipath for the array: the file that the packages have.
const MULTIPATH: &str = include_str!("../../../../../packaging/multipath.conf");

/// Packages of the initiator and of multipath.
pub(super) const INSTALL: &str = "if command -v apt-get >/dev/null; then apt-get install -y open-iscsi multipath-tools; \
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
    let mut steps = vec![host_step(
        "initiator",
        "iSCSI initiator and multipath",
        "The host logs in with open-iscsi and uses all paths with dm-multipath.",
        PLACE,
        vec![line(Shell::Sh, INSTALL), sh(&["systemctl", "enable", "--now", "iscsid"])],
    )];
    steps.extend(only_initiator(facts).map(initiator_name));
    steps.push(multipath());
    steps.push(claim(facts));
    steps.push(discovery(facts));
    steps.extend(facts.chap.as_ref().map(|credentials| chap(facts, credentials)));
    steps.push(Step {
        undo: vec![
            sh(&["iscsiadm", "-m", "node", "-T", target, "-u"]),
            sh(&["iscsiadm", "-m", "node", "-T", target, "-o", "delete"]),
        ],
        ..host_step(
            "login",
            "Login",
            "A session for each portal, now and at each start.",
            PLACE,
            vec![
                sh(&["iscsiadm", "-m", "node", "-T", target, "-o", "update", "-n", "node.startup", "-v", "automatic"]),
                sh(&["iscsiadm", "-m", "node", "-T", target, "-l"]),
            ],
        )
    });
    steps.push(disk(facts));
    steps
}

/// The disk of the volume, which is undone for itself: the sessions stay for other volumes.
fn disk(facts: &Facts) -> Step {
    let map = map(facts);
    // Its name is another one where dm-multipath has user-friendly names; its UUID is not.
    let flush = format!(
        "multipath -f \"$(dmsetup info --columns --noheadings --options name --uuid {})\"",
        posix(&format!("mpath-{map}"))
    );
    // A disk that something holds, such as its multipath device, stays.
    let delete = format!(
        "for disk in /sys/block/sd*; do\n  if grep -s -q -x -F {} \"$disk/device/wwid\" && [ -z \"$(ls -A \"$disk/holders\")\" ]; then\n    \
         echo 1 >\"$disk/device/delete\"\n  fi\ndone",
        posix(&format!("naa.{}", facts.naa))
    );
    Step {
        undo: vec![line(Shell::Sh, flush), line(Shell::Sh, delete)],
        ..step(
            "disk",
            "Disk",
            "Each session looks for new volumes. It takes up to a minute until the disk and its paths are there.",
            PLACE,
            vec![
                sh(&["iscsiadm", "-m", "session", "--rescan"]),
                until("test -e \"$0\"", &device(facts), "no disk has appeared: is the volume granted to this host?"),
                sh(&["multipathd", "reconfigure"]),
                until(
                    "multipath -ll \"$0\" | grep -q .",
                    &map,
                    "dm-multipath has not taken the disk: lsblk shows what else uses it",
                ),
                sh(&["udevadm", "settle"]),
            ],
        )
    }
}

/// Lets dm-multipath take the disk before the host sees it: whatever is on the disk would take a single path first.
pub(super) fn claim(facts: &Facts) -> Step {
    let map = map(facts);
    Step {
        undo: vec![sh(&["multipath", "-w", &map])],
        ..step(
            "claim",
            "WWID of the volume",
            "dm-multipath uses only disks whose WWID was added. Before the login, so that nothing else takes the disk first.",
            PLACE,
            vec![sh(&["multipath", "-a", &map])],
        )
    }
}

/// Waits up to a minute until a condition of a shell holds, in which `$0` is the word. Fails with the problem.
fn until(condition: &str, word: &str, problem: &str) -> Command {
    let wait = sh(&["timeout", "60", "sh", "-c", &format!("until {condition}; do sleep 1; done"), word]).text;
    line(Shell::Sh, format!("{wait} ||\n  {{ echo {} >&2; false; }}", posix(problem)))
}

fn initiator_name(name: &str) -> Step {
    Step {
        optional: true,
        ..host_step(
            "name",
            "Name of the initiator",
            "The array knows the host by this name. Not needed if the file has it already.",
            PLACE,
            vec![
                write_line(&format!("InitiatorName={name}"), ">/etc/iscsi/initiatorname.iscsi"),
                sh(&["systemctl", "restart", "iscsid"]),
            ],
        )
    }
}

pub(super) fn multipath() -> Step {
    let name = "/etc/multipath/conf.d/windlass.conf";
    Step {
        undo: vec![sh(&["rm", "-f", name]), sh(&["multipathd", "reconfigure"])],
        ..host_step(
            "multipath",
            "Several paths",
            "Without this section dm-multipath uses one path at a time. Hosts wait five minutes for an array that restarts.",
            PLACE,
            vec![
                sh(&["mkdir", "-p", "/etc/multipath/conf.d"]),
                line(Shell::Sh, format!("cat >{name} <<'END'\n{MULTIPATH}END")),
                // Its service does not start without this file, and builds of some systems take all local disks without
                // this setting.
                line(
                    Shell::Sh,
                    "test -e /etc/multipath.conf || printf 'defaults {\\n    find_multipaths strict\\n}\\n' >/etc/multipath.conf",
                ),
                sh(&["systemctl", "enable", "--now", "multipathd"]),
                sh(&["multipathd", "reconfigure"]),
            ],
        )
    }
}

/// Asks each portal for targets. A host that has to authenticate does so here, too.
fn discovery(facts: &Facts) -> Step {
    let why = "The array tells the host its target and all portals. Entered again, it resets the settings of the target: enter \
               the steps after it again, too.";
    let (why, commands) = match &facts.chap {
        None => {
            let discover = |portal: &String| sh(&["iscsiadm", "-m", "discovery", "-t", "sendtargets", "-p", portal]);
            (why.to_owned(), facts.portals.iter().map(discover).collect())
        }
        Some(chap) => {
            let portals: Vec<String> = facts.portals.iter().map(|portal| posix(portal)).collect();
            let record = "iscsiadm -m discoverydb -t sendtargets -p \"$portal\"";
            let mut text = format!("for portal in {}; do\n  {record} -o new\n", portals.join(" "));
            for (name, value) in credentials(chap) {
                text += &format!("  {record} -o update -n discovery.sendtargets.auth.{name} -v {value}\n");
            }
            text += &format!("  {record} --discover\ndone");
            (format!("{why} {SECRETS}"), vec![line(Shell::Sh, text)])
        }
    };
    let forget =
        |portal: &String| sh(&["iscsiadm", "-m", "discoverydb", "-t", "sendtargets", "-p", portal, "-o", "delete"]);
    Step {
        undo: facts.portals.iter().map(forget).collect(),
        ..host_step("discovery", "Discovery", &why, PLACE, commands)
    }
}

/// Explanation of commands that contain secrets.
const SECRETS: &str = "The host authenticates with CHAP. The array shows the secret once, when it is set. Between the quotes, \
                       write a ' of the secret as '\\''. Other users of the host see the command line of iscsiadm while it runs.";

/// Settings of open-iscsi for CHAP, as words of a shell.
fn credentials(chap: &Chap) -> Vec<(&'static str, String)> {
    let mut all =
        vec![("authmethod", "CHAP".to_owned()), ("username", posix(&chap.user)), ("password", secret(CHAP_SECRET))];
    if let Some(user) = &chap.mutual_user {
        all.extend([("username_in", posix(user)), ("password_in", secret(ARRAY_SECRET))]);
    }
    all
}

fn chap(facts: &Facts, chap: &Chap) -> Step {
    let start = sh(&["iscsiadm", "-m", "node", "-T", &facts.target, "-o", "update"]).text;
    let record = |(name, value)| line(Shell::Sh, format!("{start} -n node.session.auth.{name} -v {value}"));
    host_step("chap", "CHAP", SECRETS, PLACE, credentials(chap).into_iter().map(record).collect())
}

fn file_system(facts: &Facts) -> Step {
    let (device, directory) = (device(facts), format!("/mnt/{}", facts.volume));
    let mut commands = vec![sh(&["mkfs.xfs", &device]), sh(&["mkdir", "-p", &directory])];
    commands.extend(with_mount(&device, &format!("{directory} xfs _netdev,nofail 0 0")));
    commands.extend([sh(&["mount", &directory]), sh(&["systemctl", "enable", "--now", "fstrim.timer"])]);
    Step {
        optional: true,
        undo: vec![sh(&["umount", &directory]), without_mount(&device)],
        ..step(
            "file-system",
            "File system",
            "mkfs.xfs refuses a volume that has a file system. fstrim gives back the space of deleted files, weekly.",
            PLACE,
            commands,
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
