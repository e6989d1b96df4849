//! What an administrator of a host enters there to use a volume or share: a plan of steps for each system, and how to
//! undo them. Pure: the caller gives the facts.
//!
//! Each value is quoted for the shell or file that it stands in, so that a name shows and never runs. A plan has no
//! secrets: placeholders stand for them. The array's front ends print the same texts.
#![forbid(unsafe_code)]

mod placeholder;
mod quote;
mod server;
mod share;
mod systems;

pub use placeholder::{
    ADAPTER, ADDRESS, ARRAY_SECRET, CHAP_SECRET, DATASTORE, DEVICE, DOMAIN, LUN, OPTIONS, Placeholder,
};
pub use server::{NFS_PORT, Server, ServerError};
pub use share::{Directory, DirectoryError, ShareAddress, ShareFacts, ShareRule};

use text::terminal::word;

/// Vendor of every logical unit (standard INQUIRY data).
const VENDOR: &str = "WINDLASS";
/// Product of every logical unit (standard INQUIRY data).
const PRODUCT: &str = "VOLUME";

/// System of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// VMware ESXi.
    Esxi,
    /// Linux with open-iscsi and dm-multipath, or with an NFS client.
    Linux,
    /// Proxmox VE.
    Proxmox,
    /// Windows Server.
    Windows,
    /// libvirt and QEMU with QEMU's own initiator.
    Libvirt,
    /// Kubernetes, with static volumes.
    Kubernetes,
}

impl System {
    /// All systems, in the order in which they are shown.
    pub const ALL: [Self; 6] = [Self::Esxi, Self::Linux, Self::Proxmox, Self::Windows, Self::Libvirt, Self::Kubernetes];

    /// Name in commands and in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Esxi => "esxi",
            Self::Linux => "linux",
            Self::Proxmox => "proxmox",
            Self::Windows => "windows",
            Self::Libvirt => "libvirt",
            Self::Kubernetes => "kubernetes",
        }
    }

    /// Name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Esxi => "VMware ESXi",
            Self::Linux => "Linux",
            Self::Proxmox => "Proxmox VE",
            Self::Windows => "Windows Server",
            Self::Libvirt => "libvirt and QEMU",
            Self::Kubernetes => "Kubernetes",
        }
    }

    /// Versions that the commands are for.
    pub const fn versions(self) -> &'static str {
        match self {
            Self::Esxi => "6.5 and newer",
            Self::Linux => "open-iscsi 2.1 and newer, multipath-tools 0.8 and newer",
            Self::Proxmox => "7 and newer",
            Self::Windows => "2016 and newer",
            Self::Libvirt => "libvirt 6.2 and newer, QEMU 5 and newer with its iSCSI block driver",
            Self::Kubernetes => "1.24 and newer, with open-iscsi on each node",
        }
    }

    /// True if the host uses shares with these commands.
    pub const fn uses_shares(self) -> bool {
        matches!(self, Self::Linux)
    }

    /// System with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|system| system.name() == name)
    }
}

/// Facts of a volume and a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Name of the host.
    pub host: String,
    /// Initiator names of the host.
    pub initiators: Vec<String>,
    /// CHAP names; absent if the host need not authenticate.
    pub chap: Option<Chap>,
    /// Name of the volume.
    pub volume: String,
    /// NAA designator of the volume, 32 hexadecimal digits.
    pub naa: String,
    /// Size of the volume.
    pub size_bytes: u64,
    /// LUN of the volume for the host; absent if it is not granted.
    pub lun: Option<u16>,
    /// Number of the other volumes that the host may use.
    pub other_volumes: usize,
    /// Name of the target.
    pub target: String,
    /// Portals that take logins, `ADDRESS:PORT` as hosts reach them.
    pub portals: Vec<String>,
    /// iSCSI adapter of an ESXi host; absent: a placeholder.
    pub adapter: Option<String>,
}

/// CHAP names of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chap {
    /// Name that the host presents.
    pub user: String,
    /// Name that the array presents, with mutual authentication.
    pub mutual_user: Option<String>,
}

/// What reads a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    /// Shell of ESXi.
    Esxi,
    /// POSIX shell.
    Sh,
    /// PowerShell.
    Powershell,
    /// XML: the content of a file.
    Xml,
    /// YAML: the content of a file.
    Yaml,
}

impl Shell {
    /// Name in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Esxi => "esxi",
            Self::Sh => "sh",
            Self::Powershell => "powershell",
            Self::Xml => "xml",
            Self::Yaml => "yaml",
        }
    }
}

