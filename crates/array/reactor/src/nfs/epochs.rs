//! Calls in progress at an instant, and the wait for their end.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use tokio::sync::Notify;

/// Calls that began between two instants. Each has a clone; the last one ends the epoch.
#[derive(Clone)]
pub(super) struct Epoch(Rc<Calls>);

struct Calls {
    ended: Rc<Notify>,
}

impl Drop for Calls {
    fn drop(&mut self) {
        self.ended.notify_waiters();
    }
}

/// The present epoch, and those before it with calls in progress.
pub(super) struct Epochs {
    present: RefCell<Epoch>,
    before: RefCell<Vec<Weak<Calls>>>,
    /// Notified at the end of each epoch.
    ended: Rc<Notify>,
}

impl Default for Epochs {
    fn default() -> Self {
        let ended = Rc::new(Notify::new());
        Self { present: RefCell::new(epoch(&ended)), before: RefCell::default(), ended }
    }
}

fn epoch(ended: &Rc<Notify>) -> Epoch {
    Epoch(Rc::new(Calls { ended: Rc::clone(ended) }))
}

impl Epochs {
    /// The present epoch, for a call that begins.
    pub fn present(&self) -> Epoch {
        self.present.borrow().clone()
    }

    /// Begins an epoch. The future is ready when all calls of those before have ended.
    pub fn begin(&self) -> impl Future<Output = ()> + use<> {
        let last = self.present.replace(epoch(&self.ended));
        let mut before = self.before.borrow_mut();
        before.push(Rc::downgrade(&last.0));
        drop(last);
        before.retain(|epoch| epoch.strong_count() > 0);
        let (waited, ended) = (before.clone(), Rc::clone(&self.ended));
        async move {
            loop {
                let notified = ended.notified();
                if waited.iter().all(|epoch| epoch.strong_count() == 0) {
                    return;
                }
                notified.await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn a_change_waits_for_the_calls_before_it_alone() {
        let epochs = Epochs::default();
        assert!(epochs.begin().now_or_never().is_some());
        let first = epochs.present();
        let mut one = Box::pin(epochs.begin());
        let second = epochs.present();
        let mut two = Box::pin(epochs.begin());
        let _third = epochs.present();
        drop(second);
        assert!(one.as_mut().now_or_never().is_none() && two.as_mut().now_or_never().is_none());
        drop(first);
        assert!(one.now_or_never().is_some() && two.now_or_never().is_some());
        assert!(epochs.begin().now_or_never().is_none(), "the third is in progress");
    }
}
