//! Server-Sent Events of the array (`/api/v1/live`).

use crate::error::CliError;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use tokio::task::JoinHandle;

/// Largest event: that of a run of the laboratory has its points.
const MAX_EVENT_BYTES: usize = 4 << 20;

/// An open stream. Its connection ends when it is dropped.
pub(crate) struct ServerEvents {
    body: Incoming,
    /// Bytes that are no whole event yet.
    bytes: Vec<u8>,
    /// The connection takes its loss for the end of the exchange.
    _sender: SendRequest<Full<Bytes>>,
    connection: JoinHandle<()>,
}

impl Drop for ServerEvents {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

impl ServerEvents {
    /// `connection`: the task that moves its bytes.
    pub(crate) const fn new(body: Incoming, sender: SendRequest<Full<Bytes>>, connection: JoinHandle<()>) -> Self {
        Self { body, bytes: Vec::new(), _sender: sender, connection }
    }

    /// Name and data of the next event; `None` at the end of the stream. Nothing is lost if the call is given up.
    pub(crate) async fn next(&mut self) -> Result<Option<(String, String)>, CliError> {
        let cannot = |reason: String| CliError::failed(format!("cannot read the array's stream: {reason}"));
        loop {
            if let Some(event) = take(&mut self.bytes) {
                return Ok(Some(event));
            }
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            let frame = frame.map_err(|error| cannot(error.to_string()))?;
            self.bytes.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
            if self.bytes.len() > MAX_EVENT_BYTES {
                return Err(cannot(format!("an event is larger than {MAX_EVENT_BYTES} bytes")));
            }
        }
    }
}

/// Takes the first whole event that has a name; comments and retry times have none.
fn take(bytes: &mut Vec<u8>) -> Option<(String, String)> {
    loop {
        let end = bytes.windows(2).position(|two| two == b"\n\n")?;
        let block: Vec<u8> = bytes.drain(..end + 2).collect();
        let text = String::from_utf8_lossy(&block);
        let (mut name, mut data) = (None, String::new());
        for line in text.lines() {
            match line.split_once(':') {
                Some(("event", value)) => name = Some(value.trim_start().to_owned()),
                Some(("data", value)) => data.push_str(value.strip_prefix(' ').unwrap_or(value)),
                _ => {}
            }
        }
        if let Some(name) = name {
            return Some((name, data));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::take;

    #[test]
    fn events_are_taken_whole_and_comments_are_none() {
        let mut bytes =
            b":\n\nevent: hello\nid: 1.2.3\nretry: 2000\ndata: {\"a\": \"b:c\"}\n\nevent: connect\nda".to_vec();
        assert_eq!(take(&mut bytes), Some(("hello".to_owned(), "{\"a\": \"b:c\"}".to_owned())));
        assert_eq!(take(&mut bytes), None);
        bytes.extend_from_slice(b"ta: {}\n\n");
        assert_eq!(take(&mut bytes), Some(("connect".to_owned(), "{}".to_owned())));
        assert!(bytes.is_empty() && take(&mut bytes).is_none());
    }
}
