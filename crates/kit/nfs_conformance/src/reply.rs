//! Reply to a COMPOUND, with methods that check it. Each failure states the expected and the found
//! value.
//!
//! Every reply is checked for what holds of all (RFC 8881 §16.2.3): the tag comes back, each result is
//! that of its operation, none follows a failure, and the status is that of the last result.

use bytes::Bytes;
use nfs::v4::compound::{CompoundOperation, CompoundOutcome, ILLEGAL, Results};
use nfs::v4::operations::{OPERATIONS, Operation, Outcome};
use nfs::v4::session::SequenceOk;
use nfs::v4::{Done, Status};
use verdict::{NotPassed, Verdict, failed};
use xdr::Reader;

/// Reply to a COMPOUND.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Bytes of the results, after the header of RPC.
    pub bytes: Bytes,
    /// Results of SEQUENCE, if it was sent by [`crate::client::Client::call`] and succeeded.
    pub sequence: Option<SequenceOk>,
    /// Results of the other operations, up to the first failure.
    pub results: Vec<Outcome>,
    status: Done,
    /// Number of operations that were sent, without SEQUENCE.
    sent: usize,
}

/// A status as a word.
pub fn word(status: Done) -> String {
    status.map_or_else(|status| status.to_string(), |()| "NFS4_OK".into())
}

fn name(outcome: &Outcome) -> &'static str {
    OPERATIONS.iter().find(|row| row.code == outcome.code()).map_or("an operation without a name", |row| row.name)
}

impl Reply {
    /// Reads the reply to `operations` under this tag.
    pub fn decode(bytes: Bytes, tag: &[u8], operations: &[Operation]) -> Result<Self, NotPassed> {
        let malformed = |error: xdr::XdrError| NotPassed::Failed(format!("malformed reply: {error}"));
        let mut decoded = Results::<Operation>::decode(Reader::strict(bytes.clone())).map_err(malformed)?;
        if *decoded.tag != *tag {
            return failed(format!("tag: expected \"{}\", found {:?}", tag.escape_ascii(), decoded.tag));
        }
        let mut results: Vec<Outcome> = Vec::new();
        let mut wanted = operations.iter();
        while let Some(outcome) = decoded.next_outcome() {
            let outcome = outcome.map_err(malformed)?;
            if results.last().is_some_and(|last| last.status().is_err()) {
                return failed(format!("a result of {} after a failed operation", name(&outcome)));
            }
            match wanted.next().map(CompoundOperation::code) {
                Some(code) if code == outcome.code() || outcome.code() == ILLEGAL => {}
                code => return failed(format!("result {}: of {}, for {code:?}", results.len(), outcome.code())),
            }
            results.push(outcome);
        }
        decoded.finish().map_err(malformed)?;
        let status = decoded.status;
        match results.last().map(CompoundOutcome::status) {
            Some(last) if last != status => {
                return failed(format!("status {}, but {} of the last result", word(status), word(last)));
            }
            _ if status.is_ok() && wanted.next().is_some() => {
                return failed(format!("{} results of {} operations", results.len(), operations.len()));
            }
            _ => {}
        }
        Ok(Self { bytes, sequence: None, results, status, sent: operations.len() })
    }

    /// Takes the result of SEQUENCE from the front.
    pub(crate) fn without_sequence(mut self) -> Self {
        if let Some(Outcome::Sequence(Ok(sequence))) = self.results.first() {
            self.sequence = Some(sequence.clone());
            self.results.remove(0);
        }
        self.sent = self.sent.saturating_sub(1);
        self
    }

    /// Status of the compound.
    pub fn status(&self) -> Done {
        self.status
    }

    /// Describes the status for a message.
    pub fn found(&self) -> String {
        match self.results.last() {
            Some(last) if self.status.is_err() => format!("{} from {}", word(self.status), name(last)),
            _ => word(self.status),
        }
    }

    /// Expects that all operations succeeded.
    pub fn ok(self) -> Result<Self, NotPassed> {
        match self.status {
            Ok(()) => Ok(self),
            Err(_) => failed(format!("expected NFS4_OK, found {}", self.found())),
        }
    }

    /// Expects that the last operation failed with this status, and none before it.
    pub fn fails(self, status: Status) -> Result<Self, NotPassed> {
        self.fails_with(&[status])
    }

    /// Expects that the last operation failed with one of these, and none before it.
    pub fn fails_with(self, allowed: &[Status]) -> Result<Self, NotPassed> {
        let last = self.sent.saturating_sub(1);
        self.fails_at(last, allowed)
    }

    /// Expects that the operation with this index, from 0 and without SEQUENCE, failed with one of
    /// these, and none before it.
    pub fn fails_at(self, index: usize, allowed: &[Status]) -> Result<Self, NotPassed> {
        let place = self.results.len() == index + 1;
        match self.status {
            Err(status) if allowed.contains(&status) && place => Ok(self),
            _ => {
                let words: Vec<_> = allowed.iter().map(Status::to_string).collect();
                let (expected, found, at) = (words.join(" or "), self.found(), self.results.len());
                failed(format!("expected {expected} as result {}, found {found} after {at} results", index + 1))
            }
        }
    }

    /// Expects that the compound failed with one of these, wherever.
    pub fn fails_somewhere(self, allowed: &[Status]) -> Result<Self, NotPassed> {
        let last = self.results.len().saturating_sub(1);
        self.fails_at(last, allowed)
    }

    /// Expects a status of the compound without any result.
    pub fn fails_before_all(self, status: Status) -> Result<Self, NotPassed> {
        if self.status == Err(status) && self.results.is_empty() {
            return Ok(self);
        }
        failed(format!("expected {status} and no results, found {} and {}", self.found(), self.results.len()))
    }

    /// Result of the operation with this index.
    pub fn result(&self, index: usize) -> Result<&Outcome, NotPassed> {
        self.results.get(index).ok_or_else(|| NotPassed::Failed(format!("no result {index}")))
    }

    /// Last result.
    pub fn last(&self) -> Result<&Outcome, NotPassed> {
        self.result(self.results.len().wrapping_sub(1))
    }

    /// Skips the check if the last operation is not supported: it is optional.
    pub fn optional(self) -> Result<Self, NotPassed> {
        match (self.status, self.results.last()) {
            (Err(Status::NOTSUPP), Some(last)) => {
                Err(NotPassed::Skipped(format!("the server does not support {}, which is optional", name(last))))
            }
            _ => Ok(self),
        }
    }

    /// Ends a chain of expectations.
    pub fn done(self) -> Verdict {
        Ok(())
    }
}

/// Results of an operation that succeeded, as those of a variant of [`Outcome`]:
/// `take!(reply.last()?, Outcome::Read)`.
macro_rules! take {
    ($outcome:expr, $variant:path) => {
        match $outcome {
            $variant(Ok(results)) => results.clone(),
            other => return Err(verdict::NotPassed::Failed(format!("expected results, found {other:?}"))),
        }
    };
}
pub(crate) use take;
