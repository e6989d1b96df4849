//! QoS policies.

use api::{QosBurst, QosDetached, QosHeld, QosPolicy};
use control::{Burst, Detached, Held, Limited, QosPolicyView};
use std::time::Duration;

pub(in crate::http) fn qos_policy(view: QosPolicyView) -> QosPolicy {
    let QosPolicyView { record, volumes, hosts, held: of } = view;
    QosPolicy {
        id: record.id,
        name: record.name,
        iops: record.iops,
        iops_burst: record.iops_burst.map(shown_burst),
        bytes_per_second: record.bytes_per_second,
        bytes_burst: record.bytes_burst.map(shown_burst),
        weight: record.weight,
        shared: record.shared,
        volumes,
        hosts,
        held: held(of),
        created: record.created,
    }
}

const fn shown_burst(Burst { per_second, seconds }: Burst) -> QosBurst {
    QosBurst { per_second, seconds }
}

pub(in crate::http) const fn burst(QosBurst { per_second, seconds }: QosBurst) -> Burst {
    Burst { per_second, seconds }
}

/// Burst of a change: none if it is 0 for 0 seconds.
pub(in crate::http) fn burst_or_none(wanted: QosBurst) -> Option<Burst> {
    (wanted != QosBurst { per_second: 0, seconds: 0 }).then_some(burst(wanted))
}

/// Policy of a volume or host: its name, and what limits have done.
pub(super) fn limited(limited: Option<Limited>) -> (Option<String>, Option<QosHeld>) {
    limited.map(|Limited { policy, held: of }| (policy, held(of))).unzip()
}

fn held(of: Held) -> QosHeld {
    let microseconds = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    QosHeld {
        delayed_commands: of.commands,
        delay_us: microseconds(of.time),
        waiting_commands: of.waiting,
        oldest_us: microseconds(of.oldest),
        operations: of.charged.operations,
        bytes: of.charged.bytes,
        offload_operations: of.charged.offload_operations,
        offload_bytes: of.charged.offload_bytes,
    }
}

pub(in crate::http) fn detached(Detached { volumes, hosts }: Detached) -> QosDetached {
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    QosDetached { volumes: count(volumes), hosts: count(hosts) }
}
