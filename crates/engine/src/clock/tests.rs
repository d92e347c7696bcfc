//! Tests that the clock follows the system and never goes back.

use super::Clock;

#[test]
fn continues_from_the_last_record_although_the_system_clock_is_behind() {
    // The journal is from the future: the system clock was set back by a century since.
    let future = Clock::default().now() + 100 * 365 * 24 * 3_600_000;
    let clock = Clock::not_before(future);
    let first = clock.now();
    assert!(first >= future);
    // Time passes nevertheless, so that no timeout waits for a century.
    while clock.now() == first {
        std::hint::spin_loop();
    }
}

#[test]
fn starts_at_the_time_of_the_system() {
    let wall = jiff::Timestamp::now().as_millisecond();
    let clock = Clock::default().now();
    assert!(clock.abs_diff(u64::try_from(wall).unwrap()) < 10_000);
}
