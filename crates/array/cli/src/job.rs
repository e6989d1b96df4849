//! `windlass job`: background jobs, and how a command waits for one.

use crate::client::{Client, segment};
use crate::error::CliError;
use crate::output::{Column, Format, Output, Resource, Value, column, minor, wide};
use crate::percent;
use crate::selection::Selection;
use api::{
    CheckReport, Job, JobSet, JobStart, JobState, ReshareReport, SanitizeMethod, SanitizeReport, ScrubReport,
    VolumeSpace,
};
use std::time::Duration;
use text::duration::{age, remaining};

/// Interval between two requests for the state of a job.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);
/// Shorter intervals before the first requests, so that short jobs are reported at once.
const FIRST_LOOKS: [Duration; 3] = [Duration::from_millis(10), Duration::from_millis(40), Duration::from_millis(100)];
/// Width of the progress bar in characters.
const BAR_WIDTH: u64 = 20;

/// Verbs of `windlass job`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List running and ended jobs, newest first
    #[command(after_help = "Examples:\n  windlass job list\n  windlass job list -o json")]
    List(Selection),
    /// Show one job and its result
    #[command(after_help = "Example:\n  windlass job show 1f2e3d4c")]
    Show {
        /// Id, or the end of the id as in the list
        job: String,
    },
    /// Wait for a job
    #[command(
        after_help = "Example:\n  windlass job wait 1f2e3d4c\n\nExit status: 0 done, 9 done with findings, 1 failed or cancelled. Ctrl-C leaves the job running."
    )]
    Wait {
        /// Id, or the end of the id as in the list
        job: String,
    },
    /// Change the speed of a running job
    #[command(after_help = "Example:\n  windlass job set 1f2e3d4c --share 50")]
    Set {
        /// Id, or the end of the id as in the list
        job: String,
        /// Share of time in percent that the job may use while hosts are active
        #[arg(long, value_name = "PERCENT", value_parser = percent::parse)]
        share: u8,
    },
    /// Cancel a running job; its work up to then remains
    #[command(
        after_help = "Example:\n  windlass job cancel 1f2e3d4c\n\nA sanitize operation, which a host began, cannot be cancelled (SBC-4 §4.11); exit status 4."
    )]
    Cancel {
        /// Id, or the end of the id as in the list
        job: String,
    },
}

/// Options for starting a job and waiting for it.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Start {
    /// Share of time in percent that the job may use while hosts are active; default: the
    /// configured share
    #[arg(long, value_name = "PERCENT", value_parser = percent::parse)]
    share: Option<u8>,
    /// Wait for the end of the job and show its result (the default)
    #[arg(long, conflicts_with = "no_wait")]
    wait: bool,
    /// Start the job and return
    #[arg(long)]
    no_wait: bool,
}

impl Start {
    /// Body of the request that starts a job.
    pub(crate) const fn body(&self) -> JobStart {
        JobStart { share_percent: self.share }
    }

    /// True if no option was given.
    pub const fn is_plain(&self) -> bool {
        matches!(self, Self { share: None, wait: false, no_wait: false })
    }
}

impl Resource for Job {
    const WHEN_EMPTY: &'static str = "no job runs, and none ended since the array started";
    const COLUMNS: &'static [Column<Self>] = &[
        column("id", |job| short(job).into()),
        column("kind", |job| job.kind.as_str().into()),
        column("subject", |job| job.subject.as_str().into()),
        column("state", |job| state(job.state).into()),
        column("done", |job| format!("{}%", percent(job)).into()),
        minor("rate", |job| rate(job).into()),
        minor("eta", |job| job.eta_seconds.map(|eta| remaining(Duration::from_secs(eta))).into()),
        column("result", |job| result(job).into()),
        wide("share", |job| format!("{}%", job.share_percent).into()),
        wide("started", |job| format!("{:.0}", job.started).into()),
        wide("finished", |job| job.finished.map(|time| format!("{time:.0}")).into()),
        wide("full-id", |job| job.id.to_string().into()),
    ];

    fn name(&self) -> String {
        self.id.to_string()
    }
}

/// Part of the id that distinguishes jobs: ids begin with the time.
fn short(job: &Job) -> String {
    job.id.simple().to_string().chars().skip(24).collect()
}

const fn state(state: JobState) -> &'static str {
    match state {
        JobState::Running => "running",
        JobState::Done => "done",
        JobState::Failed => "failed",
        JobState::Cancelled => "cancelled",
    }
}

fn percent(job: &Job) -> u64 {
    let percent = (u128::from(job.done) * 100).checked_div(u128::from(job.total));
    percent.map_or(if job.state == JobState::Done { 100 } else { 0 }, |percent| u64::try_from(percent).unwrap_or(100))
}

