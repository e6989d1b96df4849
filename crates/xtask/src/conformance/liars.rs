//! `cargo xtask conformance --liars`: every check, on targets that are correct except for one
//! point. A check that passes on every liar proves nothing, and fails here.
//!
//! Each check runs first on the honest array, which records the commands that it uses. Then it runs
//! with one lie after the other about these commands, the last command first, until it fails.
//! Refusal of a command that had to be executed does not count as a lie, because every check
//! notices it.

use super::liar::{Liar, Lie, Point};
use super::{CHAP_CHECKS, CHAP_INITIATOR, chap_unit, control_program, do_wanted};
use crate::tally::Tally;
use crate::workspace;
use anyhow::{Context, Result, bail};
use array_process::array::Array;
use conformance::kit::{self, Check, Options, Outcome};
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

/// Response timeout: shorter than the kit's own, because many responses do not come.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Commands that only prepare a check, tried last: TEST UNIT READY, REQUEST SENSE, INQUIRY, READ
/// CAPACITY.
const PREPARING: [u8; 4] = [0x00, 0x03, 0x12, 0x9e];

/// Result of a check with its liars.
enum Told {
    /// It failed with this lie.
    Noticed(Lie),
    /// It passed with this number of lies.
    Blind(usize),
    /// It fails, or is skipped, on the honest array.
    NotJudged(String),
}

/// Runs the wanted checks, or all if none is named.
pub(super) fn run(
    windlass: &Path,
    mut array: Array,
    portals: &[SocketAddr],
    directory: &Path,
    wanted: &[String],
) -> Result<Tally> {
    let [first, second] = portals else { bail!("two portals are wanted") };
    let liars = [Liar::start(*first)?, Liar::start(*second)?];
    let url = array.volume("kit0")?.url().to_owned();
    let (_, path) = url.strip_prefix("iscsi://").and_then(|rest| rest.split_once('/')).context("no URL")?;
    let with_chap = chap_unit(&array)?.replace(&first.to_string(), &liars[0].address.to_string());
    let chap =
        Options { initiators: vec![CHAP_INITIATOR.into()], timeout: TIMEOUT, ..Options::new(with_chap.parse()?) };
    let options = Options {
        second_portal: Some((liars[1].address.ip().to_string(), liars[1].address.port())),
        second_lun: Some(1),
        destroy_data: true,
        hook: Some(hook(windlass, &array, directory, (liars[1].address, *second))?),
        timeout: TIMEOUT,
        ..Options::new(format!("iscsi://{}/{path}", liars[0].address).parse()?)
    };
    let checks = match wanted {
        [] => kit::checks(),
        names => names.iter().flat_map(|name| kit::find(name)).collect(),
    };
    let judging = thread::spawn(move || -> Tally {
        let mut tally = Tally::default();
        let mut points: BTreeMap<Point, usize> = BTreeMap::new();
        let mut not_judged = 0;
        for check in &checks {
            let of_chap = CHAP_CHECKS.contains(&check.number.to_string().as_str());
            match judge(if of_chap { &chap } else { &options }, check, &liars) {
                Told::Noticed(lie) => {
                    *points.entry(lie.point).or_default() += 1;
                    tally += Tally::one(true);
                    println!("  {:3} {}: {}", check.number, check.name, words(lie));
                }
                Told::Blind(lies) => {
                    tally += Tally::one(false);
                    println!("  {:3} {} PASSES ON ALL OF {lies} LIARS", check.number, check.name);
                }
                Told::NotJudged(why) => {
                    not_judged += 1;
                    println!("  {:3} {}: not judged: {why}", check.number, check.name);
                }
            }
        }
        let shown: usize = points.values().sum();
        println!("  {shown} of {} checks shown to fail, {not_judged} not judged: {points:?}", checks.len());
        tally
    });
    while !judging.is_finished() {
        do_wanted(&mut array, directory)?;
        thread::sleep(Duration::from_millis(10));
    }
    let tally = judging.join().ok().context("the judging thread panicked")?;
    array.stop()?;
    Ok(tally)
}

fn words(lie: Lie) -> String {
    match lie.opcode {
        Some(opcode) => format!("{:?} of {opcode:02X}h", lie.point),
        None => format!("{:?}", lie.point),
    }
}

fn outcome(options: &Options, check: &'static Check) -> Outcome {
    let report = kit::run(options, &[check], &AtomicBool::new(false), |_| {});
    report.rows.into_iter().next().map_or_else(|| Outcome::Skipped("it did not run".into()), |row| row.outcome)
}

fn judge(options: &Options, check: &'static Check, liars: &[Liar; 2]) -> Told {
    let tell = |lie| liars.iter().for_each(|liar| liar.tell(lie));
    tell(None);
    match outcome(options, check) {
        Outcome::Passed => {}
        Outcome::Skipped(why) | Outcome::Failed(why) | Outcome::Differs(why) => return Told::NotJudged(why),
    }
    let mut seen = liars[0].seen();
    seen.extend(liars[1].seen());
    let (mut opcodes, preparing): (Vec<_>, Vec<_>) = seen.into_iter().rev().partition(|code| !PREPARING.contains(code));
    opcodes.extend(preparing);
    let of_command = opcodes
        .iter()
        .flat_map(|opcode| Point::OF_COMMAND.iter().map(|point| Lie { point: *point, opcode: Some(*opcode) }));
    let of_session = Point::OF_SESSION.iter().map(|point| Lie { point: *point, opcode: None });
    // For checks of iSCSI and task management, lies about these are tried first.
    let session_first = check.name.starts_with("iscsi/") || check.name.starts_with("task_management/");
    let lies: Vec<Lie> = match session_first {
        true => of_session.chain(of_command).collect(),
        false => of_command.chain(of_session).collect(),
    };
    let noticed = lies.iter().find(|lie| {
        tell(Some(**lie));
        matches!(outcome(options, check), Outcome::Failed(_))
    });
    tell(None);
    match noticed {
        Some(lie) => Told::Noticed(*lie),
        None => Told::Blind(lies.len()),
    }
}

/// Hook with its environment. The administrator knows the portal, not the liar in front of it.
fn hook(windlass: &Path, array: &Array, directory: &Path, (liar, portal): (SocketAddr, SocketAddr)) -> Result<PathBuf> {
    let path = directory.join("hook");
    let quoted = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
    let script = format!(
        "#!/bin/sh\ncase \"${{2:-}}\" in {liar}) set -- \"$1\" {portal};; esac\nexport WINDLASS={} WINDLASS_SERVER='{}' WINDLASS_UNITS='0=kit0 1=kit1' WINDLASS_CONTROL={}\nexec {} \"$@\"\n",
        quoted(windlass),
        array.server(),
        quoted(&control_program(directory)?),
        quoted(&workspace::root().join("contrib/conformance-hook"))
    );
    std::fs::write(&path, script)?;
    std::fs::set_permissions(&path, Permissions::from_mode(0o755))?;
    Ok(path)
}
