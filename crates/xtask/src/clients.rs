//! `cargo xtask clients`: the array with third-party initiators (libiscsi's tools, QEMU), end to
//! end, and with a misbehaving initiator of our own.
//!
//! * Access: discovery, IPv6, digests, CHAP one-way and mutual, wrong secrets, unknown targets,
//!   hosts without access.
//! * Data: QEMU writes, zeroes, discards and copies between logical units, with and without copy
//!   offload. A proxy counts the bytes of copy offload, independent of other traffic of the
//!   machine.
//! * Disturbances: [`loads::disturbance`], then `windlass pool check`.

mod proxy;

use crate::tally::Tally;
use anyhow::{Context, Result, ensure};
use array_process::array::{Array, ArrayOptions, Volume, free_portal};
use array_process::program;
use bytes::Bytes;
use clap::Args;
use conformance::commands::BLOCK_BYTES;
use conformance::initiator::{Session, SessionOptions};
use conformance::url::Url;
use loads::disturbance::{self, DisturbanceOptions};
use proxy::Proxy;
use random::Random;
use random::sector::numbered;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::{Ipv6Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Sizes and selection.
#[derive(Args)]
pub(crate) struct Options {
    /// Size of the logical units that QEMU copies, in MiB; one sixteenth of each is empty.
    #[arg(long, default_value_t = 8192, value_name = "MIB")]
    size: u64,
    /// Rounds of each disturbance.
    #[arg(long, default_value_t = 200)]
    rounds: u32,
    /// Run only the checks whose name contains this.
    #[arg(long, default_value = "", value_name = "WORDS")]
    only: String,
}

impl Options {
    /// Options for `cargo xtask ci`.
    pub(crate) fn short() -> Self {
        Self { size: 256, rounds: 30, only: String::new() }
    }
}

/// Time limit of one program.
const LIMIT: Duration = Duration::from_secs(600);
/// Largest share of the copied data that copy offload may send.
const WIRE_SHARE: f64 = 0.01;
/// Prefix of the initiator names of the hosts.
const HOST: &str = "iqn.2026-01.org.example:";
const SECRET: &str = "a-secret-of-the-host";
const ARRAY_SECRET: &str = "a-secret-of-the-array";

/// Array with hosts, and the facts that the checks need.
struct Bench {
    array: Array,
    directory: PathBuf,
    /// IPv6 portal, if the machine has IPv6.
    ipv6: Option<SocketAddr>,
    /// Volume of host `plain` and host `oneway`.
    own: Volume,
    size_bytes: u64,
    rounds: u32,
}

/// Check: returns words for the report, or the failure.
struct Check {
    name: &'static str,
    run: fn(&Bench) -> Result<String>,
}

/// All checks, in order: checks of access run before any volume is granted to every initiator.
const CHECKS: &[Check] = &[
    Check { name: "discovery lists target, portals and logical units", run: discovery },
    Check { name: "discovery by a host without access lists no logical unit", run: discovery_without_access },
    Check { name: "login over IPv6", run: ipv6 },
    Check { name: "digests", run: digests },
    Check { name: "CHAP", run: one_way_chap },
    Check { name: "mutual CHAP", run: mutual_chap },
    Check { name: "an unknown target name is refused with 0203h", run: unknown_target },
    Check { name: "an unknown host is refused with 0202h", run: unknown_host },
    Check { name: "a LUN without a logical unit is refused", run: unknown_lun },
    Check { name: "a host sees its own logical units and those of everyone", run: own_units_only },
    Check { name: "QEMU writes, zeroes, discards and reads back", run: qemu_io },
    Check { name: "qemu-img copies between logical units, with and without offload", run: qemu_img },
    Check { name: "disturbances", run: disturbances },
];

/// Starts an array and runs the checks.
pub(crate) fn run(windlass: &Path, options: &Options) -> Result<Tally> {
    for tool in ["iscsi-ls", "iscsi-inq", "qemu-img", "qemu-io"] {
        find(tool)?;
    }
    let directory = tempfile::Builder::new().prefix("windlass-clients-").tempdir()?;
    let bench = Bench::start(windlass, options, directory.path())?;
    let mut tally = Tally::default();
    for check in CHECKS.iter().filter(|check| check.name.contains(&options.only)) {
        let started = Instant::now();
        let result = (check.run)(&bench);
        let elapsed = text::duration::measured(started.elapsed());
        match &result {
            Ok(words) => println!("  ok      {} ({elapsed}){}", check.name, indented(words)),
            Err(error) => {
                println!("  FAILED  {} ({elapsed}){}", check.name, indented(&format!("{error:#}")));
                println!("          the array's log ends:\n{}", bench.array.log_end());
            }
        }
        tally += Tally::one(result.is_ok());
    }
    let mut array = bench.array;
    let pool = array.pool_file();
    array.stop()?;
    program::require(windlass, &["pool".as_ref(), "check".as_ref(), pool.as_os_str()], LIMIT)?;
    Ok(tally)
}

/// Indents lines below the name of their check.
fn indented(words: &str) -> String {
    words.lines().map(|line| format!("\n          {line}")).collect()
}

/// Finds a program that the checks need.
fn find(name: &str) -> Result<PathBuf> {
    program::find(name).with_context(|| {
        format!(
            "{name} is not installed; on Debian and Ubuntu: apt-get install libiscsi-bin qemu-utils qemu-block-extra"
        )
    })
}

/// Runs a program that has to succeed; returns its output.
fn succeeds(name: &str, arguments: &[&str]) -> Result<String> {
    Ok(program::require(&find(name)?, arguments, LIMIT)?.stdout)
}

/// Runs a program that has to exit with a failure and print `words`.
fn fails(name: &str, arguments: &[&str], words: &str) -> Result<()> {
    let finished = program::run(&find(name)?, arguments, LIMIT)?;
    let output = format!("{}{}", finished.stdout, finished.stderr);
    let status = finished.status.context("it hangs")?;
    ensure!(!status.success(), "{name} {} succeeded", arguments.join(" "));
    ensure!(output.contains(words), "{name} {} does not say {words:?} but:\n{output}", arguments.join(" "));
    Ok(())
}

impl Bench {
    fn start(windlass: &Path, options: &Options, directory: &Path) -> Result<Self> {
        let free_ipv6 = || TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let ipv6 = free_ipv6().ok();
        let mut portals = vec![free_portal()?, free_portal()?];
        portals.extend(ipv6);
        let array = Array::start(ArrayOptions {
            executable: windlass.to_path_buf(),
            state_directory: directory.join("array"),
            portals,
            pool_size: format!("{}M", options.size * 4 + 1024),
            arguments: Vec::new(),
        })?;
        let secret_file = |name: &str, secret: &str| -> Result<String> {
            let path = directory.join(name);
            std::fs::write(&path, secret)?;
            Ok(format!("file:{}", path.display()))
        };
        let (secret, array_secret) = (secret_file("host", SECRET)?, secret_file("array-secret", ARRAY_SECRET)?);
        let host = |name: &str, chap: &[&str]| -> Result<()> {
            let iqn = format!("{HOST}{name}");
            let mut arguments = vec!["host", "create", name, "--iqn", &iqn];
            arguments.extend_from_slice(chap);
            array.command(&arguments).map(drop)
        };
        let one_way = ["--chap-user", "user", "--chap-secret", &secret];
        let mutual = ["--mutual-chap-user", "array", "--mutual-chap-secret", &array_secret];
        host("plain", &[])?;
        host("idle", &[])?;
        host("oneway", &one_way)?;
        host("mutual", &[one_way.as_slice(), &mutual].concat())?;
        array.command(&["volume", "create", "own", "--size", "64M"])?;
        for name in ["plain", "oneway", "mutual"] {
            array.command(&["access", "grant", "own", "--host", name])?;
        }
        let own = array.volume("own")?;
        let size_bytes = options.size << 20;
        Ok(Self { array, directory: directory.to_path_buf(), ipv6, own, size_bytes, rounds: options.rounds })
    }

    /// First portal.
    fn portal(&self) -> Result<SocketAddr> {
        self.array.options().portals.first().copied().context("the array has no portal")
    }

    fn target(&self) -> Result<String> {
        Ok(self.own.url().parse::<Url>()?.target)
    }

    /// Creates a volume of the size under test, for every initiator.
    fn volume(&self, name: &str) -> Result<Volume> {
        self.array.create_volume(name, &self.size_bytes.to_string())
    }
}

fn iqn(host: &str) -> String {
    format!("{HOST}{host}")
}

/// Sends an INQUIRY as a host, which has to succeed.
fn inquiry(host: &str, url: &str) -> Result<()> {
    let output = succeeds("iscsi-inq", &["-i", &iqn(host), url])?;
    ensure!(output.contains("Vendor:WINDLASS"), "{url} answers INQUIRY with:\n{output}");
    Ok(())
}

/// URL with the CHAP user of the host.
fn with_user(url: &str, user: &str, secret: &str) -> String {
    url.replacen("iscsi://", &format!("iscsi://{user}%{secret}@"), 1)
}

fn discovery(bench: &Bench) -> Result<String> {
    let url = format!("iscsi://{}", bench.portal()?);
    let listing = succeeds("iscsi-ls", &["-s", "-i", &iqn("plain"), &url])?;
    let target = bench.target()?;
    for portal in &bench.array.options().portals {
        let line = format!("Target:{target} Portal:{portal},");
        ensure!(listing.contains(&line), "{line} is not in:\n{listing}");
    }
    let units = listing.lines().filter(|line| line.starts_with("Lun:0 ")).count();
    let portals = bench.array.options().portals.len();
    ensure!(units == portals, "{units} of {portals} portals show LUN 0:\n{listing}");
    Ok(String::new())
}

/// A registered host finds the target, so that its session exists before it gets its first volume;
/// an unknown host does not.
fn discovery_without_access(bench: &Bench) -> Result<String> {
    let url = format!("iscsi://{}", bench.portal()?);
    for (host, finds_target) in [("idle", true), ("stranger", false)] {
        let listing = succeeds("iscsi-ls", &["-s", "-i", &iqn(host), &url])?;
        ensure!(!listing.contains("Lun:"), "{host} sees:\n{listing}");
        ensure!(listing.contains("Target:") == finds_target, "{host} finds:\n{listing}");
    }
    Ok(String::new())
}

fn ipv6(bench: &Bench) -> Result<String> {
    let Some(portal) = bench.ipv6 else { return Ok("not run: this machine has no IPv6 loopback address".into()) };
    inquiry("plain", &format!("iscsi://{portal}/{}/0", bench.target()?))?;
    Ok(String::new())
}

fn digests(bench: &Bench) -> Result<String> {
    inquiry("plain", &format!("{}?header_digest=crc32c", bench.own.url()))?;
    // The tools of libiscsi have no data digests.
    let url: Url = format!("{}?header_digest=crc32c&data_digest=crc32c", bench.own.url()).parse()?;
    let options = SessionOptions { initiator_name: iqn("plain"), ..SessionOptions::default() };
    let mut session = Session::connect(&url, &options)?;
    session.clear_unit_attentions()?;
    let parameters = session.machine().parameters();
    ensure!(parameters.header_digest && parameters.data_digest, "digests were not agreed to: {parameters:?}");
    // Covers immediate data, unsolicited Data-Out, R2T and Data-In.
    let mut data = vec![0; 1 << 20];
    data.chunks_mut(BLOCK_BYTES).zip(1..).for_each(|(block, stamp)| block.copy_from_slice(&numbered(stamp)));
    let data = Bytes::from(data);
    session.write16(8, data.clone())?;
    ensure!(session.read16(8, 2048)? == data, "data came back changed");
    session.logout()?;
    Ok(String::new())
}

fn one_way_chap(bench: &Bench) -> Result<String> {
    let url = bench.own.url();
    inquiry("oneway", &with_user(url, "user", SECRET))?;
    let refused = "Authentication failure(513)";
    for wrong in [with_user(url, "user", "another-long-secret"), with_user(url, "other", SECRET), url.to_owned()] {
        fails("iscsi-inq", &["-i", &iqn("oneway"), &wrong], refused)?;
    }
    let discovery = format!("iscsi://user%{SECRET}@{}", bench.portal()?);
    let listing = succeeds("iscsi-ls", &["-s", "-i", &iqn("oneway"), &discovery])?;
    ensure!(listing.contains("Lun:0 "), "discovery with CHAP shows:\n{listing}");
    Ok(String::new())
}

fn mutual_chap(bench: &Bench) -> Result<String> {
    let url = with_user(bench.own.url(), "user", SECRET);
    inquiry("mutual", &format!("{url}?target_user=array&target_password={ARRAY_SECRET}"))?;
    let wrong = format!("{url}?target_user=array&target_password=not-the-arrays-secret");
    fails("iscsi-inq", &["-i", &iqn("mutual"), &wrong], "Invalid CHAP_R response from the target")?;
    let wrong = with_user(bench.own.url(), "user", "another-long-secret");
    let wrong = format!("{wrong}?target_user=array&target_password={ARRAY_SECRET}");
    fails("iscsi-inq", &["-i", &iqn("mutual"), &wrong], "Authentication failure(513)")?;
    Ok(String::new())
}

fn unknown_target(bench: &Bench) -> Result<String> {
    let url = format!("iscsi://{}/{}-unknown/0", bench.portal()?, bench.target()?);
    fails("iscsi-inq", &["-i", &iqn("plain"), &url], "Target not found(515)")?;
    Ok(String::new())
}

fn unknown_host(bench: &Bench) -> Result<String> {
    fails("iscsi-inq", &["-i", &iqn("stranger"), bench.own.url()], "Authorization failure(514)")?;
    Ok(String::new())
}

fn unknown_lun(bench: &Bench) -> Result<String> {
    let url = format!("iscsi://{}/{}/17", bench.portal()?, bench.target()?);
    fails("iscsi-inq", &["-i", &iqn("plain"), &url], "LOGICAL_UNIT_NOT_SUPPORTED")?;
    // LUN of another host.
    fails("iscsi-inq", &["-i", &iqn("idle"), bench.own.url()], "LOGICAL_UNIT_NOT_SUPPORTED")?;
    Ok(String::new())
}

fn own_units_only(bench: &Bench) -> Result<String> {
    bench.array.command(&["volume", "create", "everyones", "--size", "64M"])?;
    bench.array.command(&["access", "grant", "everyones", "--any", "--lun", "9"])?;
    let url = format!("iscsi://{}", bench.portal()?);
    for (host, expected) in [("plain", &["0", "9"][..]), ("idle", &["9"]), ("stranger", &["9"])] {
        let listing = succeeds("iscsi-ls", &["-s", "-i", &iqn(host), &url])?;
        let mut seen: Vec<_> =
            listing.lines().filter_map(|line| line.strip_prefix("Lun:")?.split(' ').next()).collect();
        seen.sort_unstable();
        seen.dedup();
        ensure!(seen == expected, "{host} sees the LUNs {seen:?} and not {expected:?}:\n{listing}");
    }
    Ok(String::new())
}

fn qemu_io(bench: &Bench) -> Result<String> {
    let volume = bench.array.create_volume("scratch", "64M")?;
    let script = [
        "write -P 0x5a 1M 8M",
        "write -z 2M 1M",
        "discard 4M 2M",
        "write -P 0xa5 8704 1536",
        "flush",
        "read -P 0x5a 1M 1M",
        "read -P 0 2M 1M",
        "read -P 0x5a 3M 1M",
        "read -P 0 4M 2M",
        "read -P 0x5a 6M 3M",
        "read -P 0xa5 8704 1536",
        "read -P 0 10240 4096",
    ];
    let mut arguments = vec!["-f", "raw"];
    arguments.extend(script.iter().flat_map(|line| ["-c", line]));
    arguments.push(volume.url());
    let output = succeeds("qemu-io", &arguments)?;
    let wrong = output.lines().find(|line| line.contains("failed") || line.contains("error"));
    ensure!(wrong.is_none(), "qemu-io found:\n{output}");
    // A new session through the other portal has the same content.
    let again = volume.urls.get(1).context("the array has one portal only")?;
    let output = succeeds("qemu-io", &["-r", "-f", "raw", "-c", "read -P 0x5a 6M 3M", "-c", "read -P 0 4M 2M", again])?;
    ensure!(!output.contains("failed"), "through the other portal qemu-io found:\n{output}");
    Ok(String::new())
}

fn qemu_img(bench: &Bench) -> Result<String> {
    let image = bench.directory.join("image");
    let data_bytes = write_image(&image, bench.size_bytes)?;
    let image = image.to_str().context("the temporary directory has a strange name")?;
    let [source, copy, offloaded] = ["source", "copy", "offloaded"].map(|name| bench.volume(name));
    let (source, copy, offloaded) = (source?, copy?, offloaded?);
    let proxy = Proxy::start(bench.portal()?)?;
    let mut report = Vec::new();
    let mut convert = |what: &str, more: &[&str], from: &str, to: &str| -> Result<u64> {
        let (started, bytes) = (Instant::now(), proxy.bytes());
        let mut arguments = vec!["convert", "-n", "-f", "raw", "-O", "raw"];
        arguments.extend_from_slice(more);
        arguments.extend_from_slice(&[from, to]);
        succeeds("qemu-img", &arguments)?;
        let sent = proxy.bytes() - bytes;
        report.push(format!(
            "{what}: {} sent in {}",
            text::size::format(sent),
            text::duration::measured(started.elapsed())
        ));
        succeeds("qemu-img", &["compare", "-f", "raw", "-F", "raw", image, to]).context("the content differs")?;
        Ok(sent)
    };
    let (through, to) = (proxy.url(source.url())?, proxy.url(copy.url())?);
    convert(&format!("file with {} of data to a logical unit", text::size::format(data_bytes)), &[], image, &through)?;
    convert("logical unit to logical unit by the host", &[], &through, &to)?;
    let used_before = bench.array.pool_number("used_bytes")?;
    let sent = convert("logical unit to logical unit by the array", &["-C"], &through, &proxy.url(offloaded.url())?)?;
    let grown = bench.array.pool_number("used_bytes")?.saturating_sub(used_before);
    ensure!((sent as f64) < data_bytes as f64 * WIRE_SHARE, "copy offload sent {}", text::size::format(sent));
    ensure!(grown < data_bytes / 20, "copy offload took {} of the pool", text::size::format(grown));
    let refused = bench.array.json(&["offload", "stats"])?;
    let rows = refused.as_array().context("offload stats is no list")?;
    let row = rows.iter().find(|row| {
        row.get("primitive").is_some_and(|name| name == "xcopy")
            && row.get("commands").and_then(serde_json::Value::as_u64).is_some_and(|commands| commands > 0)
    });
    let row = row.context("offload stats counts no EXTENDED COPY")?;
    ensure!(row.get("refused").and_then(serde_json::Value::as_u64) == Some(0), "an EXTENDED COPY was refused: {row}");
    report.push(format!("copy offload took {} of the pool", text::size::format(grown)));
    Ok(report.join("\n"))
}

/// Writes a file in which every block differs and every sixteenth MiB is a hole; returns the bytes
/// of data.
fn write_image(path: &Path, size_bytes: u64) -> Result<u64> {
    const MIB: usize = 1 << 20;
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    file.set_len(size_bytes)?;
    let mut output = BufWriter::with_capacity(MIB, file);
    let random = Random::new(size_bytes);
    let mut piece = vec![0; MIB];
    let mut data_bytes = 0;
    for index in 0..size_bytes / MIB as u64 {
        if index % 16 == 15 {
            std::io::Seek::seek_relative(&mut output, MIB as i64)?;
            continue;
        }
        piece.chunks_mut(BLOCK_BYTES).for_each(|block| block.copy_from_slice(&numbered(random.next() | 1)));
        output.write_all(&piece)?;
        data_bytes += MIB as u64;
    }
    output.flush()?;
    Ok(data_bytes)
}

fn disturbances(bench: &Bench) -> Result<String> {
    let volume = bench.array.create_volume("disturbed", "64M")?;
    let urls = volume.urls.iter().take(2).map(|url| url.parse()).collect::<Result<Vec<Url>, _>>()?;
    let options = DisturbanceOptions { rounds: bench.rounds, ..DisturbanceOptions::new(urls) };
    let mut report = Vec::new();
    for (name, check) in disturbance::CHECKS {
        let summary = check(&options).with_context(|| name.to_owned())?;
        report.push(format!("{name}: {summary}"));
    }
    Ok(report.join("\n"))
}
