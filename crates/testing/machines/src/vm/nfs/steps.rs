//! Steps, one file each.

mod copies;
mod files;
mod mounts;

use super::lab::Lab;
use crate::vm::run::Step;

/// All steps, in order.
pub(super) const ALL: &[Step<Lab>] = &[
    Step { name: "mounts", asks: "NFSv4.2, 4.1 and 3 are mounted as documented; others are refused", run: mounts::run },
    Step { name: "files", asks: "names, attributes, links, directories and extended attributes", run: files::run },
    Step {
        name: "copies",
        asks: "CLONE, COPY, ALLOCATE, DEALLOCATE and SEEK are used, and do what they should",
        run: copies::run,
    },
];
