//! `windlass connect --watch`: follows a host until it can use a volume.

use crate::client::{Client, query};
use crate::error::CliError;
use crate::output::Output;
use crate::server_events::ServerEvents;
use api::{ConnectState, HostPrimitive, Login, LoginOutcome, PrimitiveStatus};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use text::terminal::harmless;

/// Interval between two requests, without a stream.
const INTERVAL: Duration = Duration::from_secs(1);

/// Prints what the host does, once for each fact, until nothing is missing, or nothing has changed for the patience.
pub(super) async fn run(
    host: &str,
    volume: Option<&str>,
    patience: Duration,
    client: &Client,
    output: &mut Output<'_, '_>,
) -> Result<(), CliError> {
    let path = format!("/api/v1/connect/state{}", query(&[("host", Some(host)), ("volume", volume)]));
    let (mut told, mut changed) = (BTreeSet::new(), Instant::now());
    let of_volume = volume.map(|volume| format!(",{volume}")).unwrap_or_default();
    let topic = query(&[("topics", Some(&format!("connect:{host}{of_volume}")))]);
    let mut state: ConnectState = client.get(&path).await?;
    // Without a stream, when the array has as many as it can, it is asked each second.
    let mut live = client.events(&format!("/api/v1/live{topic}")).await.ok();
    let state = loop {
        for fact in facts(&state) {
            if told.insert(fact.clone()) {
                changed = Instant::now();
                output.report(&harmless(&fact));
            }
        }
        if state.ready || changed.elapsed() >= patience {
            break state;
        }
        let left = patience.saturating_sub(changed.elapsed());
        state = match &mut live {
            Some(events) => match tokio::time::timeout(left, next(events)).await {
                Ok(Some(next)) => next,
                Ok(None) => {
                    live = None;
                    client.get(&path).await?
                }
                Err(_elapsed) => state,
            },
            None => {
                tokio::time::sleep(INTERVAL.min(left)).await;
                client.get(&path).await?
            }
        };
    };
    if output.is_document() {
        output.document(&state)?;
    }
    if state.ready {
        let missing = &state.missing_portals;
        if !missing.is_empty() {
            output.warn(&harmless(&format!("not all paths are used: log in at {} too", missing.join(", "))));
        }
        output.report(&format!("host {} can use {}", state.host, state.volume.as_deref().unwrap_or("its volumes")));
        return Ok(());
    }
    let missing: Vec<String> = state.missing.iter().map(|missing| harmless(&missing.text)).collect();
    Err(CliError::findings(missing.join("; "), help(&state)))
}

/// The next state of the host; `None` if the stream has ended or cannot be read.
async fn next(events: &mut ServerEvents) -> Option<ConnectState> {
    loop {
        let (name, data) = events.next().await.ok()??;
        if name == "connect" {
            return serde_json::from_str(&data).ok();
        }
    }
}

/// What to look at, by what is missing first.
fn help(state: &ConnectState) -> &'static str {
    let attempts = state.logins.len();
    match state.missing.first().map(|missing| missing.code.as_str()) {
        Some("initiator") => "give it one:  windlass host set HOST --iqn IQN",
        Some("grant") => "grant it:  windlass access grant VOLUME --host HOST",
        Some("login") if attempts == 0 => {
            "nothing came from the host: firewall, VLAN, the addresses of  windlass portal list,  and its initiator name, \
             which  windlass session logins  shows"
        }
        Some("login") => "see why:  windlass session logins --filter host=HOST",
        Some("capacity") => {
            "rescan on the host:  iscsiadm -m session --rescan,  esxcli storage core adapter rescan --all"
        }
        _ => "see why:  windlass offload log VOLUME",
    }
}

/// Facts in the order in which they come about; equal ones have equal texts.
fn facts(state: &ConnectState) -> Vec<String> {
    let mut facts = Vec::new();
    if let Some(Login { from, portal, outcome: LoginOutcome::Ok, .. }) = &state.discovery {
        facts.push(format!("ok       {from} asked {portal} for targets"));
    }
    // Newest first; before a login that succeeded, failures are history.
    let since_success = state.logins.iter().take_while(|login| login.outcome != LoginOutcome::Ok || login.discovery);
    let failures = since_success.filter(|login| login.outcome != LoginOutcome::Ok);
    facts.extend(failures.map(|login| {
        let Login { initiator, from, portal, detail, .. } = login;
        format!("refused  {initiator} from {from} at {portal}: {detail}")
    }));
    let path = |path: &api::ConnectPath| format!("ok       logged in at {} from {}", path.portal, path.from);
    facts.extend(state.paths.iter().map(path));
    let lun = state.lun.map_or_else(|| "a logical unit".to_owned(), |lun| format!("LUN {lun}"));
    facts.extend(state.asked.capacity.map(|_| format!("ok       saw {lun} and read its capacity")));
    let pages = [(state.asked.b0, "B0h"), (state.asked.b2, "B2h"), (state.asked.x8f, "8Fh")];
    let pages = pages.into_iter().filter(|(time, _)| time.is_some());
    facts.extend(pages.map(|(_, page)| format!("ok       asked for page {page}")));
    facts.extend(state.first_io.map(|_| "ok       first read or write".to_owned()));
    facts.extend(state.primitives.iter().filter_map(primitive));
    facts
}

fn primitive(row: &HostPrimitive) -> Option<String> {
    let name = row.name.to_uppercase();
    Some(match (row.status, &row.last_refusal) {
        (PrimitiveStatus::Supported, _) => format!("ok       {name} works"),
        (PrimitiveStatus::NotSupported, Some(refusal)) => format!("refused  {name}: {}", refusal.reason),
        (PrimitiveStatus::NotSupported, None) => format!("refused  {name}"),
        (PrimitiveStatus::Unknown, _) => return None,
    })
}
