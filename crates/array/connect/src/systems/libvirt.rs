//! libvirt and QEMU with QEMU's own initiator: no block device on the host, and no root.

use super::{first, lun, only_initiator, split, step, watch};
use crate::quote::{file, line, posix, sh, xml};
use crate::{CHAP_SECRET, Facts, Shell, Step, System};

const PLACE: &str = "on the host";

pub(crate) fn steps(facts: &Facts) -> Vec<Step> {
    let mut steps = Vec::new();
    steps.extend(facts.chap.as_ref().map(|_| secret()));
    steps.push(disk(facts));
    steps.push(qemu(facts));
    steps.push(check(facts));
    steps.push(watch(System::Libvirt, facts));
    steps
}

/// Name of the secret in libvirt.
const USAGE: &str = "windlass";

/// File of the secret, which is in no list of processes.
const SECRET_FILE: &str = "windlass.secret";
/// Identity of the secret in libvirt.
const SECRET_ID: &str = "\"$(virsh secret-list | awk '$2 == \"iscsi\" && $3 == \"windlass\" { print $1 }')\"";

fn secret() -> Step {
    let text = format!(
        "<secret ephemeral='no' private='yes'>\n  <usage type='iscsi'>\n    <target>{USAGE}</target>\n  </usage>\n</secret>\n"
    );
    let shell = |text: String| line(Shell::Sh, text);
    Step {
        undo: vec![shell(format!("virsh secret-undefine {SECRET_ID}")), sh(&["rm", "-f", SECRET_FILE])],
        ..step(
            "chap",
            "CHAP",
            "libvirt keeps the secret, and gives it to QEMU.",
            PLACE,
            vec![
                shell(format!("(umask 077; printf %s {CHAP_SECRET} >{SECRET_FILE})")),
                file(Shell::Xml, "windlass-secret.xml", text),
                sh(&["virsh", "secret-define", "windlass-secret.xml"]),
                shell(format!("virsh secret-set-value {SECRET_ID} --file {SECRET_FILE} --plain")),
            ],
        )
    }
}

/// Target and LUN, as libvirt and QEMU name a disk.
fn name(facts: &Facts) -> String {
    format!("{}/{}", facts.target, lun(facts))
}

fn disk(facts: &Facts) -> Step {
    let (address, port) = split(first(facts));
    let mut text = String::from(
        "<disk type='network' device='disk'>\n  <driver name='qemu' type='raw' discard='unmap' detect_zeroes='unmap'/>\n",
    );
    if let Some(chap) = &facts.chap {
        text += &format!(
            "  <auth username='{}'>\n    <secret type='iscsi' usage='{USAGE}'/>\n  </auth>\n",
            xml(&chap.user)
        );
    }
    text += &format!(
        "  <source protocol='iscsi' name='{}'>\n    <host name='{}' port='{}'/>\n",
        xml(&name(facts)),
        xml(address),
        xml(port)
    );
    if let Some(initiator) = only_initiator(facts) {
        text += &format!("    <initiator>\n      <iqn name='{}'/>\n    </initiator>\n", xml(initiator));
    }
    text += "  </source>\n  <target dev='sda' bus='scsi'/>\n</disk>\n";
    Step {
        undo: vec![sh(&["virsh", "detach-disk", "DOMAIN", "sda", "--persistent"])],
        ..step(
            "disk",
            "Disk of a machine",
            "discard gives the space of deleted files back, detect_zeroes stores no zeros. DOMAIN is the machine.",
            PLACE,
            vec![
                file(Shell::Xml, "windlass-disk.xml", text),
                sh(&["virsh", "attach-device", "DOMAIN", "windlass-disk.xml", "--persistent"]),
            ],
        )
    }
}

fn url(facts: &Facts) -> String {
    format!("iscsi://{}/{}", first(facts), name(facts))
}

/// Options of QEMU for the initiator; the secret is in a file, so that no list of processes shows it.
fn options(facts: &Facts) -> Option<String> {
    let comma = |text: &str| text.replace(',', ",,");
    let mut options: Vec<String> =
        only_initiator(facts).map(|name| format!("initiator-name={}", comma(name))).into_iter().collect();
    if let Some(chap) = &facts.chap {
        options.extend([format!("user={}", comma(&chap.user)), "password-secret=windlass".to_owned()]);
    }
    (!options.is_empty()).then(|| format!("-iscsi {} ", posix(&options.join(","))))
}

fn qemu(facts: &Facts) -> Step {
    let object = if facts.chap.is_some() { "-object secret,id=windlass,file=windlass.secret " } else { "" };
    let drive = format!("file={},format=raw,discard=unmap,detect-zeroes=unmap", url(facts).replace(',', ",,"));
    let text = format!("qemu-system-x86_64 {object}{}-drive {} …", options(facts).unwrap_or_default(), posix(&drive));
    Step {
        optional: true,
        ..step(
            "qemu",
            "QEMU without libvirt",
            "The same disk on the command line of QEMU. With CHAP, QEMU reads the secret from its file.",
            PLACE,
            vec![line(Shell::Sh, text)],
        )
    }
}

fn check(facts: &Facts) -> Step {
    let object = if facts.chap.is_some() { "--object secret,id=windlass,file=windlass.secret " } else { "" };
    step(
        "check",
        "Check",
        "Size of the volume, and which parts are mapped: QEMU asks with GET LBA STATUS, and copies no others.",
        PLACE,
        vec![line(Shell::Sh, format!("qemu-img map {object}{}", posix(&url(facts))))],
    )
}
