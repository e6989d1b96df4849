//! Datastores: format, list, check, their hosts, and unmapping free space.

use super::{Done, format_name};
use crate::error::DiskError;
use crate::holds_data::{check_destroy, unit_name};
use crate::kit::Kit;
use ::datastore::{Datastore, DatastoreError, FormatOptions, Tidied};
use data_mover::{Device, Extent};
use futures_util::future;
use initiator::url::Url;
use serde_json::{Value, json};

/// A table with headings and rows.
#[derive(Debug, Default)]
pub struct Listing {
    /// Headings.
    pub headings: Vec<&'static str>,
    /// Rows; exact numbers of bytes are in [`Listing::json`].
    pub rows: Vec<Vec<String>>,
    /// All fields for programs.
    pub json: Value,
    /// Lines below the table.
    pub notes: Vec<String>,
    /// Error that kept some entries out of the table.
    pub failed: Option<DiskError>,
}

/// Creates a datastore on the whole logical unit. If the unit holds data or a datastore, `destroy`
/// must name it.
pub async fn format(kit: &Kit, url: &Url, options: &FormatOptions, destroy: Option<&str>) -> Result<Done, DiskError> {
    let unit = kit.unit(url).await?;
    let failed = |error| DiskError::datastore(url, error);
    match Datastore::view(unit.clone(), kit.mover().clone()).await {
        // The name of the datastore is accepted too, because people remember names.
        Ok(old) if destroy == Some(&old.name()) => kit.check_not_mounted(url).await?,
        Ok(old) if destroy.is_none() => {
            let found = format!("the datastore {}, {} files", old.name(), old.list().await.map_err(failed)?.len());
            return Err(DiskError::HoldsData { on: url.to_string(), found, name: unit_name(url, &unit) });
        }
        Ok(_) | Err(DatastoreError::NoDatastore | DatastoreError::Version(_) | DatastoreError::Damaged { .. }) => {
            check_destroy(kit, url, &unit, destroy).await?;
        }
        Err(error) => return Err(failed(error)),
    }
    let options = FormatOptions { force: true, ..options.clone() };
    // The old data may be lost. A unit without UNMAP keeps it until it is overwritten.
    let whole = Extent { lba: 0, blocks: unit.identity().blocks };
    kit.mover().unmap_as_hint(&*unit, &[whole]).await.map_err(|error| DiskError::device(url, error))?;
    Datastore::format(&unit, kit.mover(), &options).await.map_err(failed)?;
    let store = kit.view(url).await?;
    let geometry = store.geometry();
    let bytes = u64::from(geometry.blocks) * geometry.block_bytes();
    let words = format!(
        "created the datastore {} on {url}: {} in blocks of {}, for {} hosts and {} disks",
        store.name(),
        text::size::format(bytes),
        text::size::format(geometry.block_bytes()),
        geometry.hosts,
        geometry.files
    );
    Ok(Done::new(words, describe(&store, url).await.map_err(failed)?))
}

async fn describe<D: Device>(store: &Datastore<D>, url: &Url) -> Result<Value, DatastoreError> {
    let geometry = store.geometry();
    let free = store.free_blocks().await? * geometry.block_bytes();
    Ok(json!({
        "url": url.to_string(),
        "name": store.name(),
        "uuid": store.uuid().to_string(),
        "block_bytes": geometry.block_bytes(),
        "capacity_bytes": u64::from(geometry.blocks) * geometry.block_bytes(),
        "free_bytes": free,
        "files": store.list().await?.len(),
        "most_files": geometry.files,
        "hosts": store.hosts().await?,
        "most_hosts": geometry.hosts,
        "created": store.created(),
    }))
}

/// Formats the number of living hosts, and of silent ones, whose slots remain until another host
/// takes them.
fn host_count(alive: usize, silent: usize) -> String {
    match silent {
        0 => alive.to_string(),
        silent => format!("{alive} ({silent} silent)"),
    }
}

