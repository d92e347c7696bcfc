//! Tests random actions on random repositories, with kills at random points.
//!
//! Nothing is ever lost, and the user's checkout stays as it is. Each scenario follows from its
//! seed. `MOW_MERGE_SCENARIOS` sets the number of scenarios, `MOW_MERGE_SEED` runs one; a failing
//! scenario prints its seed.

mod actions;
mod content_snapshot;
mod random_repository;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use mow_testkit::seeded_rng::SeededRng;

use actions::Action;
use content_snapshot::ContentSnapshot;
use random_repository::RandomRepository;

/// The number of scenarios if `MOW_MERGE_SCENARIOS` is not set.
const SCENARIOS_DEFAULT: u64 = 60;
/// The number of scenarios that run at the same time.
const PARALLEL_SCENARIOS: usize = 2;
/// Progress is printed after every so many scenarios.
const PROGRESS_EVERY: u64 = 500;
/// The maximum number of actions in a scenario.
const ACTIONS_MAX: u64 = 3;

fn number_from_env(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

#[test]
fn nothing_is_lost_whichever_action_is_killed() {
    if let Some(seed) = number_from_env("MOW_MERGE_SEED") {
        return run_scenario(seed, &mut Vec::new());
    }
    let count = number_from_env("MOW_MERGE_SCENARIOS").unwrap_or(SCENARIOS_DEFAULT);
    let (next, failed) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..PARALLEL_SCENARIOS {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= count {
                        return;
                    }
                    if seed > 0 && seed.is_multiple_of(PROGRESS_EVERY) {
                        eprintln!("{seed} of {count} scenarios");
                    }
                    let mut history = Vec::new();
                    if catch_unwind(AssertUnwindSafe(|| run_scenario(seed, &mut history))).is_err()
                    {
                        // Print the seed at once: the remaining scenarios may take long.
                        eprintln!("MOW_MERGE_SEED={seed} failed");
                        failed
                            .lock()
                            .expect("no thread panics with the lock held")
                            .push((seed, history));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no thread panics with the lock held");
    let describe = |(seed, history): &(u64, Vec<String>)| {
        let history = history.join("\n  ");
        format!(
            "\n  {history}\nTo repeat it: MOW_MERGE_SEED={seed} cargo test -p mow --test it scenarios\n"
        )
    };
    let failures: String = failed.iter().take(5).map(describe).collect();
    assert!(failed.is_empty(), "{} of {count} failed:{failures}", failed.len());
}

/// Runs the scenario of a seed and records its steps.
fn run_scenario(seed: u64, history: &mut Vec<String>) {
    // Neighbouring seeds would begin with similar numbers.
    let mut rng = SeededRng::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5EED);
    let repository = RandomRepository::random(&mut rng, history);
    for _ in 0..=rng.below(ACTIONS_MAX) {
        let action = Action::choose(&mut rng);
        let mut before = ContentSnapshot::take(&repository);
        let was_killed = action.run_with_random_kill(&repository, &mut rng, history);
        // Every other time the action is repeated while workers of the killed process still run.
        let repeats_at_once = was_killed && seed.is_multiple_of(2);
        if !repeats_at_once {
            let after = ContentSnapshot::take(&repository);
            after.check(&before, &action);
            before = after;
        }
        if was_killed {
            // Repeat the action without a kill.
            action.repeat(&repository, history);
            ContentSnapshot::take(&repository).check(&before, &action);
        }
        if rng.below(2) == 0 {
            repository.change_something(&mut rng, history);
        }
    }
    repository.check_integrity();
}

/// Runs an engine action in its own process, so that it can be killed. Without `MOW_DEED` this test
/// does nothing.
#[test]
fn an_engine_action_in_its_own_process() {
    if let Ok(arguments) = std::env::var("MOW_DEED") {
        actions::run_engine_action(&arguments);
    }
}
