//! Regression: hosts took a copy of a pool and the original for one array, with one target name and
//! the same designators.

use super::fixture::{Fixture, Ran};
use crate::{
    CheckOptions, EXIT_CLEAN, EXIT_FAILED, EXIT_NOT_FOUND, EXIT_UNCONFIRMED, IdentityArguments, OutputFormat, Streams,
    check, plan_identity, run_identity,
};
use uuid::Uuid;

const ARRAY_ID: &str = "a0a0a0a0-1111-4222-8333-444444444444";

fn new_identity(pool: &Fixture, yes: bool, answer: Option<&str>, format: OutputFormat) -> Ran {
    let arguments = IdentityArguments { file: pool.path.clone(), yes };
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let mut input = answer.unwrap_or_default().as_bytes();
    let mut streams = Streams {
        input: &mut input,
        output: &mut output,
        errors: &mut errors,
        interactive: answer.is_some(),
        terminal: false,
    };
    let status = run_identity(&arguments, format, &mut streams);
    Ran { status, output: String::from_utf8(output).unwrap(), errors: String::from_utf8(errors).unwrap() }
}

/// Identity of the pool, from a plan, because only a daemon shows it otherwise.
fn identity(pool: &Fixture) -> (Uuid, String) {
    let planned = plan_identity(&pool.path, Uuid::nil(), &mut |_| {}).unwrap();
    (planned.old_id, planned.volumes[0].old_naa.to_string())
}

#[test]
fn a_copy_gets_another_identity_and_keeps_its_content() {
    let pool = Fixture::identified(ARRAY_ID);
    let before = identity(&pool);
    assert_eq!(before.0.to_string(), ARRAY_ID);
    let changed = new_identity(&pool, true, None, OutputFormat::Json);
    assert_eq!(changed.status, EXIT_CLEAN, "{}", changed.errors);
    let json: serde_json::Value = serde_json::from_str(&changed.output).unwrap();
    let after = identity(&pool);
    assert_eq!((json["old_id"].as_str(), json["changed"].as_bool()), (Some(ARRAY_ID), Some(true)));
    assert_eq!(json["new_id"], after.0.to_string());
    assert_eq!((&json["volumes"][0]["name"], &json["reservations_removed"]), (&"db".into(), &1.into()));
    assert!(before.0 != after.0 && before.1 != after.1 && after.1.starts_with("602574c"), "{before:?} {after:?}");
    assert_eq!(json["volumes"][0]["new_naa"], after.1);
    let outcome = check(&pool.path, CheckOptions::default(), &mut |_| {}).unwrap();
    assert!(outcome.clean, "{:?}", outcome.findings);
    assert_eq!((outcome.volumes, outcome.snapshots, outcome.documents), (2, 1, 2), "the reservation is gone");
}

#[test]
fn nothing_changes_without_agreement() {
    let pool = Fixture::identified(ARRAY_ID);
    let refused = new_identity(&pool, false, None, OutputFormat::Text);
    assert_eq!(refused.status, EXIT_UNCONFIRMED);
    assert!(refused.errors.contains("(code: unconfirmed)"), "{}", refused.errors);
    let declined = new_identity(&pool, false, Some("n\n"), OutputFormat::Text);
    assert_eq!((declined.status, declined.output.as_str()), (EXIT_FAILED, ""));
    pool.assert_unchanged();
    let agreed = new_identity(&pool, false, Some("y\n"), OutputFormat::Text);
    assert_eq!(agreed.status, EXIT_CLEAN, "{}", agreed.errors);
    assert!(agreed.output.contains("  target name  …:a0a0a0a01111 → …:"), "{}", agreed.output);
    assert!(agreed.output.contains("  persistent reservations removed from 1 volume\n"), "{}", agreed.output);
}

#[test]
fn a_pool_that_was_never_served_has_none_to_change() {
    let pool = Fixture::empty();
    let refused = new_identity(&pool, true, None, OutputFormat::Text);
    assert_eq!(refused.status, EXIT_NOT_FOUND);
    assert!(refused.errors.contains("the pool has no identity yet"), "{}", refused.errors);
}
