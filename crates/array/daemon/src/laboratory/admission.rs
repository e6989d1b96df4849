//! Whether a run may begin: its parameters, and the space of the pool.

use super::refusal::LabRefusal;
use api::{LabNow, LabRun, LabRunCreate, LabRunState};
use control::{PoolList, PoolState};
use jiff::Timestamp;
use lab::Size;
use reactor::ArrayHandle;
use std::collections::BTreeSet;

/// Largest number of rounds.
const MAX_PAIRS: u32 = 100;
/// Factor of the size of the largest disk that has to be available.
const SPACE_FACTOR: u64 = 3;

/// A run that was asked for, with valid parameters.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) cases: Vec<String>,
    pub(super) size: Size,
    pub(super) pairs: u32,
    pub(super) stop_when_host_p99_us: Option<u64>,
    /// True if a case uses a second volume.
    pub(super) second_volume: bool,
}

impl Wanted {
    /// Checks the parameters of a request.
    pub(super) fn of(request: LabRunCreate) -> Result<Self, LabRefusal> {
        let malformed = |reason: String| Err(LabRefusal::Malformed { reason });
        let LabRunCreate { cases, size, pairs, stop_when_host_p99_us } = request;
        if cases.is_empty() {
            return malformed("a run has one case at least".to_owned());
        }
        if cases.iter().collect::<BTreeSet<_>>().len() < cases.len() {
            return malformed("a run has each case once".to_owned());
        }
        let mut second_volume = false;
        for name in &cases {
            match lab::cases::find(name) {
                Some(case) => second_volume |= case.second_unit,
                None if lab::nas::find(name).is_some() => {
                    return malformed(format!("{name} is a case of files: {}", super::shown::OF_FILES));
                }
                None => return malformed(format!("there is no case {:?}", name.chars().take(64).collect::<String>())),
            }
        }
        let size = match size.as_deref().unwrap_or("small").parse() {
            Ok(size) => size,
            Err(error) => return malformed(format!("the size is small, paper or a size in bytes: {error}")),
        };
        let pairs = pairs.unwrap_or(1);
        if !(1..=MAX_PAIRS).contains(&pairs) {
            return malformed(format!("{pairs} rounds are not possible: 1 to {MAX_PAIRS}"));
        }
        if stop_when_host_p99_us == Some(0) {
            return malformed("stop_when_host_p99_us is 1 at least".to_owned());
        }
        Ok(Self { cases, size, pairs, stop_when_host_p99_us, second_volume })
    }

    /// Checks that hosts keep enough space while the run goes on.
    pub(super) async fn check_space(&self, array: &ArrayHandle) -> Result<(), LabRefusal> {
        let unavailable = |error: control::ControlError| LabRefusal::Unavailable { reason: error.to_string() };
        let pools = array.read(PoolList).await.map_err(unavailable)?;
        let Some(pool) = pools.first() else {
            return Err(LabRefusal::Unavailable { reason: "the array has no pool".to_owned() });
        };
        if !matches!(pool.state, PoolState::Healthy | PoolState::Damaged) {
            let reason =
                format!("the pool {} is {}: a run could take the space of hosts", pool.name, pool.state.name());
            return Err(LabRefusal::NoSpace { reason });
        }
        let size = self.size.largest_disk_bytes();
        let needed = size.saturating_mul(SPACE_FACTOR);
        if pool.available_bytes < needed {
            let words = api::size::format;
            let reason = format!(
                "a run of this size needs {} ({SPACE_FACTOR} × {}), and the pool {} has {} available",
                words(needed),
                words(size),
                pool.name,
                words(pool.available_bytes)
            );
            return Err(LabRefusal::NoSpace { reason });
        }
        Ok(())
    }

    /// The run as it begins.
    pub(super) fn run(&self, id: u64, by: String) -> LabRun {
        LabRun {
            id,
            state: LabRunState::Running,
            cases: self.cases.clone(),
            size: self.size.to_string(),
            pairs: self.pairs,
            stop_when_host_p99_us: self.stop_when_host_p99_us,
            by,
            array: None,
            started: Timestamp::now(),
            finished: None,
            reason: None,
            now: Some(LabNow { step: "making the scratch volumes".to_owned(), ..LabNow::default() }),
            results: Vec::new(),
            has_report: false,
            left: Vec::new(),
            points: Vec::new(),
        }
    }
}
