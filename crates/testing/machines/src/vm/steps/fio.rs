//! fio in the guest, in the background, and its results.

use crate::vm::lab::{Lab, quoted};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::time::Duration;

/// Running fio.
pub(super) struct Fio {
    name: &'static str,
    limit: Duration,
}

/// Results of fio without errors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finished {
    /// Number of I/Os of 4 KiB or more, reads and writes.
    pub(super) operations: u64,
    /// Longest time of one I/O.
    pub(super) longest: Duration,
}

impl std::fmt::Display for Finished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} I/Os verified, the longest took {}", self.operations, text::duration::measured(self.longest))
    }
}

/// Starts fio with these options in addition to the common ones: direct I/O, verification by CRC,
/// end at the first error.
pub(super) fn start(lab: &mut Lab, name: &'static str, options: &str, limit: Duration) -> Result<Fio> {
    let seconds = limit.as_secs();
    lab.require(&format!(
        "rm -f /run/{name}.*
        (timeout {seconds} fio --name={name} --ioengine=libaio --direct=1 --verify=crc32c --verify_fatal=1 --output-format=json \
           --output=/run/{name}.json {options} >/run/{name}.out 2>&1 </dev/null; echo $? >/run/{name}.new; mv /run/{name}.new /run/{name}.status) >/dev/null 2>&1 &
        sleep 1"
    ))?;
    Ok(Fio { name, limit })
}

impl Fio {
    /// Whether fio has ended.
    pub(super) fn ended(&self, lab: &mut Lab) -> Result<bool> {
        Ok(lab.script(&format!("test -e /run/{}.status", self.name), Duration::from_secs(20))?.status == 0)
    }

    /// Waits until fio has ended; fails if it found an error.
    pub(super) fn finish(self, lab: &mut Lab) -> Result<Finished> {
        let name = self.name;
        let seconds = self.limit.as_secs() + 10;
        lab.require_within(
            &format!("wait_until {seconds} test -e /run/{name}.status"),
            self.limit + Duration::from_secs(20),
        )
        .context("fio does not end")?;
        let words = lab
            .require(&format!("cat /run/{name}.status /run/{name}.out; dmesg | grep -i 'i/o error' | tail -5; true"))?;
        let text = lab.require(&format!("cat /run/{name}.json"))?;
        let start = text.find('{').with_context(|| format!("fio ended without a word\n{}", quoted(&words)))?;
        let document: Value = serde_json::from_str(text.get(start..).unwrap_or_default())
            .with_context(|| format!("fio printed no JSON\n{}", quoted(&words)))?;
        let job = document.pointer("/jobs/0").context("fio tells of no job")?;
        let error = job.get("error").and_then(Value::as_i64).context("fio tells of no error")?;
        ensure!(error == 0 && words.trim_start().starts_with('0'), "fio: error {error}\n{}", quoted(&words));
        let number = |path: &str| job.pointer(path).and_then(Value::as_u64).unwrap_or(0);
        Ok(Finished {
            operations: number("/read/total_ios") + number("/write/total_ios"),
            longest: Duration::from_nanos(number("/read/clat_ns/max").max(number("/write/clat_ns/max"))),
        })
    }
}

/// Runs fio to its end.
pub(super) fn run(lab: &mut Lab, name: &'static str, options: &str, limit: Duration) -> Result<Finished> {
    start(lab, name, options, limit)?.finish(lab)
}
