//! Search over all objects with names.

use crate::error::ControlError;
use crate::facts::Facts;
use crate::host_groups::HostGroupList;
use crate::hosts::HostList;
use crate::jobs::JobList;
use crate::page::Listed;
use crate::read::Read;
use crate::shares::ShareList;
use crate::snapshots::SnapshotList;
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
    /// Kind: `volume`, `snapshot`, `share`, `host`, `host-group` or `job`.
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
        let mut found = matches(&VolumeList::default(), "volume", facts, &text)?;
        found.extend(matches(&ShareList::default(), "share", facts, &text)?);
        found.extend(matches(&HostList::default(), "host", facts, &text)?);
        found.extend(matches(&HostGroupList, "host-group", facts, &text)?);
        found.extend(matches(&SnapshotList::default(), "snapshot", facts, &text)?);
        found.extend(matches(&JobList, "job", facts, &text)?);
        // The order of the kinds stays among equals.
        found.sort_by_key(|found| !found.name.to_lowercase().starts_with(&text));
        found.truncate(MAX_FOUND);
        Ok(found)
    }
}

/// Rows of a list with the text. The first text of a row is its name.
fn matches<L: Listed>(list: &L, kind: &'static str, facts: &dyn Facts, text: &str) -> Result<Vec<Found>, ControlError> {
    let rows = list.rows(facts)?.into_iter().filter_map(|(_, row)| {
        let texts = L::texts(facts, &row);
        let matched = texts.iter().find(|found| found.to_lowercase().contains(text))?.clone();
        Some(Found { kind, name: texts.into_iter().next()?, matched })
    });
    // Enough of each kind, with those that begin with the text first.
    let (first, other): (Vec<Found>, Vec<Found>) = rows.partition(|found| found.name.to_lowercase().starts_with(text));
    Ok(first.into_iter().chain(other).take(MAX_FOUND).collect())
}
