//! Dry runs.

use super::warning;
use crate::http::problem::Fault;
use api::{Broken, Effect};

pub(in crate::http) fn effect(effect: control::Effect) -> Effect {
    let control::Effect { frees_bytes, takes_bytes, breaks, warnings, problem } = effect;
    let broken = |control::Broken { kind, name, why }: control::Broken| Broken { kind: kind.to_owned(), name, why };
    Effect {
        allowed: problem.is_none(),
        frees_bytes,
        takes_bytes,
        breaks: breaks.into_iter().map(broken).collect(),
        warnings: warnings.into_iter().map(warning).collect(),
        problem: problem.map(|error| Fault::from(error).problem()),
    }
}
