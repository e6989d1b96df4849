//! A run from its beginning to its end: scratch, process, progress, the hosts' p99, removal, report.

use super::admission::Wanted;
use super::archive::Record;
use super::child::{Heard, Runner};
use super::scratch::{Made, Scratch};
use super::{Laboratory, Stop, shown};
use api::{LabNow, LabPoint, LabProgress, LabRun, LabRunState};
use control::SampleLatest;
use jiff::Timestamp;
use pool::ObjectId;
use reactor::ArrayHandle;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Time that a process which was told to end has to wipe its logical units and to save what it has measured.
const TO_END: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 15 });
/// Consecutive seconds above the limit of the hosts' p99 that end a run.
const SLOW_SECONDS: u32 = 3;
/// Largest number of points; two become one when there would be more.
const MAX_POINTS: usize = 240;

/// How the work of a run ended.
enum End {
    /// The process reached its end.
    Done,
    /// It was told to end.
    Stopped(Stop),
    /// Something went wrong.
    Failed(String),
}

/// Executes a run, and removes everything that it has made.
pub(super) async fn run(
    laboratory: &Laboratory,
    array: &ArrayHandle,
    id: u64,
    wanted: Wanted,
    scratch: Scratch,
    stopped: watch::Receiver<Option<Stop>>,
) {
    tracing::info!(run = id, cases = ?wanted.cases, size = %wanted.size, "a run of the laboratory begins");
    let end = match prepare(&scratch, &wanted, array, stopped.clone()).await {
        Ok(made) => measure(laboratory, array, id, &wanted, &made, stopped).await,
        Err(end) => end,
    };
    step(laboratory, id, "removing the scratch volumes");
    let left = scratch.remove(array).await;
    let has_report = laboratory.archive.has_results(id) && {
        step(laboratory, id, "writing the report");
        laboratory.make_report(id).await
    };
    let (state, reason) = match end {
        End::Done => (LabRunState::Done, None),
        End::Stopped(Stop::Cancelled) => (LabRunState::Cancelled, None),
        End::Stopped(Stop::ArrayStops) => (LabRunState::Failed, Some("the array was stopped".to_owned())),
        End::Stopped(Stop::SlowHosts { p99_us, limit_us }) => {
            let words = |us: u64| text(Duration::from_micros(us));
            let reason = format!(
                "the p99 of other volumes and shares was {} and above the limit of {} for {SLOW_SECONDS} s",
                words(p99_us),
                words(limit_us)
            );
            (LabRunState::Failed, Some(reason))
        }
        End::Failed(reason) => (LabRunState::Failed, Some(shown::cut(&reason))),
    };
    tracing::info!(run = id, ?state, reason, ?left, "a run of the laboratory has ended");
    let scratch = (!left.is_empty()).then_some(scratch);
    laboratory.change(id, |run| {
        run.state = state;
        run.reason = reason;
        run.finished = Some(Timestamp::now());
        run.now = None;
        run.has_report = has_report;
        run.left = left;
    });
    if let Ok(run) = laboratory.show(id)
        && let Err(error) = laboratory.archive.write(Record { run, scratch }).await
    {
        tracing::warn!(run = id, error = format!("{error:#}"), "the record of a run could not be written");
    }
}

