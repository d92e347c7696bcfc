//! Tests that usage is neither lost nor counted twice, with and without results.

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
fn a_result_gives_the_usage_since_the_last_one() {
    let mut meter = UsageMeter::new(true);
    let result =
        json!({ "modelUsage": models(10, 0.5), "model_usage_since_last_result": models(4, 0.25) });
    assert_eq!(meter.add_result(&result), Some(used(4, 2, 3, Some(0.25))));
    // Older programs report only the total.
    let result = json!({ "modelUsage": models(30, 1.0) });
    assert_eq!(meter.add_result(&result), Some(used(20, 0, 0, Some(0.5))));
    assert_eq!(meter.add_result(&result), None, "nothing was used");
}

#[test]
fn earlier_usage_of_a_session_is_not_counted() {
    let mut meter = UsageMeter::new(false);
    meter.set_baseline(&json!({ "session": { "model_usage": models(100, 2.0) } }));
    assert_eq!(
        meter.add_session_total(&json!({ "session": { "model_usage": models(110, 2.5) } })),
        Some(used(10, 0, 0, Some(0.5)))
    );
    let mut meter = UsageMeter::new(false);
    assert_eq!(
        meter.add_session_total(&json!({ "session": { "model_usage": models(110, 2.5) } })),
        None
    );
}

#[test]
fn an_interrupted_run_is_counted_by_its_answers() {
    let mut meter = UsageMeter::new(true);
    let message = |id: &str, output: u64| {
        json!({ "id": id, "usage": {
            "input_tokens": 5, "cache_creation_input_tokens": 1, "cache_read_input_tokens": 2,
            "output_tokens": output,
        } })
    };
    meter.add_answer(&message("a", 1));
    // One answer comes in several lines.
    meter.add_answer(&message("a", 7));
    meter.add_answer(&message("b", 3));
    assert_eq!(meter.take_unreported(), Some(used(12, 10, 4, None)));
    assert_eq!(meter.take_unreported(), None);
    meter.add_answer(&message("c", 3));
    meter.add_result(&json!({ "modelUsage": models(10, 0.5) }));
    assert_eq!(meter.take_unreported(), None, "the result includes it");
}
