//! Errors of commands: cause, advice and exit status.

use crate::advice;
use api::{Problem, User};
use std::fmt;

/// Error as it is shown to the user.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CliError {
    status: u8,
    message: String,
    code: Option<String>,
    users: Vec<User>,
    help: Option<String>,
    /// The array's own document of the problem.
    problem: Option<Box<Problem>>,
}

impl CliError {
    fn new(status: u8, message: String, code: Option<&str>, help: Option<String>) -> Self {
        Self { status, message, code: code.map(str::to_owned), users: Vec::new(), help, problem: None }
    }

    /// Error without a more specific kind.
    pub(crate) fn failed(message: String) -> Self {
        Self::new(1, message, None, None)
    }

    /// Usage error.
    pub(crate) fn usage(message: String) -> Self {
        Self::new(2, message, Some("usage"), None)
    }

    /// The command is irreversible, and there is no terminal for a confirmation.
    pub(crate) fn unconfirmed(question: &str) -> Self {
        let message = format!("{question} No terminal for a confirmation; nothing was changed");
        Self::new(2, message, Some("unconfirmed"), Some("confirm with  --yes".to_owned()))
    }

    /// The named object does not exist.
    pub(crate) fn not_found(message: String, help: &str) -> Self {
        Self::new(3, message, Some("not-found"), Some(help.to_owned()))
    }

    /// The user may not access the array or a file.
    pub(crate) fn denied(message: String, help: &str) -> Self {
        Self::new(5, message, Some("denied"), Some(help.to_owned()))
    }

    /// The array does not answer.
    pub(crate) fn unreachable(message: String, help: &str) -> Self {
        Self::new(7, message, Some("unreachable"), Some(help.to_owned()))
    }

    /// True if the array did not answer.
    pub(crate) fn is_unreachable(&self) -> bool {
        self.code.as_deref() == Some("unreachable")
    }

    /// A check found problems.
    pub(crate) fn findings(message: String, help: &str) -> Self {
        Self::new(9, message, Some("findings"), Some(help.to_owned()))
    }

    /// Ctrl-C during the wait for a job, which continues. The exit status is that of a shell for a
    /// command ended by SIGINT.
    pub(crate) fn interrupted(kind: &str, job: &str) -> Self {
        let help =
            format!("wait for it again with  windlass job wait {job}  or cancel it with  windlass job cancel {job}");
        Self::new(
            130,
            format!("not waiting any longer: the {kind} goes on as job {job}"),
            Some("interrupted"),
            Some(help),
        )
    }

    /// Ctrl-C during the wait for a run of the laboratory, which continues.
    pub(crate) fn interrupted_run(run: u64) -> Self {
        let help = format!("windlass lab array show {run}  shows it, and  windlass lab array cancel {run}  cancels it");
        Self::new(130, format!("not waiting any longer: run {run} goes on"), Some("interrupted"), Some(help))
    }

    /// The answer did not arrive in time.
    pub(crate) fn timed_out(seconds: u64) -> Self {
        let message = format!("the array did not answer within {seconds} s; the request may still take effect");
        Self::new(8, message, Some("timed-out"), None)
    }

    /// Error that the array reports.
    pub(crate) fn problem(problem: Problem) -> Self {
        let status = match problem.status {
            400 | 405 | 413 | 415 | 422 => 2,
            404 => 3,
            409 | 412 => 4,
            401 | 403 | 429 => 5,
            507 => 6,
            503 => 7,
            408 | 504 => 8,
            _ => 1,
        };
        let help = advice::help(&problem);
        let Problem { detail, code, users, .. } = problem.clone();
        Self { status, message: detail, code: Some(code), users, help, problem: Some(Box::new(problem)) }
    }

    /// The error as a problem document (RFC 9457), with the exit status and advice in terms of the command line.
    pub(crate) fn document(&self) -> serde_json::Value {
        let mut document = match &self.problem {
            Some(problem) => serde_json::json!(problem),
            None => {
                let code = self.code.as_deref().unwrap_or("failed");
                serde_json::json!({
                    "type": format!("urn:windlass:problem:{code}"),
                    "title": code.replace('-', " "),
                    "detail": self.message,
                    "code": code,
                })
            }
        };
        if let Some(help) = &self.help {
            document["help"] = help.as_str().into();
        }
        document["exit_status"] = self.status.into();
        document
    }

    /// Exit status of the program.
    pub(crate) const fn exit_status(&self) -> u8 {
        self.status
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "error: {}", self.message)?;
        if let Some(code) = &self.code {
            write!(formatter, " (code: {code})")?;
        }
        for user in &self.users {
            write!(formatter, "\n  {:<8}  {}", user.kind, user.description)?;
        }
        if let Some(help) = &self.help {
            write!(formatter, "\nhelp: {help}")?;
        }
        Ok(())
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        Self::failed(format!("cannot write: {error}"))
    }
}
