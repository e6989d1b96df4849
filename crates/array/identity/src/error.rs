//! Reasons for which a request about people is refused.

use crate::password::PasswordFault;
use std::fmt;
use thiserror::Error;

/// Nouns of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noun {
    /// A user.
    User,
    /// A token.
    Token,
    /// A sign-in.
    SignIn,
}

impl fmt::Display for Noun {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::User => "user",
            Self::Token => "token",
            Self::SignIn => "sign-in",
        })
    }
}

/// Class of a reason, from which an interface chooses its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The object does not exist.
    NotFound,
    /// The present state does not allow the request.
    Conflict,
    /// The request is invalid in any state.
    Invalid,
    /// The caller has not proven who it is.
    Denied,
    /// What was asked for has ended.
    Gone,
}

/// Reason for which a request is refused. Nothing has changed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum IdentityError {
    /// A name with other characters, or of another length.
    #[error("{name:?} is no name: 1 to 63 letters, digits, '.', '_', '-' and '@', beginning with a letter or digit")]
    InvalidName {
        /// First part of the name.
        name: String,
    },
    /// Another one has the name.
    #[error("the name {name} belongs to another {noun}")]
    NameTaken {
        /// Kind of object.
        noun: Noun,
        /// Name.
        name: String,
    },
    /// There is none of this name or id.
    #[error("there is no {noun} {name}")]
    NotFound {
        /// Kind of object.
        noun: Noun,
        /// Name or id.
        name: String,
    },
    /// The password is too easy to guess.
    #[error("{0}")]
    Password(#[from] PasswordFault),
    /// A wrong present password.
    #[error("the present password is wrong")]
    WrongPassword,
    /// The array would be without an administrator.
    #[error("{name} is the last active admin")]
    LastAdmin {
        /// Name of the user.
        name: String,
    },
    /// Not a time after now.
    #[error("the time of expiry is over")]
    Expired,
    /// A scope that cannot be.
    #[error("{0}")]
    InvalidScope(&'static str),
    /// No more of them are possible.
    #[error("there are {most} of kind {noun}, and no more are possible")]
    TooMany {
        /// Kind of object.
        noun: Noun,
        /// Largest number.
        most: usize,
    },
    /// The set-up code is wrong or has expired.
    #[error("the set-up code is wrong or has expired")]
    SetupCode,
    /// There is an administrator already.
    #[error("the array has an administrator: it is set up")]
    SetUp,
}

impl IdentityError {
    /// Stable name.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::InvalidName { .. } => "invalid-name",
            Self::NameTaken { .. } => "exists",
            Self::NotFound { .. } => "not-found",
            Self::Password(_) => "weak-password",
            Self::WrongPassword => "wrong-password",
            Self::LastAdmin { .. } => "last-admin",
            Self::Expired => "invalid-expiry",
            Self::InvalidScope(_) => "invalid-scope",
            Self::TooMany { .. } => "too-many",
            Self::SetupCode => "wrong-setup-code",
            Self::SetUp => "set-up",
        }
    }

    /// Class of the reason.
    pub const fn class(&self) -> Class {
        match self {
            Self::NotFound { .. } => Class::NotFound,
            Self::NameTaken { .. } | Self::LastAdmin { .. } | Self::TooMany { .. } => Class::Conflict,
            Self::InvalidName { .. } | Self::Password(_) | Self::Expired | Self::InvalidScope(_) => Class::Invalid,
            Self::WrongPassword | Self::SetupCode => Class::Denied,
            Self::SetUp => Class::Gone,
        }
    }

    /// Advice, in terms of the resources.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::LastAdmin { .. } => Some("make another user admin first".to_owned()),
            Self::SetupCode => {
                Some("the code is in STATE_DIR/setup.code for an hour; another:  windlass setup code".to_owned())
            }
            Self::TooMany { .. } => Some("delete those that are not needed".to_owned()),
            _ => None,
        }
    }
}
