//! Streams of a command, and the confirmation of irreversible commands.

use ratatui::crossterm::terminal;
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
    /// Cells of a line of the terminal, if standard output is one.
    width: Option<usize>,
    /// True if standard error is a terminal, so that its last line can be redrawn.
    progress: bool,
    /// True once the reader of the output has gone.
    closed: bool,
}

impl<'a> Console<'a> {
    /// Streams of this process; detects whether they are terminals.
    pub fn standard(out: &'a mut dyn Write, err: &'a mut dyn Write) -> Self {
        let interactive = io::stdin().is_terminal() && io::stderr().is_terminal();
        let progress = io::stderr().is_terminal();
        let terminal = io::stdout().is_terminal();
        let size = || terminal::size().ok().map(|(columns, _)| usize::from(columns)).filter(|columns| *columns > 0);
        let width = terminal.then(size).flatten();
        Self { out, err, interactive, terminal, width, progress, closed: false }
    }

    /// Captured streams, without a user.
    pub fn captured(out: &'a mut dyn Write, err: &'a mut dyn Write) -> Self {
        Self { out, err, interactive: false, terminal: false, width: None, progress: false, closed: false }
    }

    /// Captured streams that get what a terminal with lines of so many cells gets, without a user.
    pub fn captured_terminal(width: usize, out: &'a mut dyn Write, err: &'a mut dyn Write) -> Self {
        Self { terminal: true, width: Some(width), ..Self::captured(out, err) }
    }

    /// Cells of a line of the terminal; absent if standard output is a file or a pipe.
    pub(crate) fn width(&self) -> Option<usize> {
        self.width
    }

    /// True if standard output is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Writes data. A closed pipe (`windlass … | head`) is not an error.
    pub(crate) fn data(&mut self, text: &str) -> io::Result<()> {
        match self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            result => result,
        }
    }

    /// True unless the reader of the output has gone, which a write notices.
    pub(crate) fn has_reader(&self) -> bool {
        !self.closed
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
