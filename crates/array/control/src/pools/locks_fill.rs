//! Alert for locks that fill the pool: locked snapshots and what the lock of the trash keeps hold so much that
//! deleting all other snapshots, and the rest of the trash, leaves the pool critical. Without the locks it would not
//! be.
//!
//! The bytes are counted only while the pool is critical, by a task of its own: counting may take long.

use super::locks_held::Held;
use super::thresholds::{level, percent};
use crate::control::Control;
use crate::environment::yield_now;
use crate::events::Severity;
use crate::events::view::AlertView;
use crate::live::Level;
use crate::pools::unique::Patience;
use pool::ObjectId;
use std::collections::BTreeSet;
use std::time::Duration;

/// Time between two looks.
const INTERVAL: Duration = Duration::from_secs(60);
/// Longest time that a look waits for its counts; the next one goes on with them.
const PATIENCE: Duration = Duration::from_secs(600);

impl Held {
    /// Used or promised bytes after all else is deleted.
    fn left(&self) -> u64 {
        self.used.saturating_sub(self.others)
    }

    /// True if locks keep the pool at its critical threshold. `held`: they did at the last look.
    fn fills(&self, held: bool, critical_percent: u8) -> bool {
        let mark = [(Level::Critical, critical_percent)];
        let reaches = |bytes, held: bool| level(held.then_some(Level::Critical), bytes, self.size, &mark).is_some();
        reaches(self.left(), held) && !reaches(self.left().saturating_sub(self.locked), false)
    }
}

/// Objects that may be deleted, and objects that locks keep. Each sorted.
struct Split {
    others: Vec<ObjectId>,
    locked: Vec<ObjectId>,
}

impl Control {
    /// Looks at the locks once a minute. Never ends.
    pub(crate) async fn watch_locks(&self) {
        loop {
            self.look_at_locks().await;
            self.environment().sleep(INTERVAL).await;
            yield_now().await;
        }
    }

    /// Finds out whether locks fill the pool. What cannot be counted now leaves the last result.
    pub(crate) async fn look_at_locks(&self) {
        let (space, critical) = (self.catalog().space(), self.pool().limits().critical_percent);
        let before = self.pool().locks_fill.0.get();
        let used = space.used_bytes.saturating_add(space.promised_bytes);
        let held = Held { size: space.size_bytes, used, others: 0, locked: 0 };
        let mark = [(Level::Critical, critical)];
        let is_critical = level(before.map(|_| Level::Critical), used, space.size_bytes, &mark).is_some();
        let split = if is_critical { self.split_by_locks() } else { Split { others: Vec::new(), locked: Vec::new() } };
        if split.locked.is_empty() || self.live().pool_stopped().is_some() {
            return self.pool().locks_fill.0.set(None);
        }
        let mut patience = Patience::of(&**self.environment(), PATIENCE);
        let Ok(Some(others)) = self.freed_by(&split.others, &mut patience).await else { return };
        let mut all = [split.others, split.locked].concat();
        all.sort_unstable();
        let Ok(Some(both)) = self.freed_by(&all, &mut patience).await else { return };
        let held = Held { others, locked: both.saturating_sub(others), ..held };
        let since = before.map_or_else(|| self.environment().now(), |(since, _)| since);
        self.pool().locks_fill.0.set(held.fills(before.is_some(), critical).then_some((since, held)));
    }

    /// Snapshots and objects in the trash, by whether a lock keeps them. What is in the trash is deleted as a whole,
    /// so one lock keeps all of it.
    fn split_by_locks(&self) -> Split {
        let (directory, now) = (self.directory(), self.trusted_now());
        let (mut others, mut locked) = (Vec::new(), Vec::new());
        for snapshot in directory.snapshots() {
            if snapshot.is_locked(now) { &mut locked } else { &mut others }.push(snapshot.object);
        }
        // A locked snapshot keeps its volume or share, too.
        let mut kept = BTreeSet::new();
        for item in directory.trash().filter(|item| item.lock(now).is_some()) {
            kept.extend([item.what.id()].into_iter().chain(item.what.source()));
        }
        for item in directory.trash() {
            let whole = item.what.source().filter(|_| item.with_source).unwrap_or(item.what.id());
            let is_locked = item.lock(now).is_some() || kept.contains(&whole);
            if is_locked { &mut locked } else { &mut others }.push(item.what.object());
        }
        others.sort_unstable();
        locked.sort_unstable();
        Split { others, locked }
    }

    /// Alert for locks that fill the pool.
    pub(crate) fn locks_alert(&self) -> Option<AlertView> {
        let (since, held) = self.pool().locks_fill.0.get()?;
        let (locked, left) = (text::size::format(held.locked), percent(held.left(), held.size));
        Some(AlertView {
            code: "locks-fill-pool",
            severity: Severity::Warning,
            subject: self.pool().name().to_owned(),
            since,
            message: format!(
                "locks keep {locked}: with all other snapshots and the rest of the trash deleted, {left} % of the pool \
                 would be used or promised"
            ),
            help: "grow the pool, or delete volumes: locks end by themselves, and not before their time",
            note: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_fill_a_pool_if_nothing_else_that_can_go_helps() {
        let held = |used, others, locked| Held { size: 100, used, others, locked };
        for (what, was, fills) in [
            (held(95, 0, 20), false, true),
            // Deleting the others is enough.
            (held(95, 10, 20), false, false),
            // So it is below the threshold at which the alert ends, too.
            (held(95, 7, 20), false, false),
            (held(95, 7, 20), true, true),
            (held(95, 8, 20), true, false),
            // Volumes fill it, with or without the locks.
            (held(97, 0, 5), false, false),
            (held(97, 0, 8), false, true),
            (held(0, 0, 0), true, false),
        ] {
            assert_eq!(what.fills(was, 90), fills, "{what:?} {was}");
        }
    }
}
