//! Reports about the management plane, which runs on another thread.

use super::management::ManagementCondition;
use crate::control::Control;
use crate::error::ControlError;
use crate::events::{Draft, Severity};
use crate::request::Request;

/// Reports a condition of the management plane.
#[derive(Clone, Debug)]
pub struct ManagementReport {
    /// Condition.
    pub condition: ManagementCondition,
    /// What happened, for an event; absent: nothing new.
    pub event: Option<String>,
    /// What holds, for an alert; absent: the alert ends.
    pub alert: Option<String>,
}

impl Request for ManagementReport {
    type Reply = ();
    const NAME: &'static str = "management-report";

    async fn run(&self, control: &Control) -> Result<(), ControlError> {
        control.management().set(self.condition, self.alert.as_ref(), control.environment().now());
        Ok(())
    }

    fn event(&self, (): &()) -> Option<Draft> {
        let message = self.event.as_ref()?;
        Some(Draft::new(Severity::Warning, self.condition.code(), "array", message))
    }
}
