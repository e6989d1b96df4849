//! `file clone`: a new file with the content of a file, a volume or a snapshot.

use crate::control::Control;
use crate::error::ControlError;
use crate::events::Draft;
use crate::files::error::FileError;
use crate::files::show::{FileView, view};
use crate::live_files::{FileAttributes, FileSource};
use crate::request::Request;

/// Creates a file that shares the content of its source as of one instant. The source may be in use. The file
/// appears as a whole or not at all.
#[derive(Clone, Debug)]
pub struct FileCreate {
    /// `SHARE/PATH` of the new file; its directory exists.
    pub path: String,
    /// Source.
    pub from: FileFrom,
    /// Permission bits; absent: those of the source file, or 0600.
    pub mode: Option<u32>,
    /// Owner and group; absent: those of the source file, or of the directory.
    pub owner: Option<(u32, u32)>,
}

/// Source of a new file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileFrom {
    /// A file: `SHARE/PATH` or `SHARE@SNAPSHOT/PATH`.
    File(String),
    /// A volume by name or id, or a snapshot of one as `VOLUME@SNAPSHOT`.
    Volume(String),
}

impl Request for FileCreate {
    type Reply = FileView;
    const NAME: &'static str = "file-create";

    async fn run(&self, control: &Control) -> Result<FileView, ControlError> {
        let mode = match self.mode {
            Some(mode) if mode > 0o7777 => return Err(FileError::InvalidMode { mode }.into()),
            mode => mode.and_then(|mode| u16::try_from(mode).ok()),
        };
        // No volume changes its size, and no snapshot is deleted, meanwhile.
        let _changes = control.lock_changes().await;
        let (named, files) = control.file(&self.path)?;
        let source = match &self.from {
            FileFrom::File(path) => FileSource::File(control.file(path)?.0.place),
            FileFrom::Volume(name) => {
                let object = control.directory().volume_source(name)?.object;
                FileSource::Volume { object, size_bytes: control.object(object)?.size_bytes }
            }
        };
        let attributes = FileAttributes { mode, owner: self.owner };
        let created = files.create(named.place.clone(), source, attributes).await;
        let info = created.map_err(|refusal| named.refused(control, refusal))?;
        Ok(view(control, &named, info))
    }

    fn event(&self, view: &FileView) -> Option<Draft> {
        let from = match &self.from {
            FileFrom::File(path) => path.clone(),
            FileFrom::Volume(name) => format!("volume {name}"),
        };
        let message = format!("file {} created as a clone of {from}", self.path);
        Some(Draft::info("file-cloned", &view.share, message))
    }
}
