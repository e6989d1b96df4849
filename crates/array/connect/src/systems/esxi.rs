//! VMware ESXi, in its own shell or over SSH.

use super::{host_step, only_initiator, step, watch};
use crate::quote::{esxi, line, secret};
use crate::{ADAPTER, ARRAY_SECRET, CHAP_SECRET, DATASTORE, Facts, PRODUCT, Shell, Step, System, VENDOR};

const PLACE: &str = "in the shell of the ESXi host";
/// Number of the claim rules of the array.
const RULE: &str = "65430";

pub(crate) fn steps(facts: &Facts) -> Vec<Step> {
    let adapter = facts.adapter.as_deref().unwrap_or(ADAPTER);
    let mut steps = vec![host_step(
        "initiator",
        "Software iSCSI",
        "Switches the software adapter on, and shows its name.",
        PLACE,
        vec![
            esxi(&["esxcli", "iscsi", "software", "set", "--enabled=true"]),
            esxi(&["esxcli", "iscsi", "adapter", "list"]),
        ],
    )];
    steps.extend(only_initiator(facts).map(|name| Step {
        optional: true,
        ..host_step(
            "name",
            "Name of the initiator",
            "The array knows the host by this name. Not needed if the adapter has it already.",
            PLACE,
            vec![esxi(&["esxcli", "iscsi", "adapter", "set", "-A", adapter, "-n", name])],
        )
    }));
    steps.extend(chap(facts, adapter));
    steps.push(discovery(facts, adapter));
    steps.push(paths());
    steps.push(claim_rules());
    steps.push(disk(facts, adapter));
    steps.push(step(
        "check",
        "Check",
        "All paths, and ATS, Clone, Zero and Delete. vSphere shows Unknown until the first clone of a virtual disk.",
        PLACE,
        vec![
            esxi(&["esxcli", "storage", "nmp", "path", "list", "-d", &naa(facts)]),
            esxi(&["esxcli", "storage", "core", "device", "vaai", "status", "get", "-d", &naa(facts)]),
        ],
    ));
    steps.push(datastore());
    steps.push(watch(System::Esxi, facts));
    steps
}

/// Addresses that the host asks for targets. To undo it ends every session with the array.
fn discovery(facts: &Facts, adapter: &str) -> Step {
    let of_portal = |verb: &str, portal: &String| {
        esxi(&["esxcli", "iscsi", "adapter", "discovery", "sendtarget", verb, "-A", adapter, "-a", portal])
    };
    let mut undo: Vec<_> = facts.portals.iter().map(|portal| of_portal("remove", portal)).collect();
    undo.push(esxi(&["esxcli", "iscsi", "session", "remove", "-A", adapter, "-n", &facts.target]));
    undo.push(rescan(adapter));
    Step {
        undo,
        ..host_step(
            "discovery",
            "Discovery",
            "The host asks each portal for targets, and logs in at the rescan.",
            PLACE,
            facts.portals.iter().map(|portal| of_portal("add", portal)).collect(),
        )
    }
}

/// The disk of the volume, which is undone for itself.
fn disk(facts: &Facts, adapter: &str) -> Step {
    Step {
        undo: vec![esxi(&["esxcli", "storage", "core", "device", "set", "-d", &naa(facts), "--state=off"])],
        ..step(
            "rescan",
            "Rescan",
            "The host logs in and claims the disk by the rules above.",
            PLACE,
            vec![rescan(adapter)],
        )
    }
}

/// Name of the disk on the host.
fn naa(facts: &Facts) -> String {
    format!("naa.{}", facts.naa)
}

fn rescan(adapter: &str) -> crate::Command {
    esxi(&["esxcli", "storage", "core", "adapter", "rescan", "-A", adapter])
}

fn chap(facts: &Facts, adapter: &str) -> Option<Step> {
    let chap = facts.chap.as_ref()?;
    let set = |direction: &str, user: &str, placeholder: &str| {
        let (direction, user) = (format!("--direction={direction}"), format!("--authname={user}"));
        let start = ["esxcli", "iscsi", "adapter", "auth", "chap", "set", "-A", adapter];
        let command = esxi(&[&start[..], &[&direction, "--level=required", &user]].concat());
        line(Shell::Esxi, format!("{} --secret={}", command.text, secret(placeholder)))
    };
    let mut commands = vec![set("uni", &chap.user, CHAP_SECRET)];
    commands.extend(chap.mutual_user.as_ref().map(|user| set("mutual", user, ARRAY_SECRET)));
    let why = "The host authenticates with CHAP. The array shows the secret once, when it is set. Between the quotes, write a ' \
               of the secret as '\\''. The adapter uses these names for every target that has none of its own.";
    Some(host_step("chap", "CHAP", why, PLACE, commands))
}

/// Rule by which the host uses all paths.
fn paths() -> Step {
    let rule = |verb: &str| {
        let start = ["esxcli", "storage", "nmp", "satp", "rule", verb, "-s", "VMW_SATP_ALUA", "-P", "VMW_PSP_RR"];
        let end = ["-O", "iops=1", "-c", "tpgs_on", "-V", VENDOR, "-M", PRODUCT, "-e", "Windlass"];
        esxi(&[&start[..], &end].concat())
    };
    Step {
        optional: true,
        undo: vec![rule("remove")],
        ..host_step(
            "paths",
            "Several paths",
            "Round robin over all active paths, instead of the one used last.",
            PLACE,
            vec![rule("add")],
        )
    }
}

/// Rules that bind the T10 plug-in, with the limits that the array announces for copies.
fn claim_rules() -> Step {
    let add = |class: &str, end: &[&str]| {
        let start = ["esxcli", "storage", "core", "claimrule", "add", "-c", class, "-r", RULE];
        esxi(&[&start[..], &["-t", "vendor", "-V", VENDOR, "-M", PRODUCT], end].concat())
    };
    let with = |verb: &str, class: &str| esxi(&["esxcli", "storage", "core", "claimrule", verb, "-c", class]);
    let remove = |class: &str| esxi(&["esxcli", "storage", "core", "claimrule", "remove", "-c", class, "-r", RULE]);
    Step {
        optional: true,
        undo: vec![remove("VAAI"), remove("Filter"), with("load", "Filter"), with("load", "VAAI")],
        ..host_step(
            "claim-rules",
            "Offload by the T10 plug-in",
            "ESXi offloads to the array without it, too. With it, -a takes the size of copies from the array.",
            PLACE,
            vec![
                add("Filter", &["-P", "VAAI_FILTER"]),
                add("VAAI", &["-P", "VMW_VAAIP_T10", "-a"]),
                with("load", "Filter"),
                with("load", "VAAI"),
            ],
        )
    }
}

fn datastore() -> Step {
    Step {
        optional: true,
        undo: vec![esxi(&["esxcli", "storage", "filesystem", "unmount", "-l", DATASTORE])],
        ..step(
            "datastore",
            "Datastore",
            "Make a VMFS 6 datastore on the disk in the vSphere Client; this shows whether it gives space back by itself.",
            PLACE,
            vec![esxi(&["esxcli", "storage", "vmfs", "reclaim", "config", "get", "-l", DATASTORE])],
        )
    }
}
