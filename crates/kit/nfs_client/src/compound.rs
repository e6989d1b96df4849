//! COMPOUND: operations to send, and their results.

use crate::error::ClientError;
use nfs::v4::compound::{Call, CompoundOperation, CompoundOutcome, Results, Tag};
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::{Filehandle, Status};
use xdr::{Reader, Writer};

/// Operations of one call, in order.
#[derive(Clone, Debug, Default)]
pub struct Compound {
    operations: Vec<Operation>,
    /// Whether the server has to keep the reply, so that a repetition gets it again.
    pub(crate) keeps_reply: bool,
}

impl Compound {
    /// Operations of a call that changes nothing: its repetition may be executed anew.
    pub fn reading(operations: impl IntoIterator<Item = Operation>) -> Self {
        Self { operations: operations.into_iter().collect(), keeps_reply: false }
    }

    /// Operations of a call that must take effect once.
    pub fn changing(operations: impl IntoIterator<Item = Operation>) -> Self {
        Self { operations: operations.into_iter().collect(), keeps_reply: true }
    }

    /// The same, for the file with this handle.
    pub fn on(self, file: &Filehandle) -> Self {
        let Self { mut operations, keeps_reply } = self;
        operations.insert(0, Operation::PutFilehandle(file.clone()));
        Self { operations, keeps_reply }
    }

    /// Appends arguments of COMPOUND with `first` before the operations.
    pub fn encode(&self, writer: &mut Writer, minor: u32, first: Option<&Operation>) {
        let mut call = Call::start(writer, &Tag::default(), minor);
        first.into_iter().chain(&self.operations).for_each(|operation| call.push(writer, operation));
        call.finish(writer);
    }

    /// Whether the server has to keep the reply (`sa_cachethis`).
    pub fn keeps_reply(&self) -> bool {
        self.keeps_reply
    }

    /// The operations.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }
}

/// Results of the operations of a compound, up to the first failure.
#[derive(Clone, Debug)]
pub struct Outcomes {
    outcomes: std::vec::IntoIter<Outcome>,
}

impl Outcomes {
    /// Takes the results of `operations` and checks that they are theirs: in number, order and
    /// status.
    pub fn decode<'a>(reader: Reader, operations: impl Iterator<Item = &'a Operation>) -> Result<Self, ClientError> {
        let wrong = |what: String| Err(ClientError::Malformed(what));
        let mut results = Results::<Operation>::decode(reader)?;
        if !results.tag.is_empty() {
            return wrong("another tag than that of the call".into());
        }
        let mut outcomes = Vec::new();
        let mut operations = operations;
        while let Some(outcome) = results.next_outcome() {
            let outcome = outcome?;
            if outcomes.last().is_some_and(|last: &Outcome| last.status().is_err()) {
                return wrong("a result after a failed operation".into());
            }
            match operations.next() {
                Some(operation) if operation.code() == outcome.code() => {}
                Some(operation) => {
                    return wrong(format!("a result of operation {} for {}", outcome.code(), operation.code()));
                }
                None => return wrong("more results than operations".into()),
            }
            outcomes.push(outcome);
        }
        results.finish()?;
        let last = outcomes.last().map_or(Ok(()), CompoundOutcome::status);
        match results.status {
            // Without results the status is about the compound as a whole.
            Err(status) if outcomes.is_empty() => return Err(ClientError::Status { operation: "COMPOUND", status }),
            status if status != last => return wrong(format!("status {status:?}, but {last:?} of the last operation")),
            Ok(()) if operations.next().is_some() => return wrong("fewer results than operations".into()),
            _ => {}
        }
        Ok(Self { outcomes: outcomes.into_iter() })
    }

    /// Takes the results of the next operation, whether it failed or not. `None`: an operation before
    /// it failed.
    pub fn next_outcome(&mut self) -> Option<Outcome> {
        self.outcomes.next()
    }

    /// Takes the results of the next operation, which must not have failed.
    pub fn next_success(&mut self) -> Result<Outcome, ClientError> {
        let outcome = self.next_outcome().ok_or_else(|| ClientError::Malformed("no more results".into()))?;
        match outcome.status() {
            Ok(()) => Ok(outcome),
            Err(status) => Err(ClientError::Status { operation: name(outcome.code()), status }),
        }
    }

    /// Takes the results of the next `count` operations, which must not have failed, and drops them.
    pub fn skip(&mut self, count: usize) -> Result<(), ClientError> {
        (0..count).try_for_each(|_| self.next_success().map(drop))
    }

    /// Status of the first failed operation with its name; success if none of the rest failed.
    pub fn finish(mut self) -> Result<(), ClientError> {
        while self.outcomes.len() > 0 {
            self.next_success()?;
        }
        Ok(())
    }

    /// Status of the last result.
    pub fn status(&self) -> Result<(), Status> {
        self.outcomes.as_slice().last().map_or(Ok(()), CompoundOutcome::status)
    }
}

