//! Creation of a file whose content is that of a source.

use super::create::Draft;
use super::{Climb, Climbing};
use crate::content::Whole;
use crate::halt::Step;
use crate::share::Share;
use vfs::{Call, Exclusive, New, NewKind, Place, SetAttributes};

impl Share<'_> {
    /// Creates a file with this content. Attributes that are not set are those of a source that is a file.
    pub(crate) fn create_sharing(
        &mut self,
        call: Call<'_>,
        to: Place<'_>,
        set: &SetAttributes,
        whole: Whole<'_>,
        known: Option<Climb>,
    ) -> Step<Climbing<Draft>> {
        self.writable()?;
        let (content, like) = self.whole(call, whole)?;
        let attributes = SetAttributes {
            mode: set.mode.or(like.mode),
            user: set.user.or(like.user),
            group: set.group.or(like.group),
            size_bytes: Some(content.size_bytes),
            ..*set
        };
        let new = New { what: NewKind::File { exclusive: Exclusive::Yes, hold: false }, attributes };
        let draft = match self.create(call, to.directory, to.name, &new, known)? {
            Ok(draft) => draft,
            Err(climb) => return Ok(Err(climb)),
        };
        let own = self.object();
        if let (Some(first), Some(region)) = (content.first, self.inode(draft.file())?.region) {
            self.name().share((content.object, first), (own, region.first()), content.blocks());
        }
        Ok(Ok(draft))
    }
}
