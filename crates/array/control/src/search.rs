//! Search over all objects with names.

use crate::error::ControlError;
use crate::facts::Facts;
use crate::host_groups::HostGroupList;
use crate::hosts::HostList;
use crate::jobs::JobList;
use crate::page::Listed;
use crate::qos::QosPolicyList;
use crate::read::Read;
use crate::shares::ShareList;
use crate::snapshots::SnapshotList;
use crate::text_match;
use crate::volumes::VolumeList;

/// Largest number of objects that are found.
const MAX_FOUND: usize = 20;
/// Longest text that is searched, in characters.
const MAX_TEXT: usize = 256;

/// Finds objects with a text in one of their names, identifiers or addresses, whatever its case.
/// Names that begin with it come first.
#[derive(Clone, Debug)]
pub struct Search {
    /// Text, 1 to 256 characters.
    pub text: String,
}

/// Object that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Kind: `volume`, `snapshot`, `share`, `host`, `host-group`, `qos-policy` or `job`.
    pub kind: &'static str,
    /// Name by which requests find it; of a job, its id.
    pub name: String,
    /// Name, identifier or address with the text.
    pub matched: String,
}

impl Read for Search {
    type Reply = Vec<Found>;
    const NAME: &'static str = "search";

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<Found>, ControlError> {
        if self.text.is_empty() || self.text.chars().count() > MAX_TEXT {
            return Err(ControlError::InvalidQuery(format!("the text has 1 to {MAX_TEXT} characters")));
        }
        let text = self.text.to_lowercase();
        let directory = facts.directory();
        let volumes = directory.volumes_by_name().map(|volume| VolumeList::texts(facts, &volume.id));
        let mut found = matches("volume", volumes, &text);
        let shares = directory.shares_by_name().map(|share| ShareList::texts(facts, &share.id));
        found.extend(matches("share", shares, &text));
        found.extend(matches("host", texts(&HostList::default(), facts)?, &text));
        found.extend(matches("host-group", texts(&HostGroupList, facts)?, &text));
        found.extend(matches("qos-policy", texts(&QosPolicyList, facts)?, &text));
        // By the names of their volumes and shares, so that nothing is sorted.
        let volumes = directory.volumes_by_name().map(|volume| volume.id);
        let sources = volumes.chain(directory.shares_by_name().map(|share| share.id));
        let snapshots = sources.flat_map(|source| directory.snapshots_of(source));
        let snapshots = snapshots.map(|snapshot| SnapshotList::texts(facts, &snapshot.id));
        found.extend(matches("snapshot", snapshots, &text));
        found.extend(matches("job", texts(&JobList, facts)?, &text));
        // The order of the kinds stays among equals.
        found.sort_by_key(|found| !text_match::begins(&found.name, &text));
        found.truncate(MAX_FOUND);
        Ok(found)
    }
}

/// Texts of the rows of a short list.
fn texts<L: Listed>(list: &L, facts: &dyn Facts) -> Result<impl Iterator<Item = Vec<String>>, ControlError> {
    Ok(list.rows(facts)?.into_iter().map(|(_, row)| L::texts(facts, &row)))
}

/// Objects with the text, at most [`MAX_FOUND`]: those whose name begins with it first. `all`: texts of
/// each object, its name first. Ends as soon as no later object can be among them.
fn matches(kind: &'static str, all: impl Iterator<Item = Vec<String>>, text: &str) -> Vec<Found> {
    let (mut first, mut other) = (Vec::new(), Vec::new());
    for texts in all {
        let Some(matched) = texts.iter().find(|found| text_match::contains(found, text)).cloned() else { continue };
        let Some(name) = texts.into_iter().next() else { continue };
        if text_match::begins(&name, text) {
            first.push(Found { kind, name, matched });
        } else if other.len() < MAX_FOUND {
            other.push(Found { kind, name, matched });
        }
        if first.len() >= MAX_FOUND {
            break;
        }
    }
    first.extend(other);
    first.truncate(MAX_FOUND);
    first
}
