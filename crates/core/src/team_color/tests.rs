//! The order of the colours.

use super::{LEAD, worker};

#[test]
fn workers_take_the_colours_in_order_and_never_the_leads() {
    let first: Vec<_> = (1..=7).filter_map(worker).collect();
    assert_eq!(first, ["green", "yellow", "blue", "magenta", "cyan", "white", "green"]);
    assert!(!first.contains(&LEAD));
    assert_eq!(worker(0), None);
    assert!(worker(usize::MAX).is_some());
}
