//! Prometheus metrics, built from the array's counters at each scrape: of the whole array, whose
//! number does not depend on that of volumes and shares, and of each volume and share.
//!
//! One prefix, base units in the names, counters end in `_total`, states are one series per state
//! with 0 or 1. Labels are volumes, shares, hosts, portals, primitives and reasons, never commands.

mod array;
mod classic;
mod family;
mod io;
mod nfs;
mod offload;
mod process;
mod volumes;

use array::Array;
use control::{MetricsView, VolumeMetricsView};
use process::Process;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;
use reactor::measurements::Measurements;
use std::sync::Arc;
use volumes::Volumes;

/// Text format of a scrape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Prometheus text format 0.0.4.
    Classic,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Format {
    /// Format for the value of a header `Accept`: OpenMetrics, if it is named and preferred to plain
    /// text.
    pub(crate) fn accepted(accept: &str) -> Self {
        let quality = |wanted: &str| {
            let of = |range: &str| {
                let mut parts = range.split(';').map(str::trim);
                (parts.next() == Some(wanted)).then(|| {
                    let quality = parts.find_map(|part| part.strip_prefix("q="));
                    quality.map_or(Some(1.0), |quality| quality.parse().ok()).unwrap_or(0.0)
                })
            };
            accept.split(',').filter_map(of).fold(0.0, f32::max)
        };
        let open = quality("application/openmetrics-text");
        if open > 0.0 && open >= quality("text/plain") { Self::OpenMetrics } else { Self::Classic }
    }

    /// Content type.
    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::Classic => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Metrics of the whole array and of this process. `notification_failures`: tries of channels that failed, by name.
pub(crate) fn of_array(
    view: MetricsView,
    measurements: Arc<Measurements>,
    notification_failures: Vec<(String, u64)>,
    format: Format,
) -> String {
    let mut process = Registry::default();
    process.register_collector(Box::new(Process::now()));
    encode(&[registry(Array { view, measurements, notification_failures }), process], format)
}

/// Metrics of each volume and share.
pub(crate) fn of_volumes(view: VolumeMetricsView, format: Format) -> String {
    encode(&[registry(Volumes(view))], format)
}

fn registry(collector: impl Collector) -> Registry {
    let mut registry = Registry::with_prefix("windlass");
    registry.register_collector(Box::new(collector));
    registry
}

fn encode(registries: &[Registry], format: Format) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _written = registries.iter().try_for_each(|registry| text::encode_registry(&mut text, registry));
    match format {
        Format::Classic => classic::of(&text),
        Format::OpenMetrics => text + "# EOF\n",
    }
}

#[cfg(test)]
mod tests {
    use super::Format;

    #[test]
    fn the_preferred_format_is_chosen() {
        let open = |accept| Format::accepted(accept) == Format::OpenMetrics;
        let prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
                          text/plain;version=0.0.4;q=0.5,*/*;q=0.2";
        assert!(
            open(prometheus) && open("application/openmetrics-text") && open("text/html, application/openmetrics-text")
        );
        assert!(open("application/openmetrics-text; q=0.5, text/plain; q=0.5"));
        for classic in ["", "*/*", "text/plain", "application/openmetrics-text;q=0", "application/openmetrics-text;q=x"]
        {
            assert!(!open(classic), "{classic}");
        }
        assert!(!open("application/openmetrics-text;q=0.2,text/plain;q=0.3"));
    }
}
