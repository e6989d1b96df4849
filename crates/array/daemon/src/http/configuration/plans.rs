//! Plans that can be applied, and the last apply.

use crate::http::problem::PlanRefusal;
use api::{AppliedState, AppliedStep, ConfigurationApplied, ConfigurationOp, GeneratedSecret};
use configuration::{Op, Plan, Step};
use jiff::Timestamp;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, SemaphorePermit};
use uuid::Uuid;

/// Largest number of plans.
const MAX_PLANS: usize = 2;
/// Generated secrets in an answer: such an answer is small enough to be repeated.
const SECRETS_AT_ONCE: usize = 500;
/// Number of generated secrets that wait from which no further apply begins.
const MAX_SECRETS: usize = 10_000;
/// Time for which a plan is kept.
const KEPT: Duration = Duration::from_secs(3600);

/// A plan that is kept.
pub(super) struct Planned {
    pub(super) id: Uuid,
    pub(super) plan: Plan,
    made: Instant,
}

/// Plans, and the last apply.
pub(in crate::http) struct Plans {
    inner: Mutex<Inner>,
    /// One plan is made at a time: a large document takes much memory.
    planning: Semaphore,
}

impl Default for Plans {
    fn default() -> Self {
        Self { inner: Mutex::default(), planning: Semaphore::new(1) }
    }
}

#[derive(Default)]
struct Inner {
    plans: VecDeque<Arc<Planned>>,
    is_applying: bool,
    applied: Option<ConfigurationApplied>,
    /// By kind, name and field.
    secrets: BTreeMap<(String, String, String), GeneratedSecret>,
}

/// Word of an operation.
pub(super) const fn op(op: Op) -> ConfigurationOp {
    match op {
        Op::Add => ConfigurationOp::Add,
        Op::Change => ConfigurationOp::Change,
        Op::Remove => ConfigurationOp::Remove,
    }
}

/// The right to apply a plan: only one is applied at a time.
pub(super) struct Applying(Arc<Plans>);

impl Drop for Applying {
    fn drop(&mut self) {
        self.0.inner().is_applying = false;
    }
}

impl Plans {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the place in which a plan is made, in turn.
    pub(super) async fn place(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        self.planning.acquire().await.ok()
    }

    /// Keeps a plan. The oldest one goes.
    pub(super) fn keep(&self, plan: Plan) -> Arc<Planned> {
        let planned = Arc::new(Planned { id: Uuid::new_v4(), plan, made: Instant::now() });
        let mut inner = self.inner();
        inner.plans.retain(|kept| kept.made.elapsed() < KEPT);
        if inner.plans.len() >= MAX_PLANS {
            inner.plans.pop_front();
        }
        inner.plans.push_back(Arc::clone(&planned));
        planned
    }

    /// Plan of an id.
    pub(super) fn find(&self, id: Uuid) -> Result<Arc<Planned>, PlanRefusal> {
        let inner = self.inner();
        let found = inner.plans.iter().find(|plan| plan.id == id && plan.made.elapsed() < KEPT);
        found.cloned().ok_or_else(|| PlanRefusal::NoPlan { id: id.to_string() })
    }

    /// Takes the right to apply a plan.
    pub(super) fn begin(self: &Arc<Self>) -> Result<Applying, PlanRefusal> {
        let mut inner = self.inner();
        if inner.secrets.len() >= MAX_SECRETS {
            return Err(PlanRefusal::SecretsWait { count: inner.secrets.len() });
        }
        if std::mem::replace(&mut inner.is_applying, true) {
            return Err(PlanRefusal::Running);
        }
        Ok(Applying(Arc::clone(self)))
    }

    /// Notes the start of an apply. Secrets of earlier ones that were not taken stay: they cannot be read again.
    pub(super) fn started(&self, job: Uuid, plan: Uuid, steps: &[Step]) {
        let step = |step: &Step| AppliedStep {
            op: op(step.op),
            kind: step.kind.name().to_owned(),
            name: step.name.clone(),
            state: AppliedState::Waiting,
            error: None,
        };
        let steps = steps.iter().map(step).collect();
        let applied = ConfigurationApplied { job, plan, started: Timestamp::now(), finished: None, steps, secrets: 0 };
        self.inner().applied = Some(applied);
    }

    /// Notes the state of a step.
    pub(super) fn note(&self, step: usize, state: AppliedState, error: Option<String>) {
        let mut inner = self.inner();
        let step = inner.applied.as_mut().and_then(|applied| applied.steps.get_mut(step));
        if let Some(step) = step {
            (step.state, step.error) = (state, error);
        }
    }

    /// Keeps generated secrets until they are taken. A newer one replaces that of the same object.
    pub(super) fn keep_secrets(&self, secrets: impl IntoIterator<Item = GeneratedSecret>) {
        let mut inner = self.inner();
        for secret in secrets {
            let key = (secret.kind.clone(), secret.name.clone(), secret.field.clone());
            inner.secrets.insert(key, secret);
        }
    }

    /// Notes the end of the apply.
    pub(super) fn finished(&self) {
        if let Some(applied) = &mut self.inner().applied {
            applied.finished = Some(Timestamp::now());
        }
    }

    /// The last apply.
    pub(super) fn applied(&self) -> Result<ConfigurationApplied, PlanRefusal> {
        let inner = self.inner();
        let mut applied = inner.applied.clone().ok_or(PlanRefusal::NothingApplied)?;
        applied.secrets = u64::try_from(inner.secrets.len()).unwrap_or(u64::MAX);
        Ok(applied)
    }

    /// Takes generated secrets: they are given once, some at a time.
    pub(super) fn take_secrets(&self) -> Vec<GeneratedSecret> {
        let secrets = &mut self.inner().secrets;
        let next = secrets.keys().nth(SECRETS_AT_ONCE).cloned();
        let rest = next.map(|next| secrets.split_off(&next)).unwrap_or_default();
        std::mem::replace(secrets, rest).into_values().collect()
    }
}
