//! Streams of a command, and the confirmation of irreversible commands.

use std::io::{self, BufRead, IsTerminal, Write};

/// Control sequence: returns to the start of the line and clears it (ECMA-48 EL).
const CLEAR_LINE: &str = "\r\x1b[K";

/// Standard output and error, or their substitutes in a test.
pub struct Console<'a> {
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    /// True if standard input and error are terminals, so that the user can answer a question.
    interactive: bool,
    /// True if standard output is a terminal.
    terminal: bool,
    /// True if standard error is a terminal, so that its last line can be redrawn.
    progress: bool,
}

impl<'a> Console<'a> {
    /// Streams of this process; detects whether they are terminals.
    pub fn standard(out: &'a mut dyn Write, err: &'a mut dyn Write) -> Self {
        let interactive = io::stdin().is_terminal() && io::stderr().is_terminal();
        let progress = io::stderr().is_terminal();
        Self { out, err, interactive, terminal: io::stdout().is_terminal(), progress }
    }

    /// Captured streams, without a user.
    pub fn captured(out: &'a mut dyn Write, err: &'a mut dyn Write) -> Self {
        Self { out, err, interactive: false, terminal: false, progress: false }
    }

    /// True if standard output is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Writes data. A closed pipe (`windlass … | head`) is not an error.
    pub(crate) fn data(&mut self, text: &str) -> io::Result<()> {
        match self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result,
        }
    }

    /// Writes a line to standard error; a closed one is ignored.
    pub(crate) fn error(&mut self, text: &str) {
        let _closed = writeln!(self.err, "{text}");
    }

    /// Redraws the progress line on standard error, if that is a terminal.
    pub(crate) fn progress(&mut self, line: &str) {
        if self.progress {
            let _closed = write!(self.err, "{CLEAR_LINE}{line}").and_then(|()| self.err.flush());
        }
    }

    /// Clears the progress line.
    pub(crate) fn end_progress(&mut self) {
        self.progress("");
    }

    /// Asks a yes-or-no question. `None` without a terminal: no answer is read.
    pub(crate) fn confirm(&mut self, question: &str) -> io::Result<Option<bool>> {
        if !self.interactive {
            return Ok(None);
        }
        write!(self.err, "{question} [y/N] ")?;
        self.err.flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        Ok(Some(matches!(answer.trim(), "y" | "Y" | "yes")))
    }
}
