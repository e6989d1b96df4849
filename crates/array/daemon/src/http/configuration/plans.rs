//! Plans that can be applied, and the last apply.

use crate::http::problem::PlanRefusal;
use api::{AppliedState, AppliedStep, ConfigurationApplied, ConfigurationOp, GeneratedSecret};
use configuration::{Configuration, Op, Plan, Step};
use jiff::Timestamp;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Largest number of plans.
const MAX_PLANS: usize = 8;
/// Time for which a plan is kept.
const KEPT: Duration = Duration::from_secs(3600);

/// A plan with the configuration that it leads to.
pub(super) struct Planned {
    pub(super) id: Uuid,
    pub(super) plan: Plan,
    pub(super) wanted: Configuration,
    made: Instant,
}

/// Plans, and the last apply.
#[derive(Default)]
pub(in crate::http) struct Plans {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    plans: VecDeque<Arc<Planned>>,
    is_applying: bool,
    applied: Option<ConfigurationApplied>,
    secrets: Vec<GeneratedSecret>,
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

    /// Keeps a plan. The oldest one goes.
    pub(super) fn keep(&self, plan: Plan, wanted: Configuration) -> Arc<Planned> {
        let planned = Arc::new(Planned { id: Uuid::new_v4(), plan, wanted, made: Instant::now() });
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
        if std::mem::replace(&mut inner.is_applying, true) {
            return Err(PlanRefusal::Running);
        }
        Ok(Applying(Arc::clone(self)))
    }

    /// Notes the start of an apply. Secrets of an earlier one are forgotten.
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
        let mut inner = self.inner();
        inner.applied = Some(applied);
        inner.secrets.clear();
    }

    /// Notes the state of a step.
    pub(super) fn note(&self, step: usize, state: AppliedState, error: Option<String>) {
        let mut inner = self.inner();
        let step = inner.applied.as_mut().and_then(|applied| applied.steps.get_mut(step));
        if let Some(step) = step {
            (step.state, step.error) = (state, error);
        }
    }

    /// Keeps generated secrets until they are taken.
    pub(super) fn keep_secrets(&self, secrets: impl IntoIterator<Item = GeneratedSecret>) {
        self.inner().secrets.extend(secrets);
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

    /// Takes the generated secrets: they are given once.
    pub(super) fn take_secrets(&self) -> Vec<GeneratedSecret> {
        std::mem::take(&mut self.inner().secrets)
    }
}
