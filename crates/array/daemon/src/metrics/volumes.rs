//! Metrics of each volume and share. Gauges that are rarely other than 0 are left out where they are 0.

use super::family::{Labels, counter, counter_seconds, gauge};
use super::io;
use super::offload::{self, Row, with};
use control::{
    OffloadCounters, OffloadRow, Primitive, Reservations, ShareMetrics, VolumeCounters, VolumeMetrics,
    VolumeMetricsView,
};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use std::fmt;

/// Counters of volumes and shares.
#[derive(Debug)]
pub(super) struct Volumes(pub VolumeMetricsView);

impl Collector for Volumes {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        self.info(&mut encoder)?;
        self.volumes(&mut encoder)?;
        self.shares(&mut encoder)?;
        let volumes = self.0.volumes.iter().filter_map(|of| Some(reads_and_writes(&label(of), of.counters.as_ref()?)));
        io::families(&mut encoder, "volume_io", &volumes.collect::<Vec<_>>())?;
        let shares = self.0.shares.iter().filter_map(|of| Some(reads_and_writes(&of_share(of), of.counters.as_ref()?)));
        io::families(&mut encoder, "share_io", &shares.collect::<Vec<_>>())?;
        self.limits(&mut encoder)?;
        self.offload(&mut encoder)
    }
}

impl Volumes {
    fn info(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let pool = self.0.pool.as_str();
        let naas: Vec<String> = self.0.volumes.iter().map(|volume| volume.record.naa.to_string()).collect();
        let ids: Vec<String> = self.0.volumes.iter().map(|volume| volume.record.id.to_string()).collect();
        let rows = self.0.volumes.iter().zip(naas.iter().zip(&ids)).map(|(volume, (naa, id))| {
            let name = volume.record.name.as_str();
            (vec![("volume", name), ("id", id.as_str()), ("naa", naa.as_str()), ("pool", pool)], 1)
        });
        gauge(encoder, "volume_info", "Names of a volume, always 1", rows.collect())
    }

    fn volumes(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let rows = |value: fn(&VolumeMetrics) -> Option<u64>| -> Vec<(Labels<'_>, u64)> {
            self.0.volumes.iter().filter_map(|volume| Some((label(volume), value(volume)?))).collect()
        };
        let size = rows(|volume| Some(volume.object.size_bytes));
        gauge(encoder, "volume_provisioned_bytes", "Size that hosts see", size)?;
        let mapped = rows(|volume| Some(volume.object.mapped_bytes));
        gauge(encoder, "volume_mapped_bytes", "Bytes written and not unmapped", mapped)?;
        let unique = rows(|volume| volume.unique_bytes);
        gauge(encoder, "volume_unique_bytes", "Bytes that deleting the volume would free", unique)?;
        let snapshots = rows(|volume| volume.snapshot_bytes);
        gauge(encoder, "volume_snapshot_bytes", "Bytes that deleting the volume's snapshots would free", snapshots)?;
        let promised = rows(|volume| not_zero(volume.object.promised_bytes));
        gauge(encoder, "volume_promised_bytes", "Bytes kept free for the volume", promised)?;
        let cache = rows(|volume| not_zero(u64::from(volume.object.write_cache)));
        gauge(encoder, "volume_write_cache", "1 when the write cache is on", cache)?;
        let registrations = rows(|volume| not_zero(volume.reservations.registrations.len() as u64));
        gauge(encoder, "volume_registrations", "Initiator ports registered by PERSISTENT RESERVE OUT", registrations)?;
        let reserved = rows(|volume| {
            let Reservations { reservation_type, reserved_by, .. } = &volume.reservations;
            not_zero(u64::from(reservation_type.is_some() || reserved_by.is_some()))
        });
        gauge(encoder, "volume_reserved", "1 when an initiator holds a reservation of the volume", reserved)?;
        let in_flight = rows(|volume| not_zero(volume.counters.as_ref()?.queue_depth));
        gauge(encoder, "volume_commands_in_flight", "SCSI commands in flight", in_flight)
    }

