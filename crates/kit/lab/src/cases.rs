//! The tests of the papers, one per file, in the papers' order. Each states its work, the paper's
//! result, and its checks.

mod ats_snapshots;
mod ats_touch;
mod block_size;
mod boot_storm;
mod clone_and_move;
mod clone_between_pools;
mod clone_cpu;
mod clone_template;
mod copies;
mod eager_zero;
mod eager_zero_200;
mod eager_zero_5;
mod eager_zero_space;
mod lazy_zero_writes;
mod storage_vmotion;
mod thin_reclaim;
mod vmotion_storm;
mod warm_up;
mod zero_interference;
mod zero_page_reclaim;
mod zeroing;

use crate::case::Case;

/// All cases.
pub const ALL: &[Case] = &[
    ats_touch::CASE,
    ats_snapshots::CASE,
    clone_template::CASE,
    storage_vmotion::CASE,
    eager_zero::CASE,
    lazy_zero_writes::CASE,
    clone_between_pools::CASE,
    eager_zero_space::CASE,
    warm_up::CASE,
    zero_page_reclaim::CASE,
    boot_storm::CASE,
    vmotion_storm::CASE,
    clone_and_move::CASE,
    eager_zero_200::CASE,
    thin_reclaim::CASE,
    clone_cpu::CASE,
    eager_zero_5::CASE,
    zero_interference::CASE,
    block_size::CASE,
];

/// Cases of the quick selection, which takes three minutes at most.
pub const QUICK: &[&str] =
    &["clone-template", "eager-zero", "ats-touch", "lazy-zero-writes", "thin-reclaim", "zero-interference"];

/// Finds a case by name.
pub fn find(name: &str) -> Option<&'static Case> {
    ALL.iter().find(|case| case.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_every_case_has_the_paper_s_result() {
        let names: BTreeSet<&str> = ALL.iter().map(|case| case.name).collect();
        assert_eq!(names.len(), ALL.len());
        assert!(QUICK.iter().all(|name| names.contains(name)));
        for case in ALL {
            let paper = case.paper();
            assert!(!paper.words.is_empty() && paper.test.starts_with('P'), "{}", case.name);
            assert!(!case.needs.is_empty() && case.title.len() < 100, "{}", case.name);
        }
    }
}
