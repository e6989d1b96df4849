//! Schedules.

use api::{Keep, PreviewedSnapshot, Schedule, ScheduleLast, SchedulePreviewed, When};
use control::{Previewed, SchedulePreviewView, ScheduleView};

pub(in crate::http) fn schedule(view: ScheduleView) -> Schedule {
    let record = view.record;
    let last = record.last.map(|last| ScheduleLast {
        due: last.due,
        started: last.started,
        taken: last.taken,
        removed: last.removed,
        skipped: last.skipped,
        reason: last.reason,
    });
    let control::Keep { hourly, daily, weekly, monthly } = record.keep;
    Schedule {
        id: record.id,
        name: record.name,
        when: when(record.when),
        zone: record.zone,
        volumes: view.names,
        label: record.label.into_iter().map(|label| (label.key, label.value)).collect(),
        members: view.members,
        keep: Keep { hourly, daily, weekly, monthly },
        keep_last: record.keep_last,
        lock_seconds: record.lock_seconds,
        paused: record.paused,
        snapshots: view.snapshots,
        created: record.created,
        next: (!record.paused).then_some(record.next),
        last,
    }
}

pub(in crate::http) fn schedule_preview(view: SchedulePreviewView) -> SchedulePreviewed {
    let SchedulePreviewView { next, kept, removed, keeps, removes } = view;
    let number = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let snapshot = |Previewed { id, name, created }: Previewed| PreviewedSnapshot { id, name, created };
    let snapshots = |all: Vec<Previewed>| all.into_iter().map(snapshot).collect();
    SchedulePreviewed {
        next,
        kept: number(kept),
        removed: number(removed),
        keeps: snapshots(keeps),
        removes: snapshots(removes),
    }
}

const fn when(when: control::When) -> When {
    match when {
        control::When::Every { seconds } => When::Every { seconds },
        control::When::Daily { minute } => When::Daily { minute },
        control::When::Weekly { day, minute } => When::Weekly { day, minute },
    }
}

pub(in crate::http) const fn wanted_when(when: When) -> control::When {
    match when {
        When::Every { seconds } => control::When::Every { seconds },
        When::Daily { minute } => control::When::Daily { minute },
        When::Weekly { day, minute } => control::When::Weekly { day, minute },
    }
}

pub(in crate::http) const fn wanted_keep(keep: Keep) -> control::Keep {
    let Keep { hourly, daily, weekly, monthly } = keep;
    control::Keep { hourly, daily, weekly, monthly }
}
