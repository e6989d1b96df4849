//! Passwords are hashed on threads of their own, two at a time: each hash takes 19 MiB and tens of
//! milliseconds. A limited number of requests waits for its turn.

use std::sync::Arc;
use tokio::sync::Semaphore;

/// Hashes at a time.
const AT_A_TIME: usize = 2;
/// Requests that wait or are being hashed.
const WAITING: usize = 16;

/// No more requests may wait.
#[derive(Debug)]
pub(crate) struct NoRoom;

/// Turns of hashing.
pub(super) struct Hashing {
    places: Arc<Semaphore>,
    turns: Arc<Semaphore>,
}

impl Default for Hashing {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(WAITING)), turns: Arc::new(Semaphore::new(AT_A_TIME)) }
    }
}

impl Hashing {
    /// Runs a function that hashes a password, when it is its turn. A function that has begun keeps its
    /// place and its turn until it ends, even if the caller is dropped.
    pub(super) async fn run<T: Send + 'static>(&self, hash: impl FnOnce() -> T + Send + 'static) -> Result<T, NoRoom> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| NoRoom)?;
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| NoRoom)?;
        let hash = move || {
            let _held = (place, turn);
            hash()
        };
        tokio::task::spawn_blocking(hash).await.map_err(|_| NoRoom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test]
    async fn two_at_a_time_and_few_wait() {
        let (hashing, running) = (Arc::new(Hashing::default()), Arc::new(AtomicUsize::new(0)));
        let start = |_| {
            let (hashing, running) = (Arc::clone(&hashing), Arc::clone(&running));
            tokio::spawn(async move {
                let body = move || {
                    let others = running.fetch_add(1, Ordering::SeqCst);
                    (0..1000).for_each(|_| std::thread::yield_now());
                    running.fetch_sub(1, Ordering::SeqCst);
                    others
                };
                hashing.run(body).await
            })
        };
        let tasks: Vec<_> = (0..WAITING + 5).map(start).collect();
        let (mut done, mut refused) = (0, 0);
        for task in tasks {
            match task.await {
                Ok(Ok(others)) => {
                    assert!(others < AT_A_TIME, "{others} others");
                    done += 1;
                }
                Ok(Err(NoRoom)) => refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!((done, refused), (WAITING, 5));
        assert!(hashing.run(|| 1).await.is_ok(), "places are free again");
    }

    /// Clients that left at once had any number of hashes at a time.
    #[tokio::test]
    async fn a_hash_keeps_its_turn_when_its_caller_is_gone() {
        let hashing = Hashing::default();
        let (begin, mut begun) = tokio::sync::mpsc::unbounded_channel();
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let body = move || {
            let _test_has_ended = begin.send(());
            wait.recv().is_ok()
        };
        let mut caller = Box::pin(hashing.run(body));
        assert!(futures_util::poll!(&mut caller).is_pending());
        assert!(begun.recv().await.is_some());
        drop(caller);
        assert_eq!(hashing.turns.available_permits(), AT_A_TIME - 1);
        assert_eq!(hashing.places.available_permits(), WAITING - 1);
        assert!(end.send(()).is_ok());
        assert!(hashing.turns.acquire_many(2).await.is_ok(), "the turn is free again");
    }
}
