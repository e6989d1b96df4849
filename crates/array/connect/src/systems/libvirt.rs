//! libvirt and QEMU with QEMU's own initiator: no block device on the host, and no root.

use super::{first, host_step, lun, only_initiator, own_name, split, step, watch};
use crate::quote::{self, file, line, posix, sh, xml};
use crate::{CHAP_SECRET, DEVICE, DOMAIN, Facts, OPTIONS, Shell, Step, System};

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
        ..host_step(
            "chap",
            "CHAP",
            "libvirt keeps the secret, and gives it to QEMU for each disk. The array shows it once, when it is set. Between the \
             quotes, write a ' of the secret as '\\''.",
            PLACE,
            vec![
                shell(format!("(umask 077; printf %s {} >{SECRET_FILE})", quote::secret(CHAP_SECRET))),
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
    let (first, file_name) = (first(facts), format!("{}-disk.xml", own_name(facts)));
    let (address, port) = split(&first);
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
    text += &format!("  </source>\n  <target dev='{DEVICE}' bus='scsi'/>\n</disk>\n");
    // libvirt finds the disk by its target, which the file names.
    let with_file = |verb: &str| {
        [file(Shell::Xml, &file_name, text.clone()), sh(&["virsh", verb, DOMAIN, &file_name, "--persistent"])]
    };
    Step {
        undo: with_file("detach-device").into(),
        ..step(
            "disk",
            "Disk of a machine",
            "discard gives the space of deleted files back, detect_zeroes stores no zeros.",
            PLACE,
            with_file("attach-device").into(),
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
    let text =
        format!("qemu-system-x86_64 {object}{}-drive {} {OPTIONS}", options(facts).unwrap_or_default(), posix(&drive));
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
