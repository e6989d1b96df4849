//! Verdict over a storm: everything acknowledged in the journals is present, nothing else is, no
//! dead host holds a lock, and the check is clean.

use super::host::{StormError, compare, resolve};
use super::journal::{Entry, Journal};
use super::model::{Count, Model};
use super::{COUNTERS, MOVING, SHARED, TEMPLATE};
use crate::error::DiskError;
use crate::kit::Kit;
use data_mover::Device;
use datastore::{Datastore, DatastoreError};
use initiator::url::Url;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;

/// Tidies up after dead hosts, then compares. Returns words, JSON, and whether everything was as
/// expected.
pub async fn verify(kit: &Kit, url: &Url, journals: &[PathBuf]) -> Result<(String, Value, bool), DiskError> {
    let store = kit.datastore(url).await?;
    let mut models = Vec::new();
    for path in journals {
        models.push(Model::replay(&Journal::read(path)?));
    }
    let findings = match judge(&store, &mut models).await {
        Ok(findings) => findings,
        Err(StormError::Wrong(error)) => return Err(error),
        Err(StormError::Gone(error)) => return Err(DiskError::datastore(url, error)),
    };
    let mut operations: BTreeMap<&str, u64> = BTreeMap::new();
    for model in &models {
        for (kind, count) in &model.operations {
            *operations.entry(kind).or_default() += count;
        }
    }
    let all: u64 = operations.values().sum();
    let lives: u64 = models.iter().map(|model| model.lives).sum();
    let kinds: Vec<_> = operations.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let disks: usize = models.iter().map(|model| model.disks.len()).sum();
    let mut words = format!(
        "{} hosts in {lives} lives: {all} operations ({}); {disks} disks at the end",
        models.len(),
        kinds.join(", ")
    );
    for finding in &findings {
        words += &format!("\nwrong: {finding}");
    }
    if findings.is_empty() {
        words += "\nno update lost, no lock held by a dead host, check clean";
    }
    let held = findings.is_empty();
    let json = json!({ "hosts": models.len(), "lives": lives, "operations": operations, "disks": disks, "findings": findings });
    Ok((words, json, held))
}

/// Returns all findings.
pub(super) async fn judge<D: Device>(
    store: &Rc<Datastore<D>>,
    models: &mut [Model],
) -> Result<Vec<String>, StormError> {
    let mut findings = Vec::new();
    let wrong = |error: StormError| match error {
        StormError::Wrong(error) => Ok(error.to_string()),
        gone => Err(gone),
    };
    store.tidy().await?;
    let mut expected: BTreeSet<String> = COUNTERS.iter().chain(&SHARED).map(|name| (*name).to_owned()).collect();
    expected.insert(TEMPLATE.to_owned());
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    for model in models.iter_mut() {
        if let Some(pending) = model.pending.clone() {
            match resolve(store, model, &pending).await {
                Ok(found) => model.enter(&found),
                Err(error) => {
                    findings.push(wrong(error)?);
                    model.enter(&Entry::Undone);
                }
            }
        }
        for (name, disk) in &model.disks {
            expected.insert(name.clone());
            if model.is_mixture(name) {
                continue;
            }
            if let Err(error) = compare(store, name, disk).await {
                findings.push(wrong(error)?);
            }
        }
        for (name, count) in &model.counts {
            let sum = counts.entry(name.clone()).or_default();
            *sum = Count { sure: sum.sure + count.sure, perhaps: sum.perhaps + count.perhaps };
        }
    }
    let files = store.list().await?;
    let moving = files.iter().filter(|file| MOVING.contains(&file.name.as_str())).count();
    if moving != 1 {
        findings.push(format!("the moving file exists {moving} times"));
    }
    for file in files.iter().filter(|file| !MOVING.contains(&file.name.as_str())) {
        if !expected.remove(&file.name) {
            findings.push(format!("{} exists, but no host created it", file.name));
        }
    }
    findings.extend(expected.iter().map(|name| format!("{name} is missing")));
    for (name, count) in &counts {
        let found = match COUNTERS.contains(&name.as_str()) {
            true => files.iter().find(|file| file.name == *name).map_or(0, |file| file.touched),
            false => number(store, name).await?,
        };
        if !(count.sure..=count.sure + count.perhaps).contains(&found) {
            findings.push(format!(
                "{name} counts {found} changes, but {} are certain and {} more possible",
                count.sure, count.perhaps
            ));
        }
    }
    let report = store.check().await?;
    findings.extend(report.problems.iter().map(|problem| format!("check: {problem}")));
    findings.extend(report.leftovers.iter().map(|left| format!("check: leftover: {left}")));
    for slot in store.slots().await?.iter().filter(|slot| slot.locks > 0) {
        findings.push(format!("host {} still holds {} locks", slot.host, slot.locks));
    }
    Ok(findings)
}

/// Number stored in a shared disk.
async fn number<D: Device>(store: &Rc<Datastore<D>>, name: &str) -> Result<u64, DatastoreError> {
    let open = store.open(name).await?;
    let found = open.read(0, 512).await;
    open.close().await?;
    Ok(found?.get(..8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes))
}
