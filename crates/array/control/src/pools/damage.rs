//! Reports of lost content, with its volumes, LBAs and snapshots.

use super::integrity::COUNTS;
use super::ranges::bad_ranges;
use crate::control::Control;
use crate::events::view::AlertView;
use crate::events::{Draft, Severity};
use crate::object_names::ObjectNames;
use crate::pools::record::BadRange;
use pool::{Incident, ObjectId, Place};

/// Largest number of ranges reported at once with separate events.
const MAX_EVENTS: usize = 16;

impl Control {
    /// Active alerts about lost content and metadata.
    pub(crate) fn damage_alerts(&self) -> Vec<AlertView> {
        self.pool().integrity.alerts(self.pool().name())
    }

    /// Reports incidents that the pool has noticed since the last call.
    pub(crate) async fn take_incidents(&self) {
        let mut places = Vec::new();
        for incident in self.catalog().take_incidents() {
            match incident {
                Incident::BadBlock(place) => places.push(place),
                Incident::Metadata(sentence) => {
                    self.report_damage(&sentence, None);
                }
            }
        }
        if !places.is_empty() {
            self.report_bad(places).await;
        }
    }

    /// Raises an event for each range of bad blocks that has not been reported.
    pub(crate) async fn report_bad(&self, places: Vec<Place>) {
        let new = self.pool().integrity.found(places, || self.environment().now());
        if new.is_empty() {
            return;
        }
        let blocks = new.iter().map(|place| place.block).collect();
        // If the maps cannot be traversed, the place of detection is reported.
        let places = self.catalog().places_of(blocks).await.ok().filter(|places| !places.is_empty()).unwrap_or(new);
        let ranges = bad_ranges(&self.directory(), &places);
        for range in ranges.iter().take(MAX_EVENTS) {
            self.raise(Draft::new(Severity::Critical, "bad-block", range.volume.clone(), sentence(range)));
        }
        if ranges.len() > MAX_EVENTS {
            let more = format!("{} more stretches cannot be read; a scrub lists them", ranges.len() - MAX_EVENTS);
            self.raise(Draft::new(Severity::Critical, "bad-block", self.pool().name().to_owned(), more));
        }
    }

    /// Raises an event for unreadable metadata, once per sentence, and returns the sentence with
    /// names. `object`: object that was being processed.
    pub(crate) fn report_damage(&self, sentence: &str, object: Option<ObjectId>) -> String {
        let names = ObjectNames::of(&self.directory());
        let explained = names.explain(sentence);
        let told = match object.and_then(|object| names.name(object)) {
            Some(name) if explained == sentence && !sentence.contains(COUNTS) => format!("{name}: {sentence}"),
            _ => explained,
        };
        let (told, is_new) = self.pool().integrity.told(sentence, told, || self.environment().now());
        if is_new {
            self.raise(Draft::new(Severity::Critical, "metadata-damaged", self.pool().name().to_owned(), told.clone()));
        }
        told
    }
}

/// `LBA 8 to 15 of v1 cannot be read, nor in its snapshots monday and tuesday`.
fn sentence(range: &BadRange) -> String {
    let last = range.lba.saturating_add(range.blocks.saturating_sub(1));
    let snapshots = range.snapshots.join(", ");
    let plural = if range.snapshots.len() == 1 { "" } else { "s" };
    let place = match (range.in_volume, range.snapshots.is_empty()) {
        (true, true) => "cannot be read".to_owned(),
        (true, false) => format!("cannot be read, nor in snapshot{plural} {snapshots}"),
        (false, _) => format!("cannot be read in snapshot{plural} {snapshots}"),
    };
    format!("LBA {} to {last} of {} {place}", range.lba, range.volume)
}
