//! Processes of the laboratory: the one that runs cases, and the one that makes a report. Each has its own process
//! group, the lowest priority and bounded memory, is the first to go when the machine runs out of memory, and gets no
//! variables but its own.

mod lines;

pub(super) use lines::Heard;

use super::archive::MAX_REPORT_BYTES;
use super::scratch::Made;
use lines::Lines;
use rustix::process::{Pid, Resource, Rlimit, Signal};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

/// Address space of a process in bytes. It uses a small part of it.
const MEMORY_BYTES: u64 = 4 << 30;
/// Nice value (setpriority(2)): everything else goes first.
const NICE: i32 = 19;
/// Adjustment of the score by which the kernel selects a process when memory is short (proc(5)).
const OOM_SCORE: &str = "500";
/// Variable with the CHAP secret of a run. Only the user of the array and root can read it.
const SECRET: &str = "WINDLASS_LAB_SECRET";
/// End of standard error that is kept, in bytes.
const MAX_ERROR_BYTES: usize = 4 << 10;
/// Longest time for a report.
const REPORT: Duration = Duration::from_secs(60);
/// Longest time for standard error after the end of a process: another one may hold it.
const AFTER_END: Duration = Duration::from_secs(1);

/// Starts a process with its limits, and with this variable alone.
fn spawn(command: &mut Command, variable: Option<(&str, &str)>) -> Result<Child, String> {
    command.env_clear().envs(variable).process_group(0).kill_on_drop(true);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|error| format!("its process cannot be started: {error}"))?;
    // The process is killed when it is dropped.
    limit(&child).map_err(|error| format!("the limits of its process cannot be set: {error}"))?;
    Ok(child)
}

fn limit(child: &Child) -> std::io::Result<()> {
    let Some(pid) = pid(child) else { return Ok(()) };
    rustix::process::setpriority_process(Some(pid), NICE)?;
    let limit = Rlimit { current: Some(MEMORY_BYTES), maximum: Some(MEMORY_BYTES) };
    rustix::process::prlimit(Some(pid), Resource::As, limit)?;
    std::fs::write(format!("/proc/{}/oom_score_adj", pid.as_raw_nonzero()), OOM_SCORE)
}

/// Identifier of the process, which is also that of its group; absent once it was waited for.
fn pid(child: &Child) -> Option<Pid> {
    child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)
}

/// Keeps the end of what a process writes to standard error, in a task of its own.
fn keep_end(mut errors: impl AsyncRead + Unpin + Send + 'static) -> JoinHandle<String> {
    tokio::spawn(async move {
        let (mut kept, mut piece) = (Vec::new(), [0; MAX_ERROR_BYTES]);
        // Whoever waits for it is not kept longer than for `AFTER_END`.
        while let Ok(count @ 1..) = errors.read(&mut piece).await {
            kept.extend_from_slice(piece.get(..count).unwrap_or_default());
            let excess = kept.len().saturating_sub(MAX_ERROR_BYTES);
            kept.drain(..excess);
        }
        String::from_utf8_lossy(&kept).trim().to_owned()
    })
}

/// What a process wrote to standard error; empty if it cannot be had soon.
async fn text(mut errors: JoinHandle<String>) -> String {
    let ended = tokio::time::timeout(AFTER_END, &mut errors).await;
    errors.abort();
    ended.ok().and_then(Result::ok).unwrap_or_default()
}

/// A process that runs cases.
pub(super) struct Runner {
    child: Child,
    /// The process ends when this is closed, which the end of the array does too.
    _input: Option<ChildStdin>,
    lines: Lines<ChildStdout>,
    errors: JoinHandle<String>,
}

impl Runner {
    /// Starts the cases of a run, whose results are saved in `save`.
    pub(super) fn start(
        program: &Path,
        (cases, size, pairs): (&[String], &str, u32),
        made: &Made,
        save: &Path,
    ) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.args(["lab", "run"]).args(cases).args(&made.urls);
        command.args(["--size", size, "--pairs", &pairs.to_string(), "--progress", "json", "--end-with-input"]);
        command.args(["--initiator", &made.initiator, "--chap-secret", &format!("env:{SECRET}")]);
        command.arg("--save").arg(save).stdin(Stdio::piped());
        let mut child = spawn(&mut command, Some((SECRET, made.secret.expose())))?;
        let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
            return Err("its process has no output".to_owned());
        };
        Ok(Self { _input: child.stdin.take(), child, lines: Lines::of(output), errors: keep_end(errors) })
    }

    /// Waits for the next thing that the process reports. Nothing is lost if the future is dropped.
    pub(super) async fn next(&mut self) -> Heard {
        self.lines.next().await
    }

    /// Tells the process to end: it wipes its logical units, and saves what it has measured.
    pub(super) fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Ends the process, and those that it has started, at once.
    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = pid(&self.child) {
            // It may have ended already.
            let _gone = rustix::process::kill_process_group(pid, signal);
        }
    }

    /// Waits for the end of the process. Nothing is lost if the future is dropped.
    pub(super) async fn exited(&mut self) -> Option<ExitStatus> {
        self.child.wait().await.ok()
    }

    /// What the process, which has ended, wrote to standard error last.
    pub(super) async fn errors(self) -> String {
        text(self.errors).await
    }
}

/// Makes the report of saved runs as an HTML page.
///
/// Errors: a sentence with the words of the process.
pub(super) async fn report(program: &Path, files: &[PathBuf]) -> Result<Vec<u8>, String> {
    let mut command = Command::new(program);
    command.args(["lab", "report"]).args(files).stdin(Stdio::null());
    let mut child = spawn(&mut command, None)?;
    let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
        return Err("the process of a report has no output".to_owned());
    };
    let errors = keep_end(errors);
    let work = async {
        let limit = u64::try_from(MAX_REPORT_BYTES).unwrap_or(u64::MAX).saturating_add(1);
        let mut page = Vec::new();
        output.take(limit).read_to_end(&mut page).await.map_err(|error| error.to_string())?;
        if page.len() > MAX_REPORT_BYTES {
            return Err(format!("the report has more than {MAX_REPORT_BYTES} bytes"));
        }
        let status = child.wait().await.map_err(|error| error.to_string())?;
        Ok((status, page))
    };
    let made = tokio::time::timeout(REPORT, work).await;
    let (status, page) = made.unwrap_or_else(|_| Err(format!("the report took longer than {REPORT:?}")))?;
    if status.success() {
        return Ok(page);
    }
    let words = text(errors).await;
    Err(if words.is_empty() { format!("the process of the report ended with {status}") } else { words })
}
