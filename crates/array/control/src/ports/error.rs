//! Conditions of portals and target port groups.

use crate::condition::{Class, Condition, Noun, Parameters, User};
use thiserror::Error;

/// Reason why a request for a portal or a target port group was not executed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PortError {
    /// Hosts would be left without an active path; without users, the array would have no active
    /// port.
    #[error("{}", if users.is_empty() { "no port of the array would be active" } else { "hosts would have no active path left" })]
    LastPath {
        /// Noun of the object to be changed.
        noun: Noun,
        /// Name of that object.
        name: String,
        /// Setting and its refused value.
        setting: (&'static str, String),
        /// The hosts.
        users: Vec<User>,
    },
}

impl Condition for PortError {
    fn code(&self) -> &'static str {
        let Self::LastPath { .. } = self;
        "last-path"
    }

    fn class(&self) -> Class {
        let Self::LastPath { .. } = self;
        Class::Conflict
    }

    fn users(&self) -> &[User] {
        let Self::LastPath { users, .. } = self;
        users
    }

    fn help(&self) -> Option<String> {
        let Self::LastPath { .. } = self;
        Some("give them another path first, or force the change".to_owned())
    }

    fn parameters(&self) -> Parameters {
        let Self::LastPath { noun, name, setting: (setting, value), .. } = self;
        let setting = [("setting", (*setting).to_owned()), ("value", value.clone())];
        [("noun", noun.to_string()), ("name", name.clone())].into_iter().chain(setting).collect()
    }
}
