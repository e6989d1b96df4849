//! `file stat`: attributes and space of a file.

use crate::control::Control;
use crate::error::ControlError;
use crate::file_places::Named;
use crate::live_files::FileInfo;
use crate::pools::count;
use crate::request::Request;

/// Shows a file.
#[derive(Clone, Debug)]
pub struct FileShow {
    /// `SHARE/PATH`.
    pub path: String,
}

/// File with its share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileView {
    /// Name of the share, or of its snapshot.
    pub share: String,
    /// The file.
    pub info: FileInfo,
    /// Snapshots of the share, which may keep content of the file.
    pub snapshots: u64,
}

impl Request for FileShow {
    type Reply = FileView;
    const NAME: &'static str = "file-show";

    async fn run(&self, control: &Control) -> Result<FileView, ControlError> {
        let (named, files) = control.file(&self.path)?;
        let shown = files.show(named.place.clone()).await;
        let info = shown.map_err(|refusal| named.refused(control, refusal))?;
        Ok(view(control, &named, info))
    }
}

/// View of a file.
pub(super) fn view(control: &Control, named: &Named, info: FileInfo) -> FileView {
    let snapshots = count(control.directory().snapshots_of(named.share.id).count());
    FileView { share: named.shown_share(), info, snapshots }
}
