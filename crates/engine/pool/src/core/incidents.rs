//! Incidents: damage of the medium that was found while the pool was in use.

use crate::interface::Incident;
use std::collections::VecDeque;

/// Largest number of incidents kept; further ones are dropped.
const INCIDENTS: usize = 1024;

/// Incidents that were not taken yet.
#[derive(Default)]
pub(crate) struct Incidents(VecDeque<Incident>);

impl Incidents {
    /// Stores an incident for [`Catalog::take_incidents`](crate::Catalog::take_incidents).
    pub fn note(&mut self, incident: Incident) {
        if self.0.len() < INCIDENTS && !self.0.contains(&incident) {
            self.0.push_back(incident);
        }
    }

    /// Takes the incidents since the last call.
    pub fn take(&mut self) -> Vec<Incident> {
        self.0.drain(..).collect()
    }
}