fn rate(job: &Job) -> Option<String> {
    job.rate_per_second.map(|rate| format!("{}/s", amount(rate, &job.unit)))
}

fn amount(value: u64, unit: &str) -> String {
    if unit == "bytes" { api::size::format(value) } else { format!("{value} {unit}") }
}

/// Result in a few words; `None` before there is one.
fn result(job: &Job) -> Option<String> {
    if let Some(error) = &job.error {
        return Some(error.clone());
    }
    if let Some(reclaim) = &job.reclaim {
        return Some(format!("{} given back", api::size::format(reclaim.deallocated_bytes)));
    }
    if let Some(reshare) = &job.reshare {
        return Some(reshare_in_words(reshare));
    }
    if let Some(scrub) = &job.scrub {
        return Some(scrub_in_words(scrub));
    }
    if let Some(sanitize) = &job.sanitize {
        return Some(sanitize_in_words(*sanitize));
    }
    job.check.as_ref().map(check_in_words)
}

/// `31 GiB shared with v1, 30 GiB given back`, or what would be.
fn reshare_in_words(reshare: &ReshareReport) -> String {
    let [shared, freed, unreadable] =
        [reshare.shared_bytes, reshare.freed_bytes, reshare.unreadable_bytes].map(api::size::format);
    let with = &reshare.with;
    let unreadable = if reshare.unreadable_bytes == 0 { String::new() } else { format!(", {unreadable} unreadable") };
    match reshare.compare_only {
        true => format!("{shared} can be shared with {with}, which gives back {freed}{unreadable}"),
        false => format!("{shared} shared with {with}, {freed} given back{unreadable}"),
    }
}

/// `block erase; freed blocks keep their bytes until reuse`, or `overwrite, 3 passes; …`.
fn sanitize_in_words(sanitize: SanitizeReport) -> String {
    let method = match (sanitize.method, sanitize.passes) {
        (SanitizeMethod::BlockErase, _) => "block erase".to_owned(),
        (SanitizeMethod::Overwrite, None | Some(1)) => "overwrite".to_owned(),
        (SanitizeMethod::Overwrite, Some(passes)) => format!("overwrite, {passes} passes"),
    };
    format!("{method}; freed blocks keep their bytes until reuse")
}

/// `31 GiB verified, no bad block`.
pub(crate) fn scrub_in_words(scrub: &ScrubReport) -> String {
    let bad = match scrub.bad_blocks {
        0 => "no bad block".to_owned(),
        1 => "1 bad block".to_owned(),
        bad => format!("{bad} bad blocks"),
    };
    let damaged = if scrub.damaged.is_empty() { "" } else { ", damaged metadata" };
    format!("{} verified, {bad}{damaged}", api::size::format(scrub.verified_bytes))
}

/// `clean`, or the number of findings.
pub(crate) fn check_in_words(check: &CheckReport) -> String {
    match check.count {
        0 => "clean".to_owned(),
        1 => "1 finding".to_owned(),
        count => format!("{count} findings"),
    }
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::List(selection) => selection.show::<Job>("/api/v1/jobs", client, output).await.map(drop),
        Verb::Show { job } => {
            let job = client.get::<Job>(&path(job)).await?;
            output.show(&job)?;
            details(&job, output)
        }
        Verb::Wait { job } => {
            let job = client.get::<Job>(&path(job)).await?;
            wait(job, None, client, output).await
        }
        Verb::Set { job, share } => {
            let job = client.patch::<Job>(&path(job), &JobSet { share_percent: *share }).await?;
            output.made("job", &job, true)
        }
        Verb::Cancel { job } => {
            client.delete(&path(job)).await?;
            output.report(&format!("job {job} is being cancelled; what it did stays done"));
            Ok(())
        }
    }
}

/// Starts a job, then waits for it and shows its result unless `--no-wait` is given.
pub(crate) async fn start(
    resource: &str,
    start: &Start,
    client: &Client,
    output: &mut Output<'_, '_>,
) -> Result<(), CliError> {
    let job = client.post::<Job>(resource, &start.body()).await?.body;
    // A reclaim also reports the space that hosts unmapped on the volume.
    let space = resource.strip_suffix("/reclaim").filter(|path| path.starts_with("/api/v1/volumes/"));
    let space = space.map(|path| format!("{path}/space"));
    started(job, start, space.as_deref(), client, output).await
}

/// Waits for a job that has been started and shows its result, unless `--no-wait` is given.
pub(crate) async fn started(
    job: Job,
    start: &Start,
    space: Option<&str>,
    client: &Client,
    output: &mut Output<'_, '_>,
) -> Result<(), CliError> {
    if start.no_wait {
        return output.made("job", &job, true);
    }
    wait(job, space, client, output).await
}

