//! `cargo xtask conformance`: the conformance kit of the `windlass` program against a new array
//! with two portals and two logical units, with `contrib/conformance-hook` as the administrator.
//!
//! With `--liars` every check is shown to fail on the same array behind a portal that lies in one
//! point ([`liar`]).
//!
//! A failing check has to be listed in [`KNOWN_GAPS`] with its reason, and a listed check has to
//! fail: the list can only shrink.

mod liar;
mod liars;

use crate::tally::Tally;
use crate::workspace;
use anyhow::{Context, Result, bail, ensure};
use array_process::array::{Array, ArrayOptions, free_portal};
use clap::Args;
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Selection of checks.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Run only these checks: a number, a name or a group.
    #[arg(long, value_name = "CHECK")]
    check: Vec<String>,
    /// Run long checks at full length.
    #[arg(long)]
    thorough: bool,
    /// Show for each check that it fails on a target that lies.
    #[arg(long)]
    liars: bool,
}

/// Checks that this array does not pass yet, by number, with the reason.
const KNOWN_GAPS: &[(u64, &str)] = &[];

/// Time limit of the whole kit at its small sizes.
const LIMIT: Duration = Duration::from_secs(600);

/// Starts an array and runs the kit; one tally entry for each check.
pub(crate) fn run(windlass: &Path, options: &Options) -> Result<Tally> {
    let windlass = std::path::absolute(windlass)?;
    let directory = tempfile::Builder::new().prefix("windlass-conformance-").tempdir()?;
    let portals = vec![free_portal()?, free_portal()?];
    let mut array = Array::start(ArrayOptions {
        executable: windlass.clone(),
        state_directory: directory.path().join("array"),
        portals: portals.clone(),
        pool_size: "1G".into(),
        arguments: Vec::new(),
    })?;
    array.command(&["volume", "create", "kit0", "--size", "512M"])?;
    array.command(&["volume", "create", "kit1", "--size", "3T"])?;
    array.command(&["access", "grant", "kit0", "--any", "--lun", "0"])?;
    array.command(&["access", "grant", "kit1", "--any", "--lun", "1"])?;
    // Each portal has its own group, so that one of them can be set to standby.
    for (portal, group) in portals.iter().zip(1..) {
        array.command(&["portal", "set", &portal.to_string(), "--group", &group.to_string()])?;
    }
    if options.liars {
        return liars::run(&windlass, array, &portals, directory.path(), &options.check);
    }
    let url = array.volume("kit0")?.url().to_owned();
    let control = control_program(directory.path())?;
    let server = array.server();
    let kit = |checks: &[String]| {
        let mut command = Command::new(&windlass);
        command.args(["conformance", &url, "--second-lun", "1", "--destroy-data", "-o", "json", "--hook"]);
        command.arg(workspace::root().join("contrib/conformance-hook"));
        for portal in portals.iter().skip(1) {
            command.arg("--second-portal").arg(portal.to_string());
        }
        for check in checks {
            command.arg("--check").arg(check);
        }
        if options.thorough {
            command.arg("--thorough");
        }
        command.env("WINDLASS", &windlass).env("WINDLASS_SERVER", &server).env("WINDLASS_UNITS", "0=kit0 1=kit1");
        command.env("WINDLASS_CONTROL", &control);
        command
    };
    let limit = if options.thorough { LIMIT * 12 } else { LIMIT };
    let mut tally = Tally::default();
    if options.check.is_empty() {
        // Thresholds are reported with a minimum interval, so this check runs before the checks
        // that fill the pool, and alone.
        tally += judge(&results_of(kit(&["127".into()]), &mut array, directory.path(), limit)?, KNOWN_GAPS)?;
    }
    tally += judge(&results_of(kit(&options.check), &mut array, directory.path(), limit)?, KNOWN_GAPS)?;
    if options.check.is_empty() {
        let command = with_chap(&windlass, &array)?;
        tally += judge(&results_of(command, &mut array, directory.path(), limit)?, KNOWN_GAPS)?;
    }
    array.stop()?;
    Ok(tally)
}

/// Command of the kit for the checks of CHAP, as a host that has to authenticate.
fn with_chap(windlass: &Path, array: &Array) -> Result<Command> {
    let url = chap_unit(array)?;
    let mut command = Command::new(windlass);
    command.args(["conformance", &url, "--initiator", CHAP_INITIATOR, "-o", "json"]);
    for number in CHAP_CHECKS {
        command.args(["--check", number]);
    }
    Ok(command)
}

/// Checks that run as a host that has to authenticate, and the name of the host.
const CHAP_CHECKS: [&str; 4] = ["158", "159", "160", "161"];
const CHAP_INITIATOR: &str = "iqn.2026-01.org.example:conformance-chap";

/// Creates a unit and a host for CHAP; returns the URL with user and secret.
fn chap_unit(array: &Array) -> Result<String> {
    const NAME: &str = CHAP_INITIATOR;
    const USER: &str = "conformance";
    array.command(&["volume", "create", "kit2", "--size", "16M"])?;
    // The array generates the secret, and shows it once.
    let host = array.json(&["host", "create", "kit", "--iqn", NAME, "--chap-user", USER])?;
    let secret = host.pointer("/generated/chap_secret").and_then(Value::as_str);
    let secret = secret.context("no generated.chap_secret in `host create`")?;
    array.command(&["access", "grant", "kit2", "--host", "kit"])?;
    Ok(array.volume("kit2")?.url().replace("iscsi://", &format!("iscsi://{USER}%{secret}@")))
}

