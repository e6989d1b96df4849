//! Offload statistics and refused commands.

use super::{offload_ending, reservation_key, reservation_type};
use api::{
    ContentKind, Latency, LatencyBucket, OffloadRefusal, OffloadRefusalCount, OffloadStatistics, OffloadSum,
    RefusalHolder, ReservationType,
};
use control::{OffloadView, RefusalView, ReservationHolder};
use history::CounterSums;
use jiff::Timestamp;
use std::cmp::Reverse;
use unit::{LatencyHistogram, Primitive, Reason, ReasonCounts};

// Clients are told how many entries may grow.

pub(in crate::http) fn offload(view: OffloadView) -> OffloadStatistics {
    let counters = view.row.counters;
    let client = view.client.map(|of| (of.client.to_string(), of.host));
    let (client, host) = client.unzip();
    OffloadStatistics {
        volume: view.volume,
        deleted: view.deleted,
        kind: kind(view.row.primitive),
        client,
        host: host.flatten(),
        primitive: view.row.primitive.name().to_owned(),
        commands: counters.commands,
        ok: counters.ok,
        refused: counters.refused,
        miscompares: counters.miscompares,
        errors: counters.errors,
        bytes: counters.bytes,
        host_bytes_avoided: counters.host_bytes_avoided,
        cloned_bytes: counters.cloned_bytes,
        copied_bytes: counters.copied_bytes,
        deallocated_bytes: counters.deallocated_bytes,
        unaligned_bytes: counters.unaligned_bytes,
        latency: latency(&counters.latency),
        refusals: reasons(&counters.refusals),
        failures: reasons(&counters.failures),
        ineffective: reasons(&counters.ineffective),
    }
}

/// Sums of each primitive that was used, from counters by name (`control::OffloadCountersRead`).
pub(in crate::http) fn offload_sums(sums: &CounterSums) -> Vec<OffloadSum> {
    let of = |primitive: Primitive| {
        let name = primitive.name();
        let number = |counter: &str| sums.get(&format!("{name}.{counter}")).copied().unwrap_or(0);
        let prefix = format!("{name}.refused.");
        let reasons = sums.iter().filter_map(|(name, count)| Some((name.strip_prefix(&prefix)?, *count)));
        let mut refusals: Vec<OffloadRefusalCount> = reasons.map(|(code, count)| reason(code, count)).collect();
        refusals.sort_by_key(|refusal| Reverse(refusal.count));
        OffloadSum {
            primitive: name.to_owned(),
            commands: number("commands"),
            ok: number("ok"),
            refused: number("refused"),
            errors: number("errors"),
            bytes: number("bytes"),
            host_bytes_avoided: number("host_bytes_avoided"),
            refusals,
        }
    };
    Primitive::ALL.into_iter().map(of).filter(|sum| sum.commands > 0).collect()
}

/// Refusals with a reason; one of another release has no words.
fn reason(code: &str, count: u64) -> OffloadRefusalCount {
    let known = Reason::ALL.into_iter().find(|reason| reason.code() == code);
    let words = known.map_or_else(|| code.to_owned(), |reason| reason.words().to_owned());
    OffloadRefusalCount { reason_code: code.to_owned(), reason: words, count }
}

/// Whether volumes or shares have a primitive.
const fn kind(primitive: Primitive) -> ContentKind {
    if primitive.is_of_volumes() { ContentKind::Volume } else { ContentKind::Share }
}

pub(super) fn latency(histogram: &LatencyHistogram) -> Latency {
    let bounded = histogram.bounded().map(|(upper_us, count)| (Some(upper_us), count));
    let buckets = bounded.chain([(None, histogram.above())]).filter(|(_, count)| *count > 0);
    Latency {
        count: histogram.count,
        total_us: histogram.sum_us(),
        max_us: histogram.max_us(),
        average_us: histogram.average_us(),
        p50_us: histogram.quantile_us(500),
        p99_us: histogram.quantile_us(990),
        histogram: buckets.map(|(upper_us, count)| LatencyBucket { upper_us, count }).collect(),
    }
}

fn reasons(counts: &ReasonCounts) -> Vec<OffloadRefusalCount> {
    let count = |(reason, count): (Reason, u64)| OffloadRefusalCount {
        reason_code: reason.code().to_owned(),
        reason: reason.words().to_owned(),
        count,
    };
    counts.most_frequent().into_iter().map(count).collect()
}

pub(in crate::http) fn refusal(view: RefusalView) -> OffloadRefusal {
    let RefusalView { volume, deleted, host, holder_host, holder_volume, entry } = view;
    let time = |unix_ms: u64| {
        let time = i64::try_from(unix_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
        time.unwrap_or(Timestamp::UNIX_EPOCH)
    };
    let holder = entry.holder.map(|holder| refusal_holder(holder, holder_host, holder_volume));
    let words = holder.as_ref().map(|holder| holder_words(holder, &volume, &entry.initiator));
    OffloadRefusal {
        sequence: entry.sequence,
        time: time(entry.unix_ms),
        first: Some(time(entry.first_unix_ms)),
        count: entry.count,
        volume,
        deleted,
        kind: kind(entry.primitive),
        initiator: entry.initiator,
        host,
        primitive: entry.primitive.name().to_owned(),
        command: entry.command.to_owned(),
        ending: offload_ending(entry.ending),
        reason_code: entry.reason.code().to_owned(),
        reason: entry.reason.words().to_owned(),
        bytes: entry.bytes,
        detail: match words {
            Some(words) => format!("{}: {words}", entry.detail),
            None => entry.detail,
        },
        holder,
    }
}

fn refusal_holder(holder: ReservationHolder, host: Option<String>, volume: Option<String>) -> RefusalHolder {
    let ReservationHolder { initiator, registration, .. } = holder;
    RefusalHolder {
        initiator,
        host,
        volume,
        reservation_type: registration.map_or(ReservationType::Reserve, |(kind, _)| reservation_type(kind)),
        key: registration.map(|(_, key)| reservation_key(key)),
    }
}

/// Holder of a reservation in words, for a command of an initiator to a volume.
fn holder_words(holder: &RefusalHolder, volume: &str, initiator: &str) -> String {
    let key = holder.key.as_ref().map_or_else(String::new, |key| format!(", key {key}"));
    let of = holder.volume.as_deref().filter(|reserved| *reserved != volume);
    let of = of.map_or_else(String::new, |reserved| format!(" of volume {reserved}"));
    // A persistent reservation is one of a path: a path that is not registered is refused like another host.
    let path = if holder.initiator == initiator { " over another path: register each path of the host" } else { "" };
    format!("{} ({}{key}){of}{path}", holder.name(), holder.reservation_type.word())
}
