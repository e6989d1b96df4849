//! The object that a request is about.

use crate::directory::Directory;
use crate::effect::DryRun;
use crate::error::ControlError;
use crate::host_groups::{HostGroupDelete, HostGroupSet, HostGroupShow};
use crate::hosts::{HostDelete, HostSet, HostShow};
use crate::qos::{QosAttach, QosPolicyDelete, QosPolicySet, QosPolicyShow};
use crate::schedules::{ScheduleDelete, ScheduleSet, ScheduleShow};
use crate::shares::{ShareDelete, ShareRollback, ShareSet, ShareShow};
use crate::snapshots::{SnapshotDelete, SnapshotShow};
use crate::volumes::{VolumeDelete, VolumeRollback, VolumeSet, VolumeShow};
use uuid::Uuid;

/// Request about one object that has a revision.
pub trait Target {
    /// The object. Errors: `NotFound`.
    fn target(&self, directory: &Directory) -> Result<Uuid, ControlError>;
}

impl<R: Target> Target for DryRun<R> {
    fn target(&self, directory: &Directory) -> Result<Uuid, ControlError> {
        self.0.target(directory)
    }
}

macro_rules! targets {
    ($($request:ident: $find:ident of $name:ident;)*) => {
        $(impl Target for $request {
            fn target(&self, directory: &Directory) -> Result<Uuid, ControlError> {
                Ok(directory.$find(&self.$name)?.id)
            }
        })*
    };
}

targets! {
    VolumeShow: volume of volume;
    VolumeSet: volume of volume;
    VolumeDelete: volume of volume;
    VolumeRollback: volume of volume;
    ShareShow: share of share;
    ShareSet: share of share;
    ShareDelete: share of share;
    ShareRollback: share of share;
    SnapshotShow: snapshot of snapshot;
    SnapshotDelete: snapshot of snapshot;
    HostShow: host of host;
    HostSet: host of host;
    HostDelete: host of host;
    HostGroupShow: host_group of group;
    HostGroupSet: host_group of group;
    HostGroupDelete: host_group of group;
    QosPolicyShow: policy of policy;
    QosPolicySet: policy of policy;
    QosPolicyDelete: policy of policy;
    QosAttach: policy of policy;
    ScheduleShow: schedule of schedule;
    ScheduleSet: schedule of schedule;
    ScheduleDelete: schedule of schedule;
}
