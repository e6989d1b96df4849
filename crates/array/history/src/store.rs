//! The file: tables of redb, and what is not written yet.

use crate::class::Class;
use crate::counters::{CounterSums, Counters};
use crate::footprint::{Entry, Footprint, Key};
use crate::gather::{Gathering, OWN_TIME, Observation, PRESENCE, Row};
use crate::page::{PAGE_STEPS, Page};
use crate::query::{Grid, Query, Series, Sums, Values};
use crate::tier::Tier;
use redb::{Builder, Database, Durability, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};
use std::collections::BTreeMap;
use std::path::Path;

/// Number of the format of the file.
const FORMAT: u64 = 1;
/// Memory for pages of the file.
const CACHE_BYTES: usize = 4 << 20;
/// Space that redb takes in a file whatever the number of pages.
const FIXED_BYTES: u64 = 1 << 20;

/// Pages, by number of the tier, entity, and step of the first row divided by the steps of a page.
const PAGES: TableDefinition<'_, (u8, &str, i64), &[u8]> = TableDefinition::new("pages");
/// Class, lifetime at the last change and length of each page.
const INDEX: TableDefinition<'_, (u8, &str, i64), (u8, u64, u32)> = TableDefinition::new("index");
/// Single numbers.
const STATE: TableDefinition<'_, &str, u64> = TableDefinition::new("state");
/// Counters since the file exists.
const COUNTERS: TableDefinition<'_, &str, u64> = TableDefinition::new("counters");
/// Counters by hour since 1970.
const HOURS: TableDefinition<'_, (i64, &str), u64> = TableDefinition::new("hours");
/// Keys of [`STATE`].
const FORMAT_KEY: &str = "format";
const LIFETIME_KEY: &str = "lifetime_seconds";
const SINCE_KEY: &str = "since_unix_seconds";

/// Reasons why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The content is not a history of this format. A new file has to take its place.
    #[error("the file is not a readable history: {0}")]
    Unreadable(String),
    /// The file may be all right, but cannot be used: access, space, a failing disk.
    #[error("{0}")]
    Unusable(String),
}

/// Result of a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flushed {
    /// Number of pages that were removed because of the limit.
    pub removed_by_limit: usize,
}

/// Open history.
#[derive(Debug)]
pub struct Store {
    database: Database,
    limit_bytes: u64,
    /// Milliseconds of observations in all.
    lifetime_ms: u64,
    gathering: Gathering,
    footprint: Footprint,
    counters: Counters,
}

impl<E: Into<redb::Error>> From<E> for Error {
    fn from(error: E) -> Self {
        let error = error.into();
        match error {
            redb::Error::Corrupted(_)
            | redb::Error::UpgradeRequired(_)
            | redb::Error::TableTypeMismatch { .. }
            | redb::Error::TypeDefinitionChanged { .. }
            | redb::Error::TableIsMultimap(_)
            | redb::Error::RepairAborted => Self::Unreadable(error.to_string()),
            redb::Error::Io(ref cause) if cause.kind() == std::io::ErrorKind::InvalidData => {
                Self::Unreadable(error.to_string())
            }
            _ => Self::Unusable(error.to_string()),
        }
    }
}

fn malformed(key: (u8, &str, i64)) -> Error {
    Error::Unreadable(format!("page {} {} {} is damaged", key.0, key.1, key.2))
}

impl Store {
    /// Opens or creates a file. `limit_bytes`: largest length of the file. `unix_seconds`: the present
    /// time, from which the counters of a new file count.
    pub fn open(path: &Path, limit_bytes: u64, unix_seconds: i64) -> Result<Self, Error> {
        let mut database = Builder::new().set_cache_size(CACHE_BYTES).create(path)?;
        let length = || std::fs::metadata(path).map_or(0, |found| found.len());
        let mut store = Self::over(database, limit_bytes, unix_seconds)?;
        if length() > limit_bytes {
            store.flush(true, |_| true)?;
            database = store.database;
            database.compact().map_err(|error| Error::Unusable(error.to_string()))?;
            store = Self::over(database, limit_bytes, unix_seconds)?;
        }
        Ok(store)
    }

