//! A client of the administrative socket that keeps its connection: for measurements, in which a process for each
//! request would cost more than the request.

use anyhow::{Context, Result, ensure};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Longest time without a byte of a response.
const PATIENCE: Duration = Duration::from_secs(60);

/// Open connection to the administrative socket.
#[derive(Debug)]
pub struct Client(UnixStream);

impl Client {
    /// Connects to the socket at `path`.
    ///
    /// # Errors
    ///
    /// Nothing listens there.
    pub fn connect(path: &Path) -> Result<Self> {
        let stream = UnixStream::connect(path).with_context(|| format!("cannot connect to {}", path.display()))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self(stream))
    }

    /// Sends a request with a body of JSON, or an empty one; returns status and body of the response.
    ///
    /// # Errors
    ///
    /// The connection fails, or the response is not HTTP/1.1 with a length.
    pub fn send(&mut self, method: &str, path: &str, body: &str) -> Result<(u16, String)> {
        self.request(method, path, body)?;
        let mut received = Vec::new();
        let end = loop {
            if let Some(at) = received.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            self.receive(&mut received)?;
        };
        let body = received.split_off(end);
        let head = String::from_utf8(received).context("the head of a response is not UTF-8")?.to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).context("no status")?;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(Ok(0), |length| length.trim().parse()).context("a strange length")?;
        let mut body = body;
        while body.len() < length {
            self.receive(&mut body)?;
        }
        Ok((status, String::from_utf8(body).context("a body is not UTF-8")?))
    }

    /// Body of a GET that succeeds.
    ///
    /// # Errors
    ///
    /// As of [`Self::send`], or another status than 200.
    pub fn get(&mut self, path: &str) -> Result<String> {
        let (status, body) = self.send("GET", path, "")?;
        ensure!(status == 200, "GET {path}: {status} {body}");
        Ok(body)
    }

    /// Sends a GET whose response has no end, such as that of `/api/v1/live`; returns the connection.
    ///
    /// # Errors
    ///
    /// The connection fails.
    pub fn stream(mut self, path: &str) -> Result<UnixStream> {
        self.request("GET", path, "")?;
        Ok(self.0)
    }

    fn request(&mut self, method: &str, path: &str, body: &str) -> Result<()> {
        let length = body.len();
        let head = format!("{method} {path} HTTP/1.1\r\nHost: windlass\r\nContent-Type: application/json\r\n");
        write!(self.0, "{head}Content-Length: {length}\r\n\r\n{body}")?;
        Ok(())
    }

    fn receive(&mut self, received: &mut Vec<u8>) -> Result<()> {
        let mut buffer = vec![0; 1 << 16];
        let count = self.0.read(&mut buffer)?;
        ensure!(count > 0, "the array closed the connection");
        received.extend_from_slice(&buffer[..count]);
        Ok(())
    }
}
