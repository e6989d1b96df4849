//! Third-party programs, run to their end with a time limit.

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Directories searched after `PATH`: administrators' tools are not in everyone's `PATH`.
const SYSTEM_DIRECTORIES: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Finds program `name` in `PATH` and the system directories.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = std::env::split_paths(&path).chain(SYSTEM_DIRECTORIES.iter().map(PathBuf::from));
    directories.map(|directory| directory.join(name)).find(|candidate| candidate.is_file())
}

/// Result of a program.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Exit status; `None` when the program was killed at its time limit.
    pub status: Option<ExitStatus>,
    /// Time from start to end.
    pub elapsed: Duration,
    /// Standard output. Bytes that are not UTF-8 are replaced.
    pub stdout: String,
    /// Standard error. Bytes that are not UTF-8 are replaced.
    pub stderr: String,
}

impl Finished {
    /// Whether the program ended by itself with status 0.
    pub fn success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

/// Runs `program` with `arguments` and without standard input, and waits for its end; after `limit`
/// it is killed.
///
/// Both outputs are kept in memory, so this is for programs that print little. An error means that
/// the program could not be run.
pub fn run<A: AsRef<OsStr>>(program: &Path, arguments: &[A], limit: Duration) -> Result<Finished> {
    let started = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {}", program.display()))?;
    let stdout = child.stdout.take().map(collect);
    let stderr = child.stderr.take().map(collect);
    let mut pause = Duration::from_micros(200);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if started.elapsed() >= limit {
            child.kill()?;
            child.wait()?;
            break None;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(5));
    };
    let elapsed = started.elapsed();
    let text = |reader: Option<thread::JoinHandle<Vec<u8>>>| {
        let bytes = reader.and_then(|reader| reader.join().ok()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ok(Finished { status, elapsed, stdout: text(stdout), stderr: text(stderr) })
}

/// Runs `program` like [`run`]; anything but exit status 0 within `limit` is an error that quotes
/// the output.
pub fn require<A: AsRef<OsStr>>(program: &Path, arguments: &[A], limit: Duration) -> Result<Finished> {
    let finished = run(program, arguments, limit)?;
    if finished.success() {
        return Ok(finished);
    }
    let line: Vec<_> = arguments.iter().map(|argument| argument.as_ref().to_string_lossy()).collect();
    let how = match finished.status {
        Some(status) => format!("failed ({status})"),
        None => format!("did not end within {} s", limit.as_secs()),
    };
    bail!("{} {} {how}\n{}{}", program.display(), line.join(" "), finished.stdout, finished.stderr);
}

/// Reads a pipe to its end on its own thread, so that a full pipe never blocks the program.
fn collect(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // A broken pipe delivers no more data.
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn output_and_status_are_kept() {
        let shell = find("sh").unwrap();
        let finished = run(&shell, &["-c", "echo out; echo err >&2; exit 3"], Duration::from_secs(10)).unwrap();
        assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("out\n", "err\n"));
        assert_eq!(finished.status.unwrap().code(), Some(3));
        assert!(require(&shell, &["-c", "exit 3"], Duration::from_secs(10)).is_err());
    }

    #[test]
    fn a_program_that_hangs_is_ended() {
        let finished = run(&find("sleep").unwrap(), &["60"], Duration::from_millis(50)).unwrap();
        assert!(finished.status.is_none() && finished.elapsed < Duration::from_secs(30));
    }

    #[test]
    fn unknown_programs_are_not_found() {
        assert_eq!(find("no-such-program-anywhere"), None);
    }
}
