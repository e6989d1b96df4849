//! One step from one configuration to another.

use crate::entries::Kind;
use serde_json::Value;
use std::collections::BTreeMap;

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Creates an object.
    Add,
    /// Changes fields of an object.
    Change,
    /// Removes an object.
    Remove,
}

impl Op {
    /// Word of the operation.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Change => "change",
            Self::Remove => "remove",
        }
    }
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What it does.
    pub op: Op,
    /// Kind of the object.
    pub kind: Kind,
    /// Its name; empty for the pool.
    pub name: String,
    /// Fields that change, before and after; `null` stands for an absent field.
    pub change: BTreeMap<String, (Value, Value)>,
    /// Reason why the step cannot be taken.
    pub problem: Option<String>,
    /// What one should know of it.
    pub note: Option<String>,
}

impl Step {
    /// Value of a field after the step, if the step sets it.
    pub fn after(&self, field: &str) -> Option<&Value> {
        self.change.get(field).map(|(_, after)| after).filter(|after| !after.is_null())
    }
}
