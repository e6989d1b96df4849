//! Commands and task management functions of one connection in the reactor.

#[cfg(feature = "simulation")]
use super::super::mutations::{Mutation, leaves_out};
use super::messages::{Completion, FunctionCompletion};
use super::task_management::Managed;
use futures_util::stream::{FuturesUnordered, StreamExt};
use iscsi::connection::{TaskHandle, TaskManagementHandle};
use rustc_hash::FxHashMap;
use scsi_target::Response;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::oneshot;
use unit::AbortFlag;

type Boxed<T> = Pin<Box<dyn Future<Output = T>>>;

/// Request that is answered once none of its tasks can take effect any more.
struct Waiter {
    tasks: Vec<TaskHandle>,
    /// Answer: true if there were tasks.
    any: bool,
    done: oneshot::Sender<bool>,
}

/// Commands and functions in flight.
#[derive(Default)]
pub(super) struct Execution {
    commands: FuturesUnordered<Boxed<(TaskHandle, Response)>>,
    running: FxHashMap<TaskHandle, AbortFlag>,
    waiters: Vec<Waiter>,
    functions: FuturesUnordered<Boxed<(TaskManagementHandle, Managed)>>,
}

impl Execution {
    /// Adds a command.
    pub fn start(&mut self, task: TaskHandle, abort: AbortFlag, command: impl Future<Output = Response> + 'static) {
        self.running.insert(task, abort);
        self.commands.push(Box::pin(async move { (task, command.await) }));
    }

    /// Adds a task management function.
    pub fn start_function(&mut self, function: impl Future<Output = (TaskManagementHandle, Managed)> + 'static) {
        self.functions.push(Box::pin(function));
    }

    /// Returns the next finished command.
    pub fn poll_finished(&mut self, context: &mut Context<'_>) -> Option<Completion> {
        let Poll::Ready(Some((task, response))) = self.commands.poll_next_unpin(context) else { return None };
        self.running.remove(&task);
        let finished = Completion { task, response };
        #[cfg(feature = "simulation")]
        if leaves_out(Mutation::WaitersReleased) {
            return Some(finished);
        }
        self.release(task);
        Some(finished)
    }

    /// Returns the next finished task management function.
    pub fn poll_function(&mut self, context: &mut Context<'_>) -> Option<FunctionCompletion> {
        match self.functions.poll_next_unpin(context) {
            Poll::Ready(done) => done.map(|(handle, result)| FunctionCompletion { handle, result }),
            Poll::Pending => None,
        }
    }

    /// Commands in progress.
    #[cfg(feature = "simulation")]
    pub fn tasks(&self) -> Vec<TaskHandle> {
        self.running.keys().copied().collect()
    }

    /// Signals commands that their response is no longer needed: a copy ends after its next step,
    /// and SANITIZE does not wait for its operation.
    pub fn abort(&self, tasks: &[TaskHandle]) {
        for running in tasks.iter().filter_map(|task| self.running.get(task)) {
            running.abort();
        }
    }

    /// Signals the same to all commands.
    pub fn abort_all(&self) {
        for running in self.running.values() {
            running.abort();
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
