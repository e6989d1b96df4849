//! Commands and task management functions in flight of one connection.

#[cfg(feature = "simulation")]
use super::super::mutations::{Mutation, without};
use super::task_management::Managed;
use block::VolumeId;
use futures_util::stream::{FuturesUnordered, StreamExt};
use iscsi::connection::{TaskHandle, TaskManagementHandle};
use rustc_hash::FxHashMap;
use scsi_target::Response;
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::oneshot;
use unit::AbortFlag;

type Boxed<T> = Pin<Box<dyn Future<Output = T>>>;

/// A command in flight.
struct Running {
    volume: Option<VolumeId>,
    /// Bytes of Data-In memory that the command holds.
    held: usize,
    abort: AbortFlag,
}

/// Request that is answered once none of its tasks can take effect any more.
struct Waiter {
    tasks: Vec<TaskHandle>,
    /// Answer: true if there were tasks.
    any: bool,
    done: oneshot::Sender<bool>,
}

/// Finished command.
pub(super) struct Finished {
    pub task: TaskHandle,
    pub response: Response,
    /// Bytes of Data-In memory that the command held.
    pub held: usize,
}

/// Commands and functions in flight.
#[derive(Default)]
pub(super) struct Execution {
    commands: FuturesUnordered<Boxed<(TaskHandle, Response)>>,
    running: FxHashMap<TaskHandle, Running>,
    waiters: Vec<Waiter>,
    functions: FuturesUnordered<Boxed<(TaskManagementHandle, Managed)>>,
}

impl Execution {
    /// Adds a command that holds `held` bytes of Data-In memory.
    pub fn start(
        &mut self,
        task: TaskHandle,
        volume: Option<VolumeId>,
        held: usize,
        abort: AbortFlag,
        command: impl Future<Output = Response> + 'static,
    ) {
        self.running.insert(task, Running { volume, held, abort });
        self.commands.push(Box::pin(async move { (task, command.await) }));
    }

    /// Adds a task management function.
    pub fn start_function(&mut self, function: impl Future<Output = (TaskManagementHandle, Managed)> + 'static) {
        self.functions.push(Box::pin(function));
    }

    /// Returns the next finished command.
    pub fn poll_finished(&mut self, context: &mut Context<'_>) -> Option<Finished> {
        let Poll::Ready(Some((task, response))) = self.commands.poll_next_unpin(context) else { return None };
        Some(self.finished(task, response))
    }

    fn finished(&mut self, task: TaskHandle, response: Response) -> Finished {
        let held = self.running.remove(&task).map_or(0, |running| running.held);
        #[cfg(feature = "simulation")]
        if without(Mutation::WaiterForgotten) {
            return Finished { task, response, held };
        }
        self.release(task);
        Finished { task, response, held }
    }

    /// Returns the next finished task management function.
    pub fn poll_function(&mut self, context: &mut Context<'_>) -> Option<(TaskManagementHandle, Managed)> {
        match self.functions.poll_next_unpin(context) {
            Poll::Ready(done) => done,
            Poll::Pending => None,
        }
    }

    /// True if no command is running.
    pub fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// Running tasks on the volumes.
    pub fn on_volumes(&self, volumes: &BTreeSet<VolumeId>) -> impl Iterator<Item = TaskHandle> {
        let concerned = |running: &Running| running.volume.is_some_and(|volume| volumes.contains(&volume));
        self.running.iter().filter(move |(_, running)| concerned(running)).map(|(task, _)| *task)
    }

    /// Signals commands that their response is no longer needed: a copy ends after its next step,
    /// and SANITIZE does not wait for its operation.
    pub fn abort(&self, tasks: &[TaskHandle]) {
        for running in tasks.iter().filter_map(|task| self.running.get(task)) {
            running.abort.abort();
        }
    }

    /// Signals the same to all commands.
    pub fn abort_all(&self) {
        for running in self.running.values() {
            running.abort.abort();
        }
    }

    /// Sends `any` to `done` once none of the tasks is running.
    pub fn wait_for(&mut self, tasks: Vec<TaskHandle>, any: bool, done: oneshot::Sender<bool>) {
        let tasks: Vec<TaskHandle> = tasks.into_iter().filter(|t| self.running.contains_key(t)).collect();
        if tasks.is_empty() {
            let _gone = done.send(any);
        } else {
            self.waiters.push(Waiter { tasks, any, done });
        }
    }

    /// Finishes the work of an ended connection as far as possible now; there is nothing left to
    /// answer. Ready when the last command and the last function are done.
    pub fn poll_drained(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let command = self.poll_finished(context).is_some();
            let function = self.poll_function(context).is_some();
            if !command && !function {
                let drained = self.commands.is_empty() && self.functions.is_empty();
                return if drained { Poll::Ready(()) } else { Poll::Pending };
            }
        }
    }

    fn release(&mut self, task: TaskHandle) {
        if self.waiters.is_empty() {
            return;
        }
        for waiter in &mut self.waiters {
            waiter.tasks.retain(|t| *t != task);
        }
        for waiter in self.waiters.extract_if(.., |waiter| waiter.tasks.is_empty()) {
            let _gone = waiter.done.send(waiter.any);
        }
    }
}
