//! Priority of guests' I/O over the data mover's commands. An array may execute one WRITE SAME
//! after the other, so with several outstanding a guest's write waits for all of them. While guests
//! read or write through this host, no more are outstanding than the array executes in [`WAIT`], by
//! its measured service time. When guests are idle, the settings limit the number.

use crate::mover::DataMover;
use std::cell::{Cell, RefCell};
use std::future;
use std::task::{Poll, Waker};
use std::time::Duration;

/// Time that a guest's command may wait behind commands of the data mover, unless one of them alone
/// takes longer.
const WAIT: Duration = Duration::from_micros(500);
/// Time without I/O after which guests count as idle.
const IDLE: Duration = Duration::from_millis(10);

/// State of the guests' I/O.
#[derive(Debug, Default)]
pub(crate) struct Foreground {
    in_flight: Cell<u32>,
    last_end: Cell<Option<Duration>>,
    /// Time that the array takes for one WRITE SAME, without those before it; smoothed.
    service: Cell<Option<Duration>>,
}

/// Guard of a guest's I/O; the I/O ends when it is dropped.
#[derive(Debug)]
pub struct GuestIo<'a>(&'a DataMover);

impl DataMover {
    /// Registers the start of a guest's read or write.
    pub fn guest_io(&self) -> GuestIo<'_> {
        self.foreground.in_flight.set(self.foreground.in_flight.get() + 1);
        GuestIo(self)
    }

    /// Number of commands, of at most `depth`, that may be outstanding now; at least one.
    pub(crate) fn max_outstanding(&self, depth: usize) -> usize {
        let recent = |end: Duration| self.clock().now().saturating_sub(end) < IDLE;
        let busy = self.foreground.in_flight.get() > 0 || self.foreground.last_end.get().is_some_and(recent);
        if !busy {
            return depth.max(1);
        }
        let service = self.foreground.service.get().unwrap_or(WAIT).max(Duration::from_micros(1));
        usize::try_from(WAIT.as_micros() / service.as_micros()).unwrap_or(depth).clamp(1, depth.max(1))
    }

    /// Records the time of a WRITE SAME, and the number outstanding with it.
    pub(crate) fn record_service_time(&self, time: Duration, outstanding: usize) {
        let sample = time / u32::try_from(outstanding.max(1)).unwrap_or(u32::MAX);
        let service = self.foreground.service.get().map_or(sample, |before| (before * 3 + sample) / 4);
        self.foreground.service.set(Some(service));
    }
}

impl Drop for GuestIo<'_> {
    fn drop(&mut self) {
        let foreground = &self.0.foreground;
        foreground.in_flight.set(foreground.in_flight.get().saturating_sub(1));
        foreground.last_end.set(Some(self.0.clock().now()));
    }
}

/// Limiter of one operation's commands, whose limit changes over time.
#[derive(Debug, Default)]
pub(crate) struct Outstanding {
    count: Cell<usize>,
    waiting: RefCell<Vec<Waker>>,
}

/// Guard of one outstanding command.
pub(crate) struct Turn<'a>(&'a Outstanding);

impl Turn<'_> {
    /// Number of commands outstanding, including this one.
    pub(crate) fn outstanding(&self) -> usize {
        self.0.count.get()
    }
}

impl Outstanding {
    /// Waits until fewer than `most` are outstanding; `most` is called again whenever one ends.
    pub(crate) async fn turn(&self, most: impl Fn() -> usize) -> Turn<'_> {
        future::poll_fn(|context| {
            if self.count.get() >= most().max(1) {
                self.waiting.borrow_mut().push(context.waker().clone());
                return Poll::Pending;
            }
            self.count.set(self.count.get() + 1);
            Poll::Ready(())
        })
        .await;
        Turn(self)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.count.set(self.0.count.get().saturating_sub(1));
        for waker in self.0.waiting.take() {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::memory::{MemoryDevice, MemoryUnit};
    use crate::virtual_time::VirtualTime;
    use crate::{Clock, DataMover, Extent, Settings};
    use futures_util::future::join;
    use std::rc::Rc;
    use std::time::Duration;

    /// Time that 32 WRITE SAME of 20 ms take in all while a guest reads and writes for `busy`.
    fn zeroing(busy: Option<Duration>) -> u64 {
        let time = VirtualTime::default();
        let (clock, delay_clock) = (time.clone(), time.clone());
        let delay: crate::memory::Delay = Rc::new(move || delay_clock.sleep(Duration::from_millis(10)));
        let device = MemoryDevice::new(&Rc::new(MemoryUnit::default()), 1, 1, 1 << 20).with_delay(delay);
        time.run(async move {
            let mover = DataMover::new(Settings::default(), Rc::new(clock.clone()));
            let guest = async {
                let end = clock.now() + busy.unwrap_or_default();
                while clock.now() < end {
                    let _io = mover.guest_io();
                    clock.sleep(Duration::from_millis(1)).await;
                }
            };
            let zeroing = async {
                let zeroed = mover.zero(&device, Extent { lba: 0, blocks: 32 * 8192 }, false, &|_| ()).await;
                assert_eq!(zeroed.map(|moved| moved.offloaded_bytes), Ok(128 << 20));
                clock.now().as_millis() as u64
            };
            join(guest, zeroing).await.1
        })
    }

    /// Regression: eight commands were outstanding even while guests read and wrote.
    #[test]
    fn while_guests_read_and_write_commands_go_one_at_a_time() {
        assert_eq!(zeroing(None), 80);
        assert_eq!(zeroing(Some(Duration::from_secs(10))), 640);
        // Half of the time; full speed returns soon after.
        let half = zeroing(Some(Duration::from_millis(320)));
        assert!((360..=420).contains(&half), "{half} ms");
    }

    /// Regression: one command at a time cost a fast array two thirds of its speed, and gave the
    /// guest nothing.
    #[test]
    fn an_array_that_is_quick_is_given_more() {
        let mover = DataMover::new(Settings::default(), Rc::new(VirtualTime::default()));
        assert_eq!(mover.max_outstanding(8), 8);
        let _io = mover.guest_io();
        assert_eq!(mover.max_outstanding(8), 1);
        mover.record_service_time(Duration::from_micros(160), 8);
        assert_eq!(mover.max_outstanding(8), 8);
        for _ in 0..16 {
            mover.record_service_time(Duration::from_micros(200), 1);
        }
        assert_eq!(mover.max_outstanding(8), 2);
        for _ in 0..16 {
            mover.record_service_time(Duration::from_millis(20), 4);
        }
        assert_eq!(mover.max_outstanding(8), 1);
    }
}
