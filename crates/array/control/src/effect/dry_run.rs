//! Execution of a dry run.

use super::{Effect, Rehearsal};
use crate::condition::Class;
use crate::control::Control;
use crate::error::ControlError;
use crate::request::Request;

/// Change that can say beforehand what it would do.
pub trait Rehearsed: Request {
    /// Makes every check of the change, and plans it. Changes nothing. The caller holds the lock of changes.
    ///
    /// Errors: those of the change.
    fn rehearse(&self, control: &Control) -> Result<Rehearsal, ControlError>;
}

/// Says what a change would do, and does not do it. It has no event.
///
/// A refusal that depends on the state of the array is a part of the reply. Errors: those of a change that is
/// possible in no state, and of an array that cannot answer.
#[derive(Clone, Debug)]
pub struct DryRun<R>(pub R);

impl<R: Rehearsed> Request for DryRun<R> {
    type Reply = Effect;
    const NAME: &'static str = R::NAME;

    async fn run(&self, control: &Control) -> Result<Effect, ControlError> {
        let planned = {
            let _changes = control.lock_changes().await;
            control.check_expectation()?;
            self.0.rehearse(control)
        };
        let effect = match planned {
            Ok(rehearsal) => {
                let (freed, breaks, warnings) = rehearsal.into_parts();
                let frees_bytes = match freed {
                    Some(objects) => control.freed_by(&objects, &mut control.patience()).await?,
                    None => None,
                };
                Ok(Effect { frees_bytes, takes_bytes: None, breaks, warnings, problem: None })
            }
            Err(error) => Err(error),
        };
        Effect::or_refusal(effect)
    }
}

impl Effect {
    /// Effect of a change that is about no object of the pool.
    pub(crate) fn of(rehearsal: Rehearsal) -> Self {
        let (_, breaks, warnings) = rehearsal.into_parts();
        Self { breaks, warnings, ..Self::default() }
    }

    /// A refusal that depends on the state of the array as a part of the effect. Other errors stay errors.
    pub(crate) fn or_refusal(effect: Result<Self, ControlError>) -> Result<Self, ControlError> {
        match effect {
            Err(error) if matches!(error.class(), Class::Conflict | Class::NoSpace) => {
                Ok(Self { problem: Some(error), ..Self::default() })
            }
            effect => effect,
        }
    }
}