    /// Uses a database.
    pub(crate) fn over(database: Database, limit_bytes: u64, unix_seconds: i64) -> Result<Self, Error> {
        let mut transaction = database.begin_write()?;
        transaction.set_quick_repair(true);
        let (lifetime_seconds, since) = {
            transaction.open_table(PAGES)?;
            let mut state = transaction.open_table(STATE)?;
            let format = state.get(FORMAT_KEY)?.map(|format| format.value());
            match format {
                None => {
                    state.insert(FORMAT_KEY, FORMAT)?;
                    state.insert(SINCE_KEY, u64::try_from(unix_seconds).unwrap_or(0))?;
                }
                Some(FORMAT) => {}
                Some(other) => return Err(Error::Unreadable(format!("its format is {other}, and {FORMAT} is known"))),
            }
            let number = |key| -> Result<u64, Error> { Ok(state.get(key)?.map_or(0, |number| number.value())) };
            (number(LIFETIME_KEY)?, i64::try_from(number(SINCE_KEY)?).unwrap_or(i64::MAX))
        };
        let footprint = footprint(&transaction)?;
        let counters = counters(&transaction, since)?;
        transaction.commit()?;
        let lifetime_ms = lifetime_seconds.saturating_mul(1000);
        Ok(Self { database, limit_bytes, lifetime_ms, gathering: Gathering::default(), footprint, counters })
    }

    /// Seconds of observations in all: the clock of ages.
    pub const fn lifetime_seconds(&self) -> u64 {
        self.lifetime_ms / 1000
    }

    /// Counters.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Adds an observation, in memory.
    pub fn observe(&mut self, observation: &Observation) {
        self.lifetime_ms = self.lifetime_ms.saturating_add(u64::from(observation.interval_ms));
        self.gathering.add(observation);
    }

    /// Adds to counters at a time in seconds since 1970, in memory.
    pub fn count(&mut self, unix_seconds: i64, increments: &[(String, u64)]) {
        self.counters.add(unix_seconds, increments);
    }

    /// Writes what is not written. `synced`: durable on return, also what belongs to steps that go on;
    /// removes pages that are too old or too many. `exists`: whether a unit still exists.
    ///
    /// After an error the store has to be opened anew; what was not written is lost.
    pub fn flush(&mut self, synced: bool, exists: impl Fn(&str) -> bool) -> Result<Flushed, Error> {
        let mut transaction = self.database.begin_write()?;
        if synced {
            transaction.set_quick_repair(true);
            self.gathering.close();
        } else {
            transaction.set_durability(Durability::None).map_err(|error| Error::Unusable(error.to_string()))?;
        }
        let lifetime = self.lifetime_seconds();
        let mut entries = write_rows(&transaction, self.gathering.waiting(), lifetime)?;
        write_counters(&transaction, &self.counters, lifetime)?;
        let mut flushed = Flushed::default();
        for (key, entry) in entries.drain(..) {
            self.footprint.insert(key, entry);
        }
        if synced {
            let expired = self.footprint.expired(lifetime, exists);
            self.remove(&transaction, &expired)?;
            let surplus = self.footprint.surplus(pages_limit(self.limit_bytes));
            self.remove(&transaction, &surplus)?;
            flushed.removed_by_limit = surplus.len();
        }
        transaction.commit()?;
        self.gathering.stored();
        self.counters.written();
        Ok(flushed)
    }

    fn remove(&mut self, transaction: &WriteTransaction, keys: &[Key]) -> Result<(), Error> {
        let (mut pages, mut index) = (transaction.open_table(PAGES)?, transaction.open_table(INDEX)?);
        for key in keys {
            let stored = (key.0.code(), key.1.as_str(), key.2);
            pages.remove(stored)?;
            index.remove(stored)?;
            self.footprint.remove(key);
        }
        Ok(())
    }

