//! Hook: a program that carries out actions of the array's administrator, `PROGRAM ACTION
//! ARGUMENT…`. Exit status 0 means done, 3 that the array does not support the action, and any
//! other one that it failed.
//!
//! | action | effect |
//! |---|---|
//! | `resize LUN BYTES` | resizes the logical unit |
//! | `unmap LUN`, `map LUN` | hides the LUN from all initiators; maps it again under its number |
//! | `fill-pool`, `free-pool` | leaves no space for unmapped blocks; frees it again |
//! | `snapshot LUN` | maps a copy of the logical unit's content, and prints its LUN |
//! | `drop-snapshot LUN` | removes the copy with that LUN |
//! | `restart`, `kill` | stops the array in order or without warning, and starts it again |
//! | `shutdown`, `start` | stops the array in order; starts it again |
//! | `standby PORTAL`, `active PORTAL` | changes the state of the port group behind the portal |
//! | `failover` | moves the logical units to another controller |
//! | `redirect PORTAL`, `no-redirect PORTAL` | redirects logins at the portal; ends that |
//! | `threshold`, `no-threshold` | takes the pool above its soft threshold; below it |
//! | `forbid NAME`, `allow NAME` | forbids the initiator to log in; allows it again |

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::check::{NotPassed, failed, skipped};

/// Time limit of one action.
const LIMIT: Duration = Duration::from_secs(90);
/// Exit status for an action that the array does not support.
const UNSUPPORTED: i32 = 3;
/// Largest number of bytes read from a hook's output.
const MAX_OUTPUT_BYTES: u64 = 4096;

/// Runs an action and returns its output.
pub(super) fn run(program: &Path, arguments: &[&str]) -> Result<String, NotPassed> {
    let line = arguments.join(" ");
    let child = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => return failed(format!("cannot run the hook {}: {error}", program.display())),
    };
    let printed = child.stdout.take().map(|pipe| {
        std::thread::spawn(move || {
            let mut text = String::new();
            // Output up to a broken pipe is used.
            let _broken = pipe.take(MAX_OUTPUT_BYTES).read_to_string(&mut text);
            text
        })
    });
    let started = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if started.elapsed() < LIMIT => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) => {
                // An error means that it has ended by itself.
                let _ended = child.kill().and_then(|()| child.wait().map(drop));
                return failed(format!("the hook `{line}` did not end within {} s", LIMIT.as_secs()));
            }
            Err(error) => return failed(format!("cannot wait for the hook `{line}`: {error}")),
        }
    };
    match status.code() {
        Some(0) => Ok(printed.and_then(|reader| reader.join().ok()).unwrap_or_default().trim().to_owned()),
        Some(UNSUPPORTED) => skipped(format!("the hook does not support `{line}`")),
        _ => failed(format!("the hook `{line}` failed: {status}")),
    }
}
