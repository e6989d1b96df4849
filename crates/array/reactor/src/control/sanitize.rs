//! Sanitize operations of units: `control` stores them in the pool and shows them as
//! jobs, and a task of the reactor runs each of them, at a rate that leaves the pool usable for
//! others.

use super::super::{ArrayUnits, clock};
use block::VolumeId;
use control::{Control, ControlError, OverwriteRecord, PoolRefusal, SanitizeRecord};
use media::Media;
use pool::ObjectId;
use std::rc::{Rc, Weak};
use std::time::Duration;
use unit::{PersistedSanitize, SanitizeMethod, StoreError};

/// Largest number of content bytes that one operation processes per second.
const BYTES_PER_SECOND: u64 = 128 << 20;

/// Restores stored operations, and continues interrupted ones. Must be called when every unit exists
/// and before the first host is admitted.
pub(crate) fn load<M: Media + 'static>(units: &Rc<ArrayUnits<M>>, control: &Rc<Control>) -> Result<(), ControlError> {
    for (object, record) in control.resume_sanitize_operations()? {
        let volume = VolumeId(object.0);
        let failed = record.failed;
        if !units.restore_sanitize(volume, persisted(record)?) {
            let reason = format!("object {} is being sanitized, but is no logical unit", object.0);
            return Err(ControlError::Damaged { reason });
        }
        if !failed {
            tracing::info!(volume = volume.0, "a sanitize operation that was interrupted begins anew");
            start(&Rc::downgrade(units), &Rc::downgrade(control), volume);
        }
    }
    Ok(())
}

fn persisted(record: SanitizeRecord) -> Result<PersistedSanitize, ControlError> {
    let method = match record.overwrite {
        None => SanitizeMethod::BlockErase,
        Some(OverwriteRecord { count, invert, pattern }) => {
            let allowed = (1..=31).contains(&count) && (1..=512).contains(&pattern.len());
            if !allowed {
                let reason = format!("the sanitize operation of volume {} has no valid pattern", record.volume);
                return Err(ControlError::Damaged { reason });
            }
            SanitizeMethod::Overwrite { count, invert, pattern }
        }
    };
    Ok(PersistedSanitize {
        method,
        unrestricted_exit: record.unrestricted_exit,
        failed: record.failed.then(|| record.reason.unwrap_or_default()),
        client: None,
    })
}

/// Stores an operation as a document of the pool.
pub(crate) async fn store(
    control: &Control,
    volume: VolumeId,
    mut operation: Option<PersistedSanitize>,
) -> Result<(), StoreError> {
    let initiator = operation.as_mut().and_then(|operation| operation.client.take());
    let record = operation.map(|PersistedSanitize { method, unrestricted_exit, failed, client: _ }| {
        let overwrite = match method {
            SanitizeMethod::BlockErase => None,
            SanitizeMethod::Overwrite { count, invert, pattern } => Some(OverwriteRecord { count, invert, pattern }),
        };
        let (failed, reason) = (failed.is_some(), failed);
        move |volume| SanitizeRecord { volume, overwrite, unrestricted_exit, failed, reason, job: None }
    });
    let stored = control.store_sanitize_operation(ObjectId(volume.0), record, initiator.as_deref()).await;
    stored.map_err(|error| match error {
        ControlError::Pool(PoolRefusal::NoSpace { .. } | PoolRefusal::BelowFull) => StoreError::NoRoom,
        error => {
            tracing::error!(volume = volume.0, %error, "a sanitize operation could not be stored");
            StoreError::Failed
        }
    })
}

/// Starts the task that runs an operation. The task keeps neither `control` nor the units alive.
pub(crate) fn start<M: Media + 'static>(units: &Weak<ArrayUnits<M>>, control: &Weak<Control>, volume: VolumeId) {
    tracing::info!(volume = volume.0, "a sanitize operation runs");
    tokio::task::spawn_local(run(units.clone(), control.clone(), volume));
}

async fn run<M: Media + 'static>(units: Weak<ArrayUnits<M>>, control: Weak<Control>, volume: VolumeId) {
    let began = clock::now();
    let object = ObjectId(volume.0);
    loop {
        let started = clock::now();
        let Some(units) = units.upgrade() else { return };
        let Some(bytes) = units.sanitize_step(volume).await else {
            tracing::info!(
                volume = volume.0,
                seconds = clock::now().duration_since(began).as_secs(),
                "a sanitize operation has ended"
            );
            if let Some(control) = control.upgrade() {
                control.sanitize_stopped(object);
            }
            return;
        };
        let progress = units.get(volume).and_then(|unit| unit.sanitize_progress());
        drop(units);
        if let (Some((done, total)), Some(control)) = (progress, control.upgrade()) {
            control.sanitize_progress(object, done, total);
        }
        let due = Duration::from_nanos(bytes.saturating_mul(1_000_000_000) / BYTES_PER_SECOND);
        match due.checked_sub(clock::now().duration_since(started)) {
            Some(rest) => tokio::time::sleep(rest).await,
            // Lets commands of hosts run first.
            None => tokio::task::yield_now().await,
        }
    }
}