    /// Of volumes that have a QoS policy.
    fn limits(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let limited = || self.0.volumes.iter().filter_map(|volume| Some((label(volume), volume.held?)));
        let delay = limited().map(|(label, held)| (label, held.time.as_secs_f64())).collect();
        let help = "Time that commands have waited for limits of the volume's QoS policy";
        counter_seconds(encoder, "volume_qos_delay_seconds", help, delay)?;
        let commands = limited().map(|(label, held)| (label, held.commands)).collect();
        let help = "Commands that have waited for limits of the volume's QoS policy";
        counter(encoder, "volume_qos_delayed_commands", help, commands)?;
        let waiting = limited().filter_map(|(label, held)| Some((label, not_zero(held.waiting)?))).collect();
        gauge(
            encoder,
            "volume_qos_waiting_commands",
            "Commands that wait for limits of the volume's QoS policy",
            waiting,
        )
    }

    fn shares(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let rows = |value: fn(&ShareMetrics) -> Option<u64>| -> Vec<(Labels<'_>, u64)> {
            self.0.shares.iter().filter_map(|share| Some((of_share(share), value(share)?))).collect()
        };
        let used = rows(|share| Some(share.object.mapped_bytes));
        gauge(encoder, "share_used_bytes", "Bytes of stored files and their metadata", used)?;
        let unique = rows(|share| share.unique_bytes);
        gauge(encoder, "share_unique_bytes", "Bytes that deleting the share would free", unique)?;
        let snapshots = rows(|share| share.snapshot_bytes);
        gauge(encoder, "share_snapshot_bytes", "Bytes that deleting the share's snapshots would free", snapshots)?;
        let promised = rows(|share| not_zero(share.object.promised_bytes));
        gauge(encoder, "share_promised_bytes", "Bytes kept free for the share", promised)
    }

    fn offload(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let of_volume = |volume| move |row| primitive(label(volume), row);
        let volumes: Vec<Row<'_>> =
            self.0.volumes.iter().flat_map(|volume| volume.offload.iter().map(of_volume(volume))).collect();
        offload::counters(encoder, "volume_offload", &volumes)?;
        let of_share = |share| move |row| primitive(of_share(share), row);
        let shares: Vec<Row<'_>> =
            self.0.shares.iter().flat_map(|share| share.offload.iter().map(of_share(share))).collect();
        offload::counters(encoder, "share_offload", &shares)?;
        let unmap = self.0.volumes.iter().filter_map(|volume| {
            let of = find(volume, Primitive::Unmap)?;
            Some((label(volume), (of.deallocated_bytes, of.unaligned_bytes)))
        });
        offload::unmap_bytes(encoder, "volume_unmap_bytes", unmap.collect())?;
        let conflicts = self.0.volumes.iter().filter_map(|volume| {
            let miscompares = find(volume, Primitive::Ats).map_or(0, |of| of.miscompares);
            let counts = (miscompares, volume.reservations.conflicts);
            (counts != (0, 0)).then(|| (label(volume), counts))
        });
        offload::lock_conflicts(encoder, "volume_lock_conflicts", conflicts.collect())
    }
}

/// Reads and writes of a volume or share.
fn reads_and_writes<'a>(labels: &Labels<'a>, of: &'a VolumeCounters) -> io::Row<'a> {
    (["read", "write"].map(|op| with(labels, "op", op)), &of.io, &of.latency)
}

/// Counters of a primitive, if it was used.
fn find(volume: &VolumeMetrics, wanted: Primitive) -> Option<&OffloadCounters> {
    volume.offload.iter().find(|row| row.primitive == wanted).map(|row| &row.counters)
}

fn not_zero(value: u64) -> Option<u64> {
    (value > 0).then_some(value)
}

fn label(volume: &VolumeMetrics) -> Labels<'_> {
    vec![("volume", volume.record.name.as_str())]
}

fn of_share(share: &ShareMetrics) -> Labels<'_> {
    vec![("share", share.record.name.as_str())]
}

fn primitive<'a>(labels: Labels<'a>, row: &'a OffloadRow) -> Row<'a> {
    (with(&labels, "primitive", row.primitive.name()), &row.counters)
}
