//! The papers' systems, and constructors for their figures (docs of each paper: white-papers, P1 to
//! P5).

use crate::results::{Paper, PaperFigure, Unit};

pub(crate) const P1: &str = "IBM Storwize family (2013), ESXi 5.1";
pub(crate) const P2: &str = "Hitachi AMS 2000 with Dynamic Provisioning (2011), ESX 4.1";
pub(crate) const P3: &str = "QSAN XCubeSAN (2016), ESXi";
pub(crate) const P5: &str = "Dell EqualLogic (2010), vSphere 4.1";

/// A paper's statement about one of its tests.
pub(crate) fn paper(test: &str, system: &str, words: &str, figures: Vec<PaperFigure>) -> Paper {
    Paper { test: test.into(), system: system.into(), words: words.into(), figures }
}

/// A figure with the primitive off, and with it on.
pub(crate) fn figure(measure: &str, unit: Unit, off: f64, on: f64) -> PaperFigure {
    PaperFigure { measure: measure.into(), unit, off: Some(off), on: Some(on), ratio: None }
}

/// A figure given only as the ratio of on to off.
pub(crate) fn ratio(measure: &str, unit: Unit, ratio: f64) -> PaperFigure {
    PaperFigure { measure: measure.into(), unit, off: None, on: None, ratio: Some(ratio) }
}

/// Converts minutes and seconds to seconds.
pub(crate) fn time(minutes: u32, seconds: u32) -> f64 {
    f64::from(minutes * 60 + seconds)
}
