//! Engine for systems that refuse io_uring: a few threads with blocking transfers, and an event
//! descriptor that wakes the owner. One such thread also serves the io_uring engine for the discard
//! of a block device, which has no asynchronous form.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::Completion;
use crate::backing::{BackingFile, Request};
use crate::engine::{Engine, signal};

struct Shared {
    backing: Arc<BackingFile>,
    wake: Arc<OwnedFd>,
    queue: Mutex<Queue>,
    work: Condvar,
    finished: Mutex<Vec<Completion>>,
    completed: Condvar,
}

#[derive(Default)]
struct Queue {
    requests: VecDeque<Request>,
    stopping: bool,
}

/// Pool of threads with one queue.
pub(crate) struct Threads {
    shared: Arc<Shared>,
    handles: Vec<JoinHandle<()>>,
    staged: Vec<Request>,
    ready: VecDeque<Completion>,
    outstanding: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Threads {
    /// Starts `count` threads that signal `wake` at each completion.
    pub(crate) fn new(backing: Arc<BackingFile>, wake: Arc<OwnedFd>, count: usize) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            backing,
            wake,
            queue: Mutex::default(),
            work: Condvar::new(),
            finished: Mutex::default(),
            completed: Condvar::new(),
        });
        let mut threads =
            Self { shared, handles: Vec::new(), staged: Vec::new(), ready: VecDeque::new(), outstanding: 0 };
        for _ in 0..count {
            let shared = Arc::clone(&threads.shared);
            threads.handles.push(std::thread::Builder::new().name("disk".to_owned()).spawn(move || serve(&shared))?);
        }
        Ok(threads)
    }
}

fn serve(shared: &Shared) {
    let mut queue = lock(&shared.queue);
    loop {
        if queue.stopping {
            return;
        }
        if let Some(request) = queue.requests.pop_front() {
            drop(queue);
            let completion = shared.backing.execute(request);
            lock(&shared.finished).push(completion);
            shared.completed.notify_one();
            signal(&shared.wake);
        } else {
            queue = shared.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
            continue;
        }
        queue = lock(&shared.queue);
    }
}

impl Engine for Threads {
    fn start(&mut self, request: Request) {
        self.outstanding += 1;
        self.staged.push(request);
    }

    fn submit(&mut self) {
        let count = self.staged.len();
        if count == 0 {
            return;
        }
        lock(&self.shared.queue).requests.extend(self.staged.drain(..));
        match count {
            1 => self.shared.work.notify_one(),
            _ => self.shared.work.notify_all(),
        }
    }

    fn poll(&mut self) -> Option<Completion> {
        if self.outstanding == 0 {
            return None;
        }
        if self.ready.is_empty() {
            self.ready.extend(lock(&self.shared.finished).drain(..));
        }
        let completion = self.ready.pop_front()?;
        self.outstanding -= 1;
        Some(completion)
    }

    fn wait(&mut self) {
        self.submit();
        if !self.ready.is_empty() || self.outstanding == 0 {
            return;
        }
        let mut finished = lock(&self.shared.finished);
        while finished.is_empty() {
            finished = self.shared.completed.wait(finished).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn outstanding(&self) -> usize {
        self.outstanding
    }

    fn immediate(&self) -> bool {
        false
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let mut queue = lock(&self.shared.queue);
        queue.stopping = true;
        queue.requests.clear();
        drop(queue);
        self.shared.work.notify_all();
        for handle in self.handles.drain(..) {
            // A thread that panicked has no request in flight any more; unwinding has freed its
            // buffers.
            let _ = handle.join();
        }
    }
}
