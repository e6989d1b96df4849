//! Threads of the executors, and placement of connections by load.
//!
//! Connections start on the reactor's thread, where a command is handed over by a call. While that
//! thread is busy for more than half of a second, its busiest connection moves to the executor that
//! is the least busy.

use super::iscsi::Iscsi;
use super::iscsi::executor::{self, ExecutorStart};
use crate::measurements::Measurements;
use crate::measurements::load::Loads;
use crate::{Placement, ServeError};
use anyhow::Context;
use media::Media;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Interval at which the load is measured.
const INTERVAL: Duration = Duration::from_secs(1);
/// Interval at which an executor notes its processor time: a small part of the second of a sample, whose
/// end it does not know.
const NOTE_INTERVAL: Duration = Duration::from_millis(50);
/// Interval at which new connections are looked for, where all are spread.
const SPREAD_INTERVAL: Duration = Duration::from_millis(20);
/// Part of the interval from which on the reactor's thread is busy, in percent.
const BUSY_PERCENT: u64 = 50;
/// Time that executors have for their end.
const END: Duration = Duration::from_secs(5);

/// Running executors.
pub(super) struct Threads {
    ended: Vec<oneshot::Receiver<()>>,
}

impl Threads {
    /// Starts the executors besides this thread, which is the first.
    pub fn start<M: Media + 'static>(
        iscsi: &Iscsi<M>,
        threads: usize,
        measurements: &Arc<Measurements>,
    ) -> Result<Self, ServeError> {
        let others = 1..threads.max(1);
        let ended = others.map(|_| start(iscsi.add_executor(), Arc::clone(measurements))).collect::<Result<_, _>>()?;
        Ok(Self { ended })
    }

    /// Waits until they have ended, which they do when the array closes.
    pub async fn ended(self) {
        let all = async {
            for ended in self.ended {
                let _gone = ended.await;
            }
        };
        if tokio::time::timeout(END, all).await.is_err() {
            tracing::warn!("an executor has not ended");
        }
    }
}

fn start(start: ExecutorStart, measurements: Arc<Measurements>) -> Result<oneshot::Receiver<()>, ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let (sender, ended) = oneshot::channel();
    let number = start.number();
    let body = move || {
        let mut runtime = runtime;
        match runtime.enable_all().build() {
            Ok(runtime) => {
                let local = tokio::task::LocalSet::new();
                let measured = async {
                    let measuring = tokio::task::spawn_local(measure(number, measurements));
                    executor::run(start).await;
                    measuring.abort();
                };
                local.block_on(&runtime, measured);
            }
            Err(error) => tracing::error!(number, %error, "an executor cannot start"),
        }
        let _nobody_waits = sender.send(());
    };
    let name = format!("executor-{number}");
    std::thread::Builder::new().name(name).spawn(body).context("cannot start an executor's thread")?;
    Ok(ended)
}

/// Publishes the processor time of this thread. Runs until it is dropped.
async fn measure(number: usize, measurements: Arc<Measurements>) {
    loop {
        measurements.loads.note(number);
        tokio::time::sleep(NOTE_INTERVAL).await;
    }
}

/// Moves connections to executors. Runs until it is dropped.
pub(super) async fn place<M: Media + 'static>(
    iscsi: Rc<Iscsi<M>>,
    placement: Placement,
    measurements: Arc<Measurements>,
) {
    match placement {
        Placement::Load => by_load(&iscsi, &measurements.loads).await,
        Placement::Spread => spread(&iscsi, &measurements.loads).await,
    }
}

/// Moves every connection after its login.
async fn spread<M: Media + 'static>(iscsi: &Iscsi<M>, loads: &Loads) {
    let mut next = 0;
    loop {
        loads.note(0);
        for connection in iscsi.movable() {
            if let Some(executor) = next_executor(&mut next, iscsi.executors()) {
                connection.move_to(executor);
            }
        }
        tokio::time::sleep(SPREAD_INTERVAL).await;
    }
}

/// The executors in turn. `None` if there is none.
fn next_executor(next: &mut usize, executors: usize) -> Option<usize> {
    *next += 1;
    next.checked_rem(executors).map(|executor| executor + 1)
}

async fn by_load<M: Media + 'static>(iscsi: &Iscsi<M>, loads: &Loads) {
    let mut before = Sample::default();
    loop {
        loads.note(0);
        let now = Sample::take(iscsi, loads);
        if let Some((connection, executor)) = now.decide(&before)
            && let Some(connection) = iscsi.movable().into_iter().find(|movable| movable.number() == connection)
        {
            connection.move_to(executor);
        }
        before = now;
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Loads at one instant.
#[derive(Clone, Debug, Default)]
struct Sample {
    /// Processor time of each thread in nanoseconds; the first is the reactor's.
    threads: Vec<u64>,
    /// Work of each connection on the reactor's thread.
    work: BTreeMap<u64, u64>,
}

impl Sample {
    fn take<M: Media + 'static>(iscsi: &Iscsi<M>, loads: &Loads) -> Self {
        let work = iscsi.movable().into_iter().map(|movable| (movable.number(), movable.work())).collect();
        let threads = (0..=iscsi.executors()).map(|number| loads.processor_ns(number)).collect();
        Self { threads, work }
    }

    /// Connection to move, and the executor to move it to, given the loads of an interval before.
    fn decide(&self, before: &Self) -> Option<(u64, usize)> {
        let busy = |number: usize| {
            let now = self.threads.get(number).copied().unwrap_or(0);
            now.saturating_sub(before.threads.get(number).copied().unwrap_or(now))
        };
        let limit = u64::try_from(INTERVAL.as_nanos()).unwrap_or(u64::MAX) / 100 * BUSY_PERCENT;
        if busy(0) <= limit {
            return None;
        }
        let executor = (1..self.threads.len()).min_by_key(|number| busy(*number))?;
        // A connection that has just come is looked at the next time.
        let done = |(number, work): (&u64, &u64)| Some((work.saturating_sub(*before.work.get(number)?), *number));
        let (work, connection) = self.work.iter().filter_map(done).max()?;
        (work > 0 && busy(executor) < busy(0)).then_some((connection, executor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn sample(threads: &[u64], work: &[(u64, u64)]) -> Sample {
        Sample { threads: threads.iter().map(|ms| ms * MS).collect(), work: work.iter().copied().collect() }
    }

    #[test]
    fn the_busiest_connection_moves_to_the_least_busy_executor() {
        let before = sample(&[100, 100, 100], &[(7, 10), (8, 10), (9, 10)]);
        let now = sample(&[700, 400, 200], &[(7, 500), (8, 900), (9, 20)]);
        assert_eq!(now.decide(&before), Some((8, 2)));
    }

    #[test]
    fn nothing_moves_while_the_engine_has_time_or_no_executor_has_more() {
        let before = sample(&[0, 0], &[(7, 0)]);
        assert_eq!(sample(&[500, 0], &[(7, 900)]).decide(&before), None);
        assert_eq!(sample(&[900, 950], &[(7, 900)]).decide(&before), None);
        assert_eq!(sample(&[900], &[(7, 900)]).decide(&before), None, "there is no other thread");
        assert_eq!(sample(&[900, 0], &[(7, 0), (8, 900)]).decide(&before), None, "8 is new, and 7 does nothing");
    }
}
