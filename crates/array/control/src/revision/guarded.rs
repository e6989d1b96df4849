//! Requests with tags of objects.

use super::expected::Expected;
use super::target::Target;
use crate::control::Control;
use crate::error::ControlError;
use crate::events::Draft;
use crate::facts::Facts;
use crate::read::Read;
use crate::request::Request;
use pool::ObjectId;
use std::future::poll_fn;
use std::pin::pin;

/// Read of one object. The reply has the tag of the object, too.
#[derive(Clone, Debug)]
pub struct Tagged<R>(pub R);

/// Change of one object, if it has one of the tags that the client knows. The reply has the tag
/// after the change, or `None` if the object was deleted.
#[derive(Clone, Debug)]
pub struct Guarded<R> {
    /// The change.
    pub request: R,
    /// Tags; absent: whatever it has.
    pub tags: Option<Vec<String>>,
}

impl<R: Read + Target> Read for Tagged<R> {
    type Reply = (R::Reply, String);
    const NAME: &'static str = R::NAME;
    const FRESH_COUNTS: bool = R::FRESH_COUNTS;

    fn counted(&self, facts: &dyn Facts) -> Vec<Vec<ObjectId>> {
        self.0.counted(facts)
    }

    fn answer(&self, facts: &dyn Facts) -> Result<Self::Reply, ControlError> {
        let id = self.0.target(facts.directory())?;
        let tag = facts.directory().tag(facts.started(), id).unwrap_or_default();
        Ok((self.0.answer(facts)?, tag))
    }
}

impl<R: Request + Target> Request for Guarded<R> {
    type Reply = (R::Reply, Option<String>);
    const NAME: &'static str = R::NAME;

    /// The tag is checked before the request, and again when it commits: only then no other change
    /// can come between. Errors besides those of the request: `ChangedMeanwhile`.
    async fn run(&self, control: &Control) -> Result<Self::Reply, ControlError> {
        let id = self.request.target(&control.directory())?;
        let expected = self.tags.clone().map(|tags| Expected { id, tags });
        control.check_expected(expected.as_ref())?;
        let mut request = pin!(self.request.run(control));
        let reply = poll_fn(|context| {
            let other = control.expect(expected.clone());
            let polled = request.as_mut().poll(context);
            control.expect(other);
            polled
        })
        .await?;
        Ok((reply, control.directory().tag(control.started(), id)))
    }

    fn event(&self, (reply, _): &Self::Reply) -> Option<Draft> {
        self.request.event(reply)
    }
}
