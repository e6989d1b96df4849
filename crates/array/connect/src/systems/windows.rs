//! Windows Server, in PowerShell.

use super::{host_step, only_initiator, split, step, watch};
use crate::quote::{line, powershell, quoted_for_powershell};
use crate::{ARRAY_SECRET, CHAP_SECRET, Command, Facts, PRODUCT, Shell, Step, System, VENDOR};

const PLACE: &str = "in PowerShell, as administrator";

pub(crate) fn steps(facts: &Facts) -> Vec<Step> {
    let mut steps = vec![
        host_step(
            "initiator",
            "iSCSI initiator",
            "Starts the service, now and at each start.",
            PLACE,
            vec![
                powershell("Set-Service", &[("-Name", "MSiSCSI"), ("-StartupType", "Automatic")]),
                powershell("Start-Service", &[("-Name", "MSiSCSI")]),
            ],
        ),
        host_step(
            "feature",
            "Multipath I/O",
            "Windows restarts, unless it has the feature already. Then go on with the next step.",
            PLACE,
            vec![powershell("Install-WindowsFeature", &[("-Name", "Multipath-IO"), ("-Restart", "")])],
        ),
        host_step(
            "multipath",
            "Several paths",
            "Multipath I/O claims the disks of the array, and spreads commands over all paths.",
            PLACE,
            vec![
                powershell("New-MSDSMSupportedHW", &[("-VendorId", VENDOR), ("-ProductId", PRODUCT)]),
                powershell("Set-MSDSMGlobalDefaultLoadBalancePolicy", &[("-Policy", "RR")]),
            ],
        ),
    ];
    steps.extend(only_initiator(facts).map(|name| Step {
        optional: true,
        ..host_step(
            "name",
            "Name of the initiator",
            "The array knows the host by this name. Not needed if the host has it already.",
            PLACE,
            vec![line(
                Shell::Powershell,
                format!(
                    "Get-InitiatorPort -ConnectionType iSCSI | Set-InitiatorPort -NewNodeAddress {}",
                    quoted_for_powershell(name)
                ),
            )],
        )
    }));
    steps.extend(facts.chap.as_ref().and_then(|chap| chap.mutual_user.as_ref()).map(|_| {
        host_step(
            "mutual-chap",
            "Mutual CHAP",
            "The secret with which the array authenticates to the host, of 12 to 16 characters. Between the quotes, write a ' of \
             the secret as ''.",
            PLACE,
            vec![powershell("Set-IscsiChapSecret", &[("-ChapSecret", ARRAY_SECRET)])],
        )
    }));
    steps.push(login(facts));
    steps.extend(disk(facts));
    steps.push(watch(System::Windows, facts));
    steps
}

/// Parameters that name a portal.
fn at(portal: &str) -> [(&str, &str); 2] {
    let (address, port) = split(portal);
    [("-TargetPortalAddress", address), ("-TargetPortalPortNumber", port)]
}

/// Parameters with which the host authenticates; none if it need not.
fn credentials(facts: &Facts) -> Vec<(&str, &str)> {
    facts.chap.as_ref().map_or_else(Vec::new, |chap| {
        let kind = if chap.mutual_user.is_some() { "MUTUALCHAP" } else { "ONEWAYCHAP" };
        vec![("-AuthenticationType", kind), ("-ChapUsername", &chap.user), ("-ChapSecret", CHAP_SECRET)]
    })
}

/// Asks a portal for targets. A host that has to authenticate does so here, too.
fn discover(facts: &Facts, portal: &str) -> Command {
    powershell("New-IscsiTargetPortal", &[&at(portal)[..], &credentials(facts)].concat())
}

fn connect(facts: &Facts, portal: &str) -> Command {
    let mut parameters = vec![("-NodeAddress", facts.target.as_str())];
    parameters.extend(at(portal));
    parameters.extend([("-IsMultipathEnabled $true", ""), ("-IsPersistent $true", "")]);
    parameters.extend(credentials(facts));
    powershell("Connect-IscsiTarget", &parameters)
}

fn login(facts: &Facts) -> Step {
    let sure = ("-Confirm:$false", "");
    let mut commands: Vec<Command> = facts.portals.iter().map(|portal| discover(facts, portal)).collect();
    commands.extend(facts.portals.iter().map(|portal| connect(facts, portal)));
    let forget = |portal: &String| powershell("Remove-IscsiTargetPortal", &[&at(portal)[..], &[sure]].concat());
    let mut undo = vec![powershell("Disconnect-IscsiTarget", &[("-NodeAddress", facts.target.as_str()), sure])];
    undo.extend(facts.portals.iter().map(forget));
    let why = match facts.chap {
        Some(_) => {
            "A session for each portal, now and at each start. The host authenticates with CHAP, and Windows takes secrets of \
             12 to 16 characters. The array shows the secret once, when it is set. Between the quotes, write a ' of the secret \
             as ''."
        }
        None => "A session for each portal, now and at each start.",
    };
    Step { undo, ..host_step("login", "Login", why, PLACE, commands) }
}

fn disk(facts: &Facts) -> [Step; 2] {
    let found =
        format!("Get-Disk | Where-Object UniqueId -EQ {}", quoted_for_powershell(&facts.naa.to_ascii_uppercase()));
    let rest = "New-Partition -UseMaximumSize -AssignDriveLetter";
    let label = quoted_for_powershell(&facts.volume);
    let check = step(
        "check",
        "Check",
        "The disk, and the paths of each disk.",
        PLACE,
        vec![
            powershell("Update-HostStorageCache", &[]),
            line(Shell::Powershell, format!("{found} | Format-List Number, FriendlyName, Size, OperationalStatus")),
            line(Shell::Powershell, "mpclaim.exe -s -d"),
        ],
    );
    let volume = Step {
        optional: true,
        undo: vec![line(Shell::Powershell, format!("{found} | Set-Disk -IsOffline $true"))],
        ..step(
            "file-system",
            "File system",
            "Initialize-Disk refuses a disk that has partitions. NTFS gives back the space of deleted files by itself.",
            PLACE,
            vec![
                line(Shell::Powershell, format!("{found} | Set-Disk -IsOffline $false")),
                line(
                    Shell::Powershell,
                    format!(
                        "{found} | Initialize-Disk -PartitionStyle GPT -PassThru | {rest} | Format-Volume -FileSystem NTFS -NewFileSystemLabel {label}"
                    ),
                ),
            ],
        )
    };
    [check, volume]
}
