//! Rules of the code between protocol, target and reactor that can be left out, to prove that a
//! simulation notices.

use std::cell::Cell;

pool::mutations! {
    /// Rule of the connecting code that can be left out in the arrays of one thread.
    pub enum Mutation {
        /// An order to a connection wakes it.
        OrderWakes: "order-wakes", "an order to a connection does not wake it";
        /// A finished command releases the functions that wait for its end.
        WaitersReleased: "waiters-released",
            "a finished command does not release the functions that wait for its end";
        /// A connection's nexus ends after its last command is done.
        NexusAfterDrain: "nexus-after-drain",
            "a nexus may log in again before the last command of its old session is done";
        /// A response is sent whatever is queued before it.
        EveryReply: "every-reply", "the response of a command is lost when another is queued before it";
        /// A task management function stays behind the commands that are on their way to the reactor.
        CommandsFirst: "commands-first",
            "a task management function passes commands that are on their way to the reactor";
        /// An abort waits for the commands that the reactor has, and for those on their way to it.
        SettleBoth: "settle-both", "an abort does not wait for commands that are on their way to the reactor";
        /// A thread looks for messages once more before it sleeps.
        LookBeforeSleep: "look-before-sleep", "a thread sleeps without looking for messages once more";
        /// A call of NFS is executed to its end, whatever becomes of its connection.
        CallsOutlive: "calls-outlive", "the calls of an NFS connection that is gone are dropped";
        /// A connection moves when it has no command in flight.
        MoveIdle: "move-idle", "a connection moves to another thread with commands in flight";
        /// A command waits for its limits before it takes a place in the task set.
        WaitsOutside: "waits-outside", "a command that waits for its limits holds its place in the task set";
        /// Commands that have waited for their limits begin in their order.
        ReleasedInOrder: "released-in-order", "commands that have waited for their limits begin in reverse order";
        /// A command that waits for its limits ends when it is aborted.
        AbortWithdraws: "abort-withdraws", "a command that waits for its limits does not end when it is aborted";
        /// A command that no longer waits for its limits leaves the queue.
        TicketsReturned: "tickets-returned", "a command that was aborted stays in the queue of its limits";
    }
}

thread_local! {
    static MUTATION: Cell<Option<Mutation>> = const { Cell::new(None) };
}

/// Leaves a rule out in the arrays of this thread.
pub fn leave_out(rule: Option<Mutation>) {
    MUTATION.set(rule);
}

/// True if the rule is left out.
pub(super) fn leaves_out(rule: Mutation) -> bool {
    MUTATION.get() == Some(rule)
}
