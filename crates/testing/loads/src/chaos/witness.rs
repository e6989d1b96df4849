//! A well-behaved initiator that runs beside hostile ones: it writes blocks that only it may see,
//! reads them back, and measures the time.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use iscsi::initiator::TransferRequest;
use thiserror::Error;

use conformance::cdb;
use conformance::commands::{CommandError, check};
use conformance::initiator::{Session, SessionOptions};
use conformance::sense::Sense;
use conformance::url::Url;
use random::Random;

/// Number of blocks of one command: 4 KiB.
const BLOCKS: u32 = 8;
/// Number of places that are written to.
const PLACES: u64 = 64;
/// Pause between two commands: answer times are measured, not throughput.
const PAUSE: Duration = Duration::from_millis(3);
/// Largest number of unit attentions at the beginning.
const ATTENTIONS: usize = 8;

/// Observations of the witness.
#[derive(Clone, Debug, Default)]
pub struct WitnessReport {
    /// Time of each command, shortest first.
    latencies: Vec<Duration>,
}

impl WitnessReport {
    /// Number of commands, all of them successful.
    pub fn commands(&self) -> usize {
        self.latencies.len()
    }

    /// Time that this many of 1000 commands did not exceed.
    pub fn quantile(&self, of_1000: usize) -> Duration {
        let last = self.latencies.len().saturating_sub(1);
        self.latencies.get(last * of_1000 / 1000).copied().unwrap_or_default()
    }
}

impl fmt::Display for WitnessReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |of_1000| self.quantile(of_1000).as_secs_f64() * 1000.0;
        let (median, p99, longest) = (ms(500), ms(990), ms(1000));
        write!(f, "{} commands, p50 {median:.2} ms, p99 {p99:.2} ms, longest {longest:.1} ms", self.commands())
    }
}

/// Failure that the witness met.
#[derive(Debug, Error)]
pub enum WitnessError {
    /// A command or the session failed.
    #[error("{0}")]
    Command(#[from] CommandError),
    /// Data read differs from data written.
    #[error("block {lba}: other data than was written")]
    Mismatch {
        /// First block of the command.
        lba: u64,
    },
}

/// Secret of 32 bytes that fills every block of the witness.
pub fn secret(seed: u64) -> Vec<u8> {
    let random = Random::new(seed ^ 0x005E_C2E7);
    (0..4).flat_map(|_| random.next().to_be_bytes()).collect()
}

/// Writes and reads until `stop` is set. `timeout` is the time limit of each command.
pub fn run(
    url: &Url,
    initiator_name: &str,
    seed: u64,
    timeout: Duration,
    stop: &AtomicBool,
) -> Result<WitnessReport, WitnessError> {
    let options =
        SessionOptions { initiator_name: initiator_name.into(), qualifier: 1, timeout, ..SessionOptions::default() };
    let mut session = Session::connect(url, &options).map_err(CommandError::from)?;
    let secret = secret(seed);
    let mut testimony = WitnessReport::default();
    let random = Random::new(seed);
    for _ in 0..ATTENTIONS {
        let ready = session.execute([0; 16], TransferRequest::None).map_err(CommandError::from)?;
        if !matches!(Sense::parse(&ready.sense), Some(Sense { key: Sense::UNIT_ATTENTION, .. })) {
            break;
        }
    }
    while !stop.load(Ordering::Relaxed) {
        let lba = random.below(PLACES) * u64::from(BLOCKS);
        // The first word of the data depends on its LBA; the rest is the secret.
        let mut data: Vec<u8> = secret.iter().copied().cycle().take(BLOCKS as usize * 512).collect();
        for (to, from) in data.iter_mut().zip((random.next() ^ lba).to_be_bytes()) {
            *to = from;
        }
        let started = Instant::now();
        let written =
            session.execute(cdb::write16(lba, BLOCKS, false), TransferRequest::Out(Bytes::from(data.clone())));
        check("WRITE", written.map_err(CommandError::from)?)?;
        testimony.latencies.push(started.elapsed());
        let started = Instant::now();
        let read = session.execute(cdb::read16(lba, BLOCKS), TransferRequest::In(BLOCKS * 512));
        let found = check("READ", read.map_err(CommandError::from)?)?;
        testimony.latencies.push(started.elapsed());
        if found != data {
            return Err(WitnessError::Mismatch { lba });
        }
        thread::sleep(PAUSE);
    }
    session.logout().map_err(CommandError::from)?;
    testimony.latencies.sort_unstable();
    Ok(testimony)
}
