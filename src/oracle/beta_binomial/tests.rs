//! The set against mpmath, its extremes and its order.

use super::*;

/// s, n, alpha, lcb, ucb, one-sided ucb by mpmath 1.4.1 with 40 digits: bisection of the definition, incomplete betas by
/// tanh-sinh quadrature of the tail.
const VALUES: &str = "
    0 10 0.025 0.0 0.41870864432956072 0.36511501154154205
    3 10 0.025 0.025367850169356757 0.77486864798020338 0.75983844349015285
    20 100 0.025 0.086008280382044446 0.36179109643768895 0.34833799843364835
    480 600 0.025 0.73397098465560244 0.85661684490282772 0.85557311276476001
    0 1 0.1 0.0 0.95 0.94112181101652352
    1 2 0.001 0.00012501562890747113 0.99987498437109253 0.99987408505019007
    1 1000 0.01 8.9247632387443177e-8 0.011728697720789006 0.0086238290153770382
    999 1000 0.01 0.98827130227921099 0.99999991075236761 0.99999991073544422
    0 100000 0.025 0.0 0.0001001720662387281 4.5720442873449155e-5
    1 100000 0.025 2.230213245775531e-10 0.00013297689633007809 7.5333881601525941e-5
    50000 100000 0.025 0.49304651138247092 0.50695348861752908 0.50670286913861534
    99999 100000 0.025 0.99986702310366992 0.99999999977697868 0.99999999977697657
    3 1000000 0.025 3.0093955987565684e-8 1.9442665701696826e-5 1.1829375312332926e-5
    700000 1000000 0.0001 0.69737565503908814 0.70261562830891719 0.70257881078881198
    7 1000000000 0.025 3.5199950885146879e-10 3.1898872323453995e-8 1.8887316505728031e-8
    123456789 1000000000 0.025 0.12340120996060372 0.12351238237445012 0.1235094303651433
    999999999 1000000000 0.025 0.9999999817815403 0.99999999999999978 0.99999999999999978
    999995000 1000000000 1e-06 0.99999448960723572 0.99999547785936086 0.99999547784654063
    0 1000000000 0.025 0.0 1.4622877208722572e-8 4.5721516983891086e-9";

#[test]
fn ends_agree_with_mpmath() {
    for line in VALUES.trim().lines() {
        let numbers: Vec<f64> = line
            .split_whitespace()
            .map(|x| x.parse().unwrap())
            .collect();
        let [s, n, alpha, lcb, ucb, upper] = numbers[..] else {
            panic!("{line}");
        };
        let (s, n) = (s as u64, n as u64);
        let found = beta_binomial_interval(s, n, alpha);
        // Relative to the distance from s/n as well, which is small for large n.
        let share = s as f64 / n as f64;
        let close = |found: f64, wanted: f64| {
            let room = 1e-12 * (wanted - share).abs() + 3e-16;
            assert!(
                (found - wanted).abs() <= room,
                "{s} of {n}: {found} for {wanted}"
            );
        };
        close(found.lcb, lcb);
        close(found.ucb, ucb);
        close(beta_binomial_upper(s, n, alpha), upper);
        // The mirror image.
        let mirror = beta_binomial_interval(n - s, n, alpha);
        close(1.0 - mirror.ucb, lcb);
        close(1.0 - mirror.lcb, ucb);
    }
}

#[test]
fn nothing_is_known_without_trials_and_all_is_possible_after_successes_alone() {
    assert_eq!(beta_binomial_interval(0, 0, 0.1), Bounds::UNKNOWN);
    assert_eq!(beta_binomial_upper(0, 0, 0.1), 1.0);
    for n in [1, 7, 1_000_000] {
        assert_eq!(beta_binomial_interval(n, n, 0.1).ucb, 1.0);
        assert_eq!(beta_binomial_upper(n, n, 0.1), 1.0);
        assert_eq!(beta_binomial_interval(0, n, 0.1).lcb, 0.0);
    }
}

/// Nested in alpha, one-sided inside two-sided, s/n inside, on every (s, n) up to 60 and some large ones.
#[test]
fn sets_are_nested() {
    let small = (1..=60u64).flat_map(|n| (0..=n).map(move |s| (s, n)));
    let large = [1000u64, 65_537, 10_000_000].into_iter();
    let large = large.flat_map(|n| (0..=20).map(move |i| (n * i / 20, n)));
    for (s, n) in small.chain(large) {
        let mut before = Bounds::UNKNOWN;
        let mut upper_before = 1.0;
        for alpha in [1e-9, 1e-4, 0.025, 0.3, 0.9] {
            let set = beta_binomial_interval(s, n, alpha);
            let upper = beta_binomial_upper(s, n, alpha);
            let share = s as f64 / n as f64;
            assert!(
                set.lcb <= share && share <= upper && upper <= set.ucb,
                "{s}/{n}"
            );
            assert!(before.lcb <= set.lcb && set.ucb <= before.ucb, "{s}/{n}");
            assert!(upper <= upper_before, "{s}/{n}");
            (before, upper_before) = (set, upper);
        }
    }
}
