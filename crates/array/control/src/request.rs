//! Requests of administrators. A request is a type in the folder of its noun, with its parameters,
//! its reply, its execution and its event; there is no central list of requests.

use crate::events::Draft;
use crate::{Control, ControlError};

/// Request that changes state, executed by [`Control::execute`].
pub trait Request: Send + 'static {
    /// Type of the reply.
    type Reply: Send + 'static;
    /// Noun and verb: `volume-create`.
    const NAME: &'static str;

    /// Executes the request. A change is durable and published to the running target on return;
    /// after an error nothing has changed.
    fn run(&self, control: &Control) -> impl Future<Output = Result<Self::Reply, ControlError>>;

    /// Event of the change. Absent if the request changed nothing.
    fn event(&self, _reply: &Self::Reply) -> Option<Draft> {
        None
    }
}

/// The reply to a request that may find its work done already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome<V> {
    /// Present view of the object.
    pub view: V,
    /// True if this request changed it; false if it was already as requested.
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