/// Waits for a job, with a progress bar on a terminal. Ctrl-C leaves the job running.
pub(crate) async fn wait(
    mut job: Job,
    space: Option<&str>,
    client: &Client,
    output: &mut Output<'_, '_>,
) -> Result<(), CliError> {
    let path = path(&job.id.to_string());
    let mut intervals = FIRST_LOOKS.into_iter();
    while job.state == JobState::Running {
        output.progress(&bar(&job));
        tokio::select! {
            () = tokio::time::sleep(intervals.next().unwrap_or(LOOK_INTERVAL)) => {}
            _ = tokio::signal::ctrl_c() => {
                output.end_progress();
                return Err(CliError::interrupted(&job.kind, &short(&job)));
            }
        }
        job = client.get::<Job>(&path).await.inspect_err(|_| output.end_progress())?;
    }
    output.end_progress();
    match output.format() {
        Format::Table | Format::Wide => {
            report(&job, output)?;
            if let Some(space) = space {
                unmapped(&client.get::<VolumeSpace>(space).await?, output)?;
            }
        }
        _ => output.show(&job)?,
    }
    match job.state {
        JobState::Failed => {
            let reason = job.error.unwrap_or_default();
            return Err(CliError::failed(format!("{} of {} failed: {reason}", job.kind, job.subject)));
        }
        JobState::Cancelled => {
            return Err(CliError::failed(format!("{} of {} was cancelled", job.kind, job.subject)));
        }
        JobState::Done | JobState::Running => {}
    }
    let bad = job.scrub.as_ref().is_some_and(|scrub| scrub.bad_blocks > 0 || !scrub.damaged.is_empty());
    if bad {
        let metadata = job.scrub.as_ref().is_some_and(|scrub| !scrub.damaged.is_empty());
        let help = if metadata {
            "unmap or zero the range, or delete the volume, then scrub again; see:  windlass alert list"
        } else {
            "overwrite what is lost, or restore it from a copy, then scrub again"
        };
        return Err(CliError::findings("content of the pool is lost".to_owned(), help));
    }
    if job.check.as_ref().is_some_and(|check| check.count > 0) {
        let help = "stop the array and look closer:  windlass pool check FILE";
        return Err(CliError::findings("the check found damage in the pool".to_owned(), help));
    }
    Ok(())
}

/// `scrub p0  [============>       ]  63%  19.6/31 GiB  1.9 GiB/s  ETA 6s`.
fn bar(job: &Job) -> String {
    let percent = percent(job).min(100);
    let filled = percent * BAR_WIDTH / 100;
    let bar: String = (0..BAR_WIDTH)
        .map(|at| match at.cmp(&filled) {
            std::cmp::Ordering::Less => '=',
            std::cmp::Ordering::Equal => '>',
            std::cmp::Ordering::Greater => ' ',
        })
        .collect();
    let mut line = format!("{} {}  [{bar}] {percent:>3}%", job.kind, job.subject);
    if job.total > 0 {
        let (done, total) = (amount(job.done, &job.unit), amount(job.total, &job.unit));
        // The unit is shown once if both amounts have the same.
        let done = match (done.rsplit_once(' '), total.rsplit_once(' ')) {
            (Some((number, unit)), Some((_, other))) if unit == other => number.to_owned(),
            _ => done,
        };
        line += &format!("  {done}/{total}");
    }
    line += &rate(job).map(|rate| format!("  {rate}")).unwrap_or_default();
    line += &job.eta_seconds.map(|eta| format!("  ETA {}", remaining(Duration::from_secs(eta)))).unwrap_or_default();
    line
}

/// One-line description of a running job.
pub(crate) fn line(job: &Job) -> String {
    let rate = rate(job).map(|rate| format!(" · {rate}")).unwrap_or_default();
    let eta = job.eta_seconds.map(|eta| format!(" · ETA {}", remaining(Duration::from_secs(eta)))).unwrap_or_default();
    format!("{} of {} {}%{rate}{eta} ({})", job.kind, job.subject, percent(job), short(job))
}

/// Reports the result of a job that ended.
fn report(job: &Job, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let took =
        job.finished.map_or(0, |finished| u64::try_from(finished.duration_since(job.started).as_secs()).unwrap_or(0));
    let words = result(job).filter(|_| job.error.is_none()).map(|words| format!(" · {words}")).unwrap_or_default();
    let scanned = job.reclaim.as_ref().map(|reclaim| reclaim.scanned_bytes);
    let scanned = scanned.or(job.reshare.as_ref().map(|reshare| reshare.scanned_bytes));
    let scanned = scanned.map(|bytes| format!(" of {} scanned", output.size(bytes)));
    let line = format!(
        "{} of {} {} in {}{words}{}\n",
        job.kind,
        job.subject,
        state(job.state),
        age(Duration::from_secs(took)),
        scanned.unwrap_or_default()
    );
    output.text(&line)?;
    details(job, output)
}