/// Runs the kit, executes the requests of its hook about the array, and reads its document.
fn results_of(mut command: Command, array: &mut Array, directory: &Path, limit: Duration) -> Result<Value> {
    let results = directory.join("results.json");
    command.stdin(Stdio::null()).stdout(std::fs::File::create(&results)?);
    let mut kit = command.spawn().context("cannot run the kit")?;
    let finished = serve_control(array, &mut kit, directory, limit);
    if finished.is_err() {
        // The kit may have ended meanwhile.
        let _ended = kill(&mut kit);
    }
    finished.with_context(|| format!("the array's log ends:\n{}", array.log_end()))?;
    let text = std::fs::read_to_string(&results)?;
    serde_json::from_str(&text).with_context(|| format!("the kit printed no JSON:\n{text}"))
}

fn kill(child: &mut Child) -> std::io::Result<()> {
    child.kill()?;
    child.wait().map(drop)
}

/// Writes the program that the hook calls to control the process of the array: it writes its
/// request to a file and waits until [`serve_control`] has removed the file.
fn control_program(directory: &Path) -> Result<PathBuf> {
    let path = directory.join("control");
    let directory = directory.to_str().context("the temporary directory is not UTF-8")?.replace('\'', "'\\''");
    std::fs::write(
        &path,
        format!(
            "#!/bin/sh\ncd '{directory}' && echo \"$1\" > wanted.new && mv wanted.new wanted && while [ -e wanted ]; do sleep 0.02; done\n"
        ),
    )?;
    std::fs::set_permissions(&path, Permissions::from_mode(0o755))?;
    Ok(path)
}

/// Executes the requests of the hook until the kit has ended.
fn serve_control(array: &mut Array, kit: &mut Child, directory: &Path, limit: Duration) -> Result<()> {
    let started = Instant::now();
    loop {
        if let Some(status) = kit.try_wait()? {
            // Exit status 1 means failed checks, which the printed document describes.
            ensure!(matches!(status.code(), Some(0 | 1)), "the kit ended with {status}");
            return Ok(());
        }
        ensure!(started.elapsed() < limit, "the kit did not end within {} s", limit.as_secs());
        do_wanted(array, directory)?;
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Executes the request of the hook about the array's process.
fn do_wanted(array: &mut Array, directory: &Path) -> Result<()> {
    let wanted = directory.join("wanted");
    if !wanted.exists() {
        return Ok(());
    }
    match std::fs::read_to_string(&wanted)?.trim() {
        "restart" => {
            array.stop()?;
            array.restart()?;
        }
        "kill" => {
            array.kill()?;
            array.restart()?;
        }
        "shutdown" => array.stop()?,
        "start" => array.restart()?,
        other => bail!("the hook wants {other:?}"),
    }
    Ok(std::fs::remove_file(&wanted)?)
}

/// Judges the results: passed or skipped is fine, a failed check must be a known gap, and a known
/// gap must fail.
fn judge(document: &Value, gaps: &[(u64, &str)]) -> Result<Tally> {
    let results = document.get("results").and_then(Value::as_array).context("no results in the kit's document")?;
    let mut tally = Tally::default();
    let mut counts = [0; 3];
    for result in results {
        let number = result.get("number").and_then(Value::as_u64).context("a result without a number")?;
        let text = |field: &str| result.get(field).and_then(Value::as_str).unwrap_or_default();
        let gap = gaps.iter().find(|(known, _)| *known == number).map(|(_, reason)| *reason);
        let fine = match (text("outcome"), gap) {
            ("passed", None) => {
                counts[0] += 1;
                true
            }
            ("passed", Some(_)) => {
                println!("  {number} {} passes: take it off the list of known gaps", text("name"));
                counts[0] += 1;
                false
            }
            ("failed", Some(reason)) => {
                println!("  {number} {}: known gap: {reason}", text("name"));
                counts[1] += 1;
                true
            }
            ("skipped", _) => {
                counts[2] += 1;
                true
            }
            _ => {
                println!("  {number} {} FAILED ({})\n      {}", text("name"), text("section"), text("reason"));
                counts[1] += 1;
                false
            }
        };
        tally += Tally::one(fine);
    }
    let [passed, failed, skipped] = counts;
    println!("  {passed} passed, {failed} failed, {skipped} skipped");
    Ok(tally)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use serde_json::json;

    #[test]
    fn only_known_gaps_may_fail_and_they_have_to() {
        let result = |number, outcome| json!({ "number": number, "name": "x", "section": "y", "outcome": outcome });
        let document = json!({ "results": [
            result(1, "passed"), result(2, "failed"), result(3, "failed"), result(4, "passed"), result(5, "skipped"),
        ] });
        let tally = judge(&document, &[(3, "known"), (4, "was known")]).unwrap();
        assert_eq!(tally, Tally { passed: 3, failed: 2 });
    }
}
