//! Executor with virtual time, which passes only while all tasks wait: tests of leases and
//! time-outs take no time, and the same seed gives the same run.

use crate::clock::Clock;
use futures_executor::LocalPool;
use futures_util::future::{FutureExt, LocalBoxFuture};
use futures_util::task::LocalSpawnExt;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::{self, Future};
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

#[derive(Debug, Default)]
struct Timers {
    now: Cell<Duration>,
    /// Wakers by deadline, and then by the order in which they were set.
    waiting: RefCell<BTreeMap<(Duration, u64), Waker>>,
    next: Cell<u64>,
}

/// Virtual clock and executor. Clones show the same time.
#[derive(Clone, Debug, Default)]
pub struct VirtualTime(Rc<Timers>);

impl VirtualTime {
    /// Runs a future to its end, together with the tasks it spawns. Tasks that remain are dropped.
    ///
    /// Panics when all tasks wait, and none for the time.
    pub fn run<T: 'static>(&self, main: impl Future<Output = T> + 'static) -> T {
        let mut pool = LocalPool::new();
        let result = Rc::new(RefCell::new(None));
        let keep = result.clone();
        let spawned = pool.spawner().spawn_local(main.map(move |value| drop(keep.borrow_mut().replace(value))));
        assert!(spawned.is_ok(), "the executor accepts no task");
        loop {
            pool.run_until_stalled();
            if let Some(value) = result.borrow_mut().take() {
                return value;
            }
            let next = self.0.waiting.borrow_mut().pop_first();
            let Some(((deadline, _), waker)) = next else { panic!("every task waits, and none for a timer") };
            self.0.now.set(deadline.max(self.0.now.get()));
            waker.wake();
        }
    }
}

impl Clock for VirtualTime {
    fn now(&self) -> Duration {
        self.0.now.get()
    }

    fn unix_seconds(&self) -> u64 {
        1_800_000_000 + self.now().as_secs()
    }

    fn sleep(&self, time: Duration) -> LocalBoxFuture<'static, ()> {
        let timers = self.0.clone();
        let deadline = timers.now.get() + time;
        let mut set: Option<u64> = None;
        future::poll_fn(move |context| {
            if timers.now.get() >= deadline && set.is_some() {
                return Poll::Ready(());
            }
            let number = *set.get_or_insert_with(|| timers.next.replace(timers.next.get() + 1));
            timers.waiting.borrow_mut().insert((deadline, number), context.waker().clone());
            Poll::Pending
        })
        .boxed_local()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join;

    #[test]
    fn time_passes_while_every_task_waits() {
        let time = VirtualTime::default();
        let (one, two) = (time.clone(), time.clone());
        let order = Rc::new(RefCell::new(Vec::new()));
        let (first, second) = (order.clone(), order.clone());
        time.run(async move {
            join(
                async move {
                    one.sleep(Duration::from_secs(3600)).await;
                    first.borrow_mut().push(one.now().as_secs());
                },
                async move {
                    for _ in 0..2 {
                        two.sleep(Duration::from_secs(1000)).await;
                        second.borrow_mut().push(two.now().as_secs());
                    }
                },
            )
            .await;
        });
        assert_eq!(*order.borrow(), [1000, 2000, 3600]);
    }
}
