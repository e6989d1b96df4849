//! `file list`: files of a directory.

use crate::control::Control;
use crate::error::ControlError;
use crate::live_files::{FileListing, FilePart};
use crate::request::Request;

/// Lists a part of a directory.
#[derive(Clone, Debug)]
pub struct FileList {
    /// `SHARE` or `SHARE/PATH`.
    pub path: String,
    /// Part to list.
    pub part: FilePart,
}

/// Files of a part of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileListView {
    /// Name of the share, or of its snapshot.
    pub share: String,
    /// The files.
    pub listing: FileListing,
}

impl Request for FileList {
    type Reply = FileListView;
    const NAME: &'static str = "file-list";

    async fn run(&self, control: &Control) -> Result<FileListView, ControlError> {
        let (named, files) = control.file(&self.path)?;
        let listed = files.list(named.place.clone(), self.part).await;
        let listing = listed.map_err(|refusal| named.refused(control, refusal))?;
        Ok(FileListView { share: named.shown_share(), listing })
    }
}
