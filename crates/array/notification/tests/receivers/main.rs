//! Messages to real receivers on 127.0.0.1: what arrives, what is said of it, and peers that misbehave.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod hostile;
mod http;
mod peer;
mod smtp;
mod syslog;

use api::{ChannelSettings, Severity};
use jiff::Timestamp;
use notification::{ChannelRecord, Kind, Message, Notice, Sender, alert_id};
use uuid::Uuid;

/// The array that sends.
fn sender() -> Sender {
    Sender {
        machine: "array1".to_owned(),
        array: "iqn.2026-01.org.example:test".to_owned(),
        version: "0.1".to_owned(),
        process: 7,
    }
}

/// Channel with these settings.
fn channel(settings: ChannelSettings) -> ChannelRecord {
    ChannelRecord {
        id: Uuid::nil(),
        name: "ops".to_owned(),
        enabled: true,
        min_severity: Severity::Warning,
        codes: Vec::new(),
        quiet_hours: None,
        settings,
        revision: 1,
        failing: false,
        last: None,
        created: Timestamp::UNIX_EPOCH,
    }
}

/// Message about one alert.
fn message(kind: Kind) -> Message {
    let notice = Notice {
        kind,
        alert: alert_id("pool-full", "p0"),
        code: "pool-full".to_owned(),
        subject: "p0\r\nBcc: eve@example.org".to_owned(),
        severity: Severity::Critical,
        since: "2026-01-01T00:00:00Z".parse().unwrap(),
        ended: (kind == Kind::Cleared).then(|| "2026-01-01T01:00:00Z".parse().unwrap()),
        message: "the pool is full".to_owned(),
        help: "add space".to_owned(),
    };
    let time = "2026-01-01T00:00:01Z".parse().unwrap();
    Message { id: Uuid::from_u128(42), time, is_test: false, notices: vec![notice], left_out: 0 }
}

async fn send(settings: ChannelSettings, kind: Kind) -> Result<String, String> {
    notification::send(&channel(settings), &message(kind), &sender()).await
}
