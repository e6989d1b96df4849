//! Rules of the code between protocol, target and engine that can be left out, to prove that a
//! simulation notices.

use std::cell::Cell;

/// Rule of the connecting code that is left out in the arrays of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// An order to a connection does not wake it.
    OrderWithoutWake,
    /// A finished command does not release functions that wait for its end.
    WaiterForgotten,
    /// A connection's nexus ends before its last command is done.
    NexusBeforeDrain,
    /// A response is lost if others are queued before it.
    ReplyLost,
    /// A task management function passes commands on their way to the engine.
    Overtake,
    /// An abort waits for the commands that the engine has, and not for those on their way to it.
    SettleEngineOnly,
    /// A thread sleeps without looking for messages once more.
    SleepWithoutLook,
    /// A connection moves with commands in flight.
    MoveInFlight,
}

impl Mutation {
    /// All mutations.
    pub const ALL: [Self; 8] = [
        Self::OrderWithoutWake,
        Self::WaiterForgotten,
        Self::NexusBeforeDrain,
        Self::ReplyLost,
        Self::Overtake,
        Self::SettleEngineOnly,
        Self::SleepWithoutLook,
        Self::MoveInFlight,
    ];

    /// Name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OrderWithoutWake => "order-without-wake",
            Self::WaiterForgotten => "waiter-forgotten",
            Self::NexusBeforeDrain => "nexus-before-drain",
            Self::ReplyLost => "reply-lost",
            Self::Overtake => "overtake",
            Self::SettleEngineOnly => "settle-engine-only",
            Self::SleepWithoutLook => "sleep-without-look",
            Self::MoveInFlight => "move-in-flight",
        }
    }

    /// Description of the omitted rule in one sentence.
    pub const fn description(self) -> &'static str {
        match self {
            Self::OrderWithoutWake => "an order to a connection does not wake it",
            Self::WaiterForgotten => "a finished command does not release the functions that wait for its end",
            Self::NexusBeforeDrain => "a nexus may log in again before the last command of its old session is done",
            Self::ReplyLost => "the response of a command is lost when another is queued before it",
            Self::Overtake => "a task management function passes commands that are on their way to the engine",
            Self::SettleEngineOnly => "an abort does not wait for commands that are on their way to the engine",
            Self::SleepWithoutLook => "a thread sleeps without looking for messages once more",
            Self::MoveInFlight => "a connection moves to another thread with commands in flight",
        }
    }
}

thread_local! {
    static MUTATION: Cell<Option<Mutation>> = const { Cell::new(None) };
}

/// Leaves a rule out in the arrays of this thread.
pub fn leave_out(mutation: Option<Mutation>) {
    MUTATION.set(mutation);
}

/// True if the rule is left out.
pub(super) fn without(mutation: Mutation) -> bool {
    MUTATION.get() == Some(mutation)
}
