//! File or device of the pool: created at the first start, opened and recovered at every later one.

use super::ArrayPool;
use super::memory::parts;
use crate::ServeError;
use crate::configuration::{MAX_POOL_BYTES, MIN_POOL_BYTES, PoolBackend, ReactorConfiguration};
use crate::pool_record::{PoolRecord, check_recorded};
use anyhow::anyhow;
use media::{FormatOptions, LocalMedia, OpenError, OpenOptions, Span, default_log_bytes};
use pool::{Core, Options, Pool, PoolError};
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Space for the first checkpoint of a new pool.
const FIRST_WRITES_BYTES: u64 = 1 << 20;

/// Back end of the pool.
pub(crate) type Store = LocalMedia<Span>;

/// Opens the configured pool. Creates it if the file does not exist, is empty, or was left blank by
/// an interrupted first start, unless the state directory has served a pool before. On failure,
/// removes a file that it created.
pub(crate) fn open(configuration: &ReactorConfiguration) -> Result<ArrayPool<Store>, ServeError> {
    let path = &configuration.pool_path;
    check_backend(configuration.pool_backend, path)?;
    check_expected(configuration)?;
    let existed = path.exists();
    let opened = open_disk(configuration).and_then(|disk| open_pool(configuration, disk));
    // A file that another process holds was created by that process.
    let own = matches!(&opened, Err(error) if !matches!(error, ServeError::PoolInUse { .. }));
    if own && !existed && path.exists() {
        match std::fs::remove_file(path) {
            Ok(()) => tracing::debug!(pool = %path.display(), "the incomplete pool file is removed"),
            Err(error) => {
                tracing::warn!(pool = %path.display(), %error, "the incomplete pool file could not be removed")
            }
        }
    }
    opened
}

/// Refuses a path of another type than configured. Without this check, a missing disk would become
/// a file of its name below /dev, in memory.
fn check_backend(backend: Option<PoolBackend>, path: &Path) -> Result<(), ServeError> {
    let reason = match (backend, std::fs::metadata(path)) {
        (Some(PoolBackend::Disk), Err(error)) => format!("the configuration says that it is a disk: {error}"),
        (Some(PoolBackend::Disk), Ok(found)) if !found.file_type().is_block_device() => {
            "the configuration says that it is a disk, and it is not one ([[pool]] backend)".to_owned()
        }
        (Some(PoolBackend::File), Ok(found)) if found.file_type().is_block_device() => {
            tracing::warn!(pool = %path.display(), "the pool is a disk, and [[pool]] backend says \"file\"");
            return Ok(());
        }
        _ => return Ok(()),
    };
    Err(ServeError::PoolRefused { path: path.to_owned(), reason, is_damaged: false })
}

/// Refuses a missing or empty file where the state directory has served a pool. Without this check,
/// a file system that is not mounted would become an empty array.
fn check_expected(configuration: &ReactorConfiguration) -> Result<(), ServeError> {
    match std::fs::metadata(&configuration.pool_path) {
        Err(error) if error.kind() == ErrorKind::NotFound => expected(configuration, "does not exist"),
        Ok(found) if found.is_file() && found.len() == 0 => expected(configuration, "is empty"),
        _ => Ok(()),
    }
}

/// Returns an error if the state directory has served a pool and no new one is requested.
fn expected(configuration: &ReactorConfiguration, condition: &'static str) -> Result<(), ServeError> {
    match &configuration.pool_sign {
        Some(sign) if !configuration.new_pool => {
            let (path, sign) = (configuration.pool_path.clone(), sign.clone());
            Err(ServeError::PoolMissing { path, condition, sign })
        }
        _ => Ok(()),
    }
}

fn open_disk(configuration: &ReactorConfiguration) -> Result<Span, ServeError> {
    let options = OpenOptions { create_bytes: Some(configuration.pool_size_bytes), ..OpenOptions::default() };
    Span::open(&configuration.pool_path, &options).map_err(|error| match error {
        OpenError::InUse { .. } | OpenError::Busy { .. } => ServeError::PoolInUse { reason: error.to_string() },
        OpenError::Member { member, reason, .. } => ServeError::PoolRefused {
            path: configuration.pool_path.clone(),
            reason: format!("the pool also needs {member}: {reason}"),
            is_damaged: false,
        },
        OpenError::System { path, operation, reason } => {
            ServeError::Failed(anyhow::Error::new(reason).context(format!("{path}: {operation} failed")))
        }
        other => ServeError::Failed(anyhow::Error::new(other)),
    })
}

fn open_pool(configuration: &ReactorConfiguration, mut disk: Span) -> Result<ArrayPool<Store>, ServeError> {
    let path = &configuration.pool_path;
    let bytes = media::Disk::block_count(&disk) * media::BLOCK_BYTES as u64;
    let blank = LocalMedia::<Span>::is_blank(&mut disk).map_err(|error| refused(path, error.to_string()))?;
    let store = if blank {
        expected(configuration, "is empty")?;
        create(path, disk, bytes)?
    } else if configuration.new_pool {
        return Err(ServeError::PoolExists { path: path.clone() });
    } else {
        LocalMedia::open(disk).map_err(|error| refused(path, error.to_string()))?
    };
    let uuid = uuid::Uuid::from_bytes(store.uuid()).to_string();
    if !blank && !configuration.adopt_pool {
        // Before the engine starts, which may write: a refused pool is not changed.
        check_recorded(&configuration.state_dir, path, &uuid)?;
    }
    let name = path.display();
    for damaged in store.damaged_copies() {
        tracing::warn!(pool = %name, ?damaged, "a copy of the superblock is damaged; the next checkpoint mends it");
    }
    tracing::info!(pool = %name, disk = store.disk().description(), "pool opened");
    if !blank {
        report_size(configuration, bytes);
    }
    let core = start(configuration, store)?;
    // After the first commit of a new pool: a record of a pool whose creation failed would stop the
    // next start.
    PoolRecord { name: configuration.array.pool_name.clone(), path: path.clone(), uuid: Some(uuid) }
        .write(&configuration.state_dir);
    Ok(Pool::new(core))
}

