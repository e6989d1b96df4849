//! The program that does what only the administrator of an array can: `PROGRAM ACTION ARGUMENT…`. Exit status 0 means done, 3 that
//! the array has no such thing, all else that it went wrong.
//!
//! | action | does |
//! |---|---|
//! | `resize LUN BYTES` | gives the logical unit this size |
//! | `unmap LUN`, `map LUN` | takes the logical unit from all initiators, gives it back under the same LUN |
//! | `fill-pool`, `free-pool` | leaves no space for blocks that are not mapped; gives it back |
//! | `snapshot LUN` | maps a copy of what the logical unit holds now, and prints the LUN of the copy |
//! | `drop-snapshot LUN` | removes the copy with that LUN |
//! | `restart`, `kill` | stops the array in order or without warning, and starts it again |
//! | `shutdown`, `start` | stops the array in order; starts it again |
//! | `standby PORTAL`, `active PORTAL` | changes the state of the port group behind the portal |
//! | `failover` | moves the logical units to another controller |
//! | `redirect PORTAL`, `no-redirect PORTAL` | logins at the portal are sent elsewhere, or not |
//! | `threshold`, `no-threshold` | the pool passes its soft threshold; it falls below it |
//! | `forbid NAME`, `allow NAME` | the initiator may not log in, may again |

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::check::{Trouble, failed, skipped};

/// Time for one action.
const LIMIT: Duration = Duration::from_secs(90);
/// Exit status that says that the array has no such thing.
const UNSUPPORTED: i32 = 3;
/// Most of what a hook prints that is read.
const MAX_OUTPUT_BYTES: u64 = 4096;

/// Runs an action and returns what it printed.
pub(super) fn run(program: &Path, arguments: &[&str]) -> Result<String, Trouble> {
    let line = arguments.join(" ");
    let child = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => return failed(format!("cannot run the hook {}: {error}", program.display())),
    };
    let printed = child.stdout.take().map(|pipe| {
        std::thread::spawn(move || {
            let mut text = String::new();
            // What a hook printed before its pipe broke is all there is.
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
                // It has ended by itself when it cannot be killed.
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
