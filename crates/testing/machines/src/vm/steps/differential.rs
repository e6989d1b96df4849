//! The array compared with LIO, the Linux kernel's target, which runs in the guest: one stream of
//! CDBs, with every edge case in the tables of [`mod@stream`], goes through our own initiator to a
//! logical unit of each. Status, sense data and Data-In are compared.
//!
//! A difference has to be listed in [`mod@explained`] with its reason, otherwise the step fails; a
//! listed difference that no longer occurs is reported, so that it can be removed.
//! `docs/compatibility.md` has the table for readers.

mod explained;
mod stream;

use crate::vm::lab::Lab;
use anyhow::{Context, Result, ensure};
use conformance::initiator::{Session, SessionError, SessionOptions};
use conformance::sense::Sense;
use conformance::url::Url;
use explained::EXPLAINED;
use iscsi::initiator::{Completion, TransferRequest};
use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;
use stream::Case;

pub(in crate::vm) const LIO_TARGET: &str = "iqn.2026-01.org.example:lio";
/// Size of LIO's logical units, equal to that of the array's.
const LIO_SIZE_MIB: u64 = 256;
/// Time limit of one command.
const LIMIT: Duration = Duration::from_secs(15);
/// UNIT ATTENTION.
const UNIT_ATTENTION: u8 = 6;

/// Aspect in which responses differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Aspect {
    /// SCSI status, or no response.
    Status,
    /// Sense key, code and qualifier, and INFORMATION.
    Sense,
    /// Length of Data-In.
    Length,
    /// Data-In itself, where the length is equal.
    Data,
}

/// Response, as far as it is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    Completed {
        status: u8,
        sense: Option<Sense>,
        data: Vec<u8>,
    },
    /// The target dropped the connection, rejected the PDU or did not respond.
    None(String),
}

impl From<Completion> for Answer {
    fn from(completion: Completion) -> Self {
        Self::Completed {
            status: completion.status,
            sense: Sense::parse(&completion.sense),
            data: completion.data_in.to_vec(),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed { status: 0, data, .. } if data.is_empty() => f.write_str("GOOD"),
            Self::Completed { status: 0, data, .. } => write!(f, "GOOD, {} B", data.len()),
            Self::Completed { status, sense: Some(sense), .. } => write!(f, "{status:02x}h {sense}"),
            Self::Completed { status, .. } => write!(f, "{status:02x}h"),
            Self::None(why) => write!(f, "no answer: {why}"),
        }
    }
}

/// First aspect in which two responses differ.
fn difference(ours: &Answer, theirs: &Answer) -> Option<Aspect> {
    match (ours, theirs) {
        (
            Answer::Completed { status, sense, data },
            Answer::Completed { status: their_status, sense: their_sense, data: their_data },
        ) => {
            if status != their_status {
                Some(Aspect::Status)
            } else if sense != their_sense {
                Some(Aspect::Sense)
            } else if data.len() != their_data.len() {
                Some(Aspect::Length)
            } else {
                (data != their_data).then_some(Aspect::Data)
            }
        }
        (Answer::None(_), Answer::None(_)) => None,
        _ => Some(Aspect::Status),
    }
}

/// Starts LIO in the guest with two thin logical units in memory; returns the URL of the first one
/// on this machine.
pub(in crate::vm) fn start_lio(lab: &mut Lab, size_mib: u64) -> Result<Url> {
    lab.require(&format!(
        "[ -d /sys/kernel/config/target/iscsi/{LIO_TARGET} ] && exit 0
        set -e
        modprobe -a target_core_mod target_core_file iscsi_target_mod
        target=/sys/kernel/config/target
        mountpoint -q /run/lio || mount -t tmpfs -o size=90% lio /run/lio
        group=$target/iscsi/{LIO_TARGET}/tpgt_1
        mkdir -p $group
        for number in 0 1; do
            unit=$target/core/fileio_$number/unit$number
            mkdir -p $unit
            truncate -s {size_mib}M /run/lio/unit$number
            echo -n fd_dev_name=/run/lio/unit$number,fd_dev_size=$(({size_mib} << 20)),fd_buffered_io=1 >$unit/control
            cat /proc/sys/kernel/random/uuid >$unit/wwn/vpd_unit_serial
            echo 1 >$unit/enable
            for attribute in emulate_tpu emulate_tpws emulate_caw emulate_3pc; do echo 1 >$unit/attrib/$attribute; done
            mkdir -p $group/lun/lun_$number
            ln -s $unit $group/lun/lun_$number/unit$number
        done
        mkdir -p $group/np/0.0.0.0:3260
        echo 0 >$group/attrib/authentication
        echo 1 >$group/attrib/generate_node_acls
        echo 0 >$group/attrib/demo_mode_write_protect
        echo 1 >$group/attrib/cache_dynamic_acls
        echo 1 >$group/enable"
    ))
    .context("LIO does not start")?;
    Ok(format!("iscsi://127.0.0.1:{}/{LIO_TARGET}/0", lab.lio_port).parse()?)
}

/// One of the two targets.
struct Subject {
    url: Url,
    session: Session,
}

impl Subject {
    fn connect(url: Url) -> Result<Self> {
        let session = connect(&url)?;
        Ok(Self { url, session })
    }

