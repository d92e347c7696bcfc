//! Tests `mow roadmap forecast`.

use serde_json::{Value, json};

use crate::sandbox;

fn six_phase_chain() -> mow_testkit::sandbox::Sandbox {
    let sandbox = sandbox();
    let mut roadmap = "# Roadmap\n".to_owned();
    for n in 1..=6 {
        let on = if n > 1 { format!("Phase {}", n - 1) } else { "Nothing".to_owned() };
        roadmap += &format!("\n### Phase {n}: Part {n}\n**Depends on**: {on}\n");
    }
    sandbox.write(".planning/ROADMAP.md", roadmap);
    sandbox
}

fn forecast(sandbox: &mow_testkit::sandbox::Sandbox, words: &[&str]) -> Value {
    let ran = sandbox.call([&["roadmap", "forecast", "--json"], words].concat()).run();
    assert!(ran.status.success(), "{}", ran.transcript());
    ran.json()
}

#[test]
fn shows_the_time_that_look_ahead_saves() {
    let sandbox = six_phase_chain();
    let kinds = json!({
        "off": { "time": 6.0, "speedup": 1.0 },
        "research": { "time": 5.0, "speedup": 1.2 },
        "plan": { "time": 4.25, "speedup": 1.41 },
    });
    let expected = json!({
        "phases": 6,
        "workers": 3,
        "shares": { "research": 20, "plan": 15 },
        "sequential": { "time": 6.0, "speedup": 1.0 },
        "wave": kinds,
        "immediate": kinds,
    });
    assert_eq!(forecast(&sandbox, &[]), expected);
    let ran = sandbox.call(["roadmap", "forecast"]).run();
    let line = "merged by waves, multi_phase.lookahead plan     4.25     1.41x";
    assert!(ran.stdout.contains(line), "{}", ran.transcript());
}

#[test]
fn considers_workers_shares_and_plan_counts() {
    let sandbox = six_phase_chain();
    sandbox.write(".planning/phases/02-part-2/02-01-PLAN.md", "");
    sandbox.write(".planning/phases/02-part-2/02-02-PLAN.md", "");
    let one = forecast(&sandbox, &["--workers", "1", "--research", "50", "--plan", "0"]);
    assert_eq!(one["sequential"]["time"], 7.0);
    assert_eq!(one["wave"]["plan"]["time"], 7.0, "no slot is free");
    let two = forecast(&sandbox, &["--workers", "2", "--research", "50", "--plan", "0"]);
    assert_eq!(two["wave"]["research"]["time"], 4.0);
    let ran = sandbox.call(["roadmap", "forecast", "--research", "60", "--plan", "50"]).run();
    assert_eq!(ran.status.code(), Some(1), "{}", ran.transcript());
    assert!(ran.stderr.contains("add up to 100"), "{}", ran.transcript());
}
