//! `file punch`: a hole in a file.

use crate::control::Control;
use crate::error::ControlError;
use crate::events::Draft;
use crate::files::show::{FileView, view};
use crate::live_files::FileRange;
use crate::request::Request;
use text::size::exact;

/// Makes a range of a file zero, and frees its space. The size stays.
#[derive(Clone, Debug)]
pub struct FilePunch {
    /// `SHARE/PATH`.
    pub path: String,
    /// Range.
    pub range: FileRange,
}

impl Request for FilePunch {
    type Reply = FileView;
    const NAME: &'static str = "file-punch";

    async fn run(&self, control: &Control) -> Result<FileView, ControlError> {
        let (named, files) = control.file(&self.path)?;
        let punched = files.punch(named.place.clone(), self.range).await;
        let info = punched.map_err(|refusal| named.refused(control, refusal))?;
        Ok(view(control, &named, info))
    }

    fn event(&self, view: &FileView) -> Option<Draft> {
        let length = self.range.length_bytes.map_or_else(|| "all".to_owned(), exact);
        let message = format!("{length} from byte {} of file {} made zero", self.range.offset_bytes, self.path);
        Some(Draft::info("file-punched", &view.share, message))
    }
}
