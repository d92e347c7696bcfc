//! A clock that nobody sets.

use super::Clock;

#[test]
fn goes_on_from_what_was_written_down_although_the_system_is_behind() {
    // A journal from the future: the system's clock was set back by a century since.
    let future = Clock::default().now() + 100 * 365 * 24 * 3_600_000;
    let clock = Clock::from(future);
    let first = clock.now();
    assert!(first >= future);
    // Time passes all the same, so that nothing waits for the century to be over.
    while clock.now() == first {
        std::hint::spin_loop();
    }
}

#[test]
fn knows_the_time_of_the_system() {
    let wall = jiff::Timestamp::now().as_millisecond();
    let clock = Clock::default().now();
    assert!(clock.abs_diff(u64::try_from(wall).unwrap()) < 10_000);
}
