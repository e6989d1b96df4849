//! Transactions: one step over several ranges of several objects, which happens as a whole or not at
//! all, also in a crash.
//!
//! A [`Transaction`] looks at blocks and names changes through a [`View`]. Nothing else of the pool
//! changes between its first look and its last change: an attempt that finds a block that is not in
//! memory ends, and a new one begins when the block has been read. This folder knows what an attempt
//! sees and names; `core/operation/transaction` carries it out.

pub(crate) mod changes;
pub(crate) mod contents;
pub(crate) mod edits;
pub(crate) mod view;

pub use view::ranges::Segment;
pub use view::{BlockContent, Room, View};

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// Step over several ranges and objects.
///
/// A closure of the form of [`Self::attempt`] is one, too.
pub trait Transaction {
    /// What the submitter gets when the transaction is over.
    type Output;

    /// Looks, decides, and names changes. Runs again from the start whenever something that it looked at,
    /// or that its changes need, is not in memory; so it has no effect but through `view`, and what it
    /// keeps for itself must not depend on an earlier attempt. It must not call the pool.
    ///
    /// It returns [`Missing`] as soon as `view` does. A transaction that wants all it needs to be read
    /// at once looks at everything first.
    fn attempt(&mut self, view: &mut View<'_>) -> Result<Outcome<Self::Output>, Missing>;
}

impl<T, F> Transaction for F
where
    F: FnMut(&mut View<'_>) -> Result<Outcome<T>, Missing>,
{
    type Output = T;

    fn attempt(&mut self, view: &mut View<'_>) -> Result<Outcome<T>, Missing> {
        self(view)
    }
}

/// Decision of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<T> {
    /// All changes named take effect.
    Commit(T),
    /// Nothing changes.
    Nothing(T),
}

/// The attempt cannot continue: something that it needs is not in memory, or what it asked for is not
/// possible, and the transaction fails. The view knows which.
#[derive(Debug, PartialEq, Eq)]
pub struct Missing(());

/// When a transaction that changed something is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stability {
    /// Once it has taken effect. A crash may undo it as a whole; it is durable when any later durable
    /// operation is.
    Unstable,
    /// Once it is durable.
    Durable,
}

/// Transaction that leaves its output at a place of its own.
pub(crate) trait Attempt {
    /// As [`Transaction::attempt`].
    fn attempt(&mut self, view: &mut View<'_>) -> Result<Outcome<()>, Missing>;

    /// Called once, right after the decision of the last attempt was carried out, in the same step. `view`
    /// takes no changes.
    fn conclude(&mut self, view: &mut View<'_>);
}

/// Place for the output of a transaction.
pub struct Answer<T>(Rc<RefCell<Option<T>>>);

impl<T> Answer<T> {
    /// Takes the output. It is there once the operation has finished without failure.
    pub fn take(&self) -> Option<T> {
        self.0.take()
    }
}

impl<T> fmt::Debug for Answer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answer")
    }
}

struct Answering<T: Transaction, A, U> {
    transaction: T,
    /// Output of the last attempt.
    output: Option<T::Output>,
    after: Option<A>,
    answer: Rc<RefCell<Option<U>>>,
}

impl<T, A, U> Attempt for Answering<T, A, U>
where
    T: Transaction,
    A: FnOnce(&mut View<'_>, T::Output) -> U,
{
    fn attempt(&mut self, view: &mut View<'_>) -> Result<Outcome<()>, Missing> {
        let (outcome, output) = match self.transaction.attempt(view)? {
            Outcome::Commit(output) => (Outcome::Commit(()), output),
            Outcome::Nothing(output) => (Outcome::Nothing(()), output),
        };
        self.output = Some(output);
        Ok(outcome)
    }

    fn conclude(&mut self, view: &mut View<'_>) {
        if let (Some(output), Some(after)) = (self.output.take(), self.after.take()) {
            self.answer.replace(Some(after(view, output)));
        }
    }
}

/// Transaction whose submitter keeps it, with what follows it.
pub(crate) struct Lent<F, T, A, U> {
    attempt: F,
    /// Output of the last attempt.
    output: Option<T>,
    after: Option<A>,
    /// Output of `after`.
    answer: Option<U>,
}

impl<F, T, A, U> Lent<F, T, A, U> {
    pub fn new(attempt: F, after: A) -> Self {
        Self { attempt, output: None, after: Some(after), answer: None }
    }

    /// Output of what followed the last attempt.
    pub fn into_answer(self) -> Option<U> {
        self.answer
    }
}

impl<F, T, A, U> Attempt for Lent<F, T, A, U>
where
    F: FnMut(&mut View<'_>) -> Result<Outcome<T>, Missing>,
    A: FnOnce(&mut View<'_>, T) -> U,
{
    fn attempt(&mut self, view: &mut View<'_>) -> Result<Outcome<()>, Missing> {
        let (outcome, output) = match (self.attempt)(view)? {
            Outcome::Commit(output) => (Outcome::Commit(()), output),
            Outcome::Nothing(output) => (Outcome::Nothing(()), output),
        };
        self.output = Some(output);
        Ok(outcome)
    }

    fn conclude(&mut self, view: &mut View<'_>) {
        if let (Some(output), Some(after)) = (self.output.take(), self.after.take()) {
            self.answer = Some(after(view, output));
        }
    }
}

/// Separates a transaction, and what follows it, from the output.
pub(crate) fn answering<T, U, A>(transaction: T, after: A) -> (Box<dyn Attempt>, Answer<U>)
where
    T: Transaction + 'static,
    U: 'static,
    A: FnOnce(&mut View<'_>, T::Output) -> U + 'static,
{
    let answer = Rc::new(RefCell::new(None));
    let body = Answering { transaction, output: None, after: Some(after), answer: Rc::clone(&answer) };
    (Box::new(body), Answer(answer))
}
