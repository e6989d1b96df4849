//! Runs a script on a socket. Errors of the connection are ignored: the target may end a faulty
//! conversation.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use super::script::{Script, Step};

/// Time limit for connecting.
const CONNECT: Duration = Duration::from_secs(5);
/// Time for which a target may block a write before the rest is given up.
const SEND: Duration = Duration::from_millis(500);
/// Longest time for one step of reading.
const READ: Duration = Duration::from_millis(600);

/// Result of a script.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ScriptResult {
    pub sent_bytes: u64,
    pub received_bytes: u64,
    /// The connection could not be opened.
    pub refused: bool,
    /// The secret was received.
    pub secret: bool,
}

/// Search for a secret in a stream.
struct Search<'a> {
    secret: &'a [u8],
    tail: Vec<u8>,
}

impl Search<'_> {
    fn found(&mut self, bytes: &[u8]) -> bool {
        if self.secret.is_empty() {
            return false;
        }
        self.tail.extend_from_slice(bytes);
        let found = self.tail.windows(self.secret.len()).any(|window| window == self.secret);
        let keep = self.tail.len().saturating_sub(self.secret.len() - 1);
        self.tail.drain(..keep);
        found
    }
}

/// Runs a script.
pub(super) fn play(portal: SocketAddr, script: &Script, secret: &[u8]) -> ScriptResult {
    let mut result = ScriptResult::default();
    let Ok(mut stream) = TcpStream::connect_timeout(&portal, CONNECT) else {
        return ScriptResult { refused: true, ..result };
    };
    // Without these a script could wait for a very long time; an open connection does not refuse
    // them.
    if stream.set_write_timeout(Some(SEND)).is_err() || stream.set_nodelay(true).is_err() {
        return ScriptResult { refused: true, ..result };
    }
    let mut search = Search { secret, tail: Vec::new() };
    let mut scratch = vec![0; 64 << 10];
    for step in &script.steps {
        let goes_on = match step {
            Step::Send(bytes) => send(&mut stream, bytes, &mut result),
            Step::Pause(milliseconds) => {
                thread::sleep(Duration::from_millis(*milliseconds));
                true
            }
            Step::Read(milliseconds) => {
                let deadline = Instant::now() + READ;
                let mut open = true;
                while open && Instant::now() < deadline {
                    match read(&mut stream, &mut scratch, *milliseconds, &mut result, &mut search) {
                        Some(0) => break,
                        Some(_) => {}
                        None => open = false,
                    }
                }
                open
            }
            Step::Sip(times, pause) => {
                let mut open = true;
                for _ in 0..*times {
                    thread::sleep(Duration::from_millis(*pause));
                    let Some(one) = scratch.get_mut(..1) else { break };
                    open = open && read(&mut stream, one, 1, &mut result, &mut search).is_some();
                }
                open
            }
            Step::Finish => stream.shutdown(Shutdown::Write).is_ok(),
        };
        if !goes_on {
            break;
        }
    }
    result
}

/// Sends bytes; returns false when the connection is over or the target blocks.
fn send(stream: &mut TcpStream, mut bytes: &[u8], result: &mut ScriptResult) -> bool {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(0) => return false,
            Ok(written) => {
                result.sent_bytes += written as u64;
                bytes = bytes.get(written..).unwrap_or_default();
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
    true
}

/// Reads once. Returns the number of bytes, 0 when none came in time, or `None` when the connection
/// is over.
fn read(
    stream: &mut TcpStream,
    scratch: &mut [u8],
    milliseconds: u64,
    result: &mut ScriptResult,
    search: &mut Search<'_>,
) -> Option<usize> {
    stream.set_read_timeout(Some(Duration::from_millis(milliseconds.max(1)))).ok()?;
    match stream.read(scratch) {
        Ok(0) => None,
        Ok(length) => {
            result.received_bytes += length as u64;
            result.secret |= search.found(scratch.get(..length).unwrap_or_default());
            Some(length)
        }
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {
            Some(0)
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_over_the_edge_of_two_reads() {
        let mut search = Search { secret: b"secret", tail: Vec::new() };
        assert!(!search.found(b"nothing here but se"));
        assert!(search.found(b"cret"));
        assert!(!search.found(b"ecret"));
        let mut none = Search { secret: b"", tail: Vec::new() };
        assert!(!none.found(b"anything"));
    }
}
