//! x
use crate::core::{Core, Failure, OperationId, Progress, Step};
use crate::interface::PoolError;
use media::Media;
pub(crate) struct OnlineCheck;
impl<M: Media> Core<M> {
    pub(crate) fn check_step(&mut self, _id: OperationId, _progress: &mut Progress) -> Step {
        Step::Fail(Failure::Pool(PoolError::CannotGrow("no".into())))
    }
    /// Ends a check of the pool in use before its result.
    pub fn abandon_check(&mut self) {
        self.online_check = None;
    }
}
