//! Passwords are hashed on threads of their own, two at a time: each hash takes 19 MiB and tens of
//! milliseconds. A limited number of requests waits for its turn.

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
    places: Semaphore,
    turns: Semaphore,
}

impl Default for Hashing {
    fn default() -> Self {
        Self { places: Semaphore::new(WAITING), turns: Semaphore::new(AT_A_TIME) }
    }
}

impl Hashing {
    /// Runs a function that hashes a password, when it is its turn.
    pub(super) async fn run<T: Send + 'static>(&self, hash: impl FnOnce() -> T + Send + 'static) -> Result<T, NoRoom> {
        let _place = self.places.try_acquire().map_err(|_| NoRoom)?;
        let _turn = self.turns.acquire().await.map_err(|_| NoRoom)?;
        tokio::task::spawn_blocking(hash).await.map_err(|_| NoRoom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
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
}
