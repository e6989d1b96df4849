//! `windlass pool`: space, limits, scrub and check.

use crate::client::{Client, segment};
use crate::error::CliError;
use crate::output::{Column, Format, Output, Resource, Value, column, minor, wide};
use crate::selection::Selection;
use crate::{forecast, job, percent, trash};
use api::size::SizeError;
use api::{Freeable, FreeableKind, Growing, Pool, PoolGrow, PoolSet, PoolState, WhatIf, WhatIfAnswer, WhatIfOne};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Verbs of `windlass pool`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List pools
    #[command(after_help = "Example:\n  windlass pool list")]
    List,
    /// Show one pool: its space, its limits, and the results of the last scrub and check
    #[command(after_help = "Examples:\n  windlass pool show\n  windlass pool show p0 -o json")]
    Show {
        /// Name; default: the array's pool
        name: Option<String>,
    },
    /// Change thresholds, the limit of over-commitment, the times of the trash, and the latency of an alert
    #[command(
        after_help = "Examples:\n  windlass pool set p0 --warn 80% --critical 90%\n  windlass pool set p0 --commitment 250%\n  windlass pool set p0 --commitment off\n  windlass pool set p0 --trash 7d\n  windlass pool set p0 --trash 14d --trash-lock 7d\n  windlass pool set p0 --latency-alert 20ms"
    )]
    Set(Set),
    /// List what could be deleted to free space: what frees most comes first
    #[command(
        after_help = "Examples:\n  windlass pool frees\n  windlass pool frees p0 --limit 10\n\nThe list has what is in the trash, snapshots, and volumes and shares without a grant.\nwindlass pool what-if --with-snapshots NAME…  shows what several of them free together."
    )]
    Frees {
        /// Name; default: the array's pool
        name: Option<String>,
        /// Which
        #[command(flatten)]
        selection: Selection,
    },
    /// Show what deleting volumes, shares and snapshots together would free; deletes nothing
    #[command(
        after_help = "Examples:\n  windlass pool what-if vm-104 tmpl@old\n  windlass pool what-if vm-104 tmpl@old -o json\n\nBlocks that only these share with each other are freed by deleting all of them, and by none alone."
    )]
    WhatIf {
        /// Names; of a snapshot: volume@name. Of what is in the trash: its id
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        /// Volumes and shares go with their snapshots
        #[arg(long)]
        with_snapshots: bool,
    },
    /// Enlarge a pool in use: enlarge its last file or device, or add one
    #[command(
        group = clap::ArgGroup::new("how").required(true).args(["size", "device"]),
        after_help = "Examples:\n  windlass pool grow p0 --size 6G\n  windlass pool grow p0 --device /dev/disk/by-id/x"
    )]
    Grow {
        /// Name
        name: String,
        /// New size of the pool's last file or device
        #[arg(long, value_name = "SIZE", value_parser = parse_size)]
        size: Option<u64>,
        /// Additional device or file on the array's machine; it must be blank
        #[arg(long, value_name = "PATH")]
        device: Option<String>,
    },
    /// Read and verify all stored data, in the background
    #[command(
        after_help = "Examples:\n  windlass pool scrub\n  windlass pool scrub p0 --share 50 --no-wait\n\nExit status: 0 nothing is bad, 9 content is lost. Ctrl-C leaves the scrub running."
    )]
    Scrub {
        /// Name; default: the array's pool
        name: Option<String>,
        /// How
        #[command(flatten)]
        start: job::Start,
    },
    /// Check map and reference counts of a pool in use (by name) or of a closed one (by its file or
    /// device)
    #[command(
        after_help = "Examples:\n  windlass pool check p0                           a pool in use\n  windlass pool check /var/lib/windlass/p0.pool    a closed pool: changes nothing, verifies the data too\n  windlass pool check ./p0.pool --quick -o json\n\nAn argument with a '/', or the name of an existing file, is a file; any other argument is the name of a pool.\nExit status: 0 clean, 9 findings, 4 the file is in use by an array, 1 cannot be opened."
    )]
    Check {
        /// Name, or path of a file or device; default: the array's pool
        #[arg(value_name = "NAME|PATH")]
        target: Option<PathBuf>,
        /// For a file: verify the map and the counts, but do not read the data
        #[arg(long)]
        quick: bool,
        /// How
        #[command(flatten)]
        start: job::Start,
    },
}

