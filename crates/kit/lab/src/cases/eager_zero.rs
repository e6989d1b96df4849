//! P1, WRITE SAME 1: an eager-zeroed disk.

use super::zeroing;
use crate::bench::{Bench, GIB};
use crate::case::{Case, Primitive};
use crate::error::LabError;
use crate::outcome::Outcome;
use crate::paper;
use crate::results::{Paper, Unit};

pub(super) const CASE: Case = Case {
    name: "eager-zero",
    title: "an eager-zeroed disk",
    needs: &[Primitive::Init],
    second_unit: false,
    paper: paper_result,
    run: |bench, outcome| Box::pin(run(bench, outcome)),
};

fn paper_result() -> Paper {
    let words = "a 100 GB eagerzeroedthick disk: the host's interface is saturated → idle";
    paper::paper("P1, Write Same 1", paper::P1, words, vec![paper::ratio("wire_bytes", Unit::Bytes, 0.0)])
}

async fn run(bench: &Bench, outcome: &mut Outcome) -> Result<(), LabError> {
    zeroing::rounds(bench, outcome, (2 * GIB, 100 * GIB)).await?;
    outcome.faster("seconds", 50.0);
    outcome.off_the_wire();
    Ok(())
}
