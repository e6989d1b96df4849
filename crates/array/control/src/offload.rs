//! Offload statistics, and the log of commands without success or benefit, with names of the
//! objects.

use crate::condition::Noun;
use crate::directory::Directory;
use crate::error::ControlError;
use crate::facts::Facts;
use crate::hosts::record::HostRecord;
use crate::live::{ClientOffloadRow, OffloadRow};
use crate::page::{Column, Listed, column};
use crate::read::Read;
use crate::shares::ShareRecord;
use jiff::Timestamp;
use pool::ObjectId;
use std::net::IpAddr;
use unit::{Ending, LogEntry, OffloadClient, Primitive};

/// Lists the counters of each primitive by volume and share.
#[derive(Clone, Debug, Default)]
pub struct OffloadStatistics {
    /// Only this volume or share, by name or id; also one deleted recently, by its last name.
    pub volume: Option<String>,
    /// The name is that of a volume, or that of a share; absent: of either.
    pub noun: Option<Noun>,
    /// Counters of each client of each share, instead of the sums.
    pub by_client: bool,
}

/// Lists commands that were refused, failed, or succeeded without the benefit; oldest first. There
/// are never more than the log holds (`MAX_REFUSALS` of the mirror), so that the list has no parts.
#[derive(Clone, Debug, Default)]
pub struct OffloadLog {
    /// Sequence number of an entry: the list then has the oldest entries after it, else the newest.
    pub since: Option<u64>,
    /// Entries wanted.
    pub filter: OffloadLogFilter,
    /// Largest number of entries.
    pub limit: usize,
}

/// Entries of the log that are wanted; an absent field wants all.
#[derive(Clone, Debug, Default)]
pub struct OffloadLogFilter {
    /// Only commands on this volume or share, as in [`OffloadStatistics`].
    pub volume: Option<String>,
    /// Only commands of this host, by name or id, or of this initiator: IQN, or address of a client of NFS.
    pub host: Option<String>,
    /// Only commands of this primitive.
    pub primitive: Option<Primitive>,
    /// Only commands with this outcome.
    pub ending: Option<Ending>,
    /// Only entries whose last command was at this time or later.
    pub from: Option<Timestamp>,
    /// Only entries whose first command was before this time.
    pub until: Option<Timestamp>,
}

/// Offload row with the name of its volume or share.
#[derive(Clone, Debug)]
pub struct OffloadView {
    /// Name of the volume or share; after its deletion, its last one.
    pub volume: String,
    /// True if it was deleted.
    pub deleted: bool,
    /// Client, if the row is about one.
    pub client: Option<ClientView>,
    /// Counters.
    pub row: OffloadRow,
}

/// Client of a share.
#[derive(Clone, Debug)]
pub struct ClientView {
    /// Client.
    pub client: OffloadClient,
    /// Host with that address.
    pub host: Option<String>,
}

/// Log entry with names.
#[derive(Clone, Debug)]
pub struct RefusalView {
    /// Name of the volume or share, `SHARE@SNAPSHOT` for a snapshot that is exported; after its deletion, its name at
    /// the time of the command.
    pub volume: String,
    /// True if the volume or share was deleted.
    pub deleted: bool,
    /// Host of the initiator or client.
    pub host: Option<String>,
    /// Host of the initiator that held the reservation which refused the commands.
    pub holder_host: Option<String>,
    /// Volume whose reservation that was: of a copy, source or destination.
    pub holder_volume: Option<String>,
    /// Log entry.
    pub entry: LogEntry,
}

impl Read for OffloadStatistics {
    type Reply = Vec<OffloadView>;
    const NAME: &'static str = "offload-statistics";

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<OffloadView>, ControlError> {
        self.all(facts)
    }
}

