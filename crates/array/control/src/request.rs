//! What an administrator can ask for. A request is a type in the folder of its noun, with its parameters, its reply, its
//! execution and the words of its event; nothing else knows all requests.

use crate::events::Draft;
use crate::{Control, ControlError};

/// A request. [`Control::execute`] runs it.
pub trait Request: Send + 'static {
    /// What is answered.
    type Reply: Send + 'static;
    /// Noun and verb: `volume-create`.
    const NAME: &'static str;

    /// Does what is asked. A change is durable, and published to the running target, on return; after an error nothing
    /// was changed.
    fn run(&self, control: &Control) -> impl Future<Output = Result<Self::Reply, ControlError>>;

    /// The event that a change leaves. Absent for a request that only reads, and for one that found everything as it asks
    /// for.
    fn event(&self, _reply: &Self::Reply) -> Option<Draft> {
        None
    }
}

/// The reply to a request that may find its work done already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome<V> {
    /// The object, as it is now.
    pub view: V,
    /// This request changed it. False: it was as asked for.
    pub changed: bool,
}

impl<V> Outcome<V> {
    pub(crate) const fn changed(view: V) -> Self {
        Self { view, changed: true }
    }

    pub(crate) const fn unchanged(view: V) -> Self {
        Self { view, changed: false }
    }
}
