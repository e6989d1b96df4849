//! What `file reserve` and `file punch` would do.
//!
//! Only the file system knows which blocks of a range are mapped, and finds it out when it makes the change. So these
//! bytes are exact for a whole file, and bounds in words for a part of one.

use crate::control::Control;
use crate::effect::{BrokenKind, Effect, Rehearsal};
use crate::error::ControlError;
use crate::files::error::FileError;
use crate::files::show::{FileView, view};
use crate::live_files::{FileKind, FileRange, FileSpace};
use crate::request::Request;
use text::size::exact;

/// Change of the space of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// As [`FileReserve`](super::FileReserve).
    Reserve,
    /// As [`FilePunch`](super::FilePunch).
    Punch,
}

/// Says what a change of the space of a file would do, and does not do it. It has no event.
#[derive(Clone, Debug)]
pub struct FileRehearsal {
    /// `SHARE/PATH`.
    pub path: String,
    /// Range.
    pub range: FileRange,
    /// Change.
    pub change: FileChange,
}

impl Request for FileRehearsal {
    type Reply = Effect;
    const NAME: &'static str = "file-rehearsal";

    async fn run(&self, control: &Control) -> Result<Effect, ControlError> {
        Effect::or_refusal(self.rehearse(control).await)
    }
}

impl FileRehearsal {
    async fn rehearse(&self, control: &Control) -> Result<Effect, ControlError> {
        let (named, files) = control.file(&self.path)?;
        let path = named.place.shown.clone();
        if named.place.snapshot.is_some() {
            return Err(FileError::ReadOnly { path }.into());
        }
        let shown = files.show(named.place.clone()).await;
        let file = view(control, &named, shown.map_err(|refusal| named.refused(control, refusal))?);
        if file.info.kind != FileKind::File {
            return Err(FileError::NotRegular { path, kind: file.info.kind.name().to_owned() }.into());
        }
        let length_bytes = self.range.length_in(file.info.size_bytes, &path)?;
        Ok(match self.change {
            FileChange::Reserve => self.reserve(control, &file, length_bytes),
            FileChange::Punch => self.punch(&file, length_bytes),
        })
    }

    /// True if a range reaches from the start of the file to its end.
    fn is_whole(&self, file: &FileView, length_bytes: u64) -> bool {
        self.range.offset_bytes == 0 && length_bytes >= file.info.size_bytes
    }

    fn reserve(&self, control: &Control, file: &FileView, length_bytes: u64) -> Effect {
        let FileSpace { mapped_bytes, promised_bytes, .. } = file.info.space.unwrap_or_default();
        let has = if self.is_whole(file, length_bytes) { mapped_bytes + promised_bytes } else { 0 };
        let takes_bytes = length_bytes.saturating_sub(has);
        let mut rehearsal = Rehearsal::default();
        let end_bytes = self.range.offset_bytes.saturating_add(length_bytes);
        if end_bytes > file.info.size_bytes {
            let (before, after) = (exact(file.info.size_bytes), exact(end_bytes));
            rehearsal = rehearsal.warns("size-changed", format!("file {} grows from {before} to {after}", self.path));
        }
        let available = control.catalog().space().available_bytes(0);
        if takes_bytes > available {
            let (takes, available) = (exact(takes_bytes), exact(available));
            let message = format!("up to {takes} have to be kept for the range, and {available} are available");
            rehearsal = rehearsal.warns("no-space-to-keep", message);
        }
        Effect { takes_bytes: Some(takes_bytes), ..Effect::of(rehearsal) }
    }

    fn punch(&self, file: &FileView, length_bytes: u64) -> Effect {
        let offset_bytes = self.range.offset_bytes;
        let lost = length_bytes.min(file.info.size_bytes.saturating_sub(offset_bytes));
        let why = format!("{} from byte {offset_bytes} become zeros", exact(lost));
        let mut rehearsal = Rehearsal::default().breaks(BrokenKind::File, self.path.clone(), why);
        if file.snapshots > 0 {
            let message = "what a snapshot of the share has stays there, and its space with it";
            rehearsal = rehearsal.warns("content-kept", message);
        }
        let whole = self.is_whole(file, length_bytes).then_some(file.info.space);
        Effect { frees_bytes: whole.flatten().map(|space| space.unshared_bytes), ..Effect::of(rehearsal) }
    }
}
