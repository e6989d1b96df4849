//! Applies a plan: makes its calls one after another, each with its own record in the audit.

use super::calls::{Call, Phase};
use super::plans::{Applying, Planned, Plans};
use crate::audit::Change;
use crate::http::guard::Recorder;
use crate::http::operations;
use crate::people::{Caller, CallerKind, Gate};
use api::{AppliedState, GeneratedSecret};
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use configuration::{Kind, Step};
use control::{ManagementJobEnd, ManagementJobProgress};
use reactor::ArrayHandle;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Rounds of calls: one that fails is made again after the others, because it may have waited for one of them.
const MAX_ROUNDS: usize = 4;
/// Time between two reports of progress.
const REPORT_INTERVAL: Duration = Duration::from_millis(200);
/// Largest answer to a call.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// What an apply needs.
pub(super) struct Apply {
    pub(super) array: ArrayHandle,
    pub(super) gate: Arc<Gate>,
    pub(super) recorder: Arc<Recorder>,
    pub(super) plans: Arc<Plans>,
    pub(super) caller: Caller,
    pub(super) planned: Arc<Planned>,
    pub(super) calls: Vec<Call>,
    pub(super) job: Uuid,
}

impl Apply {
    /// Makes all calls, and ends the job.
    pub(super) async fn run(mut self, applying: Applying) {
        let calls = std::mem::take(&mut self.calls);
        let total = calls.len();
        let left = self.make_all(calls).await;
        let result = self.conclude(total, &left);
        self.plans.finished();
        // The next apply may begin when the job has ended.
        drop(applying);
        if let Err(error) = self.array.call(ManagementJobEnd { job: self.job, result }).await {
            tracing::warn!(%error, "the end of an apply could not be reported");
        }
    }

    /// Makes calls in rounds. Returns those that were not made, or failed, with the reasons of steps.
    async fn make_all(&self, calls: Vec<Call>) -> (Vec<Call>, BTreeMap<usize, String>) {
        let mut pending = calls;
        let mut errors = BTreeMap::new();
        let (mut done, total) = (0, u64::try_from(pending.len()).unwrap_or(u64::MAX));
        let mut reported = Instant::now();
        let (mut is_own_changed, mut may) = (false, true);
        for _round in 0..MAX_ROUNDS {
            let before = pending.len();
            let mut left: Vec<Call> = Vec::new();
            errors.clear();
            for call in pending {
                // The rights of an author end while others are given, unless it is the document that takes them.
                if may && !is_own_changed && !self.gate.stands(&self.caller) {
                    may = false;
                    errors.entry(call.step).or_insert_with(|| self.rights_ended());
                }
                // Content is deleted when everything else is as it should be.
                let waits = !may || (call.phase == Phase::Delete && !left.is_empty());
                let made = if waits { None } else { Some(self.make(&call).await) };
                match made {
                    Some(Ok(())) => {
                        done += 1;
                        is_own_changed |= self.is_own(&call);
                    }
                    Some(Err(error)) => {
                        errors.entry(call.step).or_insert(error);
                        left.push(call);
                    }
                    None => left.push(call),
                }
                if reported.elapsed() >= REPORT_INTERVAL {
                    let progress = ManagementJobProgress { job: self.job, done, total };
                    let _shown_later = self.array.call(progress).await;
                    reported = Instant::now();
                }
            }
            self.note(&left, &errors);
            pending = left;
            if !may || pending.is_empty() || pending.len() == before {
                break;
            }
        }
        (pending, errors)
    }

    /// True if a call is about the user or token with which the author of the apply has come.
    fn is_own(&self, call: &Call) -> bool {
        let step = self.planned.plan.steps.get(call.step);
        step.is_some_and(|step| match (step.kind, self.caller.kind) {
            (Kind::User, CallerKind::User) | (Kind::Token, CallerKind::Token) => {
                identity::same_name(&step.name, &self.caller.name)
            }
            _ => false,
        })
    }

