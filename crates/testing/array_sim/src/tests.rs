use super::*;

/// Without it, a failure could not be replayed.
#[test]
fn a_seed_gives_the_same_history_again() {
    for seed in [1, 2, 3] {
        let (one, other) = (run(seed, 150, false), run(seed, 150, false));
        assert_eq!(one.failure, None);
        assert_eq!(one.report, other.report);
    }
    assert_ne!(run(1, 150, false).report.history, run(2, 150, false).report.history);
}

#[test]
fn some_seeds_are_clean() {
    let mut sum = Report::default();
    for seed in 10..30 {
        let outcome = run(seed, 200, false);
        assert_eq!(outcome.failure, None);
        sum.logins += outcome.report.logins;
        sum.kills += outcome.report.kills;
        sum.unanswered += outcome.report.unanswered;
    }
    assert!(sum.logins > 40 && sum.kills > 5 && sum.unanswered > 5, "{sum:?}");
}
