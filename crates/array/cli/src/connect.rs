//! `windlass connect`: what an administrator of a host enters there to use a share or volume.

use crate::client::{Client, segment};
use crate::error::CliError;
use crate::export::{access, is_share};
use crate::output::{Format, Output};
use crate::share::{self, Server};
use api::{Export, Host, NfsVersion, Portal, Share, ShareHost, ShareHostAddress, Volume};
use serde::Serialize;

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
        /// Address of the array, with the port of NFS if it is not 2049 [default: the first address of its NFS server]
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
    let steps = if is_share(name, client).await? {
        let share: Share = client.get(&share::path(name)).await?;
        let server = server(address.as_deref(), &share)?;
        let access: ShareHost = client.get(&format!("{}/hosts/{}", share::path(name), segment(&host.name))).await?;
        let (warnings, rules) = rules(&share, &access);
        warnings.iter().for_each(|warning| output.warn(warning));
        let directory = directory.clone().unwrap_or_else(|| format!("/mnt/{}", share.name));
        of_share(&share, &rules, &host.name, &server, &directory)
    } else {
        let volume: Volume = client.get(&format!("/api/v1/volumes/{}", segment(name))).await?;
        if !is_granted(&volume, &host) {
            let grant = format!("windlass access grant {} --host {}", volume.name, host.name);
            output.warn(&format!("no grant of volume {} names host {}; grant it:  {grant}", volume.name, host.name));
        }
        let portals: Vec<Portal> = client.list("/api/v1/portals").await?;
        of_volume(&volume, &host, &portals)
    };
    match output.format() {
        Format::Json | Format::Yaml => output.document(&steps),
        _ => output.text(&text(&steps)),
    }
}

/// True if a volume is granted to a host: to its name, to one of its groups, or to any host.
fn is_granted(volume: &Volume, host: &Host) -> bool {
    host.luns.iter().any(|lun| lun.volume == volume.name) || volume.luns.iter().any(|lun| lun.host == api::ANY_HOST)
}

/// The NFS server: that of the user, or the first one of the array.
fn server(address: Option<&str>, share: &Share) -> Result<Server, CliError> {
    let missing = || CliError::usage("the array serves no files; give its address with --address".to_owned());
    Server::parse(address.or(share.portals.first().map(String::as_str)).ok_or_else(missing)?)
}

/// Warnings about addresses of the host that may not use the share, and the distinct rules about the others.
fn rules<'a>(share: &Share, host: &'a ShareHost) -> (Vec<String>, Vec<&'a Export>) {
    let grant = format!("windlass access grant {} --host {}", share.name, host.host);
    if host.addresses.is_empty() {
        let give = format!("windlass host set {} --address ADDRESS", host.host);
        let warning = format!("host {} has no address, by which the rules know it; give it one:  {give}", host.host);
        return (vec![warning], Vec::new());
    }
    let (mut warnings, mut granting) = (Vec::new(), Vec::new());
    for ShareHostAddress { address, rule } in &host.addresses {
        match rule {
            Some(rule) if !granting.contains(&rule) => granting.push(rule),
            Some(_) => {}
            None => warnings.push(format!(
                "no rule of share {} is about address {address} of host {}, which may not mount it from there; grant it:  {grant}",
                share.name, host.host
            )),
        }
    }
    (warnings, granting)
}

/// ` (read-write, squash none, by the rule for NAME)`.
fn granted(rules: &[&Export]) -> String {
    let access = |rule: &&Export| format!("{}, by the rule for {}", access(rule), rule.host);
    let all: Vec<String> = rules.iter().map(access).collect();
    if all.is_empty() { String::new() } else { format!(" ({})", all.join("; ")) }
}

fn of_share(share: &Share, rules: &[&Export], host: &str, server: &Server, directory: &str) -> Vec<Step> {
    let v4 = share.protocols.contains(&NfsVersion::V4);
    let read_only = !rules.is_empty() && rules.iter().all(|rule| rule.read_only);
    let (options, source) = (server.options(share, read_only), server.source(share));
    let mount = server.mount(share, read_only, directory);
    let mut steps = vec![
        step(
            "once: the client of NFS",
            [
                "apt-get install nfs-common     # Debian, Ubuntu".to_owned(),
                "dnf install nfs-utils          # Fedora, RHEL".to_owned(),
            ],
        ),
        step(
            format!("mount share {} on {host}{}, as root", share.name, granted(rules)),
            [format!("mkdir -p {directory}"), mount],
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
