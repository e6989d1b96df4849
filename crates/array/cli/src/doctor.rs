//! `windlass doctor`: what should be mended.

use crate::client::Client;
use crate::error::CliError;
use crate::output::{Column, Format, Output, Resource, column};
use api::{CheckState, Examined};

impl Resource for Examined {
    const COLUMNS: &'static [Column<Self>] = &[
        column("state", |item| state(item.state).into()),
        column("check", |item| item.check.clone().into()),
        column("finding", |item| item.finding.clone().into()),
        column("fix", |item| item.fix.clone().into()),
    ];

    fn name(&self) -> String {
        self.check.clone()
    }
}

/// Word of a state.
const fn state(state: CheckState) -> &'static str {
    match state {
        CheckState::Ok => "ok",
        CheckState::Warning => "warning",
        CheckState::Fail => "FAIL",
    }
}

pub(crate) async fn run(client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let all: Vec<Examined> = client.list("/api/v1/doctor").await?;
    match output.format() {
        Format::Table => output.text(&report(&all))?,
        _ => output.list(&all)?,
    }
    let of = |state| all.iter().filter(|each| each.state == state).count();
    let (failed, warnings) = (of(CheckState::Fail), of(CheckState::Warning));
    match failed {
        0 => {
            output.report(&format!("{} checks, {warnings} warnings", all.len()));
            Ok(())
        }
        _ => Err(CliError::findings(
            format!("{failed} of {} checks failed, {warnings} warnings", all.len()),
            "mend what FAIL stands before; the line below says how",
        )),
    }
}

/// The checks as lines, with what mends those that are not in order.
fn report(all: &[Examined]) -> String {
    let mut rows = Vec::new();
    for Examined { check, state: found, finding, fix } in all {
        rows.push(vec![state(*found).to_owned(), check.clone(), finding.clone()]);
        if let Some(fix) = fix {
            rows.push(vec![String::new(), String::new(), format!("  mend it:  {fix}")]);
        }
    }
    text::columns::lines(&[], &rows).into_iter().map(|line| text::terminal::harmless(&line) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::report;
    use api::{CheckState, Examined};

    #[test]
    fn what_mends_a_finding_stands_below_it() {
        let examined = |state, fix: Option<&str>| Examined {
            check: "scrub".to_owned(),
            state,
            finding: "never\u{1b}[2J".to_owned(),
            fix: fix.map(str::to_owned),
        };
        let text =
            report(&[examined(CheckState::Ok, None), examined(CheckState::Fail, Some("windlass pool scrub p0"))]);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[0].starts_with("ok    scrub") && lines[1].starts_with("FAIL  scrub"), "{text}");
        assert!(lines[2].trim_start().starts_with("mend it:  windlass pool scrub p0"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }
}
