//! Share of physical copies in the time of the array. They are background work: while hosts are active, all copies
//! together leave hosts as much time as a job of the pool does.

use control::Environment;
use std::cell::Cell;
use std::time::Duration;
use vfs::pause;

/// Pieces of different copies that go on side by side: one that waits holds up no other.
pub(super) const SIDE_BY_SIDE: usize = 4;
/// Shortest pause: timers are no finer.
const LEAST_PAUSE: Duration = Duration::from_millis(5);
/// Longest pause, so that each copy goes on. A piece that waited long did not work all the time.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Time that background work owes to hosts after it has worked for some.
pub(super) type Owed = Box<dyn Fn(Duration) -> Duration>;

/// Time that copies owe to hosts.
pub(super) struct Copies {
    owed: Owed,
    /// When all of it is paid back, by the monotonic clock.
    paid: Cell<Duration>,
}

impl Copies {
    pub fn new(owed: Owed) -> Self {
        Self { owed, paid: Cell::default() }
    }

    /// Pauses after a piece that took `worked`.
    pub async fn give_way(&self, environment: &dyn Environment, worked: Duration) {
        let now = environment.monotonic();
        let paid = self.paid.get().max(now) + (self.owed)(worked);
        self.paid.set(paid.min(now + LONGEST_PAUSE));
        let rest = self.paid.get().saturating_sub(now);
        if rest >= LEAST_PAUSE {
            environment.sleep(rest).await;
        } else {
            pause().await;
        }
    }
}