/// Name of an operation.
pub(crate) fn name(code: u32) -> &'static str {
    nfs::v4::operations::OPERATIONS.iter().find(|row| row.code == code).map_or("an unknown operation", |row| row.name)
}

/// Takes the results of the next operation as those of a variant of [`Outcome`]:
/// `take!(outcomes, Outcome::Read)`.
macro_rules! take {
    ($outcomes:expr, $variant:path) => {
        match $outcomes.next_success()? {
            $variant(Ok(results)) => results,
            // The results of each operation were compared with the operations.
            other => return Err(ClientError::Malformed(format!("unexpected results: {other:?}"))),
        }
    };
}

pub(crate) use take;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use super::*;
    use nfs::v4::compound::Reply;

    fn results(tag: &str, outcomes: &[Outcome], status: Option<Status>) -> Reader {
        let mut writer = Writer::default();
        let mut reply = Reply::<Operation>::start(&mut writer, &tag.into());
        outcomes.iter().for_each(|outcome| reply.push(&mut writer, outcome));
        reply.finish(&mut writer, status.map_or(Ok(()), Err));
        Reader::strict(writer.into_bytes())
    }

    const ASKED: [Operation; 2] = [Operation::PutRootFilehandle, Operation::GetFilehandle];

    #[test]
    fn results_must_be_those_of_the_operations() {
        let root = Outcome::PutRootFilehandle(Ok(()));
        let handle = Outcome::GetFilehandle(Ok(Filehandle::from(b"abcd".to_vec())));
        let failed = Outcome::PutRootFilehandle(Err(Status::DELAY));
        let decoded = |outcomes: &[Outcome]| Outcomes::decode(results("", outcomes, None), ASKED.iter());
        assert!(decoded(&[root.clone(), handle.clone()]).unwrap().finish().is_ok());
        assert_eq!(decoded(std::slice::from_ref(&failed)).unwrap().finish().unwrap_err().status(), Some(Status::DELAY));
        for (lie, outcomes) in [
            ("fewer", vec![root.clone()]),
            ("none", vec![]),
            ("more", vec![root.clone(), handle.clone(), root.clone()]),
            ("another operation's", vec![handle.clone(), root.clone()]),
            ("one after a failure", vec![failed, handle.clone()]),
        ] {
            assert!(matches!(decoded(&outcomes), Err(ClientError::Malformed(_))), "{lie}");
        }
        let tagged = Outcomes::decode(results("x", &[root, handle], None), ASKED.iter());
        assert!(matches!(tagged, Err(ClientError::Malformed(_))));
    }

    #[test]
    fn a_status_without_results_is_that_of_the_compound() {
        let error = Outcomes::decode(results("", &[], Some(Status::TOO_MANY_OPS)), ASKED.iter()).unwrap_err();
        assert_eq!(error, ClientError::Status { operation: "COMPOUND", status: Status::TOO_MANY_OPS });
    }

    #[test]
    fn the_first_failure_has_the_name_of_its_operation() {
        let outcomes = [Outcome::PutRootFilehandle(Ok(())), Outcome::GetFilehandle(Err(Status::STALE))];
        let outcomes = Outcomes::decode(results("", &outcomes, None), ASKED.iter()).unwrap();
        assert_eq!(outcomes.status(), Err(Status::STALE));
        assert_eq!(outcomes.finish().unwrap_err().to_string(), "GETFH: STALE");
    }
}
