//! `windlass status`: summary of the array on one screen.

use crate::advice::alert_help;
use crate::client::Client;
use crate::error::CliError;
use crate::event::severity;
use crate::forecast;
use crate::job;
use crate::output::{Format, Output, Value};
use crate::pool::state;
use api::{ArraySample, Health, OffloadTotal, Pool, Sample, Severity, Status};
use std::time::Duration;
use text::duration::{age, measured};

pub(crate) async fn run(client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let status = client.get::<Status>("/api/v1/system").await?;
    match output.format() {
        Format::Json | Format::Yaml => output.document(&status),
        Format::Name => output.text(&format!("{}\n", status.target)),
        Format::Csv => Err(CliError::usage("status has no rows: use -o table, json or yaml".to_owned())),
        Format::Table | Format::Wide | Format::Esxcli | Format::Sh => {
            let mut forecasts = Vec::new();
            for pool in &status.pools {
                // Without one, the screen says all the rest.
                forecasts.push(forecast::of(&pool.name, client).await.unwrap_or_else(|error| format!("none: {error}")));
            }
            let load = match client.get::<Sample>("/api/v1/samples/latest").await {
                Ok(sample) => sample.array.as_ref().map(|array| load(array, output)),
                Err(error) => Some(format!("none: {error}")),
            };
            let text = screen(&status, load, &forecasts, output);
            output.text(&text)
        }
    }
}

/// State of the array. An array with a warning serves everything, but is not called healthy.
fn health(status: &Status) -> String {
    let warnings = status.alerts.iter().filter(|alert| alert.severity != Severity::Info).count();
    match (status.health, warnings) {
        (Health::Healthy, 0) => "healthy".to_owned(),
        (Health::Healthy, 1) => "serving, with 1 warning".to_owned(),
        (Health::Healthy, _) => format!("serving, with {warnings} warnings"),
        (Health::Degraded, _) => "degraded".to_owned(),
        (Health::Failed, _) => "failed".to_owned(),
    }
}

/// Commands and bytes of the last second, and their latency over it.
fn load(array: &ArraySample, output: &Output<'_, '_>) -> String {
    let operations = array.reads + array.writes;
    if operations == 0 && array.offloaded_bytes == 0 {
        return "no reads or writes in the last second".to_owned();
    }
    let mut text = format!("{operations} IOPS · {}/s", output.size(array.read_bytes + array.written_bytes));
    for (name, us) in [("p50", array.p50_us), ("p99", array.p99_us)] {
        text += &us.map(|us| format!(" · {name} {}", measured(Duration::from_micros(us)))).unwrap_or_default();
    }
    text + &format!(" · queue {} · offloaded {}/s", array.queue_depth, output.size(array.offloaded_bytes))
}

/// Formats lines, each with a label in front.
fn screen(status: &Status, load: Option<String>, forecasts: &[String], output: &Output<'_, '_>) -> String {
    let health = health(status);
    let mut lines = vec![
        (
            "array",
            format!("{health} · version {} · up {}", status.version, age(Duration::from_secs(status.uptime_seconds))),
        ),
        ("target", status.target.clone()),
    ];
    lines.extend(load.map(|load| ("load", load)));
    for portal in &status.portals {
        let advertised =
            if portal.advertised == portal.listen { String::new() } else { format!(" (hosts: {})", portal.advertised) };
        lines.push(("portal", format!("{} {}{advertised}", portal.protocol, portal.listen)));
    }
    for (pool, forecast) in status.pools.iter().zip(forecasts) {
        lines.extend(pool_lines(pool, output));
        lines.push(("forecast", forecast.clone()));
    }
    for alert in &status.alerts {
        let message = Value::from(alert.message.as_str()).shown(false);
        lines.push(("alert", format!("{} · {}: {message}", severity(alert.severity), alert.subject)));
        lines.push(("alert", format!("  {}", alert_help(alert))));
    }
    for job in &status.jobs {
        lines.push(("job", job::line(job)));
    }
    let objects = [
        (status.volumes, "volume"),
        (status.snapshots, "snapshot"),
        (status.hosts, "host"),
        (status.sessions, "session"),
    ];
    let objects = objects.map(|(count, noun)| format!("{count} {noun}{}", if count == 1 { "" } else { "s" }));
    lines.push(("objects", objects.join(" · ")));
    for total in &status.offload {
        lines.push(("offload", offload_line(total, output)));
    }
    let mut shown = String::new();
    let mut previous = "";
    for (word, text) in &lines {
        let word = if *word == previous { "" } else { word };
        shown += &format!("{word:<9}{text}\n");
        previous = if word.is_empty() { previous } else { word };
    }
    shown
}

/// Lines of a pool, each with its label.
fn pool_lines(pool: &Pool, output: &Output<'_, '_>) -> Vec<(&'static str, String)> {
    let percent = (u128::from(pool.used_bytes) * 100).checked_div(u128::from(pool.size_bytes)).unwrap_or(0);
    let text = format!(
        "{} {} · used {} of {} ({percent}%) · free {} · provisioned {}",
        pool.name,
        state(pool.state),
        output.size(pool.used_bytes),
        output.size(pool.size_bytes),
        output.size(pool.free_bytes),
        output.size(pool.provisioned_bytes),
    );
    let mut lines = vec![("pool", text)];
    if let Some(reason) = &pool.stopped_reason {
        let reason = Value::from(reason.as_str()).shown(false);
        lines.push(("pool", format!("{} stopped: {reason}", pool.name)));
        lines.push(("pool", "acknowledged data is safe; mend the cause and restart the array".to_owned()));
    }
    lines
}

/// Text of an offload primitive.
fn offload_line(total: &OffloadTotal, output: &Output<'_, '_>) -> String {
    let mut text = format!(
        "{:<5} {} command{}",
        total.primitive.to_uppercase(),
        total.commands,
        if total.commands == 1 { "" } else { "s" }
    );
    if total.host_bytes_avoided > 0 {
        text += &format!(" · {} kept off the wire", output.size(total.host_bytes_avoided));
    }
    if total.refused > 0 {
        text += &format!(" · {} refused (see: windlass offload log)", total.refused);
    }
    if total.errors > 0 {
        text += &format!(" · {} failed (see: windlass offload log)", total.errors);
    }
    text
}
