//! Large reads, whose content comes from the engine in one piece.

use super::Files;
use crate::engine::{Engine, Missing, View};
use crate::halt::Halt;
use crate::share::Share;
use vfs::{Call, Content, FileId, FsError, Segment, SpaceReason};

impl<E: Engine> Files<E> {
    /// Reads content that is mapped as a whole, as it is when the file is looked at. `None`: it has to be read as
    /// other content is.
    pub(super) async fn read_large(
        &self,
        call: Call<'_>,
        file: FileId,
        offset_bytes: u64,
        length_bytes: u32,
    ) -> Option<Result<Content, FsError>> {
        let look = |view: &mut dyn View| {
            let mut share = Share::new(view, &self.memory, call.counts_used);
            match share.read_named(call, file, offset_bytes, length_bytes) {
                Ok((content, named)) => {
                    // The access is noted here: when the content arrives, the file may be gone.
                    if let Some(effects) = share.into_effects() {
                        self.memory.apply(&effects);
                    }
                    Ok((Ok(content), named))
                }
                Err(Halt::Wait) => Err(Missing::Wait),
                Err(halt) => Ok((Err(halt), None)),
            }
        };
        let (looked, data) = match self.engine.look_and_read(look).await? {
            Ok(found) => found,
            Err(error) => return Some(Err(self.error(error, SpaceReason::Pool))),
        };
        match looked {
            Ok(mut content) => {
                content.segments.extend(data.map(Segment::Data));
                Some(Ok(content))
            }
            Err(Halt::Refused(error)) => Some(Err(error)),
            Err(Halt::Exhausted | Halt::Wait) => None,
        }
    }
}
