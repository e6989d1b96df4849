//! Requests of administrators. A request is a type in the folder of its noun, with its parameters,
//! its reply, its execution and its event; there is no central list of requests.

use crate::control::Control;
use crate::error::ControlError;
use crate::events::Draft;
#[cfg(any(test, feature = "memory"))]
use crate::read::Read;

/// Request that changes state, executed by [`Control::execute`].
pub trait Request: Send + 'static {
    /// Type of the reply.
    type Reply: Send + 'static;
    /// Noun and verb: `volume-create`.
    const NAME: &'static str;

    /// Executes the request. A change is durable and published to the running target on return;
    /// after an error nothing has changed, unless the pool stopped on the way: the next start may
    /// then find the change.
    fn run(&self, control: &Control) -> impl Future<Output = Result<Self::Reply, ControlError>>;

    /// Event of the change. Absent if the request changed nothing.
    fn event(&self, _reply: &Self::Reply) -> Option<Draft> {
        None
    }
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

impl Control {
    /// Executes a request. A change is durable and published to the running target before the
    /// reply. Its event is committed before the reply, too, but separately; if that commit fails,
    /// the event stays in memory and is retried.
    ///
    /// The future must be polled to its end: if it is dropped during a commit, the state in memory
    /// misses the change.
    pub async fn execute<R: Request>(&self, request: R) -> Result<R::Reply, ControlError> {
        let reply = request.run(self).await?;
        self.settle(request.event(&reply)).await;
        Ok(reply)
    }

    /// Completes a request: raises its event and publishes its facts to the mirror.
    async fn settle(&self, event: Option<Draft>) {
        if let Some(event) = event {
            self.raise(event);
            self.check_thresholds().await;
            // The watch task retries if the document cannot be written.
            if self.events().is_dirty() {
                self.save_events(false).await;
            }
        }
        self.publish_facts().await;
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