/// Settings that `pool set` changes.
#[derive(Clone, Debug, clap::Args)]
pub struct Set {
    /// Name
    name: String,
    /// Raise a warning when this percentage of the pool is used or promised
    #[arg(long, value_name = "PERCENT", value_parser = percent::parse)]
    warn: Option<u8>,
    /// Raise a critical alert when this percentage of the pool is used or promised
    #[arg(long, value_name = "PERCENT", value_parser = percent::parse)]
    critical: Option<u8>,
    /// Limit of the sizes of all volumes together, in percent of the pool's size
    #[arg(long, value_name = "PERCENT|off", value_parser = percent::parse_commitment)]
    commitment: Option<u32>,
    /// Time for which the trash keeps what is deleted from now on; off: what is deleted is gone at once
    #[arg(long, value_name = "TIME|off", value_parser = trash::parse_age)]
    trash: Option<u32>,
    /// Time for which nobody can delete for good what goes to the trash from now on, at most that of --trash. It can
    /// become longer, and never shorter
    #[arg(long, value_name = "TIME", value_parser = trash::parse_age)]
    trash_lock: Option<u32>,
    /// Raise an alert when 1 % of the reads and writes of hosts take longer for five minutes, such as 20ms
    #[arg(long, value_name = "TIME|off", value_parser = parse_latency)]
    latency_alert: Option<u32>,
}

/// Reads `500us`, `20ms`, `1s` or `off`. In microseconds.
fn parse_latency(text: &str) -> Result<u32, String> {
    let wrong = || format!("{text:?} is not a time such as 500us, 20ms or 1s, nor off");
    if text == "off" {
        return Ok(0);
    }
    let units = [("us", 1), ("µs", 1), ("ms", 1000), ("s", 1_000_000_u32)];
    let found = units.iter().find_map(|(unit, us)| Some((text.strip_suffix(unit)?, us)));
    let (digits, us) = found.ok_or_else(wrong)?;
    let number: u32 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(*us).filter(|us| *us > 0).ok_or_else(wrong)
}

/// True if the argument of `pool check` is a file or device, and not the name of a pool.
pub fn is_path(target: &Path) -> bool {
    target.to_str().is_none_or(|text| text.contains('/')) || target.exists()
}

fn parse_size(text: &str) -> Result<u64, SizeError> {
    api::size::parse(text)
}

impl Resource for Pool {
    const COLUMNS: &'static [Column<Self>] = &[
        column("name", |pool| pool.name.as_str().into()),
        column("state", |pool| state(pool.state).into()),
        column("size", |pool| Value::Bytes(pool.size_bytes)),
        column("used", |pool| Value::Bytes(pool.used_bytes)),
        column("free", |pool| Value::Bytes(pool.free_bytes)),
        wide("promised", |pool| Value::Bytes(pool.promised_bytes)),
        wide("available", |pool| Value::Bytes(pool.available_bytes)),
        wide("reclaimable", |pool| Value::Bytes(pool.reclaimable_bytes)),
        wide("metadata", |pool| Value::Bytes(pool.metadata_bytes)),
        wide("unique", |pool| pool.unique_bytes.map(Value::Bytes).into()),
        wide("snaps", |pool| pool.snapshot_bytes.map(Value::Bytes).into()),
        wide("tokens", |pool| pool.token_bytes.map(Value::Bytes).into()),
        wide("trash", |pool| pool.trash_bytes.map(Value::Bytes).into()),
        wide("trashed", |pool| Value::Number(pool.trash)),
        wide("keeps", |pool| trash_time(pool.trash_seconds).into()),
        wide("locks", |pool| trash_time(pool.trash_lock_seconds).into()),
        wide("slow-above", |pool| latency_alert(pool).into()),
        column("shared", |pool| pool.shared_bytes.map(Value::Bytes).into()),
        column("provisioned", |pool| Value::Bytes(pool.provisioned_bytes)),
        column("commit", |pool| percent::shown(pool.commitment_percent).into()),
        wide("limit", |pool| {
            pool.commitment_limit_percent.map_or("off".to_owned(), |limit| percent::shown(limit.into())).into()
        }),
        wide("mapped", |pool| Value::Bytes(pool.mapped_bytes)),
        wide("volumes", |pool| Value::Number(pool.volumes)),
        wide("shares", |pool| Value::Number(pool.shares)),
        wide("snapshots", |pool| Value::Number(pool.snapshots)),
        wide("warn", |pool| format!("{}%", pool.warn_percent).into()),
        wide("critical", |pool| format!("{}%", pool.critical_percent).into()),
        wide("scrub", |pool| {
            pool.scrub.as_ref().map(|scrub| format!("{:.0}: {}", scrub.finished, job::scrub_in_words(scrub))).into()
        }),
        wide("check", |pool| {
            pool.check.as_ref().map(|check| format!("{:.0}: {}", check.finished, job::check_in_words(check))).into()
        }),
        wide("growing", |pool| pool.growing.as_ref().and_then(growing).into()),
    ];

    fn name(&self) -> String {
        self.name.clone()
    }
}

