//! Turns of connections. Commands of one turn share its reads, its writes and the pump of the pool: a connection that
//! is alone on its thread works for long. Beside others it works for a short time, whatever protocol they use, so
//! that a host with one command outstanding waits for a few short turns and not for all commands of the others.

use super::clock;
use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::task::Context;
use std::time::{Duration, Instant};

/// Time and number of commands of a turn.
#[derive(Clone, Copy, Debug)]
struct Length {
    time: Duration,
    commands: u32,
}

const BESIDE_OTHERS: Length = Length { time: Duration::from_micros(25), commands: 16 };
const ALONE: Length = Length { time: Duration::from_micros(250), commands: 256 };

thread_local! {
    /// Number of turns of connections on this thread so far.
    static TURNS: Cell<u64> = const { Cell::new(0) };
}

/// Turn of a connection: what its task does in one poll.
#[derive(Debug)]
pub(crate) struct Quantum {
    number: u64,
    ends: Instant,
    /// Commands that may still begin.
    left: u32,
    /// True if no command has begun.
    fresh: bool,
}

impl Quantum {
    /// A turn that is over.
    pub fn new() -> Self {
        Self { number: TURNS.get(), ends: clock::now(), left: 0, fresh: false }
    }

    /// Begins the next turn.
    pub fn begin(&mut self) {
        let number = TURNS.get().wrapping_add(1);
        TURNS.set(number);
        let alone = self.number.wrapping_add(1) == number;
        let length = if alone { ALONE } else { BESIDE_OTHERS };
        let now = clock::now();
        *self = Self { number, ends: now + length.time, left: length.commands, fresh: true };
    }

    /// True if one more command may begin. The first one always may.
    pub fn takes_command(&mut self) -> bool {
        let takes = std::mem::take(&mut self.fresh) || !self.is_over();
        self.left = self.left.saturating_sub(1);
        takes
    }

    /// True if the turn has been long enough.
    pub fn is_over(&self) -> bool {
        self.left == 0 || clock::now() >= self.ends
    }
}

/// Polls the task again after the others that are ready, and after those for which something has arrived meanwhile.
pub(crate) fn let_others_run(context: &mut Context<'_>) {
    let _pending = pin!(tokio::task::yield_now()).poll(context);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(turn: &mut Quantum) -> u32 {
        turn.begin();
        let mut commands = 0;
        while turn.takes_command() {
            commands += 1;
        }
        commands
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_is_long_only_if_nobody_else_had_one_meanwhile() {
        let (mut one, mut other) = (Quantum::new(), Quantum::new());
        assert_eq!(commands(&mut one), ALONE.commands);
        assert_eq!(commands(&mut other), BESIDE_OTHERS.commands);
        assert_eq!(commands(&mut one), BESIDE_OTHERS.commands);
        assert_eq!(commands(&mut one), ALONE.commands);
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_ends_with_its_time_but_takes_one_command() {
        let mut turn = Quantum::new();
        turn.begin();
        tokio::time::advance(ALONE.time).await;
        assert!(turn.is_over());
        assert!(turn.takes_command());
        assert!(!turn.takes_command());
    }

    #[tokio::test(start_paused = true)]
    async fn what_arrives_meanwhile_comes_before_the_rest() {
        let order = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let local = tokio::task::LocalSet::new();
        let busy = std::rc::Rc::clone(&order);
        local.spawn_local(async move {
            for turn in 0..2 {
                let mut yielded = false;
                std::future::poll_fn(|context| {
                    if std::mem::replace(&mut yielded, true) {
                        return std::task::Poll::Ready(());
                    }
                    let_others_run(context);
                    std::task::Poll::Pending
                })
                .await;
                busy.borrow_mut().push(format!("busy {turn}"));
            }
        });
        let other = std::rc::Rc::clone(&order);
        local.spawn_local(async move { other.borrow_mut().push("other".to_owned()) });
        local.await;
        assert_eq!(*order.borrow(), ["other", "busy 0", "busy 1"]);
    }
}
