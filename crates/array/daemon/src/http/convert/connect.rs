//! Plans for hosts, their logins, and how far they are.

use super::{access_state, login_outcome, primitive_status, session_parameters};
use api::{
    ConnectAsked, ConnectCommand, ConnectMissing, ConnectPath, ConnectPlaceholder, ConnectPlan, ConnectState,
    ConnectStep, HostPrimitive, HostRefusal, HostWarning, Login,
};
use connect::{Command, Plan, Step};
use control::{ConnectView, LoginView, Missing};

pub(in crate::http) fn login(LoginView { host, attempt }: LoginView) -> Login {
    let knock = &attempt.knock;
    Login {
        id: attempt.sequence,
        time: attempt.time,
        first: attempt.first,
        count: attempt.count,
        initiator: knock.initiator.clone(),
        host,
        from: knock.from,
        portal: knock.portal,
        discovery: knock.discovery,
        outcome: login_outcome(knock.outcome),
        detail: knock.detail.to_owned(),
    }
}

fn command(command: Command) -> ConnectCommand {
    let Command { text, shell, file } = command;
    ConnectCommand { text, shell: shell.name().to_owned(), file }
}

fn step(step: Step) -> ConnectStep {
    let Step { id, title, why, place, optional, once_per_host, commands, undo } = step;
    let [commands, undo] = [commands, undo].map(|all| all.into_iter().map(command).collect());
    ConnectStep { id: id.to_owned(), title, why, place: place.to_owned(), optional, once_per_host, commands, undo }
}

/// Plan with the facts that its commands name.
pub(in crate::http) fn plan(system: connect::System, facts: api::ConnectFacts, plan: Plan) -> ConnectPlan {
    let undo = plan.undo().cloned().map(command).collect();
    let undo_host = plan.undo_host().cloned().map(command).collect();
    let placeholder =
        |of: connect::Placeholder| ConnectPlaceholder { text: of.text.to_owned(), meaning: of.meaning.to_owned() };
    ConnectPlan {
        system: system.name().to_owned(),
        facts,
        warnings: plan.warnings,
        placeholders: plan.placeholders.into_iter().map(placeholder).collect(),
        steps: plan.steps.into_iter().map(step).collect(),
        undo,
        undo_note: plan.undo_note,
        undo_host,
        undo_host_warning: plan.undo_host_warning,
    }
}

/// Code and text of what is missing.
fn missing(of: &Missing, view: &ConnectView) -> ConnectMissing {
    let (host, volume) = (&view.host, view.volume.as_deref().unwrap_or("the volume"));
    let (code, text) = match of {
        Missing::Initiator => ("initiator", format!("host {host} has no initiator name, by which the array knows it")),
        Missing::Grant => ("grant", format!("volume {volume} is not granted to host {host}")),
        Missing::Login => {
            let failed = view.logins.iter().find(|login| login.attempt.knock.outcome != control::LoginOutcome::Ok);
            let last = failed.map(|login| format!("; the last attempt: {}", login.attempt.knock.detail));
            ("login", format!("host {host} is not logged in{}", last.unwrap_or_default()))
        }
        Missing::Capacity => ("capacity", format!("host {host} is logged in, and has not looked at {volume}: rescan")),
        Missing::Primitive(primitive) => {
            let row = view.primitives.iter().find(|row| row.primitive == *primitive);
            let reason = row.and_then(|row| row.refused).map_or("", |(_, reason)| reason.words());
            (primitive.name(), format!("the last {} of host {host} was refused: {reason}", primitive.name()))
        }
    };
    ConnectMissing { code: code.to_owned(), text }
}

/// Primitive with a host.
pub(super) fn primitive(row: control::HostPrimitive) -> HostPrimitive {
    let refusal = |(at, reason): (_, control::Reason)| HostRefusal {
        reason_code: reason.code().to_owned(),
        reason: reason.words().to_owned(),
        at,
    };
    HostPrimitive {
        name: row.primitive.name().to_owned(),
        status: primitive_status(row.standing),
        announced: row.announced,
        last_ok: row.succeeded,
        last_refusal: row.refused.map(refusal),
    }
}

pub(in crate::http) fn connect_state(view: ConnectView) -> ConnectState {
    let missing: Vec<ConnectMissing> = view.missing.iter().map(|of| missing(of, &view)).collect();
    let path = |path: control::ConnectPath| ConnectPath {
        session: path.session,
        portal: path.portal,
        group: path.group,
        state: access_state(path.state),
        since: path.since,
        from: path.from.to_string(),
        mss_bytes: path.mss_bytes,
        parameters: session_parameters(path.parameters),
    };
    let control::Asked { capacity, block_limits, provisioning, third_party_copy } = view.asked;
    ConnectState {
        host: view.host,
        volume: view.volume,
        lun: view.lun,
        discovery: view.discovery.map(login),
        logins: view.logins.into_iter().map(login).collect(),
        paths: view.paths.into_iter().map(path).collect(),
        missing_portals: view.missing_portals,
        asked: ConnectAsked { capacity, b0: block_limits, b2: provisioning, x8f: third_party_copy },
        primitives: view.primitives.into_iter().map(primitive).collect(),
        first_io: view.first_io,
        ready: missing.is_empty(),
        missing,
        warnings: view.warnings.into_iter().map(host_warning).collect(),
    }
}

/// What is doubtful about a host.
pub(in crate::http) fn host_warning(of: control::HostWarning) -> HostWarning {
    HostWarning { code: of.code.to_owned(), text: of.text }
}