    /// Values of series, also of what is not written yet.
    pub fn query(&self, query: &Query) -> Result<Values, Error> {
        let grid = Grid::new(query);
        let mut sums = BTreeMap::<(&str, &str), Sums>::new();
        for class in Class::ALL {
            sums.insert((PRESENCE, class.presence()), Sums::new(&grid));
        }
        for series in &query.series {
            for column in [series.column.as_str(), OWN_TIME] {
                sums.insert((series.entity.as_str(), column), Sums::new(&grid));
            }
        }
        let mut entities: Vec<&str> = sums.keys().map(|(entity, _)| *entity).collect();
        entities.dedup();
        let transaction = self.database.begin_read()?;
        let pages = transaction.open_table(PAGES)?;
        let row_seconds = i64::try_from(query.tier.step_seconds()).unwrap_or(i64::MAX);
        let page_steps = PAGE_STEPS as i64;
        let first = query.tier.step_of(grid.start).div_euclid(page_steps);
        let last = query.tier.step_of(grid.end().saturating_sub(1)).div_euclid(page_steps);
        for entity in entities {
            let of_entity = || (entity, "")..;
            let mut columns: Vec<(&str, &mut Sums)> = sums
                .range_mut(of_entity())
                .take_while(|((other, _), _)| *other == entity)
                .map(|((_, column), sums)| (*column, sums))
                .collect();
            let code = query.tier.code();
            for stored in pages.range((code, entity, first)..=(code, entity, last))? {
                let (key, bytes) = stored?;
                let page = Page::decode(bytes.value()).map_err(|_| malformed(key.value()))?;
                let start = key.value().2.saturating_mul(page_steps);
                for (column, sums) in &mut columns {
                    let Some(cells) = page.column(column) else { continue };
                    for (step, cell) in (start..).zip(cells) {
                        sums.add(&grid, step.saturating_mul(row_seconds), cell);
                    }
                }
            }
            for row in self.gathering.rows_of(query.tier, entity) {
                for (column, sums) in &mut columns {
                    let cell = row.cells.iter().find(|(name, _)| name == column);
                    cell.iter().for_each(|(_, cell)| sums.add(&grid, row.step.saturating_mul(row_seconds), cell));
                }
            }
        }
        let none = Sums::new(&grid);
        let values = |series: &Series| {
            let presence = sums.get(&(PRESENCE, series.class.presence())).unwrap_or(&none);
            let of = |column| sums.get(&(series.entity.as_str(), column)).unwrap_or(&none);
            of(series.column.as_str()).values(series.kind, presence, of(OWN_TIME))
        };
        let step_seconds = u64::try_from(grid.step_seconds).unwrap_or(0);
        Ok(Values { start: grid.start, step_seconds, series: query.series.iter().map(values).collect() })
    }

    /// Start of the oldest stored page of an entity, in seconds since 1970; `None` if nothing is stored.
    pub fn since(&self, entity: &str) -> Option<i64> {
        let start = |tier: Tier| {
            let steps = self.footprint.first_of(tier, entity)?.saturating_mul(PAGE_STEPS as i64);
            Some(steps.saturating_mul(i64::try_from(tier.step_seconds()).ok()?))
        };
        Tier::ALL.into_iter().filter_map(start).min()
    }

    /// Start of the newest step in which an entity was observed, in seconds since 1970; `None` if no value of it is
    /// kept. Old values have long steps, so the observation may be later, by less than such a step.
    pub fn last(&self, entity: &str) -> Result<Option<i64>, Error> {
        let transaction = self.database.begin_read()?;
        let pages = transaction.open_table(PAGES)?;
        let mut last = None;
        for tier in Tier::ALL {
            let mut step = self.gathering.rows_of(tier, entity).map(|row| row.step).max();
            if let Some(at) = self.footprint.last_of(tier, entity)
                && let Some(bytes) = pages.get((tier.code(), entity, at))?
            {
                let page = Page::decode(bytes.value()).map_err(|_| malformed((tier.code(), entity, at)))?;
                let first = at.saturating_mul(PAGE_STEPS as i64);
                let stored =
                    page.last().and_then(|slot| i64::try_from(slot).ok()).map(|slot| first.saturating_add(slot));
                step = step.max(stored);
            }
            let seconds = i64::try_from(tier.step_seconds()).unwrap_or(i64::MAX);
            last = last.max(step.map(|step| step.saturating_mul(seconds)));
        }
        Ok(last)
    }

