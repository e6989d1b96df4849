//! Words in capitals that stand for what the array does not know, or does not tell.

use crate::Step;

/// Stands for the CHAP secret of the host.
pub const CHAP_SECRET: &str = "CHAP-SECRET";
/// Stands for the CHAP secret with which the array authenticates to the host.
pub const ARRAY_SECRET: &str = "ARRAY-SECRET";
/// Stands for the iSCSI adapter of an ESXi host.
pub const ADAPTER: &str = "ADAPTER";
/// Stands for the name of a datastore.
pub const DATASTORE: &str = "DATASTORE";
/// LUN in a plan for a volume that is not granted.
pub const LUN: &str = "LUN";
/// Address in a plan of an array without a portal that takes logins.
pub const ADDRESS: &str = "ADDRESS";
/// Stands for a virtual machine of libvirt.
pub const DOMAIN: &str = "DOMAIN";
/// Stands for the name of the disk in a virtual machine.
pub const DEVICE: &str = "DEVICE";
/// Stands for the other options of QEMU.
pub const OPTIONS: &str = "OPTIONS";

/// Every placeholder.
const ALL: [Placeholder; 9] = [
    Placeholder { text: CHAP_SECRET, meaning: "CHAP secret of the host" },
    Placeholder { text: ARRAY_SECRET, meaning: "CHAP secret with which the array authenticates to the host" },
    Placeholder { text: ADAPTER, meaning: "name of the iSCSI adapter, such as vmhba64: esxcli iscsi adapter list" },
    Placeholder { text: DATASTORE, meaning: "name of the datastore on the volume" },
    Placeholder { text: LUN, meaning: "number of the logical unit, which it has when the volume is granted" },
    Placeholder { text: ADDRESS, meaning: "address of a portal of the array: windlass portal list" },
    Placeholder { text: DOMAIN, meaning: "name of the virtual machine: virsh list --all" },
    Placeholder {
        text: DEVICE,
        meaning: "name that no disk of the virtual machine has, such as sdb: virsh domblklist DOMAIN",
    },
    Placeholder { text: OPTIONS, meaning: "other options of the virtual machine, such as -m 4G" },
];

/// Placeholder in the texts of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placeholder {
    /// Its text.
    pub text: &'static str,
    /// What it stands for.
    pub meaning: &'static str,
}

/// Placeholders that are in the texts of steps.
pub(crate) fn used(steps: &[Step]) -> Vec<Placeholder> {
    let has = |sought: &str| {
        let commands = steps.iter().flat_map(|step| step.commands.iter().chain(&step.undo));
        commands.into_iter().any(|command| is_word(&command.text, sought))
    };
    ALL.into_iter().filter(|placeholder| has(placeholder.text)).collect()
}

/// True if a text has the placeholder as a word of its own.
fn is_word(text: &str, sought: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.match_indices(sought).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + sought.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}
