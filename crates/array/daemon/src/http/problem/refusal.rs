//! Refusals of the guard, of requests about users, tokens, sign-ins and channels, and about files of the management
//! plane.

use super::parts::Parts;
use super::plan::PlanRefusal;
use crate::laboratory::LabRefusal;
use axum::http::StatusCode;
use configuration::Invalid;
use identity::{Class, IdentityError, Role};
use notification::ChannelError;
use uuid::Uuid;

/// Reason for which a caller may not do what it asks for.
#[derive(Debug)]
pub(in crate::http) enum Refusal {
    /// The caller's role does not suffice.
    Forbidden {
        /// Name of the operation.
        operation: &'static str,
        /// Role that it needs.
        needs: Role,
        /// Role of the caller.
        has: Role,
    },
    /// The caller's role does not suffice for a lock of snapshots as long as that.
    LongLock {
        /// Days of the longest lock of an operator.
        most_days: i64,
        /// Role of the caller.
        has: Role,
    },
    /// The token is limited to other things.
    OutsideScope {
        /// What it is limited to.
        detail: String,
    },
    /// The user has to change the password first.
    PasswordToChange,
    /// A page that is not of this array sent the request, or the request does not show otherwise.
    ForeignPage,
    /// The name in the header `Host` is not one of the array.
    ForeignHost {
        /// That name.
        host: String,
    },
    /// The key of another request.
    KeyReused,
    /// Wrong name or password.
    SignIn,
    /// As many passwords as possible are being compared.
    TooManySignIns,
    /// A rule about users, tokens and sign-ins.
    Identity(IdentityError),
    /// A rule about channels and acknowledgements.
    Notification(ChannelError),
    /// A condition of the laboratory.
    Lab(LabRefusal),
    /// There is no such support bundle.
    NoBundle {
        /// Its id.
        id: Uuid,
    },
    /// A support bundle is being made.
    BundleRunning,
    /// Support bundles cannot be read or written.
    BundleUnavailable {
        /// Description of the problem.
        reason: String,
    },
    /// A document of the configuration cannot be read, or contradicts itself.
    Configuration(Invalid),
    /// A rule about plans of the configuration.
    Plan(PlanRefusal),
    /// Channels cannot be read or stored.
    NotificationUnavailable {
        /// Description of the problem.
        reason: String,
    },
    /// The audit cannot be written, and so nothing may change.
    AuditNotWritten {
        /// Description of the problem.
        reason: String,
    },
    /// The audit cannot be read.
    AuditNotRead {
        /// Description of the problem.
        reason: String,
    },
    /// The history cannot be read.
    HistoryUnavailable {
        /// Description of the problem.
        reason: String,
    },
    /// Users and tokens cannot be read or stored.
    Unavailable {
        /// Description of the problem.
        reason: String,
    },
}

impl Refusal {
    /// Parameters of the problem, by name.
    pub(super) fn parameters(&self) -> Vec<(&'static str, String)> {
        let Self::Configuration(Invalid { field, line, .. }) = self else { return Vec::new() };
        let field = Some(("field", field.clone())).filter(|(_, field)| !field.is_empty());
        field.into_iter().chain(line.map(|line| ("line", line.to_string()))).collect()
    }