/// Error for a path whose content cannot be served, apart from damage of a pool.
fn refused(path: &Path, reason: String) -> ServeError {
    ServeError::PoolRefused { path: path.to_owned(), reason, is_damaged: false }
}

/// Creates a pool on a blank file or device.
fn create(path: &Path, disk: Span, bytes: u64) -> Result<Store, ServeError> {
    if bytes < MIN_POOL_BYTES {
        let (given, least) = (text::size::format(bytes), text::size::format(MIN_POOL_BYTES));
        return Err(refused(path, format!("it has {given} and holds no pool, and a new pool needs at least {least}")));
    }
    if bytes > MAX_POOL_BYTES {
        let (given, most) = (text::size::format(bytes), text::size::format(MAX_POOL_BYTES));
        return Err(refused(path, format!("it has {given}, and a pool has at most {most}")));
    }
    check_room(path, bytes)?;
    let name = path.display();
    tracing::info!(pool = %name, bytes, "making a new pool");
    let uuid = *uuid::Uuid::new_v4().as_bytes();
    let format =
        FormatOptions { uuid, log_bytes: default_log_bytes(bytes), root: pool::initial_root(uuid), overwrite: false };
    let made = LocalMedia::format(disk, format);
    made.map_err(|error| ServeError::Failed(anyhow!("cannot make the pool {name}: {error}")))
}

/// Logs that an existing pool has another size than configured for a new one.
fn report_size(configuration: &ReactorConfiguration, bytes: u64) {
    if !configuration.pool_size_is_given || bytes == configuration.pool_size_bytes {
        return;
    }
    let name = configuration.pool_path.display();
    let [size, given] = [bytes, configuration.pool_size_bytes].map(text::size::format);
    if bytes < configuration.pool_size_bytes {
        tracing::warn!(pool = %name, size, given, "the pool keeps its size: the size given is for a new pool; enlarge this one with  windlass pool grow");
    } else {
        tracing::info!(pool = %name, size, given, "the pool is larger than the size given for a new one");
    }
}

/// Starts the engine, which replays the log.
fn start(configuration: &ReactorConfiguration, store: Store) -> Result<Core<Store>, ServeError> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|e| anyhow!("no random numbers from the operating system: {e}"))?;
    let options = Options {
        memory_bytes: parts::pool(configuration.memory_bytes),
        incarnation: u64::from_le_bytes(random),
        discard: configuration.pool_discard,
        ..Options::default()
    };
    let mut told = 0;
    let started = std::time::Instant::now();
    let (core, opened) = Core::open(store, options, &mut |bytes| {
        if bytes >= told + (256 << 20) {
            told = bytes;
            tracing::info!(bytes, "replaying the log");
        }
    })
    .map_err(|error| {
        let is_damaged = matches!(error, PoolError::Damaged(_));
        ServeError::PoolRefused { path: configuration.pool_path.clone(), reason: error.to_string(), is_damaged }
    })?;
    let ms = started.elapsed().as_millis();
    tracing::info!(records = opened.records, log_bytes = opened.log_bytes, ms, "pool ready");
    Ok(core)
}

/// Refuses to create a pool in a file system without space for its log, and warns if the pool can
/// outgrow the file system.
fn check_room(path: &Path, bytes: u64) -> Result<(), ServeError> {
    let is_file = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    let Ok(system) = rustix::fs::statvfs(path) else { return Ok(()) };
    if !is_file {
        return Ok(());
    }
    let free_bytes = system.f_bavail.saturating_mul(system.f_frsize);
    let needed_bytes = default_log_bytes(bytes).saturating_add(FIRST_WRITES_BYTES);
    if free_bytes < needed_bytes {
        return Err(ServeError::NoRoom { path: path.to_owned(), needed_bytes, free_bytes });
    }
    if free_bytes < bytes {
        let (size, free) = (text::size::format(bytes), text::size::format(free_bytes));
        tracing::warn!(pool = %path.display(), size, free, "the file system has less free space than the pool may take: should it fill up, the pool takes no new data until there is space again");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

    use super::*;

    #[test]
    fn a_disk_that_is_missing_or_a_file_is_refused_and_nothing_is_created() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("by-id");
        let refusal = check_backend(Some(PoolBackend::Disk), &missing).unwrap_err().to_string();
        assert!(refusal.contains("says that it is a disk: No such file"), "{refusal}");
        assert!(!missing.exists());
        let file = directory.path().join("file");
        std::fs::write(&file, b"content").unwrap();
        let refusal = check_backend(Some(PoolBackend::Disk), &file).unwrap_err().to_string();
        assert!(refusal.contains("it is not one"), "{refusal}");
        for fine in [None, Some(PoolBackend::File)] {
            check_backend(fine, &missing).unwrap();
            check_backend(fine, &file).unwrap();
        }
    }
}
