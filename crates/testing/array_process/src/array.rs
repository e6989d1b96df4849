//! Process of `windlass serve`: started in a state directory, administered through its own command
//! line, stopped or killed.

use crate::program;
use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Time limit until the array is ready, including recovery of a full log.
const READY_LIMIT: Duration = Duration::from_secs(60);
/// Time limit of a clean stop.
const STOP_LIMIT: Duration = Duration::from_secs(30);
/// Time limit of one administrative command.
const COMMAND_LIMIT: Duration = Duration::from_secs(60);

/// Options for starting an array.
#[derive(Clone, Debug)]
pub struct ArrayOptions {
    /// The `windlass` program.
    pub executable: PathBuf,
    /// State directory; created if missing. The pool and the log of the process are in it.
    pub state_directory: PathBuf,
    /// iSCSI portals, at least one.
    pub portals: Vec<SocketAddr>,
    /// Size of a new pool, in the format of `--pool-size`: `8G`.
    pub pool_size: String,
    /// Further arguments of `windlass serve`.
    pub arguments: Vec<String>,
}

/// A running array. Dropping it kills the process.
#[derive(Debug)]
pub struct Array {
    options: ArrayOptions,
    process: Child,
    started_in: Duration,
}

/// Volume that every initiator may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Name.
    pub name: String,
    /// URLs of the logical unit, one for each portal of the array:
    /// `iscsi://127.0.0.1:3260/IQN/LUN`.
    pub urls: Vec<String>,
}

impl Volume {
    /// URL through the first portal.
    pub fn url(&self) -> &str {
        self.urls.first().map(String::as_str).unwrap_or_default()
    }
}

/// Returns a port of 127.0.0.1 on which nothing listens now.
pub fn free_portal() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot find a free port on 127.0.0.1")?;
    Ok(listener.local_addr()?)
}

impl Array {
    /// Starts the array and returns when its portals accept connections.
    ///
    /// The process has its own process group, so that Ctrl-C in a terminal reaches only the caller,
    /// who then stops it.
    pub fn start(options: ArrayOptions) -> Result<Self> {
        std::fs::create_dir_all(&options.state_directory)
            .with_context(|| format!("cannot make {}", options.state_directory.display()))?;
        let (process, started_in) = spawn(&options)?;
        Ok(Self { options, process, started_in })
    }

    /// Starts the array again after [`Array::kill`] or [`Array::stop`], on the same state and portals.
    pub fn restart(&mut self) -> Result<()> {
        ensure!(!self.alive()?, "the array is still running");
        (self.process, self.started_in) = spawn(&self.options)?;
        Ok(())
    }

    /// Time from the start of the process until it was ready.
    pub fn started_in(&self) -> Duration {
        self.started_in
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Options with which it was started.
    pub fn options(&self) -> &ArrayOptions {
        &self.options
    }

    /// Path of the file with the pool `p0`.
    pub fn pool_file(&self) -> PathBuf {
        self.options.state_directory.join("p0.pool")
    }

    /// Administrative endpoint, in the format of `--server`.
    pub fn server(&self) -> String {
        format!("unix:{}", self.options.state_directory.join("windlass.sock").display())
    }

    /// Whether the process runs.
    pub fn alive(&mut self) -> Result<bool> {
        Ok(self.process.try_wait()?.is_none())
    }

    /// Runs `windlass --server … ARGUMENTS` and returns its output. An exit status other than 0 is
    /// an error with the output.
    pub fn command(&self, arguments: &[&str]) -> Result<String> {
        let server = self.server();
        let mut all = vec!["--server", &server];
        all.extend_from_slice(arguments);
        Ok(program::require(&self.options.executable, &all, COMMAND_LIMIT)?.stdout)
    }

    /// Runs a command with `-o json` and returns the parsed document.
    pub fn json(&self, arguments: &[&str]) -> Result<Value> {
        let mut all = arguments.to_vec();
        all.extend_from_slice(&["-o", "json"]);
        let text = self.command(&all)?;
        serde_json::from_str(&text).with_context(|| format!("windlass {} printed no JSON:\n{text}", all.join(" ")))
    }

    /// A number of `pool show p0`: `used_bytes`, `size_bytes`, `free_bytes`, `metadata_bytes`.
    pub fn pool_number(&self, field: &str) -> Result<u64> {
        let pool = self.json(&["pool", "show", "p0"])?;
        pool.get(field).and_then(Value::as_u64).with_context(|| format!("no {field} in `pool show`: {pool}"))
    }

    /// Creates an empty volume that every initiator may use.
    pub fn create_volume(&self, name: &str, size: &str) -> Result<Volume> {
        self.command(&["volume", "create", name, "--size", size])?;
        self.publish_volume(name)
    }

    /// Grants the volume to every initiator.
    pub fn publish_volume(&self, name: &str) -> Result<Volume> {
        self.command(&["access", "grant", name, "--any"])?;
        self.volume(name)
    }

    /// URLs of a volume, which must be published.
    pub fn volume(&self, name: &str) -> Result<Volume> {
        let shown = self.json(&["volume", "show", name])?;
        let url = shown.pointer("/luns/0/iscsi_url").and_then(Value::as_str);
        let url = url.with_context(|| format!("no luns[0].iscsi_url in `volume show {name}`: {shown}"))?;
        let urls = self.options.portals.iter().map(|portal| through_portal(url, *portal)).collect::<Option<Vec<_>>>();
        let urls = urls.with_context(|| format!("volume {name} has the strange URL {url}"))?;
        Ok(Volume { name: name.into(), urls })
    }

    /// Kills the process at once (SIGKILL), like a power failure.
    pub fn kill(&mut self) -> Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }

