//! Sanitize operations (SBC-4 §4.11) that survive a power loss: one document for each volume whose
//! operation is in progress or has failed. They are deleted with the volume; clones and snapshots
//! do not inherit them.

pub(crate) mod record;

pub use record::{OverwriteRecord, SanitizeJob, SanitizeRecord};

use crate::condition::Noun;
use crate::control::Control;
use crate::environment::new_id;
use crate::error::ControlError;
use crate::events::view::AlertView;
use crate::events::{Draft, Severity};
use crate::jobs::error::JobError;
use crate::record::{Document, load};
use pool::{CatalogChange, ObjectId};
use uuid::Uuid;

impl Control {
    /// Stored operations for the running target at its start, each with its volume's object.
    /// Operations in progress become jobs. Errors: `Damaged` if a document cannot be read or its
    /// volume does not exist.
    pub fn resume_sanitize_operations(&self) -> Result<Vec<(ObjectId, SanitizeRecord)>, ControlError> {
        let operations = self.sanitize_operations()?;
        for (object, record) in operations.iter().filter(|(_, record)| !record.failed) {
            let name = self.directory().volume_of(*object).map(|volume| volume.name.clone()).unwrap_or_default();
            // Older versions stored no job with the operation.
            let job = || SanitizeJob { id: new_id(&**self.environment()), started: self.environment().now() };
            let record = SanitizeRecord { job: Some(record.job.clone().unwrap_or_else(job)), ..record.clone() };
            self.show_sanitize(*object, name, &record);
        }
        Ok(operations)
    }

    /// Stored operations, each with its volume's object. Errors: `Damaged` if a document cannot be
    /// read or its volume does not exist.
    fn sanitize_operations(&self) -> Result<Vec<(ObjectId, SanitizeRecord)>, ControlError> {
        let directory = self.directory();
        let records: Vec<SanitizeRecord> = load(&**self.catalog())?;
        let with_object = |record: SanitizeRecord| {
            let Some(volume) = directory.volume_by_id(record.volume) else {
                let reason = format!("volume {} is being sanitized, which is not there", record.volume);
                return Err(ControlError::Damaged { reason });
            };
            Ok((volume.object, record))
        };
        records.into_iter().map(with_object).collect()
    }

    /// Replaces the stored operation of the volume in `object` by the result of `record`, called
    /// with the volume's id; `None` deletes it. Durable on return. `initiator` has begun the
    /// operation, if it begins now.
    ///
    /// Errors: `NotFound` if the volume does not exist; `NoSpace` if the pool is full; the pool's
    /// errors. Nothing has changed then, unless the pool stopped: the next start may find the change.
    pub async fn store_sanitize_operation(
        &self,
        object: ObjectId,
        record: Option<impl FnOnce(Uuid) -> SanitizeRecord>,
        initiator: Option<&str>,
    ) -> Result<(), ControlError> {
        let _changes = self.lock_changes().await;
        let volume = self.directory().volume_of(object).map(|volume| (volume.id, volume.name.clone()));
        let (volume, name) =
            volume.ok_or(ControlError::NotFound { noun: Noun::Volume, name: format!("object {}", object.0) })?;
        let mut record = record.map(|record| record(volume));
        if let Some(record) = &mut record {
            let job = || SanitizeJob { id: new_id(&**self.environment()), started: self.environment().now() };
            record.job = (!record.failed).then(job);
        }
        let change = match &record {
            Some(record) => record.put()?,
            None => SanitizeRecord::of(volume).delete(),
        };
        self.store(vec![change]).await?;
        match &record {
            Some(record) if !record.failed => self.show_sanitize(object, name.clone(), record),
            Some(record) => self.sanitize_ended(object, Err(failure(&name, record))),
            None => self.sanitize_ended(object, Ok(())),
        }
        let sender = self.sender(initiator);
        let (severity, code, message) = match &record {
            Some(record) if record.failed => {
                (Severity::Critical, "sanitize-failed", failure(&name, record).to_string())
            }
            Some(SanitizeRecord { overwrite: Some(_), .. }) => {
                (Severity::Warning, "sanitize-started", format!("{sender} overwrites volume {name} by SANITIZE"))
            }
            Some(_) => (Severity::Warning, "sanitize-started", format!("{sender} erases volume {name} by SANITIZE")),
            None => (
                Severity::Info,
                "sanitize-ended",
                format!(
                    "volume {name} is sanitized; the pool keeps the bytes of freed blocks until it uses them again"
                ),
            ),
        };
        self.raise(Draft::new(severity, code, name, message));
        Ok(())
    }

    /// Initiator with its host, for a sentence.
    fn sender(&self, initiator: Option<&str>) -> String {
        let Some(initiator) = initiator else { return "a host".to_owned() };
        match self.directory().host_of(initiator) {
            Some(host) => format!("initiator {initiator} (host {})", host.name),
            None => format!("initiator {initiator}"),
        }
    }

    /// Alerts of volumes that answer no reads or writes because a sanitize operation has failed.
    pub(crate) fn sanitize_alerts(&self) -> Vec<AlertView> {
        // Unreadable documents would have prevented the start of the array.
        let operations = self.sanitize_operations().unwrap_or_default();
        let alert = |(object, record): (ObjectId, SanitizeRecord)| {
            let subject = self.directory().volume_of(object).map(|volume| volume.name.clone())?;
            Some(AlertView {
                code: "sanitize-failed",
                severity: Severity::Critical,
                message: failure(&subject, &record).to_string(),
                subject,
                since: self.started(),
                help: "let a host send SANITIZE again, or EXIT FAILURE MODE (sg_sanitize --fail), or delete the volume",
                note: None,
            })
        };
        operations.into_iter().filter(|(_, record)| record.failed).filter_map(alert).collect()
    }

    /// Change that deletes the sanitize operation of a volume, if there is one.
    pub(crate) fn without_sanitize_operation(&self, volume: Uuid) -> Option<CatalogChange> {
        let record = SanitizeRecord::of(volume);
        self.catalog().document(&record.key()).map(|_| record.delete())
    }
}

/// Error that describes a failed operation.
fn failure(volume: &str, record: &SanitizeRecord) -> ControlError {
    let reason = record.reason.clone().unwrap_or_else(|| "its reason was not recorded".to_owned());
    JobError::SanitizeFailed { volume: volume.to_owned(), reason }.into()
}
