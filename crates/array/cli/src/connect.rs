//! `windlass connect`: what an administrator of a host enters there to use a share or volume.

use crate::client::{Client, segment};
use crate::error::CliError;
use crate::export::{access, is_share};
use crate::output::{Format, Output};
use crate::share;
use api::{Export, Host, NfsVersion, Portal, Share, Volume};
use serde::Serialize;

/// Port of NFS.
const NFS_PORT: &str = "2049";

/// Verbs of `windlass connect`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// Print the commands by which a Linux host uses a share or volume; changes nothing
    #[command(
        after_help = "Examples:\n  windlass connect linux pve1 vms\n  windlass connect linux pve1 vms --address 192.0.2.7:12049 --directory /srv/vms\n  windlass connect linux pve1 db1"
    )]
    Linux {
        /// Host, by name or id
        host: String,
        /// Share or volume, by name or id
        name: String,
        /// Address of the array, with the port of NFS if it is not 2049 [default: the address of the first portal]
        #[arg(long, value_name = "ADDRESS[:PORT]")]
        address: Option<String>,
        /// Directory to mount the share on [default: /mnt/NAME]
        #[arg(long, value_name = "DIRECTORY")]
        directory: Option<String>,
    },
}

/// Lines for one purpose.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Step {
    purpose: String,
    lines: Vec<String>,
}

fn step(purpose: impl Into<String>, lines: impl IntoIterator<Item = String>) -> Step {
    Step { purpose: purpose.into(), lines: lines.into_iter().collect() }
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let Verb::Linux { host, name, address, directory } = verb;
    let host: Host = client.get(&format!("/api/v1/hosts/{}", segment(host))).await?;
    let portals: Vec<Portal> = client.list("/api/v1/portals").await?;
    let steps = if is_share(name, client).await? {
        let share: Share = client.get(&share::path(name)).await?;
        let server = server(address.as_deref(), &portals)?;
        let rule = rule(&share, &host);
        if rule.is_none() {
            output.warn(&no_rule(&share, &host));
        }
        let directory = directory.clone().unwrap_or_else(|| format!("/mnt/{}", share.name));
        of_share(&share, rule, &host, &server, &directory)
    } else {
        let volume: Volume = client.get(&format!("/api/v1/volumes/{}", segment(name))).await?;
        if !volume.luns.iter().any(|lun| lun.host == host.name || lun.host == api::ANY_HOST) {
            let grant = format!("windlass access grant {} --host {}", volume.name, host.name);
            output.warn(&format!("no grant of volume {} names host {}; grant it:  {grant}", volume.name, host.name));
        }
        of_volume(&volume, &host, &portals)
    };
    match output.format() {
        Format::Json => output.json(&steps),
        _ => output.text(&text(&steps)),
    }
}

/// Address and port of the NFS server.
fn server(address: Option<&str>, portals: &[Portal]) -> Result<(String, String), CliError> {
    let Some(address) = address else {
        let portal = portals.first().and_then(|portal| portal.advertised.rsplit_once(':'));
        let missing = || CliError::usage("the array has no portal; give its address with --address".to_owned());
        return portal.map(|(host, _)| (host.to_owned(), NFS_PORT.to_owned())).ok_or_else(missing);
    };
    // An IPv6 address without port has colons, too; with a port it stands in brackets.
    match address.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => match port.parse::<u16>() {
            Ok(_) => Ok((host.to_owned(), port.to_owned())),
            Err(_) => Err(CliError::usage(format!("{port:?} in {address:?} is no port"))),
        },
        Some(_) if !address.ends_with(']') => Ok((format!("[{address}]"), NFS_PORT.to_owned())),
        _ => Ok((address.to_owned(), NFS_PORT.to_owned())),
    }
}

/// Rule that names the host, or the one for all hosts.
fn rule<'a>(share: &'a Share, host: &Host) -> Option<&'a Export> {
    let named = |name: &str| share.exports.iter().find(|export| export.host == name);
    named(&host.name).or_else(|| named(api::ANY_HOST))
}

fn no_rule(share: &Share, host: &Host) -> String {
    let grant = format!("windlass access grant {} --host {}", share.name, host.name);
    let others = share.exports.iter().map(|export| export.host.as_str()).collect::<Vec<_>>().join(", ");
    let missing = format!("no rule of share {} names host {}", share.name, host.name);
    if others.is_empty() {
        return format!("{missing}, and no other host may use it; grant it:  {grant}");
    }
    // Whether the host is in a group or network is not told here.
    format!(
        "{missing}: its rules are for {others}. If they include the host, mind whether they are read-only; if not, grant it:  {grant}"
    )
}

