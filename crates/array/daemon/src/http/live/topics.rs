//! Topics of a stream.

use crate::http::history::{MAX_BUSIEST, ids};
use crate::http::problem::Fault;
use control::SampleLatest;
use uuid::Uuid;

/// Topics that a client has subscribed to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Topics {
    pub(super) array: bool,
    pub(super) primitives: bool,
    pub(super) busiest: bool,
    pub(super) changes: bool,
    pub(super) events: bool,
    pub(super) jobs: bool,
    pub(super) alerts: bool,
    /// Volumes and shares of samples.
    pub(super) volumes: Vec<Uuid>,
}

impl Topics {
    /// Reads topics that spaces separate. The last list of volumes counts.
    pub(super) fn parse(text: &str) -> Result<Self, Fault> {
        let mut topics = Self::default();
        for word in text.split_ascii_whitespace() {
            match word {
                "array" => topics.array = true,
                "primitives" => topics.primitives = true,
                "busiest" => topics.busiest = true,
                "changes" => topics.changes = true,
                "events" => topics.events = true,
                "jobs" => topics.jobs = true,
                "alerts" => topics.alerts = true,
                _ => {
                    let unknown = || Fault::malformed(format!("there is no topic {word:?}"));
                    topics.volumes = ids(word.strip_prefix("volumes:").ok_or_else(unknown)?)?;
                }
            }
        }
        Ok(topics)
    }

    /// Request for the newest sample.
    pub(super) fn sample(&self) -> SampleLatest {
        SampleLatest { units: self.volumes.clone(), busiest: if self.busiest { MAX_BUSIEST } else { 0 } }
    }

    /// True if samples are wanted.
    pub(super) fn has_samples(&self) -> bool {
        self.array || self.primitives || self.busiest || !self.volumes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::*;

    #[test]
    fn topics_are_words() {
        let id = "01890a5d-ac96-774b-bcce-b302099a8057";
        let topics = Topics::parse(&format!("array jobs  volumes:{id},{id}")).unwrap();
        assert!(topics.array && topics.jobs && !topics.events && topics.has_samples());
        assert_eq!(topics.volumes.len(), 2);
        assert_eq!(Topics::parse("").unwrap(), Topics::default());
        let many = format!("volumes:{}", vec![id; 61].join(","));
        for wrong in ["hosts", "volumes:", "volumes:v1", "volumes", many.as_str()] {
            assert!(Topics::parse(wrong).is_err(), "{wrong}");
        }
    }
}