impl Resource for Freeable {
    const WHEN_EMPTY: &'static str = "nothing is in the trash, there are no snapshots, and everything is granted";
    const COLUMNS: &'static [Column<Self>] = &[
        column("name", |of| of.name.as_str().into()),
        column("kind", |of| freeable_kind(of.kind).into()),
        column("frees", |of| of.frees_bytes.map(Value::Bytes).into()),
        column("snapshots", |of| Value::Number(of.snapshots)),
        minor("since", |of| format!("{:.0}", of.since).into()),
        column("last-used", |of| of.last_used.map(|used| format!("{used:.0}")).into()),
        column("locked", |of| of.locked_until.map(|until| format!("{until:.0}")).into()),
        wide("id", |of| of.id.to_string().into()),
    ];

    fn name(&self) -> String {
        self.name.clone()
    }
}

/// Word of a kind.
const fn freeable_kind(kind: FreeableKind) -> &'static str {
    match kind {
        FreeableKind::Trash => "trash",
        FreeableKind::Snapshot => "snapshot",
        FreeableKind::Volume => "volume",
        FreeableKind::Share => "share",
    }
}

impl Resource for WhatIfOne {
    const COLUMNS: &'static [Column<Self>] = &[
        column("name", |one| one.name.as_str().into()),
        column("alone", |one| one.alone_bytes.map(Value::Bytes).into()),
    ];

    fn name(&self) -> String {
        self.name.clone()
    }
}

/// Shows what deleting would free.
fn what_if(answer: &WhatIfAnswer, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    if output.is_document() {
        return output.document(answer);
    }
    output.list(&answer.each)?;
    match answer.freed_bytes {
        Some(bytes) if matches!(output.format(), Format::Table | Format::Wide) => {
            let size = output.size(bytes);
            output.text(&format!("together: {size}\n"))
        }
        Some(_) => Ok(()),
        None => {
            output.warn("what all of them free together is still being counted: ask again");
            Ok(())
        }
    }
}

/// `to 6 GiB`, or `by /dev/sdb`.
fn growing(growing: &Growing) -> Option<String> {
    let size = growing.size_bytes.map(|bytes| format!("to {}", api::size::format(bytes)));
    size.or_else(|| growing.device.as_ref().map(|device| format!("by {device}")))
}

/// Latency above which there is an alert.
fn latency_alert(pool: &Pool) -> String {
    let time = |us: u32| api::duration::measured(Duration::from_micros(us.into()));
    pool.latency_alert_us.map_or_else(|| "off".to_owned(), time)
}

/// Time of the trash, as `pool set --trash` takes it.
fn trash_time(seconds: u32) -> String {
    match seconds {
        0 => "off".to_owned(),
        seconds => api::duration::exact_seconds(seconds),
    }
}

/// Name of the state.
pub(crate) const fn state(state: PoolState) -> &'static str {
    match state {
        PoolState::Healthy => "healthy",
        PoolState::LowSpace => "low-space",
        PoolState::Damaged => "damaged",
        PoolState::Full => "full",
        PoolState::BelowFull => "below-full",
        PoolState::Stopped => "stopped",
    }
}

