//! Lines of progress of a process. What a process writes is checked as if a stranger had written it: lines have a
//! longest length, and there is a limit of lines a second, beyond which they wait in the pipe.

use api::LabProgress;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::Instant;

/// Longest line in bytes.
pub(super) const MAX_LINE_BYTES: usize = 256 << 10;
/// Bytes that are read at once.
const PIECE_BYTES: usize = 16 << 10;
/// Largest number of lines in a period, and its length.
const LINES: u32 = 100;
const PERIOD: Duration = Duration::from_millis(500);

/// What a process has done.
#[derive(Debug, PartialEq)]
pub(in crate::laboratory) enum Heard {
    /// It has reported something.
    Progress(LabProgress),
    /// It has closed its output.
    Closed,
    /// It has written what is no progress.
    Nonsense(String),
}

/// Reader of lines.
pub(super) struct Lines<R> {
    output: R,
    /// Bytes that are not used yet.
    bytes: Vec<u8>,
    piece: Box<[u8]>,
    period: Instant,
    lines: u32,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn of(output: R) -> Self {
        let piece = vec![0; PIECE_BYTES].into_boxed_slice();
        Self { output, bytes: Vec::new(), piece, period: Instant::now(), lines: 0 }
    }

    /// The next line. Nothing is lost if the future is dropped.
    pub(super) async fn next(&mut self) -> Heard {
        loop {
            if let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
                self.wait_for_its_turn().await;
                let line: Vec<u8> = self.bytes.drain(..=end).collect();
                return read(&line);
            }
            if self.bytes.len() > MAX_LINE_BYTES {
                return Heard::Nonsense(format!("its process wrote a line of more than {MAX_LINE_BYTES} bytes"));
            }
            match self.output.read(&mut self.piece).await {
                Ok(0) | Err(_) => return Heard::Closed,
                Ok(count) => self.bytes.extend_from_slice(self.piece.get(..count).unwrap_or_default()),
            }
        }
    }

    async fn wait_for_its_turn(&mut self) {
        if self.lines >= LINES {
            tokio::time::sleep_until(self.period + PERIOD).await;
        }
        if self.period.elapsed() >= PERIOD {
            (self.period, self.lines) = (Instant::now(), 0);
        }
        self.lines += 1;
    }
}

fn read(line: &[u8]) -> Heard {
    match serde_json::from_slice(line) {
        Ok(progress) => Heard::Progress(progress),
        Err(error) => Heard::Nonsense(format!("its process wrote what is no progress: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn heard(text: &[u8]) -> Vec<Heard> {
        let mut lines = Lines::of(text);
        let mut all = Vec::new();
        loop {
            let heard = lines.next().await;
            let is_last = !matches!(heard, Heard::Progress(_));
            all.push(heard);
            if is_last {
                return all;
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn lines_are_read_and_anything_else_is_nonsense() {
        let step = |step: &str| Heard::Progress(LabProgress::Step { step: step.to_owned() });
        let text = b"{\"event\":\"step\",\"step\":\"a\"}\n{\"event\":\"step\",\"step\":\"b\"}\nrest";
        assert_eq!(heard(text).await, [step("a"), step("b"), Heard::Closed]);
        for wrong in
            [&b"\xff\xfe\n"[..], b"\n", b"{\"event\":\"launch\"}\n", &vec![b'x'; MAX_LINE_BYTES + PIECE_BYTES + 1]]
        {
            assert!(matches!(heard(wrong).await.as_slice(), [Heard::Nonsense(_)]), "{:?}", wrong.get(..20));
        }
    }

    /// A process that writes without end must not take the time of the thread.
    #[tokio::test(start_paused = true)]
    async fn a_flood_of_lines_waits() {
        let flood = b"{\"event\":\"progress\",\"done\":1,\"total\":2}\n".repeat(1000);
        let begun = Instant::now();
        assert_eq!(heard(&flood).await.len(), 1001);
        assert!(begun.elapsed() >= PERIOD * 9, "{:?}", begun.elapsed());
    }
}