/// Lists the datastores of some logical units.
pub async fn list(kit: &Kit, urls: &[Url], bytes: bool) -> Result<Listing, DiskError> {
    let size = |number: Option<u64>| {
        let number = number.unwrap_or(0);
        if bytes { number.to_string() } else { text::size::format(number) }
    };
    let mut found = Vec::new();
    let mut notes = Vec::new();
    let mut failed = None;
    for url in urls {
        match kit.view(url).await {
            Ok(store) => found.push((url, store)),
            // One of several that has no datastore, or cannot be reached, is reported beside the
            // others.
            Err(error) if urls.len() > 1 && !matches!(error, DiskError::Interrupted(_)) => {
                if let Some(earlier) = failed.replace(error) {
                    notes.push(earlier.to_string());
                }
            }
            Err(error) => return Err(error),
        }
    }
    for (url, store) in &found {
        // The numbers lack the content of damaged sectors.
        let damage = store.damage().await.map_err(|error| DiskError::datastore(url, error))?;
        if let Some(damage) = damage.map(|error| DiskError::datastore(url, error))
            && let Some(earlier) = failed.replace(damage)
        {
            notes.push(earlier.to_string());
        }
    }
    // Concurrently: finding living hosts takes two reads with some seconds between them.
    let seen = future::join_all(found.iter().map(|(_, store)| store.slots_seen())).await;
    let (mut rows, mut all) = (Vec::new(), Vec::new());
    for ((url, store), seen) in found.into_iter().zip(seen) {
        let failed = |error| DiskError::datastore(url, error);
        let (mut one, seen) = (describe(&store, url).await.map_err(failed)?, seen.map_err(failed)?);
        let silent: Vec<&str> = seen.iter().filter(|(_, alive)| !alive).map(|(slot, _)| slot.host.as_str()).collect();
        if let Some(fields) = one.as_object_mut() {
            fields.insert("silent_hosts".into(), json!(silent));
        }
        let number = |name: &str| one.get(name).and_then(Value::as_u64);
        rows.push(vec![
            store.name(),
            size(number("block_bytes")),
            size(number("capacity_bytes")),
            size(number("free_bytes")),
            number("files").unwrap_or(0).to_string(),
            host_count(seen.len() - silent.len(), silent.len()),
            url.to_string(),
        ]);
        all.push(one);
    }
    let headings = vec!["NAME", "BLOCK", "CAPACITY", "FREE", "DISKS", "HOSTS", "URL"];
    Ok(Listing { headings, rows, json: Value::Array(all), notes, failed })
}

/// Lists the disks of a datastore.
pub async fn ls(kit: &Kit, url: &Url, bytes: bool) -> Result<Listing, DiskError> {
    let failed = |error| DiskError::datastore(url, error);
    let store = kit.view(url).await?;
    let size = |number: u64| if bytes { number.to_string() } else { text::size::format(number) };
    let (mut rows, mut all) = (Vec::new(), Vec::new());
    let mut damage = store.damage().await.map_err(failed)?;
    for file in store.list().await.map_err(failed)? {
        let (file, space) = match store.stat(&file.name).await {
            Ok((file, space)) => (file, Some(space)),
            // Deleted since the listing.
            Err(DatastoreError::NoSuchFile(_)) => continue,
            // The space of the other disks is still known.
            Err(error @ DatastoreError::Damaged { .. }) => {
                damage = damage.or(Some(error));
                (file, None)
            }
            Err(error) => return Err(failed(error)),
        };
        let known = |bytes: Option<u64>| bytes.map_or_else(|| "?".into(), size);
        rows.push(vec![
            file.name.clone(),
            format_name(file.format).to_owned(),
            size(file.size),
            known(space.map(|space| space.used_bytes)),
            known(space.map(|space| space.unshared_bytes)),
            file.parent.clone().unwrap_or_else(|| "–".into()),
        ]);
        all.push(json!({
            "name": file.name,
            "format": format_name(file.format),
            "capacity_bytes": file.size,
            "used_bytes": space.map(|space| space.used_bytes),
            "unshared_bytes": space.map(|space| space.unshared_bytes),
            "parent": file.parent,
            "frozen": file.frozen,
            "created": file.created,
            "modified": file.modified,
            "touched": file.touched,
        }));
    }
    let partials = store.partials().await.map_err(failed)?;
    let notes = partials.iter().map(|partial| {
        let (copied, all) = (text::size::format(partial.copied), text::size::format(partial.size));
        format!(
            "{}: an interrupted copy, {copied} of {all}; continue it with  windlass disk clone --resume",
            partial.name
        )
    });
    let notes = notes.collect();
    all.extend(partials.iter().map(|partial| {
        json!({ "name": partial.name, "partial": true, "capacity_bytes": partial.size, "copied_bytes": partial.copied })
    }));
    let headings = vec!["NAME", "FORMAT", "CAPACITY", "USED", "UNSHARED", "BASED ON"];
    Ok(Listing { headings, rows, json: Value::Array(all), notes, failed: damage.map(failed) })
}

/// Lists the hosts that have a datastore mounted; a host that renews its heartbeat between two
/// reads is alive.
pub async fn hosts(kit: &Kit, url: &Url) -> Result<Listing, DiskError> {
    let failed = |error| DiskError::datastore(url, error);
    let store = kit.view(url).await?;
    let seen = store.slots_seen().await.map_err(failed)?;
    let now = kit.mover().clock().unix_seconds();
    let (mut rows, mut all) = (Vec::new(), Vec::new());
    for (slot, alive) in seen {
        rows.push(vec![
            slot.number.to_string(),
            slot.host.clone(),
            if alive { "alive" } else { "silent" }.into(),
            format!("{} s ago", now.saturating_sub(slot.renewed)),
            slot.locks.to_string(),
        ]);
        all.push(json!({
            "slot": slot.number,
            "host": slot.host,
            "alive": alive,
            "renewed": slot.renewed,
            "locks": slot.locks,
        }));
    }
    let headings = vec!["SLOT", "HOST", "STATE", "HEARTBEAT", "LOCKS"];
    let failed = store.damage().await.map_err(failed)?.map(failed);
    Ok(Listing { headings, rows, json: Value::Array(all), failed, ..Listing::default() })
}