/// Time in milliseconds, as administrators read it.
fn text(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

/// Makes the scratch, unless the run is told to end.
async fn prepare(
    scratch: &Scratch,
    wanted: &Wanted,
    array: &ArrayHandle,
    mut stopped: watch::Receiver<Option<Stop>>,
) -> Result<Made, End> {
    // Not dropped halfway: each object that is made is made whole.
    let made = scratch.make(wanted, array).await.map_err(End::Failed)?;
    match stopped.borrow_and_update().clone() {
        Some(why) => Err(End::Stopped(why)),
        None => Ok(made),
    }
}

fn step(laboratory: &Laboratory, id: u64, words: &str) {
    laboratory.change(id, |run| {
        let ending = run.now.as_ref().is_some_and(|now| now.ending);
        run.now = Some(LabNow { step: words.to_owned(), ending, ..LabNow::default() });
    });
}

/// Runs the process until it ends, and follows it.
async fn measure(
    laboratory: &Laboratory,
    array: &ArrayHandle,
    id: u64,
    wanted: &Wanted,
    made: &Made,
    mut stopped: watch::Receiver<Option<Stop>>,
) -> End {
    let (size, save) = (wanted.size.to_string(), laboratory.archive.results_path(id));
    let started = Runner::start(&laboratory.program, (&wanted.cases, &size, wanted.pairs), made, &save);
    let mut runner = match started {
        Ok(runner) => runner,
        Err(reason) => return End::Failed(reason),
    };
    let mut follower = Follower { laboratory, id, begun: Instant::now(), cases: wanted.cases.len(), has_ended: None };
    let mut hosts = Hosts::new(array, made.objects.clone(), wanted.stop_when_host_p99_us);
    let mut deadline = None;
    let mut why = None;
    loop {
        let too_late = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            heard = runner.next() => match heard {
                Heard::Progress(progress) => follower.take(progress, hosts.p99_us),
                Heard::Closed => break,
                Heard::Nonsense(reason) => {
                    runner.kill();
                    runner.exited().await;
                    return End::Failed(reason);
                }
            },
            told = told(&mut stopped), if why.is_none() => {
                // When the array stops, nothing has to be wiped: the volumes are deleted.
                if told == Stop::ArrayStops { runner.kill() } else { runner.interrupt() }
                why = Some(told);
                deadline = Some(Instant::now() + TO_END);
            }
            slow = hosts.slow() => {
                laboratory.change(id, |run| {
                    if let Some(now) = &mut run.now {
                        now.hosts_p99_us = hosts.p99_us;
                    }
                });
                if let Some(slow) = slow {
                    laboratory.tell(id, slow);
                }
            }
            () = too_late => {
                runner.kill();
                break;
            }
        }
    }
    end_of(runner, why, follower.has_ended.take()).await
}

/// Waits for the end of a process that has closed its output. `why` it was to stop, and the result that it has
/// reported, if any.
async fn end_of(mut runner: Runner, why: Option<Stop>, result: Option<Option<String>>) -> End {
    // It should exit now; it is killed if it does not.
    let exited = tokio::time::timeout(TO_END, runner.exited()).await;
    let status = match exited {
        Ok(status) => status,
        Err(_elapsed) => {
            runner.kill();
            runner.exited().await
        }
    };
    let said = runner.errors().await;
    match (why, result) {
        (Some(why), _) => End::Stopped(why),
        (None, Some(reason)) => reason.map_or(End::Done, End::Failed),
        (None, None) => {
            let how = status.map_or_else(|| "without a status".to_owned(), |status| format!("with {status}"));
            let colon = if said.is_empty() { "" } else { ": " };
            End::Failed(format!("its process ended {how} and without a result{colon}{said}"))
        }
    }
}

/// Waits until a run is told to end.
async fn told(stopped: &mut watch::Receiver<Option<Stop>>) -> Stop {
    let told = stopped.wait_for(Option::is_some).await;
    told.ok().and_then(|told| told.clone()).unwrap_or(Stop::ArrayStops)
}

/// Puts what a process reports into its run.
struct Follower<'a> {
    laboratory: &'a Laboratory,
    id: u64,
    begun: Instant,
    cases: usize,
    /// The process has reported the end, with a reason if it was an early one.
    has_ended: Option<Option<String>>,
}

impl Follower<'_> {
    fn take(&mut self, progress: LabProgress, hosts_p99_us: Option<u64>) {
        let (seconds, most) = (self.begun.elapsed().as_secs_f64(), self.cases);
        let ended = &mut self.has_ended;
        self.laboratory.change(self.id, |run| {
            let ending = run.now.as_ref().is_some_and(|now| now.ending);
            let mut now = run.now.take().unwrap_or_default();
            match progress {
                LabProgress::Case { number, of: _, case } => {
                    now = LabNow { case: Some(shown::cut(&case)), number, ..LabNow::default() };
                }
                LabProgress::Round { round, side } => (now.round, now.side) = (round, Some(side)),
                LabProgress::Step { step } => (now.step, now.done, now.total) = (shown::cut(&step), 0, 0),
                LabProgress::Progress { done, total } => (now.done, now.total) = (done.min(total), total),
                LabProgress::Point { wire_bytes_per_second } => {
                    let side = now.side;
                    add(run, LabPoint { seconds, side, wire_bytes_per_second, hosts_p99_us });
                }
                LabProgress::Finished { result } => {
                    if run.results.len() < most {
                        run.results.push(shown::bounded(result));
                    }
                    (now.side, now.round) = (None, 0);
                }
                LabProgress::Ended { cancelled: _, reason, left: _ } => *ended = Some(reason),
            }
            (now.ending, now.hosts_p99_us) = (ending, hosts_p99_us);
            run.now = Some(now);
        });
    }
}

