//! P3: a large eager-zeroed disk.

use super::zeroing;
use crate::bench::{Bench, GIB};
use crate::case::{Case, Primitive};
use crate::error::LabError;
use crate::outcome::Outcome;
use crate::paper;
use crate::results::{Paper, Unit};

pub(super) const CASE: Case = Case {
    name: "eager-zero-200",
    title: "a large eager-zeroed disk",
    needs: &[Primitive::Init],
    second_unit: false,
    paper: paper_result,
    run: |bench, outcome| Box::pin(run(bench, outcome)),
};

fn paper_result() -> Paper {
    let words = "a 200 GB eager-zeroed disk: 9:06 → 4:00";
    let figures = vec![paper::figure("seconds", Unit::Seconds, paper::time(9, 6), paper::time(4, 0))];
    paper::paper("P3, block zeroing", paper::P3, words, figures)
}

async fn run(bench: &Bench, outcome: &mut Outcome) -> Result<(), LabError> {
    zeroing::rounds(bench, outcome, (3 * GIB, 200 * GIB)).await?;
    outcome.faster("seconds", 50.0);
    outcome.off_the_wire();
    Ok(())
}
