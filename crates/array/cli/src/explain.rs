//! `windlass explain`: what a code means, and what to do. It needs no array.

use crate::error::CliError;
use crate::output::{Column, Format, Output, Resource, column, wide};
use ::explain::{Kind, find, nearest};
use api::{Code, CodeKind, CodeStep};

/// Arguments of `windlass explain`.
#[derive(Clone, Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub struct Arguments {
    /// A code, or sense data as a host logs it: 05/26/00, 0x5 0x26 0x0
    pub code: Vec<String>,
    /// List all codes, or those of one kind: problem, refusal, alert, event, exit, sense
    #[arg(long, value_name = "KIND", num_args = 0..=1, default_missing_value = "all", value_parser = parse_kind)]
    pub list: Option<Selected>,
}

/// Kinds that are listed.
#[derive(Clone, Copy, Debug)]
pub struct Selected(Option<Kind>);

fn parse_kind(text: &str) -> Result<Selected, String> {
    if text == "all" {
        return Ok(Selected(None));
    }
    Kind::of_name(text).map(|kind| Selected(Some(kind))).ok_or_else(|| {
        let kinds = Kind::ALL.map(Kind::name).join(", ");
        format!("there are no codes of kind {text:?}: the kinds are {kinds}")
    })
}

impl Resource for Code {
    const COLUMNS: &'static [Column<Self>] = &[
        column("kind", |item| item.kind.name().into()),
        column("code", |item| item.code.clone().into()),
        column("meaning", |item| item.meaning.clone().into()),
        wide("standard", |item| item.standard.clone().into()),
    ];

    fn name(&self) -> String {
        self.code.clone()
    }
}

pub(crate) fn run(Arguments { code, list }: &Arguments, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    if let Some(Selected(of)) = list {
        return output.list(&Code::all(of.map(CodeKind::from)));
    }
    let words = code.join(" ");
    let found: Vec<Code> = find(&words).into_iter().map(Code::from).collect();
    if found.is_empty() {
        let help = match nearest(&words)[..] {
            [] => "list all codes with  windlass explain --list".to_owned(),
            ref close => format!("similar codes:  {}", close.join(", ")),
        };
        return Err(CliError::not_found(format!("there is no code {words:?}"), &help));
    }
    match output.format() {
        Format::Table => output.text(&text(&found)),
        _ => output.list(&found),
    }
}

/// Explanations for people, one after another.
fn text(codes: &[Code]) -> String {
    codes.iter().map(explanation).collect::<Vec<_>>().join("\n")
}

fn explanation(code: &Code) -> String {
    let mut text = format!("{} ({})\n  {}\n", code.code, code.kind.name(), code.meaning);
    if !code.causes.is_empty() {
        text += "Possible causes\n";
        code.causes.iter().for_each(|cause| text += &format!("  - {cause}\n"));
    }
    if !code.todo.is_empty() {
        text += "What to do\n";
    }
    for step in &code.todo {
        text += &match step {
            CodeStep::Text(words) => format!("  - {words}\n"),
            CodeStep::Command(command) => format!("      {command}\n"),
        };
    }
    if let Some(standard) = &code.standard {
        text += &format!("Standard\n  {standard}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{explanation, parse_kind};
    use ::explain::find;
    use api::Code;

    #[test]
    fn an_explanation_has_causes_and_commands() {
        let code = Code::from(find("0x5 0x26 0x0")[0]);
        let text = explanation(&code);
        assert!(text.starts_with("05/26/00 (sense)\n  ILLEGAL REQUEST"), "{text}");
        for part in ["Possible causes\n  - A copy", "What to do\n", "\n      windlass offload", "Standard\n  SPC-4"] {
            assert!(text.contains(part), "{part:?} in {text}");
        }
        // What does not need anything has no empty sections.
        let text = explanation(&Code::from(find("volume-created")[0]));
        assert_eq!(text.lines().count(), 2, "{text}");
    }

    #[test]
    fn kinds_have_names() {
        assert!(parse_kind("sense").is_ok() && parse_kind("all").is_ok());
        assert!(parse_kind("senses").is_err_and(|error| error.contains("problem, refusal, alert")));
    }
}