/// A command, or the content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Text; several lines are possible.
    pub text: String,
    /// What reads it.
    pub shell: Shell,
    /// Name of the file that has this content; absent for a command.
    pub file: Option<String>,
}

/// Step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Name, unique in the plan.
    pub id: &'static str,
    /// Title.
    pub title: String,
    /// Reason for the step.
    pub why: String,
    /// Where its commands are entered.
    pub place: &'static str,
    /// True if the volume can be used without it.
    pub optional: bool,
    /// True if all volumes or shares that the host uses share it: it is entered once, and its undo affects them all.
    pub once_per_host: bool,
    /// Commands, in order.
    pub commands: Vec<Command>,
    /// Commands that undo it, in order; none if there is nothing to undo.
    pub undo: Vec<Command>,
}

/// Plan for one host and one volume or share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What prevents the host from using it, with the command of the array that helps.
    pub warnings: Vec<String>,
    /// Placeholders in the texts.
    pub placeholders: Vec<Placeholder>,
    /// Steps, in order.
    pub steps: Vec<Step>,
    /// What follows the commands of `undo`.
    pub undo_note: Option<String>,
    /// What the commands of `undo_host` do to other volumes of the host; absent if there are no such commands.
    pub undo_host_warning: Option<String>,
}

impl Plan {
    /// Commands that undo the plan for this volume or share alone, the last step first. Others of the host stay.
    pub fn undo(&self) -> impl Iterator<Item = &Command> {
        self.undo_of(false)
    }

    /// Commands that undo the steps which are once for each host, the last step first. They take the host off the
    /// array.
    pub fn undo_host(&self) -> impl Iterator<Item = &Command> {
        self.undo_of(true)
    }

    fn undo_of(&self, once_per_host: bool) -> impl Iterator<Item = &Command> {
        let steps = self.steps.iter().rev().filter(move |step| step.once_per_host == once_per_host);
        steps.flat_map(|step| &step.undo)
    }
}

/// Plan for a host that uses a volume.
pub fn of_volume(system: System, facts: &Facts) -> Plan {
    let steps = match system {
        System::Esxi => systems::esxi::steps(facts),
        System::Linux => systems::linux::steps(facts),
        System::Proxmox => systems::proxmox::steps(facts),
        System::Windows => systems::windows::steps(facts),
        System::Libvirt => systems::libvirt::steps(facts),
        System::Kubernetes => systems::kubernetes::steps(facts),
    };
    let (host, volume) = (word(&facts.host), word(&facts.volume));
    let mut warnings = Vec::new();
    if facts.initiators.is_empty() {
        warnings.push(format!(
            "host {} has no initiator name, by which the array knows it; give it one:  windlass host set {host} --iqn IQN",
            facts.host
        ));
    } else if facts.lun.is_none() {
        warnings.push(format!(
            "volume {} is not granted to host {}; grant it:  windlass access grant {volume} --host {host}",
            facts.volume, facts.host
        ));
    }
    if facts.portals.is_empty() {
        warnings.push("no portal of the array takes logins:  windlass portal list".to_owned());
    }
    if system == System::Esxi && facts.lun.is_some_and(|lun| lun > 255) {
        warnings.push("ESXi before 6.5 does not look for LUNs above 255".to_owned());
    }
    // QEMU and the kubelet log in for each disk; other systems keep the disk of a session.
    let keeps_disk = !matches!(system, System::Libvirt | System::Kubernetes);
    let undo_note = (keeps_disk && facts.lun.is_some()).then(|| {
        format!("then revoke the access, or the next rescan shows the disk again:  windlass access revoke {volume} --host {host}")
    });
    Plan {
        warnings,
        placeholders: placeholder::used(&steps),
        undo_note,
        undo_host_warning: undo_host_warning(&steps, facts),
        steps,
    }
}

/// Plan for a Linux host that uses a share.
pub fn of_share(facts: &ShareFacts, server: &Server) -> Plan {
    let steps = systems::linux_share::steps(facts, server);
    Plan {
        warnings: facts.warnings(),
        placeholders: placeholder::used(&steps),
        steps,
        undo_note: None,
        undo_host_warning: None,
    }
}

/// What taking the host off the array does to its other volumes.
fn undo_host_warning(steps: &[Step], facts: &Facts) -> Option<String> {
    let has = steps.iter().any(|step| step.once_per_host && !step.undo.is_empty());
    let others = match facts.other_volumes {
        0 => "it may use no other volume".to_owned(),
        1 => "it may use 1 other volume, which it loses too".to_owned(),
        number => format!("it may use {number} other volumes, which it loses too"),
    };
    has.then(|| format!("these commands take host {} off the array; {others}", facts.host))
}
