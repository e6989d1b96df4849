//! What was found to be wrong on the medium while the pool was in use.

use crate::interface::Incident;
use std::collections::VecDeque;

/// Incidents that wait to be taken; more are forgotten.
const INCIDENTS: usize = 1024;

/// Incidents that have not been taken.
#[derive(Default)]
pub(crate) struct Incidents(VecDeque<Incident>);

impl Incidents {
    /// Remembers an incident, for [`Catalog::take_incidents`](crate::Catalog::take_incidents).
    pub fn note(&mut self, incident: Incident) {
        if self.0.len() < INCIDENTS && !self.0.contains(&incident) {
            self.0.push_back(incident);
        }
    }

    /// The incidents since the last call.
    pub fn take(&mut self) -> Vec<Incident> {
        self.0.drain(..).collect()
    }
}