    /// Status, code, description and advice.
    pub(super) fn parts(&self) -> Parts {
        let forbidden =
            |code, detail: String, help: Option<&str>| (StatusCode::FORBIDDEN, code, detail, help.map(str::to_owned));
        match self {
            Self::Forbidden { operation, needs, has } => {
                let detail = format!("{operation} needs the role {needs}, and the caller has the role {has}");
                forbidden("forbidden", detail, Some("ask an admin for another role or token"))
            }
            Self::LongLock { most_days, has } => {
                let detail = format!(
                    "a lock of more than {most_days} days needs the role admin, and the caller has the role {has}"
                );
                forbidden("forbidden", detail, Some("ask an admin, or lock it for a shorter time"))
            }
            Self::OutsideScope { detail } => forbidden("outside-scope", detail.clone(), None),
            Self::PasswordToChange => {
                let help = "PUT /api/v1/users/NAME/password with the present and the new one";
                forbidden("password-to-change", "the password has to be changed first".to_owned(), Some(help))
            }
            Self::ForeignPage => {
                let detail = "the request does not come from a page of this array".to_owned();
                let help = "changes with a cookie need the header Windlass-CSRF and an Origin of this array";
                forbidden("foreign-page", detail, Some(help))
            }
            Self::ForeignHost { host } => {
                let help = "use an address of the array, or name it in the configuration: [tls] names";
                forbidden("foreign-host", format!("{host:?} is not a name of this array"), Some(help))
            }
            Self::KeyReused => {
                let detail = "the Idempotency-Key belongs to another request".to_owned();
                let help = "send a new key with each new request, and the same one with a repeat alone".to_owned();
                (StatusCode::UNPROCESSABLE_ENTITY, "idempotency-key-reused", detail, Some(help))
            }
            Self::SignIn => {
                let detail = "name or password is wrong, or the user is locked".to_owned();
                (StatusCode::UNAUTHORIZED, "sign-in-refused", detail, None)
            }
            Self::TooManySignIns => {
                let detail = "as many passwords as possible are being compared".to_owned();
                (StatusCode::TOO_MANY_REQUESTS, "too-many-sign-ins", detail, None)
            }
            Self::Identity(error) => (of_identity(error.class()), error.code(), error.to_string(), error.help()),
            Self::Notification(error) => (of_channel(error.class()), error.code(), error.to_string(), error.help()),
            Self::Lab(refusal) => {
                (of_lab(refusal), refusal.code(), refusal.to_string(), refusal.help().map(str::to_owned))
            }
            Self::NoBundle { id } => {
                let detail = format!("there is no support bundle {id}: three are kept, for a day");
                (StatusCode::NOT_FOUND, "no-such-bundle", detail, Some("list them, or make one".to_owned()))
            }
            Self::BundleRunning => {
                let detail = "a support bundle is being made".to_owned();
                (StatusCode::CONFLICT, "bundle-running", detail, Some("wait for its job".to_owned()))
            }
            Self::BundleUnavailable { reason } => {
                let help = "free space in the state directory, or repair it";
                let detail = format!("support bundles cannot be read or written: {reason}");
                (StatusCode::SERVICE_UNAVAILABLE, "bundle-unavailable", detail, Some(help.to_owned()))
            }
            Self::Configuration(error) => {
                (StatusCode::UNPROCESSABLE_ENTITY, "invalid-configuration", error.to_string(), None)
            }
            Self::Plan(refusal) => refusal.parts(),
            Self::NotificationUnavailable { reason } => {
                let help = Some("free space in the state directory, or repair it, and restart; without STATE_DIR/management.redb users, tokens and channels begin anew".to_owned());
                let detail = format!("channels cannot be read or stored: {reason}");
                (StatusCode::SERVICE_UNAVAILABLE, "notification-unavailable", detail, help)
            }
            Self::AuditNotWritten { reason } => {
                let help = "free space in the state directory, or repair it";
                let detail = format!("nothing may change while the audit cannot be written: {reason}");
                (StatusCode::SERVICE_UNAVAILABLE, "audit-not-written", detail, Some(help.to_owned()))
            }
            Self::AuditNotRead { reason } => {
                let detail = format!("the audit cannot be read: {reason}");
                (StatusCode::INTERNAL_SERVER_ERROR, "audit-not-read", detail, None)
            }
            Self::HistoryUnavailable { reason } => {
                let help = Some("the last ten minutes are in memory; alerts and the log say what is wrong".to_owned());
                let detail = format!("the history cannot be read: {reason}");
                (StatusCode::SERVICE_UNAVAILABLE, "history-unavailable", detail, help)
            }
            Self::Unavailable { reason } => {
                let help = Some("free space in the state directory, or repair it, and restart; without STATE_DIR/management.redb users, tokens and channels begin anew".to_owned());
                let detail = format!("users and tokens cannot be read or stored: {reason}");
                (StatusCode::SERVICE_UNAVAILABLE, "people-unavailable", detail, help)
            }
        }
    }
}

/// HTTP status of a class of rules about people.
const fn of_identity(class: Class) -> StatusCode {
    match class {
        Class::NotFound => StatusCode::NOT_FOUND,
        Class::Conflict => StatusCode::CONFLICT,
        Class::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
        Class::Denied => StatusCode::FORBIDDEN,
        Class::Gone => StatusCode::GONE,
    }
}

/// HTTP status of a class of rules about channels.
const fn of_channel(class: notification::Class) -> StatusCode {
    match class {
        notification::Class::NotFound => StatusCode::NOT_FOUND,
        notification::Class::Conflict => StatusCode::CONFLICT,
        notification::Class::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
    }
}

/// HTTP status of a condition of the laboratory.
const fn of_lab(refusal: &LabRefusal) -> StatusCode {
    match refusal {
        LabRefusal::Malformed { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        LabRefusal::NoRun { .. } => StatusCode::NOT_FOUND,
        LabRefusal::Running { .. } | LabRefusal::NoReport { .. } => StatusCode::CONFLICT,
        LabRefusal::NoSpace { .. } => StatusCode::INSUFFICIENT_STORAGE,
        LabRefusal::Unavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
    }
}
