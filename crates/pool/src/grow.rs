//! Making the pool larger.
use crate::core::{Core, Progress, Step};
use crate::interface::{Growth, PoolError};
use media::Media;

impl<M: Media> Core<M> {
    pub(crate) fn grow_step(&mut self, _growth: &Growth, _progress: &mut Progress) -> Step {
        Step::Fail(PoolError::CannotGrow("this pool cannot grow".into()).into())
    }
}