    /// Sends a command and returns the response. Reconnects if the connection was lost.
    fn answer(&mut self, case: &Case) -> Result<Answer> {
        // A unit attention is the result of an earlier command.
        for _ in 0..4 {
            let transfer = match &case.data_out {
                Some(data) => TransferRequest::Out(data.clone().into()),
                None if case.data_in_bytes > 0 => TransferRequest::In(case.data_in_bytes),
                None => TransferRequest::None,
            };
            match self.session.execute(case.cdb, transfer) {
                Ok(completion) => {
                    let answer = Answer::from(completion);
                    match &answer {
                        Answer::Completed { sense: Some(sense), .. } if sense.key == UNIT_ATTENTION => {}
                        _ => return Ok(answer),
                    }
                }
                Err(error) => {
                    self.session = connect(&self.url).context("no session any more")?;
                    return Ok(Answer::None(short(&error)));
                }
            }
        }
        Ok(Answer::None("unit attentions without end".into()))
    }
}

fn short(error: &SessionError) -> String {
    match error {
        SessionError::Lost(_) => "the connection is closed".into(),
        SessionError::Timeout(_) => "silence".into(),
        other => other.to_string(),
    }
}

fn connect(url: &Url) -> Result<Session> {
    let options = SessionOptions { timeout: LIMIT, ..SessionOptions::default() };
    let mut session = Session::connect(url, &options).with_context(|| format!("cannot log in to {url:?}"))?;
    session.clear_unit_attentions()?;
    Ok(session)
}

pub(super) fn run(lab: &mut Lab) -> Result<()> {
    let theirs = start_lio(lab, LIO_SIZE_MIB)?;
    let mut ours = Subject::connect(lab.url("plain")?)?;
    let mut theirs = Subject::connect(theirs)?;
    let capacity = ours.session.read_capacity()?.blocks;
    let their_capacity = theirs.session.read_capacity()?.blocks;
    ensure!(capacity == their_capacity, "the logical units have {capacity} and {their_capacity} blocks");
    // Both media start with the same content.
    for subject in [&mut ours, &mut theirs] {
        subject.session.write_same16(0, stream::WRITTEN_BLOCKS, Some(vec![0; 512].into()), false)?;
    }
    let cases = stream::cases(capacity);
    let (mut same, mut explained, mut unexplained) = (0, 0, Vec::new());
    let mut used = BTreeSet::new();
    for case in &cases {
        let (answer, their_answer) = (ours.answer(case)?, theirs.answer(case)?);
        let Some(aspect) = difference(&answer, &their_answer) else {
            same += 1;
            continue;
        };
        let found = EXPLAINED.iter().position(|row| row.covers(&case.name, aspect));
        if lab.run.verbose || found.is_none() {
            let reason = found.and_then(|row| EXPLAINED.get(row)).map_or("not explained", |row| row.reason);
            println!("        {}: {aspect:?}: ours {answer}, LIO {their_answer}: {reason}", case.name);
            if aspect == Aspect::Data && found.is_none() {
                println!("          ours {}\n          LIO  {}", first_bytes(&answer), first_bytes(&their_answer));
            }
        }
        match found {
            Some(row) => {
                explained += 1;
                used.insert(row);
            }
            None => unexplained.push(case.name.clone()),
        }
    }
    for (row, _) in EXPLAINED.iter().zip(0..).filter(|(_, index)| !used.contains(index)) {
        println!("        explained, and not found any more: {} {:?}", row.cases, row.aspects);
    }
    let count = unexplained.len();
    let words = format!("{} commands: {same} answers are the same, {explained} differ with a reason", cases.len());
    let result = if count == 0 {
        Ok(words)
    } else {
        Err(anyhow::anyhow!("{words}, {count} without: {}", unexplained.join("; ")))
    };
    lab.record("the array answers as LIO does, or for a reason not", result);
    ours.session.logout()?;
    theirs.session.logout()?;
    Ok(())
}

fn first_bytes(answer: &Answer) -> String {
    match answer {
        Answer::Completed { data, .. } => data.iter().take(48).map(|byte| format!("{byte:02x}")).collect(),
        Answer::None(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good(data: &[u8]) -> Answer {
        Answer::Completed { status: 0, sense: None, data: data.to_vec() }
    }

    #[test]
    fn the_first_difference_counts() {
        let refused = Answer::Completed {
            status: 2,
            sense: Sense::parse(&[0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0]),
            data: vec![],
        };
        assert_eq!(difference(&good(&[1]), &good(&[1])), None);
        assert_eq!(difference(&good(&[1]), &good(&[2])), Some(Aspect::Data));
        assert_eq!(difference(&good(&[1]), &good(&[1, 2])), Some(Aspect::Length));
        assert_eq!(difference(&good(&[]), &refused), Some(Aspect::Status));
        assert_eq!(difference(&good(&[]), &Answer::None("x".into())), Some(Aspect::Status));
    }

    #[test]
    fn every_case_has_a_name_of_its_own() {
        let cases = stream::cases(1 << 19);
        let names: BTreeSet<_> = cases.iter().map(|case| &case.name).collect();
        assert_eq!(names.len(), cases.len());
        assert!(cases.len() > 300, "{}", cases.len());
    }
}
