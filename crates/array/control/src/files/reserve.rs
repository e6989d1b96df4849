//! `file reserve`: a promise of space for a file.

use crate::control::Control;
use crate::error::ControlError;
use crate::events::Draft;
use crate::files::show::{FileView, view};
use crate::live_files::FileRange;
use crate::request::Request;

/// Keeps space free for a range of a file, so that writes to it never fail for lack of space.
#[derive(Clone, Debug)]
pub struct FileReserve {
    /// `SHARE/PATH`.
    pub path: String,
    /// Range; a file that is shorter grows.
    pub range: FileRange,
}

impl Request for FileReserve {
    type Reply = FileView;
    const NAME: &'static str = "file-reserve";

    async fn run(&self, control: &Control) -> Result<FileView, ControlError> {
        let (named, files) = control.file(&self.path)?;
        let reserved = files.reserve(named.place.clone(), self.range).await;
        let info = reserved.map_err(|refusal| named.refused(control, refusal))?;
        Ok(view(control, &named, info))
    }

    fn event(&self, view: &FileView) -> Option<Draft> {
        Some(Draft::info("file-reserved", &view.share, format!("space is kept free for file {}", self.path)))
    }
}
