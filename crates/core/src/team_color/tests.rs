//! The order of the worker colours.

use super::{LEAD_COLOR, worker_color};

#[test]
fn workers_take_the_colours_in_order_and_never_the_leads() {
    let first: Vec<_> = (1..=7).filter_map(worker_color).map(|color| color.name).collect();
    assert_eq!(first, ["green", "yellow", "blue", "magenta", "cyan", "white", "green"]);
    assert!(!first.contains(&LEAD_COLOR.name));
    assert_eq!(worker_color(0), None);
    assert!(worker_color(usize::MAX).is_some());
}
