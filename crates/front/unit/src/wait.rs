//! Wait queue: tasks of a single-threaded executor that wait until a condition holds.
//!
//! This is not a library's because everything here runs on one thread: no atomics, no lock, tasks
//! woken in the order in which they came, and a condition that is checked again at every poll, so
//! that the order of events is the same in every run.

use std::cell::RefCell;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

/// Tasks that wait for one condition.
#[derive(Debug, Default)]
pub struct WaitQueue(RefCell<Vec<Waker>>);

impl WaitQueue {
    /// Ready with the value of `condition`, if it returns one; otherwise the next
    /// [`Self::wake_all`] wakes the task.
    pub fn poll<T>(&self, context: &Context<'_>, condition: impl FnOnce() -> Option<T>) -> Poll<T> {
        condition().map_or_else(
            || {
                self.register(context.waker());
                Poll::Pending
            },
            Poll::Ready,
        )
    }

    /// Waits until `condition` returns a value. It is checked again after each [`Self::wake_all`].
    pub async fn until<T>(&self, mut condition: impl FnMut() -> Option<T>) -> T {
        poll_fn(|context| self.poll(context, &mut condition)).await
    }

    /// Registers a task for the next [`Self::wake_all`], which wakes it once, however often it
    /// registers.
    pub fn register(&self, waker: &Waker) {
        let mut waiting = self.0.borrow_mut();
        if !waiting.iter().any(|other| other.will_wake(waker)) {
            waiting.push(waker.clone());
        }
    }

    /// Wakes every task that waits.
    pub fn wake_all(&self) {
        // Fast path: most queues are empty.
        if self.0.borrow().is_empty() {
            return;
        }
        for waker in self.0.take() {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_task_is_woken_once_for_each_change() {
        let (queue, ready) = (WaitQueue::default(), Cell::new(false));
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let context = &mut Context::from_waker(&waker);
        let mut wait = pin!(queue.until(|| ready.get().then_some(7)));
        for _ in 0..3 {
            assert!(wait.as_mut().poll(context).is_pending());
        }
        queue.wake_all();
        queue.wake_all();
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert!(wait.as_mut().poll(context).is_pending());
        ready.set(true);
        queue.wake_all();
        assert_eq!(count.0.load(Ordering::Relaxed), 2);
        assert_eq!(wait.as_mut().poll(context), Poll::Ready(7));
    }
}
