//! A stop signal wakes waiting threads.

use super::*;

#[test]
fn a_stop_wakes_all_waiting_threads_and_stays_set() {
    let stop = StopSignal::new().unwrap();
    assert!(!stop.wait(Duration::from_millis(1)).unwrap());
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let stop = stop.clone();
            std::thread::spawn(move || stop.wait(Duration::from_secs(60)).unwrap())
        })
        .collect();
    stop.stop();
    stop.stop();
    assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    assert!(stop.is_stopped() && stop.wait(Duration::ZERO).unwrap());
}
