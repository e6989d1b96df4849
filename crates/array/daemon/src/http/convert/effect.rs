//! Dry runs.

use super::warning;
use crate::http::problem::Fault;
use api::{Broken, Effect};

pub(in crate::http) fn effect(effect: control::Effect) -> Effect {
    let control::Effect { frees_bytes, takes_bytes, breaks, warnings, problem } = effect;
    let broken =
        |control::Broken { kind, name, why }: control::Broken| Broken { kind: kind.name().to_owned(), name, why };
    Effect {
        allowed: problem.is_none(),
        frees_bytes,
        takes_bytes,
        breaks: breaks.into_iter().map(broken).collect(),
        warnings: warnings.into_iter().map(warning).collect(),
        problem: problem.map(|error| Fault::from(error).problem()),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use utoipa::PartialSchema;

    /// The interface lists the kinds of broken objects. Its list had none of those that `control` added later.
    #[test]
    fn the_interface_lists_each_kind_of_broken_object() {
        let schema = serde_json::to_value(api::Broken::schema()).unwrap();
        let description = schema["properties"]["kind"]["description"].as_str().unwrap();
        let listed: Vec<&str> = description.split('`').skip(1).step_by(2).collect();
        // A sign-in belongs to people, and to no object of the pool.
        let mut kinds: Vec<&str> = control::BrokenKind::ALL.map(control::BrokenKind::name).into();
        kinds.push("sign-in");
        kinds.sort_unstable();
        assert_eq!(listed, kinds);
    }
}
