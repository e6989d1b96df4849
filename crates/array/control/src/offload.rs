//! Offload: statistics and the log of refusals, with names for the objects.

use crate::{Control, ControlError, OffloadView, RefusalView};
use pool::ObjectId;

impl Control {
    pub(crate) fn offload_statistics(&self, volume: Option<&str>) -> Result<Vec<OffloadView>, ControlError> {
        let wanted = self.wanted(volume)?;
        let directory = self.directory();
        let name = |object| directory.volume_of(object).map(|volume| volume.name.clone());
        let mut views: Vec<OffloadView> = self
            .live
            .offload_statistics()
            .into_iter()
            .filter(|row| wanted.is_none_or(|wanted| row.volume == wanted))
            .map(|row| OffloadView { volume: name(row.volume), row })
            .collect();
        for view in &mut views {
            view.row.refusals.sort_by_key(|refusal| std::cmp::Reverse(refusal.count));
            view.row.ineffective.sort_by_key(|reason| std::cmp::Reverse(reason.count));
        }
        views.sort_by(|one, other| (&one.volume, one.row.primitive).cmp(&(&other.volume, other.row.primitive)));
        Ok(views)
    }

    pub(crate) fn offload_log(&self, volume: Option<&str>, limit: usize) -> Result<Vec<RefusalView>, ControlError> {
        let wanted = self.wanted(volume)?;
        let directory = self.directory();
        let fetched = self.live.offload_log(if wanted.is_some() { usize::MAX } else { limit });
        let kept: Vec<_> =
            fetched.into_iter().filter(|refusal| wanted.is_none_or(|wanted| refusal.volume == wanted)).collect();
        let skipped = kept.len().saturating_sub(limit);
        let view = |refusal: crate::Refusal| RefusalView {
            volume: directory.volume_of(refusal.volume).map(|volume| volume.name.clone()),
            host: directory.host_of(&refusal.initiator).map(|host| host.name.clone()),
            refusal,
        };
        Ok(kept.into_iter().skip(skipped).map(view).collect())
    }

    /// The object of a volume asked for by name.
    fn wanted(&self, volume: Option<&str>) -> Result<Option<ObjectId>, ControlError> {
        volume.map(|name| self.directory().volume(name).map(|volume| volume.object)).transpose()
    }
}