fn of_share(
    share: &Share,
    rule: Option<&Export>,
    host: &Host,
    (address, port): &(String, String),
    directory: &str,
) -> Vec<Step> {
    let v4 = share.protocols.contains(&NfsVersion::V4);
    let mut options = if v4 {
        vec!["vers=4.2".to_owned(), "hard".to_owned()]
    } else {
        // There is no lock manager of NFSv3, and MOUNT has the port of NFS.
        vec!["vers=3".into(), "hard".into(), "proto=tcp".into(), "nolock".into(), format!("mountport={port}")]
    };
    if port != NFS_PORT {
        options.push(format!("port={port}"));
    }
    if rule.is_some_and(|rule| rule.read_only) {
        options.push("ro".to_owned());
    }
    let (options, source) = (options.join(","), format!("{address}:{}", share.path));
    let access = rule.map_or(String::new(), |rule| format!(" ({})", access(rule)));
    let mut steps = vec![
        step(
            "once: the client of NFS",
            [
                "apt-get install nfs-common     # Debian, Ubuntu".to_owned(),
                "dnf install nfs-utils          # Fedora, RHEL".to_owned(),
            ],
        ),
        step(
            format!("mount share {} on {}{access}, as root", share.name, host.name),
            [format!("mkdir -p {directory}"), format!("mount -t nfs -o {options} {source} {directory}")],
        ),
        step(
            "mount it at each start: a line of /etc/fstab",
            [format!("{source}  {directory}  nfs  {options},_netdev,nofail  0  0")],
        ),
    ];
    let mut look = vec![format!("nfsstat -m                     # {}", if v4 { "vers=4.2" } else { "vers=3" })];
    if v4 {
        look.extend([
            format!("cp --reflink=always {directory}/A {directory}/B     # a clone: no data is moved"),
            format!("fallocate -l 1G {directory}/C            # reserves space"),
            format!("fallocate -p -o 0 -l 1G {directory}/C    # gives it back"),
            format!("grep -A999 {directory} /proc/self/mountstats | grep -E 'CLONE|ALLOCATE|COPY'"),
        ]);
    }
    steps.push(step("what to look at, on the host", look));
    steps.push(step(
        "what to look at, on the array",
        [
            format!("windlass offload stats {} --by client", share.name),
            format!("windlass offload log {}", share.name),
            format!("windlass share stat {}", share.name),
        ],
    ));
    steps
}

fn of_volume(volume: &Volume, host: &Host, portals: &[Portal]) -> Vec<Step> {
    let discover =
        portals.iter().map(|portal| format!("iscsiadm -m discovery -t sendtargets -p {}", portal.advertised));
    let target = portals.first().map_or("", |portal| portal.target.as_str());
    vec![
        step(
            "once: the initiator",
            [
                "apt-get install open-iscsi               # Debian, Ubuntu".to_owned(),
                "dnf install iscsi-initiator-utils        # Fedora, RHEL".to_owned(),
            ],
        ),
        step(
            format!("log in on {}, as root", host.name),
            discover.chain([
                format!("iscsiadm -m node -T {target} -l"),
                format!("iscsiadm -m node -T {target} -o update -n node.startup -v automatic"),
            ]),
        ),
        step(
            "what to look at, on the host",
            [
                "lsblk -o NAME,VENDOR,MODEL,SIZE,DISC-MAX".to_owned(),
                format!("ls -l /dev/disk/by-id/ | grep -i {}", volume.naa),
            ],
        ),
        step(
            "what to look at, on the array",
            [format!("windlass offload stats {}", volume.name), format!("windlass offload log {}", volume.name)],
        ),
    ]
}

fn text(steps: &[Step]) -> String {
    let block = |step: &Step| format!("# {}\n{}\n", step.purpose, step.lines.join("\n"));
    steps.iter().map(block).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::server;

    #[test]
    fn an_address_may_have_a_port() {
        for (given, address, port) in [
            ("192.0.2.7", "192.0.2.7", "2049"),
            ("192.0.2.7:12049", "192.0.2.7", "12049"),
            ("array", "array", "2049"),
            ("fd00::7", "[fd00::7]", "2049"),
            ("[fd00::7]", "[fd00::7]", "2049"),
            ("[fd00::7]:12049", "[fd00::7]", "12049"),
        ] {
            let found = server(Some(given), &[]).ok();
            assert_eq!(found, Some((address.to_owned(), port.to_owned())), "{given}");
        }
        assert!(server(Some("array:nfs"), &[]).is_err() && server(None, &[]).is_err());
    }
}
