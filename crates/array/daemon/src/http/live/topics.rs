//! Topics of a stream.

use crate::http::history::{MAX_BUSIEST, ids};
use crate::http::problem::Fault;
use control::SampleLatest;
use uuid::Uuid;

/// Largest number of hosts, and of runs, that a stream follows.
const MAX_FOLLOWED: usize = 4;

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
    /// Hosts that are watched while they are connected.
    pub(super) hosts: Vec<Connecting>,
    /// Runs of the laboratory.
    pub(super) runs: Vec<u64>,
}

/// A host, and the volume that it is to use.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Connecting {
    pub(super) host: String,
    pub(super) volume: Option<String>,
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
                _ => topics.of_objects(word)?,
            }
        }
        if topics.hosts.len() > MAX_FOLLOWED || topics.runs.len() > MAX_FOLLOWED {
            return Err(Fault::malformed(format!("a stream follows at most {MAX_FOLLOWED} hosts and runs")));
        }
        Ok(topics)
    }

    /// Adds a topic about objects.
    fn of_objects(&mut self, word: &str) -> Result<(), Fault> {
        let unknown = || Fault::malformed(format!("there is no topic {word:?}"));
        match word.split_once(':').ok_or_else(unknown)? {
            ("volumes", list) => self.volumes = ids(list)?,
            ("connect", names) => {
                let (host, volume) = names.split_once(',').map_or((names, None), |(host, of)| (host, Some(of)));
                if host.is_empty() || volume.is_some_and(str::is_empty) {
                    return Err(unknown());
                }
                self.hosts.push(Connecting { host: host.to_owned(), volume: volume.map(str::to_owned) });
            }
            ("lab", run) => self.runs.push(run.parse().map_err(|_| unknown())?),
            _ => return Err(unknown()),
        }
        Ok(())
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
        let followed = Topics::parse("connect:esx01,vm-1 connect:pve1 lab:7").unwrap();
        assert_eq!((followed.hosts.len(), followed.runs.as_slice()), (2, [7].as_slice()));
        assert_eq!((followed.hosts[0].host.as_str(), followed.hosts[0].volume.as_deref()), ("esx01", Some("vm-1")));
        assert!(Topics::parse(&"lab:1 ".repeat(5)).is_err() && Topics::parse(&"connect:h ".repeat(5)).is_err());
        let many = format!("volumes:{}", vec![id; 61].join(","));
        for wrong in
            ["hosts", "volumes:", "volumes:v1", "volumes", "connect:", "connect:h,", "lab:x", "lab", many.as_str()]
        {
            assert!(Topics::parse(wrong).is_err(), "{wrong}");
        }
    }
}
