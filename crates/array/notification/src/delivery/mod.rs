//! Sends messages to peers. A try ends within [`TIME_LIMIT`], whatever the peer does.

mod email;
mod syslog;
mod tls;
mod webhook;

use crate::channel::ChannelRecord;
use crate::notice::{AuditLine, Message};
use crate::render::{Sender, words};
use api::{ChannelSettings, SyslogSettings};
use std::fmt::Write;
use std::time::Duration;

/// Longest time of a try.
pub const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Sends a message. Returns the peer's own words, or the reason for the failure with them; both are of one line and
/// harmless. Must run in a tokio runtime with I/O and time.
pub async fn send(channel: &ChannelRecord, message: &Message, sender: &Sender) -> Result<String, String> {
    let sending = async {
        match &channel.settings {
            ChannelSettings::Email(settings) => email::send(settings, message, sender).await,
            ChannelSettings::Webhook(settings) => webhook::send(settings, &channel.name, message, sender).await,
            ChannelSettings::Syslog(settings) => syslog::send(settings, message, sender).await,
        }
    };
    let result = tokio::time::timeout(TIME_LIMIT, sending).await;
    let result = result.unwrap_or_else(|_elapsed| Err(format!("no answer within {} s", TIME_LIMIT.as_secs())));
    result.map(|text| words(&text)).map_err(|text| words(&text))
}

/// Sends lines of the audit to a syslog receiver, as [`send`] does a message.
pub async fn send_audit(settings: &SyslogSettings, lines: &[AuditLine], sender: &Sender) -> Result<String, String> {
    let result = tokio::time::timeout(TIME_LIMIT, syslog::send_audit(settings, lines, sender)).await;
    let result = result.unwrap_or_else(|_elapsed| Err(format!("no answer within {} s", TIME_LIMIT.as_secs())));
    result.map(|text| words(&text)).map_err(|text| words(&text))
}

/// An error with its causes, each once.
fn described(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let of_cause = error.to_string();
        if !text.contains(&of_cause) {
            let _infallible = write!(text, ": {of_cause}");
        }
        cause = error.source();
    }
    text
}
