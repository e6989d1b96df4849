//! The configuration of the array as a document: export, plan and apply.

use crate::AuditChange;
use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// Largest document in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 8 << 20;

/// Form of an exported configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConfigurationFormat {
    /// TOML, with a comment at each kind.
    #[default]
    Toml,
    /// JSON.
    Json,
}

/// Export of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ConfigurationExport {
    /// Form; default: TOML.
    #[serde(default)]
    #[param(inline)]
    pub format: ConfigurationFormat,
    /// Always false: the array returns no secret, and refuses `true`.
    #[serde(default)]
    pub secrets: bool,
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConfigurationOp {
    /// Creates an object.
    Add,
    /// Changes fields of an object.
    Change,
    /// Removes an object; volumes and shares go to the trash.
    Remove,
}

/// Step of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ConfigurationStep {
    /// What it does.
    pub op: ConfigurationOp,
    /// Kind of the object: its key in the document.
    pub kind: String,
    /// Name of the object; empty for the pool.
    pub name: String,
    /// Fields that change.
    pub change: BTreeMap<String, AuditChange>,
    /// Reason why the step cannot be taken; a plan with such a step is not applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What one should know of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Steps from the present configuration to that of a document. The array keeps the last eight plans for an hour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ConfigurationPlan {
    /// Id.
    pub id: Uuid,
    /// Revision of the configuration from which it starts.
    pub base_revision: String,
    /// Time.
    #[schema(value_type = String, format = DateTime)]
    pub created: Timestamp,
    /// Steps, by kind and name.
    pub steps: Vec<ConfigurationStep>,
    /// Number of steps that cannot be taken.
    pub problems: u64,
}

/// Request to apply a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigurationApply {
    /// Id of the plan.
    pub plan: Uuid,
    /// Permits steps that delete volumes or shares, which go to the trash.
    #[serde(default)]
    pub allow_delete: bool,
}

/// State of a step of an apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AppliedState {
    /// Not taken yet, or not any more after a failure.
    Waiting,
    /// Taken.
    Done,
    /// Refused or failed.
    Failed,
}

/// Step of an apply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AppliedStep {
    /// What it does.
    pub op: ConfigurationOp,
    /// Kind of the object.
    pub kind: String,
    /// Name of the object.
    pub name: String,
    /// State.
    pub state: AppliedState,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The last apply since the array started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ConfigurationApplied {
    /// Its job.
    pub job: Uuid,
    /// Its plan.
    pub plan: Uuid,
    /// Start.
    #[schema(value_type = String, format = DateTime)]
    pub started: Timestamp,
    /// End; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub finished: Option<Timestamp>,
    /// Steps.
    pub steps: Vec<AppliedStep>,
    /// Number of generated secrets that nobody has taken.
    pub secrets: u64,
}

/// A secret that an apply has generated.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GeneratedSecret {
    /// Kind of the object.
    pub kind: String,
    /// Name of the object.
    pub name: String,
    /// Field: `password`, `secret` or `mutual_secret`.
    pub field: String,
    /// The secret.
    pub secret: String,
}

crate::redacted::redacted_debug!(GeneratedSecret { kind, name, field } hides { secret });

/// Export of a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConfigurationDay {
    /// Day, UTC.
    #[schema(value_type = String, format = Date)]
    pub day: Date,
    /// Size in bytes.
    pub size_bytes: u64,
}
