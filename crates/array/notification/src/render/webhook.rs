//! JSON bodies of webhooks, and their signature.

use super::text::{line, severity, subject};
use super::{Sender, word};
use crate::notice::{Kind, Message, Notice};
use api::WebhookBody;
use hmac::{Hmac, Mac};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use sha2::Sha256;

/// Body of a POST request.
pub(crate) fn body(sender: &Sender, message: &Message, form: WebhookBody, channel: &str) -> Vec<u8> {
    let body = match form {
        WebhookBody::Windlass => own(sender, message),
        WebhookBody::Alertmanager => alertmanager(sender, message, channel),
    };
    body.to_string().into_bytes()
}

/// Value of the header `Windlass-Signature`: `t=SECONDS,sha256=HEX`. The HMAC is that of `SECONDS.BODY`, so that a
/// receiver can refuse a request that is sent again later.
pub(crate) fn signature(secret: &str, now: Timestamp, body: &[u8]) -> Option<String> {
    let seconds = now.as_second();
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).ok()?;
    mac.update(format!("{seconds}.").as_bytes());
    mac.update(body);
    let hex = identity::hexadecimal(&mac.finalize().into_bytes());
    Some(format!("t={seconds},sha256={hex}"))
}

fn own(sender: &Sender, message: &Message) -> Value {
    json!({
        "version": 1,
        "id": message.id,
        "test": message.is_test,
        "time": message.time,
        "array": { "machine": sender.machine, "name": sender.array, "version": sender.version },
        "text": subject(sender, message),
        "notices": message.notices,
        "left_out": message.left_out,
    })
}

/// Body of Alertmanager's webhook, version 4.
fn alertmanager(sender: &Sender, message: &Message, channel: &str) -> Value {
    let alerts: Vec<Value> = if message.is_test {
        let labels = json!({
            "alertname": "notification-test", "severity": "info", "subject": channel,
            "instance": sender.machine, "job": "windlass",
        });
        let annotations = json!({ "summary": subject(sender, message), "description": "This is a test." });
        vec![alert("resolved", labels, annotations, message.time, Some(message.time), &word(message.id))]
    } else {
        message.notices.iter().map(|notice| alert_of(sender, notice)).collect()
    };
    let is_over = message.is_test || message.notices.iter().all(|notice| notice.kind == Kind::Cleared);
    let common = |field: &str| common(&alerts, field);
    json!({
        "version": "4",
        "groupKey": format!("windlass:{}", sender.array),
        "truncatedAlerts": message.left_out,
        "status": if is_over { "resolved" } else { "firing" },
        "receiver": channel,
        "groupLabels": {},
        "commonLabels": common("labels"),
        "commonAnnotations": common("annotations"),
        "externalURL": "",
        "alerts": alerts,
    })
}

fn alert_of(sender: &Sender, notice: &Notice) -> Value {
    let labels = json!({
        "alertname": notice.code, "severity": severity(notice.severity), "subject": notice.subject,
        "instance": sender.machine, "job": "windlass",
    });
    let annotations = json!({
        "summary": line(notice), "description": notice.message, "help": notice.help,
    });
    let status = if notice.kind == Kind::Cleared { "resolved" } else { "firing" };
    alert(status, labels, annotations, notice.since, notice.ended, &word(notice.alert))
}

fn alert(
    status: &str,
    labels: Value,
    annotations: Value,
    since: Timestamp,
    ended: Option<Timestamp>,
    fingerprint: &str,
) -> Value {
    // Alertmanager's word for an alert without an end.
    let ends_at = ended.map_or_else(|| "0001-01-01T00:00:00Z".to_owned(), |ended| ended.to_string());
    json!({
        "status": status, "labels": labels, "annotations": annotations, "startsAt": since, "endsAt": ends_at,
        "generatorURL": "", "fingerprint": fingerprint,
    })
}

/// Entries that all alerts have in common.
fn common(alerts: &[Value], field: &str) -> Value {
    let mut of = alerts.iter().map(|alert| alert.get(field).and_then(Value::as_object));
    let mut common: Map<String, Value> = of.next().flatten().cloned().unwrap_or_default();
    for other in of.flatten() {
        common.retain(|name, value| other.get(name) == Some(value));
    }
    Value::Object(common)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231 has no such test case: the expected value is that of  `printf '1.x' | openssl dgst -sha256 -hmac key`.
    #[test]
    fn the_signature_covers_time_and_body() {
        let now = Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_secs(1);
        let of = |body: &[u8]| signature("key", now, body);
        assert_eq!(of(b"x").as_deref(), Some(EXPECTED));
        assert_ne!(of(b"y"), of(b"x"));
        assert_ne!(signature("key", Timestamp::UNIX_EPOCH, b"x"), of(b"x"));
    }

    const EXPECTED: &str = "t=1,sha256=fc4913c41a7bf793267e2a384f3261c9436ec2cd097bd745e7b0d99113f510ec";
}