impl Listed for OffloadStatistics {
    type View = OffloadView;
    type Row = OffloadView;
    const COLUMNS: &'static [Column<OffloadView>] = &[
        column("volume", |_, view| view.volume.as_str().into()),
        column("primitive", |_, view| view.row.primitive.name().into()),
        column("commands", |_, view| view.row.counters.commands.into()),
        column("refused", |_, view| view.row.counters.refused.into()),
        column("bytes", |_, view| view.row.counters.bytes.into()),
        column("host_bytes_avoided", |_, view| view.row.counters.host_bytes_avoided.into()),
        column("p99_us", |_, view| view.row.counters.latency.quantile_us(990).into()),
    ];

    /// Keys sort as `order` does, and rows of clients by address. Names of volumes contain no space.
    fn rows(&self, facts: &dyn Facts) -> Result<Vec<(String, OffloadView)>, ControlError> {
        let mut views = if self.by_client { facts.offload_of_clients() } else { facts.offload_statistics() };
        let named = self.volume.as_deref().map(|name| (name, self.noun));
        keep_wanted(facts.directory(), &mut views, named, |view| (view.row.volume, &view.row.name))?;
        let key = |view: &OffloadView| {
            let (deleted, name, object, primitive) = order(view);
            let client = view.client.as_ref().map(|of| match of.client {
                OffloadClient::Host(address) => address.to_string(),
                // Behind all addresses.
                OffloadClient::Api => "~api".to_owned(),
                OffloadClient::Others => "~others".to_owned(),
            });
            let client = client.unwrap_or_default();
            format!("{} {name} {:020} {client} {:02}", u8::from(deleted), object.0, primitive as u8)
        };
        let mut rows: Vec<_> = views.into_iter().map(|view| (key(&view), view)).collect();
        rows.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Ok(rows)
    }

    fn texts(_facts: &dyn Facts, view: &OffloadView) -> Vec<String> {
        vec![view.volume.clone(), view.row.primitive.name().to_owned()]
    }

    fn views(&self, _facts: &dyn Facts, rows: Vec<OffloadView>) -> Vec<OffloadView> {
        rows
    }
}

impl Read for OffloadLog {
    type Reply = Vec<RefusalView>;
    const NAME: &'static str = "offload-log";

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<RefusalView>, ControlError> {
        let directory = facts.directory();
        let mut entries = facts.refusals(self.since.map_or(0, |since| since.saturating_add(1)));
        self.filter.keep(directory, &mut entries, self.since.is_some())?;
        let skipped = if self.since.is_some() { 0 } else { entries.len().saturating_sub(self.limit) };
        let view = |entry: LogEntry| {
            let (name, deleted) = name_or_last(directory, object(&entry), &entry.volume_name);
            let volume = entry.snapshot.as_ref().map_or(name.clone(), |snapshot| format!("{name}@{snapshot}"));
            let host = host_of_entry(directory, &entry).map(|host| host.name.clone());
            let holder = entry.holder.as_ref().and_then(|holder| directory.host_of(&holder.initiator));
            let holder_host = holder.map(|host| host.name.clone());
            let reserved = entry.holder.as_ref().and_then(|holder| directory.name_of(ObjectId(holder.volume.0)));
            let holder_volume = reserved.map(str::to_owned);
            RefusalView { volume, deleted, host, holder_host, holder_volume, entry }
        };
        Ok(entries.into_iter().skip(skipped).take(self.limit).map(view).collect())
    }
}

impl OffloadLogFilter {
    /// Entries of a volume or share.
    pub fn of(volume: &str) -> Self {
        Self { volume: Some(volume.to_owned()), ..Self::default() }
    }

    /// Retains the entries that are wanted.
    ///
    /// Errors: `NotFound` for a volume or host that does not exist and has no entry; in a `part` of the log, which need
    /// not have one, for none.
    fn keep(&self, directory: &Directory, entries: &mut Vec<LogEntry>, part: bool) -> Result<(), ControlError> {
        let known = |result: Result<(), ControlError>| if part { Ok(()) } else { result };
        let named = self.volume.as_deref().map(|name| (name, None));
        known(keep_wanted(directory, entries, named, |entry| (object(entry), &entry.volume_name)))?;
        known(self.keep_host(directory, entries))?;
        let milliseconds = |time: Option<Timestamp>| time.map(|time| u64::try_from(time.as_millisecond()).unwrap_or(0));
        let (from, until) = (milliseconds(self.from), milliseconds(self.until));
        entries.retain(|entry| {
            self.primitive.is_none_or(|primitive| entry.primitive == primitive)
                && self.ending.is_none_or(|ending| entry.ending == ending)
                && from.is_none_or(|from| entry.unix_ms >= from)
                && until.is_none_or(|until| entry.first_unix_ms < until)
        });
        Ok(())
    }

