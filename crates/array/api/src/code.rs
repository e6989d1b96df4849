//! What codes mean: those of problems, refusals, alerts, warnings, events, exit statuses and sense data.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Kind of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CodeKind {
    /// Condition of a refused or failed request (`code` of a problem document).
    Problem,
    /// Reason why an offload command was refused, or had no benefit.
    Refusal,
    /// Condition that needs attention.
    Alert,
    /// Consequence of a change, in its answer or in that of a dry run.
    Warning,
    /// Past change.
    Event,
    /// Exit status of the program.
    Exit,
    /// Sense data of a SCSI command: `KEY/ASC/ASCQ`, in hexadecimal.
    Sense,
}

/// Something that the user can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CodeStep {
    /// In words.
    Text(String),
    /// A command line. Words in capitals stand for names, sizes and files.
    Command(String),
}

/// What a code means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Code {
    /// Kind of the code. The same code can be of several kinds.
    pub kind: CodeKind,
    /// The code.
    pub code: String,
    /// Meaning, in a sentence.
    pub meaning: String,
    /// Possible causes, the most likely first.
    pub causes: Vec<String>,
    /// What to do, in order.
    pub todo: Vec<CodeStep>,
    /// Section of the standard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard: Option<String>,
}

/// Filter of the list of codes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CodeFilter {
    /// Only codes of this kind.
    #[param(inline)]
    pub kind: Option<CodeKind>,
}

impl From<explain::Kind> for CodeKind {
    fn from(kind: explain::Kind) -> Self {
        match kind {
            explain::Kind::Problem => Self::Problem,
            explain::Kind::Refusal => Self::Refusal,
            explain::Kind::Alert => Self::Alert,
            explain::Kind::Warning => Self::Warning,
            explain::Kind::Event => Self::Event,
            explain::Kind::Exit => Self::Exit,
            explain::Kind::Sense => Self::Sense,
        }
    }
}

impl CodeKind {
    /// Name in the interfaces.
    pub fn name(self) -> &'static str {
        let kind = explain::Kind::ALL.into_iter().find(|kind| Self::from(*kind) == self);
        kind.map_or("", explain::Kind::name)
    }
}

impl Code {
    /// All codes, or those of one kind.
    pub fn all(of: Option<CodeKind>) -> Vec<Self> {
        let kinds = explain::Kind::ALL.into_iter().filter(|kind| of.is_none_or(|of| of == CodeKind::from(*kind)));
        kinds.flat_map(|kind| kind.entries().iter().map(move |entry| Self::from((kind, entry)))).collect()
    }
}

impl From<&explain::Step> for CodeStep {
    fn from(step: &explain::Step) -> Self {
        match *step {
            explain::Step::Do(words) => Self::Text(words.to_owned()),
            explain::Step::Run(command) => Self::Command(command.to_owned()),
        }
    }
}

impl From<(explain::Kind, &explain::Entry)> for Code {
    fn from((kind, entry): (explain::Kind, &explain::Entry)) -> Self {
        Self {
            kind: kind.into(),
            code: entry.code.to_owned(),
            meaning: entry.meaning.to_owned(),
            causes: entry.causes.iter().map(|&cause| cause.to_owned()).collect(),
            todo: entry.todo.iter().map(CodeStep::from).collect(),
            standard: entry.standard.map(str::to_owned),
        }
    }
}
