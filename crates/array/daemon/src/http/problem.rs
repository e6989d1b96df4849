//! Conversion of errors to HTTP statuses and problem documents (RFC 9457). A condition of `control`
//! has chosen its class; only the classes are converted here.

mod fields;
mod parts;
mod plan;
mod refusal;

pub(super) use plan::PlanRefusal;
pub(super) use refusal::Refusal;

use crate::laboratory::LabRefusal;
use api::{Problem, User};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use control::{Class, ControlError, Space};
use notification::ChannelError;
use parts::Parts;

/// Reason why a request was not executed.
#[derive(Debug)]
pub(super) enum Fault {
    /// The array refused the request.
    Control(ControlError),
    /// The object is not as the client knows it.
    Outdated {
        /// Refusal.
        error: Box<ControlError>,
        /// The object as it is.
        present: Box<serde_json::Value>,
    },
    /// The request is malformed.
    InvalidRequest {
        /// Status from the framework.
        status: StatusCode,
        /// Description of the problem.
        detail: String,
    },
    /// The path does not exist.
    NoSuchResource,
    /// The path does not support this method.
    MethodNotAllowed,
    /// The token is missing or wrong.
    Unauthorized,
    /// The caller may not do that, or has not proven to be who it says.
    Refused(Refusal),
    /// Too many wrong tokens or passwords.
    TooManyFailures {
        /// Seconds to wait.
        seconds: u64,
    },
    /// The largest number of live streams is open.
    TooManyStreams,
    /// The request's body did not arrive in time.
    TooSlow {
        /// Seconds until the timeout.
        seconds: u64,
    },
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<ChannelError> for Fault {
    fn from(error: ChannelError) -> Self {
        Self::Refused(Refusal::Notification(error))
    }
}

impl From<LabRefusal> for Fault {
    fn from(refusal: LabRefusal) -> Self {
        Self::Refused(Refusal::Lab(refusal))
    }
}

impl From<ControlError> for Fault {
    fn from(error: ControlError) -> Self {
        Self::Control(error)
    }
}

impl Fault {
    /// Request that cannot be read.
    pub(super) fn malformed(detail: String) -> Self {
        Self::InvalidRequest { status: StatusCode::BAD_REQUEST, detail }
    }
}

/// HTTP status of a class of conditions.
const fn status(class: Class) -> StatusCode {
    match class {
        Class::NotFound => StatusCode::NOT_FOUND,
        Class::Conflict => StatusCode::CONFLICT,
        Class::Outdated => StatusCode::PRECONDITION_FAILED,
        Class::Malformed => StatusCode::BAD_REQUEST,
        Class::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
        Class::NoSpace => StatusCode::INSUFFICIENT_STORAGE,
        Class::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        Class::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Class::TimedOut => StatusCode::GATEWAY_TIMEOUT,
    }
}

impl Fault {
    /// Status, code, description and advice.
    fn parts(&self) -> Parts {
        let of =
            |error: &ControlError| -> Parts { (status(error.class()), error.code(), error.to_string(), error.help()) };
        match self {
            Self::Control(error) => of(error),
            Self::Outdated { error, .. } => of(error),
            Self::InvalidRequest { status, detail } => (*status, "invalid-request", detail.clone(), None),
            Self::NoSuchResource => {
                let help = Some("the resources are listed in /api/v1/openapi.json".to_owned());
                (StatusCode::NOT_FOUND, "no-such-resource", "there is no such resource".to_owned(), help)
            }
            Self::MethodNotAllowed => {
                let detail = "the resource does not take this method".to_owned();
                (StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", detail, None)
            }
            Self::Unauthorized => {
                let help = Some("send the token in STATE_DIR/admin.token as  Authorization: Bearer TOKEN".to_owned());
                (StatusCode::UNAUTHORIZED, "unauthorized", "a valid token is needed".to_owned(), help)
            }
            Self::TooManyFailures { seconds } => {
                let detail =
                    format!("too many wrong tokens or passwords, from this address or for this name: wait {seconds} s");
                (StatusCode::TOO_MANY_REQUESTS, "too-many-failures", detail, None)
            }
            Self::Refused(refusal) => refusal.parts(),
            Self::TooManyStreams => {
                let detail = "too many live streams are open, or too many from this address".to_owned();
                (StatusCode::TOO_MANY_REQUESTS, "too-many-streams", detail, None)
            }
            Self::TooSlow { seconds } => {
                let detail = format!("the request was not complete after {seconds} s");
                (StatusCode::REQUEST_TIMEOUT, "too-slow", detail, None)
            }
        }
    }

    /// Stable name of the problem.
    pub(super) fn code(&self) -> &'static str {
        self.parts().1
    }

    /// Description of the problem.
    pub(super) fn detail(&self) -> String {
        self.parts().2
    }

    /// Its problem document.
    pub(super) fn problem(&self) -> Problem {
        let (status, code, detail, help) = self.parts();
        debug_assert!(explain::entry(explain::Kind::Problem, code).is_some(), "{code} is not explained");
        let control = match self {
            Self::Control(error) => Some(error),
            _ => None,
        };
        let parameters = match self {
            Self::Refused(refusal) => refusal.parameters(),
            _ => control.map(ControlError::parameters).unwrap_or_default(),
        };
        let users = control.map(ControlError::users).unwrap_or_default();
        let Space { needed, available } = control.map(ControlError::space).unwrap_or_default();
        let present = match self {
            Self::Outdated { present, .. } => Some((**present).clone()),
            _ => None,
        };
        Problem {
            kind: format!("urn:windlass:problem:{code}"),
            title: code.replace('-', " "),
            status: status.as_u16(),
            fields: fields::of(code, &detail, &parameters),
            detail,
            code: code.to_owned(),
            help,
            parameters: parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            users: users.iter().map(user).collect(),
            needed_bytes: needed,
            available_bytes: available,
            present,
        }
    }
}

fn user(user: &control::User) -> User {
    User { kind: user.kind.name().to_owned(), description: user.description.clone() }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let problem = self.problem();
        // Lack of space concerns the administrator who asked; it is not a failure of the array.
        if problem.status >= 500 && problem.status != StatusCode::INSUFFICIENT_STORAGE.as_u16() {
            tracing::error!(code = problem.code, detail = problem.detail, "request failed");
        }
        let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, axum::Json(problem)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        match self {
            Self::Unauthorized | Self::Refused(Refusal::SignIn) => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::TooManyFailures { seconds } => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            }
            Self::Refused(Refusal::TooManySignIns) => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        response
    }
}
