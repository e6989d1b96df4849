//! Samples and series.

use api::{ArraySample, BusySample, History, PrimitiveSample, Sample, Series, SeriesInfo, VolumeSample};
use control::{BusyView, HistoryView, SampleView, SeriesView, UnitView};

pub(in crate::http) fn history(view: HistoryView) -> History {
    let HistoryView { start, step_seconds, series } = view;
    let convert = |SeriesView { name, unit, average, max }| Series { name, unit: unit.to_owned(), average, max };
    History { start, step_seconds, series: series.into_iter().map(convert).collect() }
}

pub(in crate::http) fn series_info((name, unit, help): (String, &'static str, &'static str)) -> SeriesInfo {
    SeriesInfo { name, unit: unit.to_owned(), help: help.to_owned(), since: None }
}

pub(in crate::http) fn sample(view: SampleView) -> Sample {
    let SampleView { sample, units, busiest } = view;
    let rate = |number: u64| sample.per_second(number);
    let (array, io) = (&sample.array, &sample.array.io);
    let primitives = sample.primitives.iter().map(|(primitive, of)| {
        let sample = PrimitiveSample {
            commands: rate(of.commands),
            refused: rate(of.refused),
            bytes: rate(of.bytes),
            host_bytes_avoided: rate(of.host_bytes_avoided),
            p99_us: of.p99_us,
        };
        (primitive.name().to_owned(), sample)
    });
    let volumes = units.iter().map(|UnitView { id, io, mapped_bytes }| {
        let sample = VolumeSample {
            reads: rate(u64::from(io.reads)),
            writes: rate(u64::from(io.writes)),
            read_bytes: rate(io.read_bytes),
            written_bytes: rate(io.written_bytes),
            p50_us: io.known(io.p50_us).map(u64::from),
            p99_us: io.known(io.p99_us).map(u64::from),
            mapped_bytes: *mapped_bytes,
        };
        (*id, sample)
    });
    let busiest = busiest.into_iter().map(|BusyView { is_share, id, name, operations, bytes, p99_us }| {
        let kind = if is_share { "share" } else { "volume" }.to_owned();
        BusySample { kind, id, name, operations, bytes, p99_us }
    });
    Sample {
        unix_seconds: sample.at.as_second(),
        array: Some(ArraySample {
            reads: rate(u64::from(io.reads)),
            writes: rate(u64::from(io.writes)),
            read_bytes: rate(io.read_bytes),
            written_bytes: rate(io.written_bytes),
            received_bytes: rate(array.received_bytes),
            sent_bytes: rate(array.sent_bytes),
            offloaded_bytes: rate(array.offloaded_bytes),
            p50_us: io.known(io.p50_us).map(u64::from),
            p99_us: io.known(io.p99_us).map(u64::from),
            queue_depth: array.queue_depth,
            busy_per_mille: array.busy_per_mille.map(u64::from),
        }),
        primitives: primitives.collect(),
        volumes: volumes.collect(),
        busiest: Some(busiest.collect()),
    }
}
