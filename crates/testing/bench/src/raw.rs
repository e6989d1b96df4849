//! The disk without any array: fio with io_uring on a file of its own, past the page cache. A write
//! is durable when it completes.

use crate::latencies::Latencies;
use crate::light::Shape;
use crate::load::Load;
use anyhow::{Context, Result, ensure};
use array_process::program;
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// Bytes of one write while the file is filled.
const FILL_BYTES: usize = 1 << 20;
/// Time that fio may take beyond that of its load.
const PATIENCE: Duration = Duration::from_secs(60);

/// File on the disk under measurement, completely written.
pub(crate) struct RawDisk {
    fio: PathBuf,
    file: PathBuf,
    size_bytes: u64,
    _directory: TempDir,
}

impl RawDisk {
    /// Whether fio is installed.
    pub(crate) fn installed() -> bool {
        program::find("fio").is_some()
    }

    /// Creates a file of `size_bytes` under `parent` and writes all of it, so that later writes
    /// allocate nothing.
    pub(crate) fn create(parent: &Path, size_bytes: u64) -> Result<Self> {
        let fio = program::find("fio").context("fio is not installed")?;
        let directory = tempfile::Builder::new().prefix("windlass-bench-").tempdir_in(parent)?;
        let path = directory.path().join("raw");
        let mut file = File::create(&path)?;
        let block = random::sector::stamped(0, 0, FILL_BYTES as u64, 0);
        for _ in 0..size_bytes / FILL_BYTES as u64 {
            file.write_all(&block)?;
        }
        file.sync_all()?;
        Ok(Self { fio, file: path, size_bytes, _directory: directory })
    }

    /// Runs a load; it reads only, or writes only.
    pub(crate) fn run(&self, shape: &Shape, time: Duration) -> Result<Load> {
        let output = program::require(&self.fio, &self.arguments(shape, time), time + PATIENCE)?;
        let report: Value = serde_json::from_str(&output.stdout).context("fio's report is no JSON")?;
        let side = if shape.writes_percent > 0 { "write" } else { "read" };
        load(report.pointer(&format!("/jobs/0/{side}")).context("fio's report has no job")?)
    }

    fn arguments(&self, shape: &Shape, time: Duration) -> Vec<String> {
        let kind = match (shape.sequential, shape.writes_percent > 0) {
            (true, true) => "write",
            (true, false) => "read",
            (false, true) => "randwrite",
            (false, false) => "randread",
        };
        let mut arguments = vec![
            "--name=raw".to_owned(),
            format!("--filename={}", self.file.display()),
            "--ioengine=io_uring".to_owned(),
            "--direct=1".to_owned(),
            format!("--rw={kind}"),
            format!("--bs={}", shape.length_bytes),
            format!("--iodepth={}", shape.depth),
            format!("--size={}", self.size_bytes.min(shape.span.end)),
            "--norandommap".to_owned(),
            "--time_based".to_owned(),
            format!("--runtime={}ms", time.as_millis()),
            "--output-format=json+".to_owned(),
        ];
        if shape.writes_percent > 0 {
            arguments.push("--sync=dsync".to_owned());
        }
        arguments
    }
}

/// One side of a job in fio's report.
fn load(side: &Value) -> Result<Load> {
    let number = |pointer: &str| side.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    let bins = side.pointer("/clat_ns/bins").and_then(Value::as_object).context("fio reports no latencies")?;
    let mut latencies = Latencies::default();
    for (nanoseconds, count) in bins {
        let latency = Duration::from_nanos(nanoseconds.parse().context("a latency of fio is no number")?);
        latencies.record_many(latency, count.as_u64().unwrap_or(0));
    }
    let operations = number("/total_ios");
    ensure!(operations > 0 && latencies.count() == operations, "fio reports other latencies than operations");
    Ok(Load { operations, elapsed: Duration::from_millis(number("/runtime")), latencies, ..Load::default() })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use serde_json::json;

    #[test]
    fn a_report_of_fio_is_understood() {
        let side = json!({ "total_ios": 3, "runtime": 1500, "clat_ns": { "bins": { "1000": 2, "9000": 1 } } });
        let load = load(&side).unwrap();
        assert_eq!((load.operations, load.elapsed), (3, Duration::from_millis(1500)));
        assert!((load.latency_us(50.0) - 1.0).abs() < 0.01 && (load.latencies.longest_us() - 9.0).abs() < 0.02);
        let other = json!({ "total_ios": 4, "runtime": 1500, "clat_ns": { "bins": { "1000": 2 } } });
        assert!(super::load(&other).is_err());
    }
}