/// Reports bad ranges and findings for people.
fn details(job: &Job, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    if !matches!(output.format(), Format::Table | Format::Wide) {
        return Ok(());
    }
    if let Some(scrub) = &job.scrub {
        bad_ranges(scrub, output)?;
    }
    if let Some(check) = &job.check {
        findings(check, output)?;
    }
    Ok(())
}

/// Bad ranges and damaged metadata, a line each.
pub(crate) fn bad_ranges(scrub: &ScrubReport, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let mut text = String::new();
    for range in &scrub.bad {
        let last = range.lba.saturating_add(range.blocks.saturating_sub(1));
        let place = match (range.in_volume, range.snapshots.is_empty()) {
            (true, true) => String::new(),
            (true, false) => format!(", and in its snapshots {}", range.snapshots.join(", ")),
            (false, _) => format!(", only in its snapshots {}", range.snapshots.join(", ")),
        };
        text += &format!("  bad  {}  LBA {} to {last}{place}\n", range.volume, range.lba);
    }
    for sentence in &scrub.damaged {
        text += &format!("  damaged  {}\n", Value::from(sentence.as_str()).shown(false));
    }
    if text.is_empty() { Ok(()) } else { output.text(&text) }
}

/// Findings of a check, a line each.
pub(crate) fn findings(check: &CheckReport, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let line = |finding: &String| format!("  found  {}\n", Value::from(finding.as_str()).shown(false));
    let text: String = check.findings.iter().map(line).collect();
    if text.is_empty() { Ok(()) } else { output.text(&text) }
}

/// Reports the space that hosts have unmapped.
pub(crate) fn unmapped(space: &VolumeSpace, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let report = &space.unmapped;
    let plural = |count: u64| if count == 1 { "" } else { "s" };
    let mut text = format!(
        "unmapped by hosts since the start: {} command{}, {}\n",
        report.commands,
        plural(report.commands),
        output.size(report.requested_bytes)
    );
    if report.commands > 0 {
        text += &format!("  deallocated  {}\n", output.size(report.deallocated_bytes));
        text += &format!(
            "  unaligned    {}  at the edges: reads as zeros, stays allocated\n",
            output.size(report.unaligned_bytes)
        );
        let below = report.below_grain_commands;
        text += &format!("  below grain  {below} command{}\n", plural(below));
    }
    for kept in &report.kept {
        let bytes = kept.unique_bytes.map_or("still counted".to_owned(), |bytes| output.size(bytes));
        text += &format!("  kept by      {}  {bytes}\n", kept.snapshot);
    }
    if !report.kept.is_empty() {
        let all = space.snapshot_bytes.map_or("still counted".to_owned(), |bytes| output.size(bytes));
        text += &format!("  kept by all snapshots together: {all}\n");
    }
    output.text(&text)
}

fn path(job: &str) -> String {
    format!("/api/v1/jobs/{}", segment(job))
}

#[cfg(test)]
mod tests {
    use super::{bar, short};
    use api::{Job, JobState};

    fn job(done: u64, total: u64) -> Job {
        Job {
            id: uuid::Uuid::from_u128(0x0199_7c2e_7b3c_7000_8000_0000_1f2e_3d4c),
            kind: "scrub".to_owned(),
            subject: "p0".to_owned(),
            state: JobState::Running,
            done,
            total,
            unit: "bytes".to_owned(),
            rate_per_second: Some(2 << 30),
            eta_seconds: Some(6),
            share_percent: 20,
            started: jiff::Timestamp::UNIX_EPOCH,
            finished: None,
            error: None,
            reclaim: None,
            reshare: None,
            scrub: None,
            sanitize: None,
            check: None,
        }
    }

    #[test]
    fn a_bar_fits_on_a_line() {
        assert_eq!(bar(&job(20 << 30, 31 << 30)), "scrub p0  [============>       ]  64%  20/31 GiB  2 GiB/s  ETA 6 s");
        assert_eq!(
            bar(&job(1 << 20, 31 << 30)),
            "scrub p0  [>                   ]   0%  1 MiB/31 GiB  2 GiB/s  ETA 6 s"
        );
        assert_eq!(
            bar(&Job { rate_per_second: None, eta_seconds: None, ..job(0, 0) }),
            "scrub p0  [>                   ]   0%"
        );
        assert!(bar(&job(5, 5)).contains("[====================] 100%"));
        assert_eq!(short(&job(0, 0)), "1f2e3d4c");
    }
}