    fn keep_host(&self, directory: &Directory, entries: &mut Vec<LogEntry>) -> Result<(), ControlError> {
        let Some(name) = self.host.as_deref() else { return Ok(()) };
        match directory.host(name) {
            Ok(host) => entries.retain(|entry| host_of_entry(directory, entry).is_some_and(|of| of.id == host.id)),
            Err(unknown) => {
                entries.retain(|entry| entry.initiator.eq_ignore_ascii_case(name));
                if entries.is_empty() {
                    return Err(unknown);
                }
            }
        }
        Ok(())
    }
}

/// Host of the initiator, or of the client of NFS with that address.
fn host_of_entry<'a>(directory: &'a Directory, entry: &LogEntry) -> Option<&'a HostRecord> {
    match entry.initiator.parse::<IpAddr>() {
        Ok(address) => directory.host_at(address),
        Err(_) => directory.host_of(&entry.initiator),
    }
}

impl dyn Facts + '_ {
    /// All rows by name; those of deleted volumes and shares last.
    pub(crate) fn offload_statistics(&self) -> Vec<OffloadView> {
        let directory = self.directory();
        let view = |row: OffloadRow| {
            let (volume, deleted) = name_or_last(directory, row.volume, &row.name);
            OffloadView { volume, deleted, client: None, row }
        };
        let objects = directory.volumes().map(|volume| volume.object);
        let objects = objects.chain(directory.shares().map(|share| share.object));
        let present = objects.flat_map(|object| self.unit(object).offload);
        let deleted = self.deleted_offload().into_iter().filter(|row| directory.name_of(row.volume).is_none());
        let mut views: Vec<OffloadView> = present.chain(deleted).map(view).collect();
        views.sort_by(|one, other| order(one).cmp(&order(other)));
        views
    }

    /// Rows of the clients of all shares, in no order.
    fn offload_of_clients(&self) -> Vec<OffloadView> {
        let directory = self.directory();
        let of_share = |share: &ShareRecord| {
            let (object, name) = (share.object, share.name.clone());
            let view = move |ClientOffloadRow { client, primitive, counters }| OffloadView {
                volume: name.clone(),
                deleted: false,
                client: Some(ClientView { client, host: host_of(directory, client) }),
                row: OffloadRow { volume: object, name: name.clone(), primitive, counters },
            };
            self.unit(object).offload_by_client.into_iter().map(view)
        };
        directory.shares().flat_map(of_share).collect()
    }
}

/// Name of the host that a client is.
fn host_of(directory: &Directory, client: OffloadClient) -> Option<String> {
    match client {
        OffloadClient::Host(address) => directory.host_at(address).map(|host| host.name.clone()),
        OffloadClient::Api | OffloadClient::Others => None,
    }
}

/// Object of the volume or share that a log entry is about.
const fn object(entry: &LogEntry) -> ObjectId {
    ObjectId(entry.volume.0)
}

/// Sort key of a row.
fn order(view: &OffloadView) -> (bool, &str, ObjectId, Primitive) {
    (view.deleted, &view.volume, view.row.volume, view.row.primitive)
}

/// Name of a volume or share, and whether it was deleted; then it keeps the name `last`.
fn name_or_last(directory: &Directory, object: ObjectId, last: &str) -> (String, bool) {
    match directory.name_of(object) {
        Some(name) => (name.to_owned(), false),
        None => (last.to_owned(), true),
    }
}

/// Retains the rows of a volume or share, by name, of this noun or of either: of an existing one by name or id, else
/// of deleted ones with this last name.
///
/// Errors: `NotFound` if neither exists.
fn keep_wanted<T>(
    directory: &Directory,
    rows: &mut Vec<T>,
    named: Option<(&str, Option<Noun>)>,
    volume_of: impl Fn(&T) -> (ObjectId, &String),
) -> Result<(), ControlError> {
    let Some((name, noun)) = named else { return Ok(()) };
    let present = match noun {
        Some(Noun::Share) => directory.share(name).map(|share| share.object),
        Some(_) => directory.volume(name).map(|volume| volume.object),
        None => directory.content(name).map(|content| content.object),
    };
    match present {
        Ok(present) => rows.retain(|row| volume_of(row).0 == present),
        Err(unknown) => {
            let is_last_name = |row: &T| {
                let (object, last) = volume_of(row);
                last == name && directory.name_of(object).is_none()
            };
            rows.retain(is_last_name);
            if rows.is_empty() {
                return Err(unknown);
            }
        }
    }
    Ok(())
}
