//! The current stateid of a COMPOUND (RFC 8881 §16.2.3.1.2).

use nfs::v4::{Stateid, Status};

/// Current and saved stateid beside the current and saved filehandle. Begins with none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CurrentStateid {
    current: Option<Stateid>,
    saved: Option<Stateid>,
}

impl CurrentStateid {
    /// An operation returned a stateid.
    pub fn set(&mut self, stateid: Stateid) {
        self.current = Some(stateid);
    }
    /// An operation set the current filehandle, other than RESTOREFH.
    pub fn clear(&mut self) {
        self.current = None;
    }
    /// SAVEFH.
    pub fn save(&mut self) {
        self.saved = self.current;
    }
    /// RESTOREFH.
    pub fn restore(&mut self) {
        self.current = self.saved;
    }

    /// Stateid that an argument stands for. `BAD_STATEID`: there is no current one, or it is a reserved value that has
    /// no meaning (RFC 8881 §8.2.3).
    pub fn resolve(&self, argument: &Stateid) -> Result<Stateid, Status> {
        match *argument {
            Stateid::CURRENT => self.current.ok_or(Status::BAD_STATEID),
            Stateid::ANONYMOUS | Stateid::READ_BYPASS => Ok(*argument),
            Stateid { other, .. } if other == [0; 12] || other == [0xff; 12] => Err(Status::BAD_STATEID),
            _ => Ok(*argument),
        }
    }

    /// The same for the stateid of the saved filehandle, which is the source of CLONE and COPY.
    pub fn resolve_saved(&self, argument: &Stateid) -> Result<Stateid, Status> {
        Self { current: self.saved, saved: None }.resolve(argument)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Stateid = Stateid { seqid: 3, other: [7; 12] };

    #[test]
    fn it_follows_the_filehandle() {
        let mut current = CurrentStateid::default();
        assert_eq!(current.resolve(&Stateid::CURRENT), Err(Status::BAD_STATEID));
        current.set(ONE);
        assert_eq!(current.resolve(&Stateid::CURRENT), Ok(ONE));
        current.save();
        current.clear();
        assert_eq!(current.resolve(&Stateid::CURRENT), Err(Status::BAD_STATEID));
        assert_eq!(current.resolve_saved(&Stateid::CURRENT), Ok(ONE));
        current.restore();
        assert_eq!(current.resolve(&Stateid::CURRENT), Ok(ONE));
    }

    #[test]
    fn reserved_values_without_meaning_are_bad() {
        let current = CurrentStateid { current: Some(ONE), saved: None };
        for good in [Stateid::ANONYMOUS, Stateid::READ_BYPASS, ONE] {
            assert_eq!(current.resolve(&good), Ok(good));
        }
        for (seqid, other) in [(u32::MAX, [0; 12]), (2, [0; 12]), (1, [0xff; 12]), (0, [0xff; 12])] {
            assert_eq!(current.resolve(&Stateid { seqid, other }), Err(Status::BAD_STATEID), "{seqid} {other:?}");
        }
    }
}