/// Result of a check.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Findings of the check.
    pub report: ::datastore::check::Report,
    /// Leftovers that were tidied up before the check.
    pub tidied: Option<Tidied>,
}

impl Checked {
    /// Whether there is no problem. Leftovers of dead hosts are no problem: the host that takes
    /// over tidies them up.
    pub fn is_clean(&self) -> bool {
        self.report.problems.is_empty()
    }

    /// Formats the result for display.
    pub fn words(&self, url: &Url) -> String {
        let report = &self.report;
        let mut lines = Vec::new();
        if let Some(tidied) = self.tidied {
            lines.push(format!(
                "tidied up: {} silent hosts, {} of their locks, {} files half created or half deleted, {} blocks of other files",
                tidied.hosts, tidied.locks, tidied.files, tidied.blocks
            ));
        }
        lines.extend(report.leftovers.iter().map(|left| format!("leftover   {}", text::terminal::harmless(left))));
        lines.extend(report.problems.iter().map(|problem| format!("problem    {}", text::terminal::harmless(problem))));
        let verdict = match (report.problems.len(), report.leftovers.len()) {
            (0, 0) => "clean".to_owned(),
            (0, left) => {
                format!("no problems; leftovers of running operations or dead hosts: {left} (--tidy)")
            }
            (wrong, _) => format!("{wrong} problems"),
        };
        lines.push(format!("{url}: {} disks, {} blocks: {verdict}", report.files, report.blocks));
        lines.join("\n")
    }

    /// Formats the result for programs.
    pub fn json(&self, url: &Url) -> Value {
        json!({
            "url": url.to_string(),
            "clean": self.is_clean(),
            "files": self.report.files,
            "blocks": self.report.blocks,
            "problems": self.report.problems,
            "leftovers": self.report.leftovers,
            "tidied": self.tidied.map(|tidied| json!({
                "hosts": tidied.hosts, "locks": tidied.locks, "files": tidied.files, "blocks": tidied.blocks
            })),
        })
    }
}

/// Tidies up; `None` where damage prevents it, which the check then reports.
async fn tidied(kit: &Kit, url: &Url) -> Result<Option<Tidied>, DiskError> {
    let tidied = match kit.datastore(url).await {
        Ok(store) => store.tidy().await.map_err(|error| DiskError::datastore(url, error)),
        Err(error) => Err(error),
    };
    match tidied {
        Ok(tidied) => Ok(Some(tidied)),
        Err(DiskError::Datastore { error: DatastoreError::Damaged { .. } | DatastoreError::NoDatastore, .. }) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Checks a datastore: reads everything and reports problems. With `tidy`, first tidies up after
/// dead hosts.
pub async fn check(kit: &Kit, url: &Url, tidy: bool) -> Result<Checked, DiskError> {
    let failed = |error| DiskError::datastore(url, error);
    let tidied = match tidy {
        true => tidied(kit, url).await?,
        false => None,
    };
    let view = Datastore::view_to_check(kit.unit(url).await?, kit.mover().clone()).await;
    match view {
        Ok(view) => Ok(Checked { report: view.check().await.map_err(failed)?, tidied }),
        // As [`DiskError::Wrong`], because the usual advice for damage is to run this command.
        Err(error @ DatastoreError::Damaged { .. }) => Err(DiskError::Wrong(format!("{url}: {error}"))),
        Err(error) => Err(failed(error)),
    }
}

/// Unmaps the free blocks of a datastore on the array, like `esxcli storage vmfs unmap`.
pub async fn unmap(kit: &Kit, url: &Url) -> Result<Done, DiskError> {
    let store = kit.datastore(url).await?;
    let bytes = store.unmap_free().await.map_err(|error| DiskError::datastore(url, error))?;
    Ok(Done::new(
        format!("unmapped {} of free blocks of {url}", text::size::format(bytes)),
        json!({ "url": url.to_string(), "unmapped_bytes": bytes }),
    ))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

    use super::*;

    /// Regression: disk names that another host has written reached the terminal through the
    /// findings.
    #[test]
    fn findings_of_a_check_do_not_control_the_terminal() {
        let url: Url = "iscsi://h/iqn.x:t/0".parse().unwrap();
        let report = ::datastore::check::Report {
            problems: vec!["\u{1b}]0;x\u{7}\nclean".into()],
            leftovers: vec!["\u{1b}[2J".into()],
            ..Default::default()
        };
        let checked = Checked { report, tidied: None };
        let words = checked.words(&url);
        assert!(words.lines().count() == 3 && words.chars().all(|c| c == '\n' || !c.is_control()), "{words:?}");
        assert_eq!(checked.json(&url)["leftovers"][0], "\u{1b}[2J");
    }
}
