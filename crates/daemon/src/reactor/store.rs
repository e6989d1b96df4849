//! The pool's file or device: made at the first start, opened and recovered at every other.

use super::ArrayPool;
use crate::ServeError;
use crate::starter::ReactorConfiguration;
use anyhow::{Context, anyhow};
use media::{FileDisk, FormatOptions, LocalMedia, OpenOptions, default_log_bytes};
use pool::{Core, Options, Pool};

/// The pool's back end.
pub(crate) type Store = LocalMedia<FileDisk>;

/// Opens the pool of the configuration, making it when the file does not exist or an interrupted first start left it blank.
pub(crate) fn open(configuration: &ReactorConfiguration) -> Result<ArrayPool, ServeError> {
    let path = &configuration.pool_path;
    let mut options = OpenOptions::default();
    let exists = path.exists();
    if !exists {
        options.create_bytes = Some(configuration.pool_size_bytes);
    }
    let mut disk = FileDisk::open(path, &options).map_err(|e| ServeError::Failed(anyhow::Error::new(e)))?;
    let name = path.display();
    let blank = LocalMedia::<FileDisk>::is_blank(&mut disk).map_err(|e| ServeError::Failed(anyhow::Error::new(e)))?;
    let store = if blank {
        let bytes = media::Disk::block_count(&disk) * media::BLOCK_BYTES as u64;
        tracing::info!(pool = %name, bytes, "making a new pool");
        let uuid = *uuid::Uuid::new_v4().as_bytes();
        let format = FormatOptions {
            uuid,
            log_bytes: default_log_bytes(bytes),
            root: pool::initial_root(uuid),
            overwrite: false,
        };
        LocalMedia::format(disk, format)
    } else {
        LocalMedia::open(disk)
    }
    .with_context(|| format!("cannot open the pool {name}"))?;
    for damaged in store.damaged_copies() {
        tracing::warn!(pool = %name, ?damaged, "a copy of the superblock is damaged; the next checkpoint mends it");
    }
    tracing::info!(pool = %name, disk = store.disk().description(), "pool opened");
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|e| anyhow!("no random numbers from the operating system: {e}"))?;
    // The rest of the bound is for connections, the management plane and the program itself.
    let memory_bytes = usize::try_from(configuration.memory_bytes / 2).unwrap_or(usize::MAX);
    let options = Options { memory_bytes, incarnation: u64::from_le_bytes(random), destage_batch: 256 };
    let mut told = 0;
    let started = std::time::Instant::now();
    let (core, opened) = Core::open(store, options, &mut |bytes| {
        if bytes >= told + (256 << 20) {
            told = bytes;
            tracing::info!(bytes, "replaying the log");
        }
    })
    .with_context(|| format!("cannot open the pool {name}"))?;
    tracing::info!(
        records = opened.records,
        log_bytes = opened.log_bytes,
        ms = started.elapsed().as_millis(),
        "pool ready"
    );
    Ok(Pool::new(core))
}