    /// Asks the process to stop and waits for it. An error when it does not end in time (it is then
    /// killed) or fails.
    pub fn stop(&mut self) -> Result<()> {
        if let Some(status) = self.process.try_wait()? {
            bail!("the array had ended already ({status})\n{}", self.log_end());
        }
        kill_process(Pid::from_child(&self.process), Signal::TERM)?;
        match wait(&mut self.process, STOP_LIMIT)? {
            Some(status) if status.success() => Ok(()),
            Some(status) => bail!("the array stopped with {status}\n{}", self.log_end()),
            None => {
                self.kill()?;
                bail!("the array did not stop within {} s\n{}", STOP_LIMIT.as_secs(), self.log_end())
            }
        }
    }

    /// Last lines of the process's log, for a message.
    pub fn log_end(&self) -> String {
        log_end(&log_path(&self.options.state_directory))
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        // A process that cannot be killed is left.
        let _ = self.kill();
    }
}

/// Path of the process's log.
fn log_path(state_directory: &Path) -> PathBuf {
    state_directory.join("serve.log")
}

/// Last twelve lines of a log, indented.
fn log_end(path: &Path) -> String {
    let text = std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    let first = lines.len().saturating_sub(12);
    lines.iter().skip(first).map(|line| format!("  {line}\n")).collect()
}

/// Starts the process and waits for the line `ready …`; returns it with the time taken.
fn spawn(options: &ArrayOptions) -> Result<(Child, Duration)> {
    ensure!(!options.portals.is_empty(), "an array needs a portal");
    let log = log_path(&options.state_directory);
    let mut log_file = File::options().create(true).append(true).open(&log)?;
    writeln!(log_file, "--- starting")?;
    let mut command = Command::new(&options.executable);
    command.arg("serve").arg("--state-dir").arg(&options.state_directory);
    for portal in &options.portals {
        command.arg("--iscsi").arg(portal.to_string());
    }
    command.arg("--pool-size").arg(&options.pool_size).args(&options.arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log_file).process_group(0);
    let started = Instant::now();
    let mut process = command.spawn().with_context(|| format!("cannot start {}", options.executable.display()))?;
    let stdout = process.stdout.take().context("the array has no standard output")?;
    let (sender, lines) = mpsc::channel();
    // Reads to the end, so that the array never blocks on its standard output.
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            // The receiver is dropped after the line `ready`.
            let _ = sender.send(line);
        }
    });
    loop {
        match lines.recv_timeout(READY_LIMIT.saturating_sub(started.elapsed())) {
            Ok(line) if line.starts_with("ready") => return Ok((process, started.elapsed())),
            Ok(_) => {}
            Err(mpsc::RecvTimeoutError::Timeout) => {
                process.kill()?;
                process.wait()?;
                bail!("the array was not ready within {} s; its log ends:\n{}", READY_LIMIT.as_secs(), log_end(&log));
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                let status = process.wait()?;
                bail!("the array ended before it was ready ({status}); its log ends:\n{}", log_end(&log));
            }
        }
    }
}

/// Waits for the end of a process; `None` when it has not ended within `limit`.
fn wait(process: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let started = Instant::now();
    loop {
        if let Some(status) = process.try_wait()? {
            return Ok(Some(status));
        }
        if started.elapsed() >= limit {
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Replaces host and port of the URL by `portal`.
fn through_portal(url: &str, portal: SocketAddr) -> Option<String> {
    let (_, rest) = url.strip_prefix("iscsi://")?.split_once('/')?;
    Some(format!("iscsi://{portal}/{rest}"))
}

#[cfg(test)]
mod tests;
