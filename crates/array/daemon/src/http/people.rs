//! What users, tokens and sign-ins have in common: their form in the interface, their errors, and the
//! records of sign-ins.

use crate::audit::{Audit, Author, Intent, Outcome, Target};
use crate::http::problem::{Fault, Refusal};
use crate::people::{Gate, NotChanged, NotSignedIn, Report, Unavailable};
use crate::report::report;
use api::{Account, Token, TokenScopes};
use control::ManagementCondition::SignInFailed;
use reactor::ArrayHandle;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Longest name of a stranger that is recorded, in characters.
const MAX_NAME: usize = 64;

/// A sign-in, or the set-up, as the audit and the events tell it.
pub(super) struct Note<'a> {
    /// Name of the operation.
    pub(super) action: &'static str,
    /// Name of the user.
    pub(super) user: &'a str,
    /// Address; absent on the administrative socket.
    pub(super) from: Option<IpAddr>,
}

impl Note<'_> {
    /// Records that it succeeded.
    pub(super) async fn done(&self, audit: &Audit) {
        self.record(audit, "user", "done", None).await;
    }

    /// Records that it was refused, if it is time for a report: refused attempts must not push the rest of the
    /// audit out. Raises the event, and the alert after many.
    pub(super) async fn refused(&self, error: &NotSignedIn, audit: &Audit, array: &ArrayHandle) {
        let NotSignedIn::Wrong(Some(Report { count, many })) = error else { return };
        let (what, why, code) = match self.action {
            "setup_run" => ("set-up", "wrong code", "wrong-setup-code"),
            _ => ("sign-in", "wrong name or password", "sign-in-refused"),
        };
        self.record(audit, "stranger", "refused", Some(code)).await;
        let from = self.from.map_or_else(|| "the socket".to_owned(), |from| from.to_string());
        let mut message = format!("{what} of {:?} from {from} refused: {why}", self.name());
        if *count > 1 {
            message += &format!("; {count} were refused since the last such event");
        }
        let alert = many.then(|| "twenty sign-ins or more were refused within ten minutes".to_owned());
        report(array, SignInFailed, Some(message), alert).await;
    }

    fn name(&self) -> String {
        self.user.chars().take(MAX_NAME).collect()
    }

    /// Intent of the audit, of an author of this kind.
    pub(super) fn intent(&self, kind: &str) -> Intent {
        let from = self.from.map(|from| from.to_string());
        let who = Author { kind: kind.to_owned(), name: self.name(), id: None, uid: None, from };
        let noun = self.action.split('_').next().unwrap_or_default();
        let target = Target { kind: noun.to_owned(), id: None, name: self.name() };
        Intent { who, action: self.action.to_owned(), target, change: BTreeMap::new() }
    }

    async fn record(&self, audit: &Audit, kind: &str, result: &str, code: Option<&str>) {
        let intent = self.intent(kind);
        let written = async {
            let intent = audit.begin(intent).await?;
            let (result, code) = (result.to_owned(), code.map(str::to_owned));
            audit.end(Outcome { intent, result, code, duration_us: 0, id: None }).await
        };
        if let Err(error) = written.await {
            tracing::error!(error = format!("{error:#}"), "a sign-in could not be recorded");
        }
    }
}

/// Reports refused sign-ins that no other one followed, which would have reported them, and ends the alert about
/// them in time.
pub(crate) async fn report_refused(gate: &Gate, audit: &Audit, array: &ArrayHandle) {
    if let Some((from, user, unreported)) = gate.take_unreported() {
        let note = Note { action: "signin_begin", user: &user, from: Some(from) };
        note.refused(&NotSignedIn::Wrong(Some(unreported)), audit, array).await;
    }
    if gate.alarm_ends() {
        report(array, SignInFailed, None, None).await;
    }
}

/// Fault of a change that was not made.
pub(super) fn not_changed(error: NotChanged) -> Fault {
    match error {
        NotChanged::Refused(error) => Refusal::Identity(error),
        NotChanged::Unavailable(Unavailable(reason)) => Refusal::Unavailable { reason },
        NotChanged::NoRoom => Refusal::TooManySignIns,
    }
    .into()
}

/// Fault of a password that was not accepted.
pub(super) fn not_signed_in(error: NotSignedIn) -> Fault {
    match error {
        NotSignedIn::Wrong(_) => Refusal::SignIn.into(),
        NotSignedIn::Wait { seconds } => Fault::TooManyFailures { seconds },
        NotSignedIn::Other(error) => not_changed(error),
    }
}

/// Role of a request.
pub(super) const fn role(role: api::Role) -> identity::Role {
    match role {
        api::Role::Viewer => identity::Role::Viewer,
        api::Role::Operator => identity::Role::Operator,
        api::Role::Admin => identity::Role::Admin,
    }
}

/// Role in an answer.
pub(super) const fn role_of(role: identity::Role) -> api::Role {
    match role {
        identity::Role::Viewer => api::Role::Viewer,
        identity::Role::Operator => api::Role::Operator,
        identity::Role::Admin => api::Role::Admin,
    }
}

/// User in an answer.
pub(super) fn account(user: &identity::User) -> Account {
    Account {
        id: user.id,
        name: user.name.clone(),
        role: role_of(user.role),
        locked: user.locked,
        must_change: user.must_change,
        created: user.created,
        last_sign_in: user.last_sign_in,
    }
}

/// Token in an answer.
pub(super) fn token(token: &identity::Token) -> Token {
    Token {
        id: token.id,
        name: token.name.clone(),
        prefix: token.prefix.clone(),
        role: role_of(token.role),
        scopes: TokenScopes {
            volumes: token.scopes.volumes.as_ref().map(ToString::to_string),
            networks: token.scopes.networks.iter().map(ToString::to_string).collect(),
            metrics_only: token.scopes.metrics_only,
        },
        created_by: token.created_by.clone(),
        created: token.created,
        expires: token.expires,
        last_used: token.last_used,
        last_from: token.last_from.map(|from| from.to_string()),
    }
}
