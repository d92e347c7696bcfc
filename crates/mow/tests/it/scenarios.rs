//! Random repositories, random deeds, random deaths: nothing is ever lost, and the user's checkout
//! stays as it is.
//!
//! Each scenario follows from its seed. `MOW_MERGE_SCENARIOS` says how many there are, and
//! `MOW_MERGE_SEED` tries one alone; a scenario that fails prints it.

mod deeds;
mod ground;
mod ledger;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use mow_testkit::dice::Dice;

use deeds::Deed;
use ground::Ground;
use ledger::Ledger;

/// How many scenarios there are where nobody says.
const SCENARIOS: u64 = 60;
/// How many run at a time.
const SIDE_BY_SIDE: usize = 2;
/// After how many it is said how far it has come.
const SAY_EVERY: u64 = 500;
/// How many deeds there are in a scenario.
const DEEDS_MAX: u64 = 3;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

#[test]
fn nothing_is_lost_whatever_is_done_and_whenever_it_dies() {
    if let Some(seed) = number("MOW_MERGE_SEED") {
        return play(seed, &mut Vec::new());
    }
    let count = number("MOW_MERGE_SCENARIOS").unwrap_or(SCENARIOS);
    let (next, failed) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= count {
                        return;
                    }
                    if seed > 0 && seed.is_multiple_of(SAY_EVERY) {
                        eprintln!("{seed} of {count} scenarios");
                    }
                    let mut story = Vec::new();
                    if catch_unwind(AssertUnwindSafe(|| play(seed, &mut story))).is_err() {
                        // Many more may follow, and take their time.
                        eprintln!("MOW_MERGE_SEED={seed} failed");
                        failed.lock().expect("nobody panics here").push((seed, story));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("nobody panics here");
    let told = |(seed, story): &(u64, Vec<String>)| {
        let story = story.join("\n  ");
        format!(
            "\n  {story}\nTo repeat it: MOW_MERGE_SEED={seed} cargo test -p mow --test it scenarios\n"
        )
    };
    let told: String = failed.iter().take(5).map(told).collect();
    assert!(failed.is_empty(), "{} of {count} failed:{told}", failed.len());
}

/// Plays the scenario of a seed.
fn play(seed: u64, story: &mut Vec<String>) {
    // Seeds that are neighbours would begin alike.
    let mut dice = Dice::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5EED);
    let ground = Ground::make(&mut dice, story);
    for _ in 0..=dice.below(DEEDS_MAX) {
        let deed = Deed::choose(&mut dice);
        let mut before = Ledger::read(&ground);
        let death = deed.attempt(&ground, &mut dice, story);
        // Every other time it is done again while the workers of whoever died are still at work.
        let is_at_once = death && seed.is_multiple_of(2);
        if !is_at_once {
            let after = Ledger::read(&ground);
            after.check(&before, &deed);
            before = after;
        }
        if death {
            // The same once more, undisturbed.
            deed.repeat(&ground, story);
            Ledger::read(&ground).check(&before, &deed);
        }
        if dice.below(2) == 0 {
            ground.stir(&mut dice, story);
        }
    }
    ground.check_whole();
}

/// Carries out a deed in a process of its own, so that it can die. As a test of its own it does
/// nothing.
#[test]
fn a_deed_in_a_process_of_its_own() {
    if let Ok(words) = std::env::var("MOW_DEED") {
        deeds::carry_out(&words);
    }
}
