//! Sums, limits, and amounts that are none.

use super::*;

fn usd(amount: f64) -> Spending {
    Spending { micro_usd: Spending::micro(amount), ..Spending::default() }
}

#[test]
fn dollars_are_counted_exactly() {
    let mut sum = Spending::default();
    (0..10).for_each(|_| sum += usd(0.1));
    assert_eq!(sum, usd(1.0));
    for nothing in [0.0, -3.0, f64::NAN, f64::INFINITY] {
        assert_eq!(Spending::micro(nothing), 0);
    }
}

#[test]
fn a_limit_is_reached_by_dollars_or_by_tokens() {
    let budget = Budget { micro_usd: Some(Spending::micro(5.0)), tokens: Some(100) };
    assert_eq!(budget.exceeded(&usd(4.99)), None);
    assert_eq!(budget.exceeded(&usd(5.02)).unwrap(), "$5.02 of $5.00");
    let talk = Spending { input: 60, output: 40, cached: 1_000, micro_usd: 0 };
    assert_eq!(budget.exceeded(&talk).unwrap(), "100 of 100 tokens");
    assert_eq!(Budget::default().exceeded(&talk), None);
}
