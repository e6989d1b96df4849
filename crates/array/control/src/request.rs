//! Requests of administrators. A request is a type in the folder of its noun, with its parameters,
//! its reply, its execution and its event; there is no central list of requests.

use crate::events::Draft;
use crate::{Control, ControlError, Facts};
use pool::ObjectId;

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

/// Request that only reads. [`Mirror::read`](crate::Mirror::read) answers it without the thread
/// that owns the array.
pub trait Read: Send + 'static {
    /// Type of the reply.
    type Reply: Send + 'static;
    /// Noun and verb: `volume-list`.
    const NAME: &'static str;

    /// True if the counts of this reply ([`Read::counted`]) are made at once. Otherwise they are
    /// made with pauses, and if there are many, the reply uses earlier ones.
    const FRESH_COUNTS: bool = false;

    /// Sets of objects whose [`Facts::unique_bytes`] the reply needs. Counting traverses maps, so
    /// no request does it itself.
    fn counted(&self, _facts: &dyn Facts) -> Vec<Vec<ObjectId>> {
        Vec::new()
    }

    /// Builds the reply.
    fn answer(&self, facts: &dyn Facts) -> Result<Self::Reply, ControlError>;
}

/// In tests, `control` also answers reads, from present facts with all counts made.
#[cfg(any(test, feature = "memory"))]
impl<R: Read> Request for R {
    type Reply = <R as Read>::Reply;
    const NAME: &'static str = <R as Read>::NAME;

    async fn run(&self, control: &Control) -> Result<Self::Reply, ControlError> {
        let mut patience = control.patience();
        for objects in control.see(|facts| self.counted(facts)) {
            control.count(&objects, &mut patience).await;
        }
        control.see(|facts| self.answer(facts))
    }
}

/// Reply to a request that may find its work already done.
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