    fn rights_ended(&self) -> String {
        format!("the apply has ended, because the rights of {} have ended", self.caller.name)
    }

    /// Notes the states of all steps.
    fn note(&self, left: &[Call], errors: &BTreeMap<usize, String>) {
        let left: BTreeSet<usize> = left.iter().map(|call| call.step).collect();
        for step in 0..self.planned.plan.steps.len() {
            let error = errors.get(&step).cloned();
            let state = match (left.contains(&step), &error) {
                (false, _) => AppliedState::Done,
                (true, Some(_)) => AppliedState::Failed,
                (true, None) => AppliedState::Waiting,
            };
            self.plans.note(step, state, error);
        }
    }

    fn conclude(&self, total: usize, (left, errors): &(Vec<Call>, BTreeMap<usize, String>)) -> Result<String, String> {
        let steps = &self.planned.plan.steps;
        if left.is_empty() {
            return Ok(format!("{} steps", steps.len()));
        }
        let undone: BTreeSet<usize> = left.iter().map(|call| call.step).collect();
        let first = errors.first_key_value().and_then(|(at, error)| Some((steps.get(*at)?, error)));
        let first = first.map(|(step, error)| format!("{}: {error}", named(step))).unwrap_or_default();
        let done = steps.len() - undone.len();
        Err(format!(
            "{done} of {} steps were taken ({} of {total} calls); {first}. Another plan shows what is left",
            steps.len(),
            total - left.len()
        ))
    }

    /// Makes a call. The error is that of the interface.
    async fn make(&self, call: &Call) -> Result<(), String> {
        let step = self.planned.plan.steps.get(call.step).ok_or("the step is not in the plan")?;
        let operation = operations::named(call.operation).ok_or("the operation is not in the table")?;
        let change =
            step.change.iter().map(|(field, (before, after))| (field.clone(), Change(before.clone(), after.clone())));
        let body = if call.body.is_null() { Body::empty() } else { Body::from(call.body.to_string()) };
        let request = Request::builder()
            .method(call.method)
            .uri(call.path.as_str())
            .header(header::CONTENT_TYPE, "application/json")
            .body(body)
            .map_err(|error| error.to_string())?;
        let response = self.recorder.make(&self.caller, operation, &step.name, change.collect(), request).await;
        let status = response.status();
        let bytes = axum::body::to_bytes(response.into_body(), MAX_ANSWER_BYTES).await.unwrap_or_default();
        let answer: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        if !status.is_success() {
            // An object that is gone already is as the step wants it.
            let is_gone = status == StatusCode::NOT_FOUND && call.method == "DELETE" && answer["code"] == "not-found";
            let detail = answer["detail"].as_str().map_or_else(|| status.to_string(), str::to_owned);
            return if is_gone { Ok(()) } else { Err(detail) };
        }
        self.plans.keep_secrets(secrets(step, call, &answer));
        Ok(())
    }
}

/// Kind and name of a step's object.
pub(super) fn named(step: &Step) -> String {
    format!("{} {}", step.kind.name().replace('_', " "), step.name).trim_end().to_owned()
}

/// Secrets that the array has generated for a call, or in its answer.
fn secrets(step: &Step, call: &Call, answer: &Value) -> Vec<GeneratedSecret> {
    let secret = |field: &str, value: &Value| {
        value.as_str().map(|secret| GeneratedSecret {
            kind: step.kind.name().to_owned(),
            name: step.name.clone(),
            field: field.to_owned(),
            secret: secret.to_owned(),
        })
    };
    let generated = call.generated.and_then(|field| {
        let body = &call.body;
        secret(field, body.get(field).or_else(|| body["settings"].get(field))?)
    });
    let of_host = [("secret", "chap_secret"), ("mutual_secret", "mutual_chap_secret")];
    let of_host = of_host.into_iter().filter_map(|(field, of)| secret(field, &answer["generated"][of]));
    let of_token = (call.operation == "token_create").then(|| secret("secret", &answer["secret"])).flatten();
    generated.into_iter().chain(of_host).chain(of_token).collect()
}
