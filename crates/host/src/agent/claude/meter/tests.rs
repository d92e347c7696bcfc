//! Sums that neither lose nor count twice, with and without results.

use serde_json::json;

use super::*;

fn models(input: u64, usd: f64) -> Value {
    json!({ "m": {
        "inputTokens": input, "outputTokens": 2, "cacheReadInputTokens": 3, "costUSD": usd,
    } })
}

fn used(input: u64, output: u64, cached: u64, usd: Option<f64>) -> Usage {
    Usage { input, output, cached, usd }
}

#[test]
fn a_result_tells_what_is_new() {
    let mut meter = Meter::new(true);
    let result =
        json!({ "modelUsage": models(10, 0.5), "model_usage_since_last_result": models(4, 0.25) });
    assert_eq!(meter.settle(&result), Some(used(4, 2, 3, Some(0.25))));
    // Older programs tell the sum only.
    let result = json!({ "modelUsage": models(30, 1.0) });
    assert_eq!(meter.settle(&result), Some(used(20, 0, 0, Some(0.5))));
    assert_eq!(meter.settle(&result), None, "nothing was used");
}

#[test]
fn what_a_session_used_before_is_not_counted() {
    let mut meter = Meter::new(false);
    meter.begin(&json!({ "session": { "model_usage": models(100, 2.0) } }));
    assert_eq!(
        meter.stock(&json!({ "session": { "model_usage": models(110, 2.5) } })),
        Some(used(10, 0, 0, Some(0.5)))
    );
    let mut meter = Meter::new(false);
    assert_eq!(meter.stock(&json!({ "session": { "model_usage": models(110, 2.5) } })), None);
}

#[test]
fn a_run_that_is_cut_off_is_known_by_its_answers() {
    let mut meter = Meter::new(true);
    let message = |id: &str, output: u64| {
        json!({ "id": id, "usage": {
            "input_tokens": 5, "cache_creation_input_tokens": 1, "cache_read_input_tokens": 2,
            "output_tokens": output,
        } })
    };
    meter.hear(&message("a", 1));
    // One answer comes in several lines.
    meter.hear(&message("a", 7));
    meter.hear(&message("b", 3));
    assert_eq!(meter.rest(), Some(used(12, 10, 4, None)));
    assert_eq!(meter.rest(), None);
    meter.hear(&message("c", 3));
    meter.settle(&json!({ "modelUsage": models(10, 0.5) }));
    assert_eq!(meter.rest(), None, "the result has it");
}
