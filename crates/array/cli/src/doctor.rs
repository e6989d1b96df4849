//! `windlass doctor`: what should be mended.

use crate::client::Client;
use crate::error::CliError;
use crate::output::{Column, Format, Output, Resource, column, wide};
use api::{CheckState, Examined};

impl Resource for Examined {
    const COLUMNS: &'static [Column<Self>] = &[
        column("state", |item| state(item.state).into()),
        column("check", |item| item.check.clone().into()),
        column("finding", |item| item.finding.clone().into()),
        column("fix", |item| item.fix.clone().into()),
        wide("commands", |item| (!item.commands.is_empty()).then(|| item.commands.join("; ")).into()),
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
            "mend what FAIL stands before; the lines below say how",
        )),
    }
}

/// The checks as lines, with what mends those that are not in order.
fn report(all: &[Examined]) -> String {
    let mut rows = Vec::new();
    for Examined { check, state: found, finding, fix, commands } in all {
        rows.push(vec![state(*found).to_owned(), check.clone(), finding.clone()]);
        let below = |text: String| vec![String::new(), String::new(), text];
        rows.extend(fix.as_ref().map(|fix| below(format!("  mend it: {fix}"))));
        rows.extend(commands.iter().map(|command| below(format!("      {command}"))));
    }
    text::columns::lines(&[], &rows).into_iter().map(|line| text::terminal::harmless(&line) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::report;
    use api::{CheckState, Examined};

    #[test]
    fn what_mends_a_finding_stands_below_it() {
        let examined = |state, fix: Option<&str>, commands: &[&str]| Examined {
            check: "scrub".to_owned(),
            state,
            finding: "never\u{1b}[2J".to_owned(),
            fix: fix.map(str::to_owned),
            commands: commands.iter().map(|command| (*command).to_owned()).collect(),
        };
        let failed = examined(CheckState::Fail, Some("read it as a whole"), &["windlass pool scrub p0"]);
        let text = report(&[examined(CheckState::Ok, None, &[]), failed]);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[0].starts_with("ok    scrub") && lines[1].starts_with("FAIL  scrub"), "{text}");
        assert_eq!(
            (lines[2].trim(), lines[3].trim()),
            ("mend it: read it as a whole", "windlass pool scrub p0"),
            "{text}"
        );
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }
}
