//! Places of files in requests: `SHARE/PATH` and `SHARE@SNAPSHOT/PATH`.

use crate::condition::Noun;
use crate::control::Control;
use crate::directory::Directory;
use crate::error::ControlError;
use crate::files::error::FileError;
use crate::live_files::{FilePlace, FileRefusal, LiveFiles};
use crate::shares::error::ShareError;
use crate::shares::record::ShareRecord;
use std::rc::Rc;

/// Place that a request names, and its share.
pub(crate) struct Named {
    pub place: FilePlace,
    pub share: ShareRecord,
}

impl Named {
    /// Name of the share, or of its snapshot.
    pub fn shown_share(&self) -> String {
        match self.place.snapshot {
            Some(_) => self.place.shown.split('/').next().unwrap_or_default().to_owned(),
            None => self.share.name.clone(),
        }
    }

    /// Converts the refusal of a call.
    pub fn refused(&self, control: &Control, refusal: FileRefusal) -> ControlError {
        match refusal {
            FileRefusal::File(error) => error.into(),
            FileRefusal::Gone => ControlError::NotFound { noun: Noun::Share, name: self.share.name.clone() },
            FileRefusal::Quota => ShareError::QuotaExceeded { needed_bytes: None, available_bytes: None }.into(),
            FileRefusal::Pool(error) => control.pool_error(error),
        }
    }
}

/// Finds the share or snapshot in `SHARE/PATH` or `SHARE@SNAPSHOT/PATH`.
fn named(directory: &Directory, text: &str) -> Result<Named, ControlError> {
    let (first, path) = text.split_once('/').unwrap_or((text, ""));
    if first.is_empty() {
        let reason = "it does not begin with the name of a share".to_owned();
        return Err(FileError::InvalidPath { path: text.to_owned(), reason }.into());
    }
    let path = path.trim_end_matches('/').to_owned();
    let shown = text.trim_end_matches('/').to_owned();
    let (share, snapshot) = match first.split_once('@') {
        None => (directory.share(first)?.clone(), None),
        Some((share, _)) => {
            let share = directory.share(share)?.clone();
            let found = directory.snapshot(first)?;
            (share, Some(found.object))
        }
    };
    let place = FilePlace { share: share.object, snapshot, path, shown };
    Ok(Named { place, share })
}

impl Control {
    /// Place of a file, and the file systems of the running array.
    pub(crate) fn file(&self, text: &str) -> Result<(Named, Rc<dyn LiveFiles>), ControlError> {
        let named = named(&self.directory(), text)?;
        let not_open = || ShareError::NotOpen { name: named.share.name.clone() };
        let files = self.live().files().ok_or_else(not_open)?;
        Ok((named, files))
    }
}