/// Adds a point; two become one when there are too many.
fn add(run: &mut LabRun, point: LabPoint) {
    run.points.push(point);
    if run.points.len() <= MAX_POINTS {
        return;
    }
    let merged = run.points.chunks(2).filter_map(|pair| match pair {
        [one, other] => Some(LabPoint {
            wire_bytes_per_second: one.wire_bytes_per_second.midpoint(other.wire_bytes_per_second),
            hosts_p99_us: one.hosts_p99_us.max(other.hosts_p99_us),
            ..*other
        }),
        rest => rest.first().copied(),
    });
    run.points = merged.collect();
}

/// The p99 of volumes and shares that are not of the run.
struct Hosts<'a> {
    array: &'a ArrayHandle,
    samples: watch::Receiver<u64>,
    own: Vec<ObjectId>,
    /// p99 in the last second.
    p99_us: Option<u64>,
    patience: Patience,
}

impl<'a> Hosts<'a> {
    fn new(array: &'a ArrayHandle, own: Vec<ObjectId>, limit_us: Option<u64>) -> Self {
        let patience = Patience { limit_us, slow_seconds: 0 };
        Self { array, samples: array.samples(), own, p99_us: None, patience }
    }

    /// Waits for the next second. Returns a reason to end the run.
    async fn slow(&mut self) -> Option<Stop> {
        if self.samples.changed().await.is_err() {
            // The array has ended, which the run is told.
            return std::future::pending().await;
        }
        let mirror = self.array.mirror().await.ok()?;
        let view = mirror.read(&SampleLatest::default()).ok().flatten()?;
        let others = view.sample.units.iter().filter(|(object, _)| !self.own.contains(object));
        self.p99_us = others.filter_map(|(_, io)| io.known(io.p99_us)).max().map(u64::from);
        self.patience.second(self.p99_us)
    }
}

/// How long hosts were slow.
struct Patience {
    limit_us: Option<u64>,
    slow_seconds: u32,
}

impl Patience {
    /// Takes the p99 of a second. Returns a reason to end the run.
    fn second(&mut self, p99_us: Option<u64>) -> Option<Stop> {
        let above = p99_us.zip(self.limit_us).filter(|(p99_us, limit_us)| p99_us > limit_us);
        self.slow_seconds = if above.is_some() { self.slow_seconds + 1 } else { 0 };
        let (p99_us, limit_us) = above?;
        (self.slow_seconds >= SLOW_SECONDS).then_some(Stop::SlowHosts { p99_us, limit_us })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_are_slow_for_three_seconds_end_a_run() {
        let mut patience = Patience { limit_us: Some(5000), slow_seconds: 0 };
        let stop = Some(Stop::SlowHosts { p99_us: 5001, limit_us: 5000 });
        for p99_us in [Some(5001), Some(9000), Some(5000), Some(6000), None, Some(7000), Some(7000)] {
            assert_eq!(patience.second(p99_us), None);
        }
        assert_eq!(patience.second(Some(5001)), stop);
        let mut patience = Patience { limit_us: None, slow_seconds: 0 };
        assert!((0..9).all(|_| patience.second(Some(u64::MAX)).is_none()));
    }

    #[test]
    fn a_long_run_keeps_its_course_in_few_points() {
        let wanted = Wanted::of(api::LabRunCreate { cases: vec!["clone-template".into()], ..Default::default() });
        let mut run = wanted.map(|wanted| wanted.run(1, "user ana".to_owned())).unwrap_or_else(|_| unreachable!());
        for second in 0..10_000_u32 {
            let wire_bytes_per_second = u64::from(second / 5000) * 100;
            let hosts_p99_us = (second == 7).then_some(9);
            add(&mut run, LabPoint { seconds: second.into(), side: None, wire_bytes_per_second, hosts_p99_us });
        }
        assert!((MAX_POINTS / 2..=MAX_POINTS).contains(&run.points.len()), "{}", run.points.len());
        assert!(run.points.iter().any(|point| point.hosts_p99_us == Some(9)));
        assert_eq!(run.points.last().map(|point| (point.seconds, point.wire_bytes_per_second)), Some((9999.0, 100)));
    }
}
