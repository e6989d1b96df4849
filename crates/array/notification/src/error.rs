//! Reasons for which a request about channels and acknowledgements is refused.

use thiserror::Error;

/// Class of a reason, from which an interface chooses its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The object does not exist.
    NotFound,
    /// The present state does not allow the request.
    Conflict,
    /// The request is invalid in any state.
    Invalid,
}

/// Reason for which a request is refused. Nothing has changed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ChannelError {
    /// A name with other characters, or of another length.
    #[error("{name:?} is no name: 1 to 63 letters, digits, '.', '_', '-' and '@', beginning with a letter or digit")]
    InvalidName {
        /// First part of the name.
        name: String,
    },
    /// Another channel has the name.
    #[error("the name {name} belongs to another channel")]
    NameTaken {
        /// Name.
        name: String,
    },
    /// There is no channel of this name or id.
    #[error("there is no channel {name}")]
    NoChannel {
        /// Name or id.
        name: String,
    },
    /// No active alert has this id or code.
    #[error("no active alert has the id or code {name}")]
    NoAlert {
        /// Id or code.
        name: String,
    },
    /// Several active alerts have this code.
    #[error("{count} active alerts have the code {code}")]
    SeveralAlerts {
        /// Code.
        code: String,
        /// Number of them.
        count: usize,
    },
    /// As many channels as possible exist.
    #[error("there are {most} channels already")]
    TooMany {
        /// Largest number.
        most: usize,
    },
    /// A setting is not possible.
    #[error("{field}: {reason}")]
    InvalidSetting {
        /// Field of the request.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The settings are of another kind than the channel.
    #[error("the channel {name} is of another kind")]
    OtherKind {
        /// Name of the channel.
        name: String,
    },
    /// The peer is another, and the secret must not reach it by mistake.
    #[error("the {secret} has to be given again, because it would be sent to another peer")]
    SecretNeeded {
        /// Field of the request.
        secret: &'static str,
    },
}

impl ChannelError {
    /// Class, from which an interface chooses its status.
    pub const fn class(&self) -> Class {
        match self {
            Self::NoChannel { .. } | Self::NoAlert { .. } => Class::NotFound,
            Self::NameTaken { .. } | Self::TooMany { .. } | Self::SeveralAlerts { .. } => Class::Conflict,
            Self::InvalidName { .. }
            | Self::InvalidSetting { .. }
            | Self::OtherKind { .. }
            | Self::SecretNeeded { .. } => Class::Invalid,
        }
    }

    /// Stable name of the reason.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::InvalidName { .. } => "invalid-name",
            Self::NameTaken { .. } => "exists",
            Self::NoChannel { .. } | Self::NoAlert { .. } => "not-found",
            Self::SeveralAlerts { .. } => "ambiguous-name",
            Self::TooMany { .. } => "too-many",
            Self::InvalidSetting { .. } | Self::OtherKind { .. } => "invalid-setting",
            Self::SecretNeeded { .. } => "secret-needed",
        }
    }

    /// Advice for the administrator.
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Self::SeveralAlerts { .. } => "name the alert by its id: the list of alerts has it",
            Self::TooMany { .. } => "delete a channel that is not needed",
            Self::OtherKind { .. } => "create another channel, and delete this one",
            _ => return None,
        };
        Some(help.to_owned())
    }
}
