//! Why a plan is not applied.

use super::parts::Parts;
use axum::http::StatusCode;

/// Reason for which a request about the configuration was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) enum PlanRefusal {
    /// Secrets were asked for.
    Secrets,
    /// The array has no such plan, or not any more.
    NoPlan {
        /// Its id.
        id: String,
    },
    /// Steps of the plan cannot be taken.
    Problems {
        /// Their number.
        count: usize,
        /// The first one.
        first: String,
    },
    /// The plan deletes volumes or shares, and that was not permitted.
    Deletes,
    /// The configuration is not the one from which the plan starts.
    Moved,
    /// Another plan is being applied.
    Running,
    /// No plan was applied since the array started.
    NothingApplied,
    /// There is no export of that day.
    NoDay {
        /// The day.
        day: String,
    },
    /// Generated secrets of earlier applies were not taken.
    SecretsWait {
        /// Their number.
        count: usize,
    },
    /// The operating system gives no random bytes.
    NoRandomBytes {
        /// Description of the problem.
        reason: String,
    },
    /// The exports of days cannot be read.
    Unavailable {
        /// Description of the problem.
        reason: String,
    },
}

impl PlanRefusal {
    /// Status, code, description and advice.
    pub(super) fn parts(&self) -> Parts {
        let conflict =
            |code, detail: &str, help: &str| (StatusCode::CONFLICT, code, detail.to_owned(), Some(help.to_owned()));
        match self {
            Self::Secrets => {
                let detail = "the array returns no secrets, and an export has none".to_owned();
                let help = "an apply generates the secrets of new objects, or takes those that the document states";
                (StatusCode::UNPROCESSABLE_ENTITY, "secrets-not-exported", detail, Some(help.to_owned()))
            }
            Self::NoPlan { id } => {
                let detail = format!("there is no plan {id}: the last two are kept, for an hour");
                (StatusCode::NOT_FOUND, "no-such-plan", detail, Some("plan the document again".to_owned()))
            }
            Self::Problems { count, first } => conflict(
                "plan-has-problems",
                &format!("steps that cannot be taken: {count}; the first is {first}"),
                "correct the document, and plan it again",
            ),
            Self::Deletes => conflict(
                "deletes-not-allowed",
                "the plan deletes volumes or shares",
                "permit it with allow_delete: they go to the trash",
            ),
            Self::Moved => conflict(
                "configuration-moved",
                "the configuration has changed since the plan was made",
                "plan the document again",
            ),
            Self::Running => conflict("apply-running", "another plan is being applied", "wait for its job"),
            Self::NothingApplied => {
                let detail = "no plan was applied since the array started".to_owned();
                (StatusCode::NOT_FOUND, "nothing-applied", detail, None)
            }
            Self::NoDay { day } => {
                let detail = format!("there is no export of {day}");
                (StatusCode::NOT_FOUND, "no-such-export", detail, Some("list the days".to_owned()))
            }
            Self::SecretsWait { count } => conflict(
                "secrets-not-taken",
                &format!("generated secrets of earlier applies were not taken: {count}"),
                "take them with POST /api/v1/config/applied/secrets",
            ),
            Self::NoRandomBytes { reason } => {
                let detail = format!("secrets cannot be generated: {reason}");
                (StatusCode::SERVICE_UNAVAILABLE, "no-random-bytes", detail, Some("apply the plan again".to_owned()))
            }
            Self::Unavailable { reason } => {
                let detail = format!("the exports of days cannot be used: {reason}");
                let help = "free space in the state directory, or repair it";
                (StatusCode::SERVICE_UNAVAILABLE, "configuration-unavailable", detail, Some(help.to_owned()))
            }
        }
    }
}