/// Line with what the used space consists of; none until everything is counted.
fn sum(pool: &Pool, size: impl Fn(u64) -> String) -> Option<String> {
    let parts = [
        ("metadata", pool.metadata_bytes),
        ("unique", pool.unique_bytes?),
        ("snaps", pool.snapshot_bytes?),
        ("tokens", pool.token_bytes?),
        ("trash", pool.trash_bytes?),
        ("shared", pool.shared_bytes?),
    ];
    let parts = parts.map(|(name, bytes)| format!("{name} {}", size(bytes))).join(" + ");
    Some(format!("used: {} = {parts}\n", size(pool.used_bytes)))
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::List => output.list(&client.list::<Pool>("/api/v1/pools").await?),
        Verb::Show { name } => {
            let pool = match name {
                Some(name) => client.get::<Pool>(&path(name)).await?,
                None => only(client).await?,
            };
            output.show(&pool)?;
            if matches!(output.format(), Format::Table | Format::Wide) {
                if let Some(sum) = sum(&pool, |bytes| output.size(bytes)) {
                    output.text(&sum)?;
                }
                match forecast::of(&pool.name, client).await {
                    Ok(words) => output.text(&format!("forecast: {words}\n"))?,
                    Err(error) => output.warn(&format!("no forecast: {error}")),
                }
                pool.scrub.iter().try_for_each(|scrub| job::bad_ranges(scrub, output))?;
                pool.check.iter().try_for_each(|check| job::findings(check, output))?;
            }
            Ok(())
        }
        Verb::Frees { name, selection } => {
            let name = name_or_only(name.as_deref(), client).await?;
            selection.show::<Freeable>(&format!("{}/frees", path(&name)), client, output).await.map(drop)
        }
        Verb::WhatIf { names, with_snapshots } => {
            let request = WhatIf { delete: names.clone(), with_snapshots: *with_snapshots };
            let answer = client.post::<WhatIfAnswer>("/api/v1/space/what-if", &request).await?;
            what_if(&answer.body, output)
        }
        Verb::Set(Set {
            warn: None,
            critical: None,
            commitment: None,
            trash: None,
            trash_lock: None,
            latency_alert: None,
            ..
        }) => Err(CliError::usage("nothing to change: give a setting, such as --warn; see --help".to_owned())),
        Verb::Set(Set { name, warn, critical, commitment, trash, trash_lock, latency_alert: latency }) => {
            let (warn_percent, critical_percent, commitment_limit_percent) = (*warn, *critical, *commitment);
            let (trash_seconds, trash_lock_seconds) = (*trash, *trash_lock);
            let set = PoolSet {
                warn_percent,
                critical_percent,
                commitment_limit_percent,
                trash_seconds,
                trash_lock_seconds,
                latency_alert_us: *latency,
            };
            if let Some(seconds) = trash_lock_seconds.filter(|seconds| *seconds > 0) {
                let time = trash_time(seconds);
                let question = format!("keep what goes to the trash from everybody, without a way back: {time}?");
                output.confirm_for(&path(name), client, &question).await?;
            }
            let pool = client.patch::<Pool>(&path(name), &set).await?;
            output.made("pool", &pool, true)?;
            let limit = pool.commitment_limit_percent.map_or("off".to_owned(), |limit| format!("{limit}%"));
            let (warn, critical) = (pool.warn_percent, pool.critical_percent);
            output.report(&format!("warns at {warn}%, critical at {critical}%, limit of over-commitment {limit}"));
            if trash.is_some() {
                output.report(&format!("the trash keeps what is deleted: {}", trash_time(pool.trash_seconds)));
            }
            if trash_lock.is_some() {
                let time = trash_time(pool.trash_lock_seconds);
                output.report(&format!("nobody deletes for good what goes to the trash from now on: {time}"));
            }
            if latency.is_some() {
                output.report(&format!("alert for slow reads and writes of hosts: {}", latency_alert(&pool)));
            }
            output.warnings(&pool.warnings);
            Ok(())
        }
        Verb::Grow { name, size, device } => {
            let grow = PoolGrow { size_bytes: *size, device: device.clone() };
            let pool = client.post::<Pool>(&format!("{}/grow", path(name)), &grow).await?.body;
            output.made("pool", &pool, true)
        }
        Verb::Scrub { name, start } => {
            let name = name_or_only(name.as_deref(), client).await?;
            job::start(&format!("{}/scrub", path(&name)), start, client, output).await
        }
        Verb::Check { quick: true, .. } => Err(CliError::usage(
            "--quick is for files: the check of a pool in use never reads the data; to verify the data, run  windlass pool scrub".to_owned(),
        )),
        Verb::Check { target, start, .. } => {
            let name = name_or_only(target.as_deref().and_then(Path::to_str), client).await?;
            job::start(&format!("{}/check", path(&name)), start, client, output).await
        }
    }
}

/// Returns the array's pool.
pub(crate) async fn only(client: &Client) -> Result<Pool, CliError> {
    let pools = client.list::<Pool>("/api/v1/pools").await?;
    pools.into_iter().next().ok_or_else(|| CliError::not_found("the array has no pool".to_owned(), "see its log"))
}

async fn name_or_only(name: Option<&str>, client: &Client) -> Result<String, CliError> {
    match name {
        Some(name) => Ok(name.to_owned()),
        None => Ok(only(client).await?.name),
    }
}

fn path(name: &str) -> String {
    format!("/api/v1/pools/{}", segment(name))
}

#[cfg(test)]
mod tests {
    use super::parse_latency;

    #[test]
    fn a_latency_has_a_unit() {
        for (text, us) in [("off", 0), ("500us", 500), ("500µs", 500), ("20ms", 20_000), ("1s", 1_000_000)] {
            assert_eq!(parse_latency(text), Ok(us), "{text}");
        }
        for text in ["", "20", "ms", "0ms", "-1ms", "1.5ms", "5000s", "20m"] {
            assert!(parse_latency(text).is_err(), "{text}");
        }
    }
}
