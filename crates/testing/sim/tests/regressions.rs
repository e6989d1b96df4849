//! Bugs that the simulation has found stay fixed.

/// One test for each regression, and one that none is missing.
macro_rules! regressions {
    ($($name:ident,)*) => {
        $(
            #[test]
            fn $name() {
                sim::regressions::run(stringify!($name));
            }
        )*

        #[test]
        fn each_regression_has_a_test() {
            let names: Vec<_> = sim::regressions::ALL.iter().map(|(name, _)| *name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

regressions! {
    a_clone_in_the_same_commit_as_a_resize_shares,
    a_resize_in_the_same_commit_as_a_clone_is_planned,
    a_volume_is_resized_once_in_a_commit,
    an_operation_larger_than_memory_ends,
    an_unreadable_page_does_not_make_the_engine_spin,
    a_disk_that_lied_about_a_flush_does_not_turn_time_back,
    a_healthy_pool_is_not_refused,
    a_nearly_full_pool_keeps_what_a_checkpoint_needs,
}