    /// Space of all pages in the file, rounded up, in bytes.
    pub const fn pages_bytes(&self) -> u64 {
        self.footprint.space()
    }
}

/// Space that pages may take in a file of limited length. redb doubles a file that is too short, so half of the
/// length has to be enough; a third of that is for old versions of pages until the next synced transaction.
const fn pages_limit(limit_bytes: u64) -> u64 {
    (limit_bytes / 2).saturating_sub(FIXED_BYTES) / 3 * 2
}

/// Pages of the file.
fn footprint(transaction: &WriteTransaction) -> Result<Footprint, Error> {
    let mut footprint = Footprint::default();
    let index = transaction.open_table(INDEX)?;
    for stored in index.iter()? {
        let (key, entry) = stored?;
        let (code, entity, page) = key.value();
        let (class, lifetime_seconds, bytes) = entry.value();
        let tier = Tier::of_code(code).ok_or_else(|| malformed(key.value()))?;
        let class = Class::ALL.into_iter().find(|known| known.code() == class);
        let class = class.ok_or_else(|| malformed(key.value()))?;
        footprint.insert((tier, entity.to_owned(), page), Entry { class, lifetime_seconds, bytes });
    }
    Ok(footprint)
}

fn counters(transaction: &WriteTransaction, since: i64) -> Result<Counters, Error> {
    let (mut all, mut hours) = (CounterSums::new(), BTreeMap::<i64, CounterSums>::new());
    for stored in transaction.open_table(COUNTERS)?.iter()? {
        let (name, number) = stored?;
        all.insert(name.value().to_owned(), number.value());
    }
    for stored in transaction.open_table(HOURS)?.iter()? {
        let (key, number) = stored?;
        let (hour, name) = key.value();
        hours.entry(hour).or_default().insert(name.to_owned(), number.value());
    }
    Ok(Counters::new(since, all, hours))
}

fn write_counters(transaction: &WriteTransaction, counters: &Counters, lifetime_seconds: u64) -> Result<(), Error> {
    transaction.open_table(STATE)?.insert(LIFETIME_KEY, lifetime_seconds)?;
    let changes = counters.changes();
    let (mut all, mut hours) = (transaction.open_table(COUNTERS)?, transaction.open_table(HOURS)?);
    for (name, number) in changes.all {
        all.insert(name, number)?;
    }
    for (hour, name, number) in changes.hours {
        hours.insert((hour, name), number)?;
    }
    for hour in changes.dropped {
        hours.retain_in((hour, "")..(hour.saturating_add(1), ""), |_, _| false)?;
    }
    Ok(())
}

/// Merges rows into their pages. Returns the pages.
fn write_rows(transaction: &WriteTransaction, rows: &[Row], lifetime: u64) -> Result<Vec<(Key, Entry)>, Error> {
    let mut by_page = BTreeMap::<(Tier, &str, i64), Vec<&Row>>::new();
    for row in rows {
        let key = (row.tier, row.entity.as_str(), row.step.div_euclid(PAGE_STEPS as i64));
        by_page.entry(key).or_default().push(row);
    }
    let (mut pages, mut index) = (transaction.open_table(PAGES)?, transaction.open_table(INDEX)?);
    let mut entries = Vec::with_capacity(by_page.len());
    for ((tier, entity, number), rows) in by_page {
        let key = (tier.code(), entity, number);
        let stored = pages.get(key)?.map(|bytes| Page::decode(bytes.value()));
        let mut page = stored.transpose().map_err(|_| malformed(key))?.unwrap_or_default();
        let mut class = Class::Array;
        for row in rows {
            class = row.class;
            let slot = usize::try_from(row.step.rem_euclid(PAGE_STEPS as i64)).unwrap_or(0);
            row.cells.iter().for_each(|(column, cell)| page.add(slot, column, cell));
        }
        let bytes = page.encode();
        let entry = Entry { class, lifetime_seconds: lifetime, bytes: u32::try_from(bytes.len()).unwrap_or(u32::MAX) };
        pages.insert(key, bytes.as_slice())?;
        index.insert(key, (class.code(), entry.lifetime_seconds, entry.bytes))?;
        entries.push(((tier, entity.to_owned(), number), entry));
    }
    Ok(entries)
}
