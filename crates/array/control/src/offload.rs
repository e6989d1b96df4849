//! Offload statistics, and the log of commands without success or benefit, with names of the
//! objects.

use crate::{Control, ControlError, OffloadRow, Refusal, Request};
use pool::ObjectId;

/// Lists the counters of each primitive by volume.
#[derive(Clone, Debug, Default)]
pub struct OffloadStatistics {
    /// Only this volume, by name or id; also one deleted recently, by its last name.
    pub volume: Option<String>,
}

/// Lists commands that were refused, failed, or succeeded without the benefit; oldest first.
#[derive(Clone, Debug)]
pub struct OffloadLog {
    /// Only commands on this volume, as in [`OffloadStatistics`].
    pub volume: Option<String>,
    /// At most this many, the newest.
    pub limit: usize,
}

/// Offload row with the volume's name.
#[derive(Clone, Debug)]
pub struct OffloadView {
    /// The volume's name; absent once deleted.
    pub volume: Option<String>,
    /// The row.
    pub row: OffloadRow,
}

/// Log entry with names.
#[derive(Clone, Debug)]
pub struct RefusalView {
    /// The volume's name; absent once deleted.
    pub volume: Option<String>,
    /// The initiator's host.
    pub host: Option<String>,
    /// Log entry.
    pub refusal: Refusal,
}

impl Request for OffloadStatistics {
    type Reply = Vec<OffloadView>;
    const NAME: &'static str = "offload-statistics";

    async fn run(&self, control: &Control) -> Result<Vec<OffloadView>, ControlError> {
        control.offload_statistics(self.volume.as_deref())
    }
}

impl Request for OffloadLog {
    type Reply = Vec<RefusalView>;
    const NAME: &'static str = "offload-log";

    async fn run(&self, control: &Control) -> Result<Vec<RefusalView>, ControlError> {
        let wanted = control.wanted(self.volume.as_deref())?;
        let directory = control.directory();
        let fetched = control.live.offload_log(if wanted.is_some() { usize::MAX } else { self.limit });
        let kept: Vec<_> =
            fetched.into_iter().filter(|refusal| wanted.is_none_or(|wanted| refusal.volume == wanted)).collect();
        let skipped = kept.len().saturating_sub(self.limit);
        let view = |refusal: Refusal| RefusalView {
            volume: directory.volume_of(refusal.volume).map(|volume| volume.name.clone()),
            host: directory.host_of(&refusal.initiator).map(|host| host.name.clone()),
            refusal,
        };
        Ok(kept.into_iter().skip(skipped).map(view).collect())
    }
}

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

    /// The object of a volume asked for by name.
    fn wanted(&self, volume: Option<&str>) -> Result<Option<ObjectId>, ControlError> {
        volume.map(|name| self.directory().volume(name).map(|volume| volume.object)).transpose()
    }
}
