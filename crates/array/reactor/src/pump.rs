//! Advances the pool: after each batch of commands, when the medium completes requests, and
//! periodically for checkpoints.

use super::share::{BackgroundShare, HostCalls};
use super::{ArrayPool, clock};
use crate::measurements::Measurements;
use crate::measurements::turns::{Cause, LONG};
use crate::notice::Notice;
use media::Media;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;

/// Time between checkpoints of a pool that is being written.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(30);

/// Pumps until it is dropped. Background work gets `share` percent of the time while hosts are
/// active.
pub(crate) async fn run<M: Media + 'static>(
    pool: ArrayPool<M>,
    work: Rc<Notify>,
    share: u32,
    calls: HostCalls,
    measurements: Arc<Measurements>,
) {
    let descriptor: Option<OwnedFd> =
        pool.with_core(|core| core.media().wake_descriptor().and_then(|fd| fd.try_clone_to_owned().ok()));
    #[expect(
        deprecated,
        reason = "an OwnedFd neither closes nor changes its descriptor; the new form needs unsafe code"
    )]
    let wake = descriptor.and_then(|fd| AsyncFd::with_interest(fd, tokio::io::Interest::READABLE).ok());
    let mut checkpointed = clock::now();
    let mut sequence = pool.with_core(|core| core.next_sequence());
    let mut told = false;
    let mut budget = BackgroundShare::new(share, clock::now());
    let meter = Meter { measurements, long: Notice::default() };
    loop {
        let more = meter.turn(&pool);
        if more && pool.with_core(|core| core.wants_background()) {
            let now = clock::now();
            let (operations, urgency) = pool.with_core(|core| (core.host_operations(), core.urgency()));
            budget.see_hosts(operations.wrapping_add(calls.number()), now);
            let pages = budget.pages(urgency, now);
            if pages > 0 {
                pool.background(pages);
                let took = clock::now().duration_since(now);
                budget.spent(pages, took);
                meter.note(Cause::Background, took);
                meter.turn(&pool);
            }
        }
        if !told && let Some(reason) = pool.with_core(|core| core.stopped().map(str::to_owned)) {
            tracing::error!(reason, "the pool stopped: nothing is acknowledged any more until the array is restarted");
            told = true;
        }
        if clock::now().duration_since(checkpointed) >= CHECKPOINT_INTERVAL {
            checkpointed = clock::now();
            let (now, full_below) = pool.with_core(|core| (core.next_sequence(), core.space().full_below));
            // If the storage below is full, a checkpoint also finds out whether it still is.
            if now != sequence || full_below {
                sequence = now;
                pool.with_core(|core| core.request_checkpoint());
                continue;
            }
        }
        if more && !told {
            // Background work continues, but hosts come first. The rest of a checkpoint waits for
            // them only: when the log is full, hosts wait for it.
            tokio::task::yield_now().await;
            if pool.with_core(|core| core.is_cut())
                || wake.is_none()
                || !(budget.hosts_active(clock::now()) || pool.with_core(|core| core.waits_for_medium()))
            {
                continue;
            }
        }
        let idle = if more { Duration::from_millis(1) } else { Duration::from_secs(1) };
        tokio::select! {
            biased;
            () = work.notified() => {}
            ready = readable(&wake) => {
                if let Some(Ok(mut guard)) = ready {
                    guard.clear_ready();
                }
            }
            () = tokio::time::sleep(idle) => {}
        }
    }
}

/// Measures turns of the pump.
struct Meter {
    measurements: Arc<Measurements>,
    long: Notice,
}

impl Meter {
    /// Pumps once, and measures it. Returns true if work is left.
    fn turn<M: Media>(&self, pool: &ArrayPool<M>) -> bool {
        let begun = clock::now();
        pool.advance();
        let advanced = clock::now();
        let more = pool.evict();
        let ended = pool.with_core(|core| {
            self.measurements.data_cache.note(&core.data_cache());
            core.turn_work().ended
        });
        let cause = if ended { Cause::Freeze } else { Cause::Advance };
        self.note(cause, advanced.duration_since(begun));
        self.note(Cause::Evict, clock::now().duration_since(advanced));
        more
    }

    fn note(&self, cause: Cause, took: Duration) {
        self.measurements.turns.note(cause, took);
        if took >= LONG
            && let Some(count) = self.long.count(clock::now())
        {
            let (cause, milliseconds) = (cause.name(), took.as_millis());
            tracing::warn!(cause, milliseconds, count, "no host was served during a long turn of the pool");
        }
    }
}

async fn readable(
    wake: &Option<AsyncFd<OwnedFd>>,
) -> Option<std::io::Result<tokio::io::unix::AsyncFdReadyGuard<'_, OwnedFd>>> {
    match wake {
        Some(wake) => Some(wake.readable().await),
        None => std::future::pending().await,
    }
}
