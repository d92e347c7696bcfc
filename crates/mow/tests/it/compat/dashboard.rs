//! Tests of `dashboard render`, `event add`, `event prune`, `state` and `clear`.

use std::thread;

use mow_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::sandbox;
use crate::table::{Answer, Case, check, check_as_written, mask_now};

const EVENTS: &str = ".planning/dashboard-events.ndjson";
const PINS: &str = ".planning/dashboard-state.json";
const STATE: &str = ".planning/STATE.md";
const CONFIG: &str = ".planning/config.json";
const ROADMAP: &str = ".planning/ROADMAP.md";
const EMPTY: &str = "# State\n";

const ACTIVE: &str = "# State

## Active Phases

| Phase | Name | Status | Worker | Plans | Last Update |
|-------|------|--------|--------|-------|-------------|
| 3 | User Auth | executing | w1 | 0/2 | -- |
| 4 | Pages | complete | w1 | 2/2 | 10:30 |
| 5 | Later | not started | -- | 0/0 | -- |
| 6 | Waits for others | blocked (5) | -- | 1/3 | -- |
";

const STATUS: &str = "# Phase 03: User Auth -- Status

## Plan Progress

| Plan | Status | Started | Duration | Commit | Tasks |
|------|--------|---------|----------|--------|-------|
| 03-01 | complete | 10:00 | 12min | abc1234 | 3/3 |
| 03-02 | executing | 10:20 | -- | -- | 1/3 |
| 03-03 | not started | -- | -- | -- | 0/3 |
| 03-04 | not started | -- | -- | -- | 0/3 |
";

fn running() -> Sandbox {
    sandbox().file(STATE, ACTIVE).file(".planning/phases/03-user-auth/03-STATUS.md", STATUS)
}

/// Returns the line of an event with the time 10:05.
fn event(kind: &str, phase: &str, detail: &str) -> String {
    let phase = if phase.is_empty() { Value::Null } else { json!(phase) };
    let ts = "2026-01-02T10:05:00.000Z";
    format!("{}\n", json!({ "type": kind, "phase": phase, "detail": detail, "ts": ts }))
}

fn add(project: &Sandbox, kind: &str, phase: &str, detail: &str) {
    let call = ["dashboard", "event", "add", "--type", kind, "--phase", phase, "--detail", detail];
    project.call(call).run().json();
}

fn rule(width: usize) -> String {
    "─".repeat(width)
}

#[test]
fn dashboard_event_add_returns_the_event() {
    let project = sandbox().file(STATE, EMPTY);
    let call = ["dashboard", "event", "add", "--type", "anything"];
    let bare = mask_now(&project.call([&call[..], &["--raw"]].concat()).run().stdout_on_success());
    assert_eq!(bare, r#"{"type":"anything","phase":null,"detail":"","ts":"NOW"}"#);
    let full = [&call[..], &["--phase", "03", "--detail", "--x"]].concat();
    let answer = mask_now(&project.call(full).run().stdout_on_success());
    let value = json!({ "type": "anything", "phase": "03", "detail": "--x", "ts": "NOW" });
    assert_eq!(answer, serde_json::to_string_pretty(&value).unwrap());
    assert_eq!(mask_now(&project.text(EVENTS)), format!("{bare}\n{value}\n"));
    assert!(!project.root().join(PINS).exists(), "no pin changed");
    project.call(["dashboard", "event", "add"]).run().refuses("--type");
    project.call(["dashboard", "event", "add", "--type", ""]).run().refuses("--type");
}

#[test]
fn dashboard_event_add_drops_old_events_of_a_long_file() {
    let lines: String = (0..100).map(|n| event("x", "", &n.to_string())).collect();
    let project = sandbox().file(EVENTS, &lines[..lines.len() - 1]);
    add(&project, "y", "3", "");
    let events = project.text(EVENTS);
    assert_eq!(events.lines().count(), 50);
    assert!(events.lines().next().unwrap().contains(r#""detail":"51""#), "{events}");
    assert!(events.ends_with('\n') && events.lines().last().unwrap().contains(r#""type":"y""#));
}

#[test]
fn d18_d41_a_pin_is_removed_by_the_next_event_of_its_phase_others_stay_until_clear() {
    let project = sandbox().file(STATE, EMPTY);
    let pinned = || project.call(["dashboard", "state"]).run().json()["pinned"].clone();
    add(&project, "input_needed", "03", "stage_gate");
    add(&project, "error", "", "lost");
    add(&project, "error", "3.1", "broken");
    let ts = |index: usize| pinned()[index]["ts"].clone();
    let expected = json!([
        { "phase": "03", "type": "input_needed", "input_type": "stage_gate", "ts": ts(0),
          "detail": "stage_gate" },
        { "phase": null, "type": "error", "input_type": null, "ts": ts(1), "detail": "lost" },
        { "phase": "3.1", "type": "error", "input_type": null, "ts": ts(2), "detail": "broken" },
    ]);
    assert_eq!(pinned(), expected);
    add(&project, "commit_made", "3", "");
    assert_eq!(pinned(), json!([expected[1], expected[2]]));
    let before = project.bytes(PINS);
    add(&project, "commit_made", "4", "");
    assert_eq!(project.bytes(PINS), before, "the state is written only when pins change");
    project.call(["dashboard", "clear"]).run().json();
    assert_eq!(pinned(), json!([]));
}

#[test]
fn dashboard_event_prune_keeps_the_last_lines() {
    let files: &[(&str, &str)] = &[(EVENTS, "1\n2\n3\n")];
    let pruned =
        |after: usize| Answer::Json(json!({ "pruned": true, "before": 3, "after": after }));
    let none = Answer::Text(r#"{"pruned":false,"reason":"File not found"}"#);
    let case =
        |call, answer, files, after| Case { about: "event prune", files, call, answer, after };
    check_as_written(&[
        case(&["dashboard", "event", "prune"], pruned(3), files, &[]),
        case(&["dashboard", "event", "prune", "--keep", "1"], pruned(1), files, &[(EVENTS, "3\n")]),
        case(&["dashboard", "event", "prune", "--keep", "0"], pruned(0), files, &[(EVENTS, "")]),
        case(&["dashboard", "event", "prune", "--raw"], none, &[], &[]),
        case(
            &["dashboard", "event", "prune", "--keep", "all"],
            Answer::Refused("--keep"),
            files,
            &[],
        ),
    ]);
}

#[test]
fn dashboard_state_is_empty_without_a_readable_file() {
    let empty = || json!({ "pinned": [], "last_line_count": 0, "last_render_ts": null });
    let raw = Answer::Text(r#"{"pinned":[],"last_line_count":0,"last_render_ts":null}"#);
    let case = |files, call, answer| Case { about: "state", files, call, answer, after: &[] };
    check(&[
        case(&[], &["dashboard", "state"], Answer::Json(empty())),
        case(&[(PINS, "{broken")], &["dashboard", "state"], Answer::Json(empty())),
        case(&[(PINS, "[]")], &["dashboard", "state", "--raw"], raw),
    ]);
}

#[test]
fn dashboard_clear_names_what_it_removed() {
    let project = sandbox().file(EVENTS, "").file(PINS, "{}").file(STATE, EMPTY);
    let clear = |more: &[&str]| project.call([&["dashboard", "clear"], more].concat()).run();
    clear(&[]).prints_json(&json!({ "cleared": true, "removed": ["events", "state"] }));
    assert_eq!(project.files().into_keys().collect::<Vec<_>>(), [STATE]);
    project.write(PINS, "{}");
    clear(&["--raw"]).prints(r#"{"cleared":true,"removed":["state"]}"#);
    clear(&["--raw"]).prints(r#"{"cleared":true,"removed":[]}"#);
}

#[test]
fn dashboard_render_shows_phases_events_and_pins() {
    let project = running();
    for (kind, phase, detail) in [
        ("plan_started", "3", "gone"),
        ("plan_complete", "3", "plan 03-01"),
        ("commit_made", "6", "abc"),
        ("stage_transition", "03", "now executing"),
        ("task_claimed", "", "task"),
        ("phase_complete", "4", "2 plans"),
        ("error", "7", "lost"),
    ] {
        let old = String::from_utf8(project.files().remove(EVENTS).unwrap_or_default()).unwrap();
        project.write(EVENTS, old + &event(kind, phase, detail));
    }
    let pin = json!({ "phase": "6", "type": "input_needed", "input_type": "stage_gate" });
    let error = json!({ "phase": null, "type": "error", "detail": "no disk" });
    project.write(PINS, json!({ "pinned": [pin, error] }).to_string());
    let drawn = project.call(["dashboard", "render", "--width", "50"]).run().stdout_on_success();
    let expected = [
        "Phase 3: User Auth        [███░░░░░░░]  25%  now executing            --",
        "✓ Phase 4 (10:30)",
        "Phase 6: Waits for others [▒▒▒░░░░░░░]  33%  Awaiting input           --",
        &rule(50),
        "10:05 [Phase 3] ✓ plan 03-01",
        "10:05 [Phase 6] ✓ abc",
        "10:05 [Phase 03] → now executing",
        "10:05 [--] task",
        "━━━ Phase 4: Complete (2 plans) ━━━",
        "10:05 [Phase 7] ✗ lost",
        "",
        "⚠ [Phase 6] INPUT NEEDED: stage_gate -- Switch ...",
        "✗ [--] ERROR: no disk",
    ];
    assert_eq!(drawn, expected.join("\n") + "\n");
    let state = project.call(["dashboard", "state"]).run().json();
    assert_eq!(state["last_line_count"], expected.len());
    assert_eq!(mask_now(state["last_render_ts"].as_str().unwrap()), "NOW");
    assert_eq!(state["pinned"].as_array().unwrap().len(), 2);
    assert!(project.text(PINS).ends_with("}\n"));
}

#[test]
fn dashboard_render_raw_prints_counts_and_writes_nothing() {
    let project = running().file(EVENTS, event("x", "3", "y"));
    let before = project.files();
    let raw = |project: &Sandbox| project.call(["dashboard", "render", "--raw"]).run();
    raw(&project).prints(r#"{"lines":5,"events":1,"pinned":0,"phases":3}"#);
    assert_eq!(project.files(), before);
    let idle = sandbox().file(EVENTS, event("x", "3", "y"));
    raw(&idle).prints(r#"{"lines":0,"events":1,"pinned":0,"phases":0}"#);
    raw(&sandbox()).prints(r#"{"lines":0,"events":0,"pinned":0,"phases":0}"#);
}

#[test]
fn dashboard_render_reports_that_no_phase_is_active() {
    let idle = sandbox().file(STATE, EMPTY);
    idle.call(["dashboard", "render"]).run().prints("No active phases\n");
    idle.write(EVENTS, event("x", "", "y"));
    let expected = format!("No active phases\n{}\n10:05 [--] y\n", rule(80));
    idle.call(["dashboard", "render"]).run().prints(&expected);
    let nowhere = sandbox();
    nowhere.call(["dashboard", "render"]).run().prints("No active phases\n");
    assert!(!nowhere.root().join(".planning").exists(), "a look creates nothing");
}

#[test]
fn dashboard_render_follows_the_settings() {
    let settings = json!({ "feedback": { "event_log_count": 1, "terminal_bell": true } });
    let events = event("x", "3", "first") + &event("x", "3", "second");
    let project = running().file(EVENTS, events).file(CONFIG, settings.to_string());
    let render = || project.call(["dashboard", "render"]).run().stdout_on_success();
    let drawn = render();
    assert!(!drawn.contains("first") && drawn.contains("second"), "{drawn}");
    assert!(!drawn.contains('\x07'), "no bell without pins");
    add(&project, "error", "3", "boom");
    assert!(render().ends_with("\n\x07"));
    project.write(STATE, EMPTY);
    assert!(!render().contains('\x07'), "no bell without phases");
}

#[test]
fn d51_events_are_stored_in_utc_and_shown_in_local_time() {
    let project = sandbox().file(EVENTS, event("x", "", "y"));
    let drawn =
        project.call(["dashboard", "render"]).env("TZ", "Asia/Tokyo").run().stdout_on_success();
    assert!(drawn.contains("\n19:05 [--] y\n"), "{drawn}");
}

#[test]
fn d41_elapsed_is_a_duration() {
    let row = |update: &str| {
        let table = ACTIVE.replace("| 0/2 | -- |", &format!("| 0/2 | {update} |"));
        let project = sandbox().file(STATE, table);
        let drawn = project.call(["dashboard", "render"]).run().stdout_on_success();
        drawn.lines().next().unwrap().rsplit(' ').next().unwrap().to_owned()
    };
    for update in ["2020-01-02T03:04:05.678Z", "2020-01-02T03:04:05+02:00", "2020-01-02 03:04"] {
        let days = row(update);
        assert!(days.ends_with('d') && days[..days.len() - 1].parse::<u32>().unwrap() > 2000);
    }
    assert!(row("2020-01-02").ends_with('d'));
    assert_eq!(row("2999-01-01T00:00:00Z"), "0s");
    assert_eq!(row("yesterday"), "yesterday");
}

#[test]
fn d23_d41_auto_advance_counts_the_phases_of_the_milestone_in_progress() {
    let roadmap = "# Roadmap\n\n### v1.0 Old (Shipped)\n- [x] **Phase 1: A**\n\n\
                   ### 🚧 v1.1 New (In Progress)\n- [x] **Phase 5: B**\n- [ ] **Phase 6: C**\n\
                   - [ ] **Phase 7: D**\n- [ ] Phase 8: not bold\n\n## Phase Details\n\
                   - [ ] **Phase 9: E**\n";
    let settings = json!({ "workflow": { "auto_advance": true } }).to_string();
    let project = running().file(ROADMAP, roadmap).file(CONFIG, &settings);
    let render = |more: &[&str]| project.call([&["dashboard", "render"], more].concat());
    let drawn = render(&["--width", "60"]).run().stdout_on_success();
    let line = "AUTO-ADVANCE  Phase 2/3  Milestone: 33%  1/3 done";
    assert!(drawn.starts_with(&format!("{line}\n{}\nPhase 3: ", rule(60))), "{drawn}");
    let colored = render(&["--width", "60"]).env("FORCE_COLOR", "1").run().stdout_on_success();
    let on_blue = format!("\x1b[48;5;27m\x1b[38;5;231m{line:60}\x1b[0m\n");
    assert!(colored.starts_with(&on_blue), "{colored:?}");
    let raw: Value = serde_json::from_str(&render(&["--raw"]).run().stdout_on_success()).unwrap();
    assert_eq!(
        raw["auto_advance"].to_string(),
        r#"{"active":true,"current_phase":"6","total_phases":3,"completed_phases":1,"milestone_percent":33}"#
    );
    project.write(ROADMAP, roadmap.replace(" (In Progress)", "").replace('🚧', ""));
    assert!(render(&[]).run().stdout_on_success().starts_with("Phase 3: "));
    project.write(ROADMAP, roadmap);
    project.write(CONFIG, "{}");
    assert!(render(&[]).run().stdout_on_success().starts_with("Phase 3: "));
}

#[test]
fn without_colours_no_escape_sequence_is_printed_even_from_event_texts() {
    let project = running().file(EVENTS, event("x", "3", "a\u{1b}[31mb\nc"));
    add(&project, "error", "3", "\u{1b}]0;title\u{7}");
    for (name, value) in [("NO_COLOR", ""), ("TERM", "xterm-256color")] {
        let call = project.call(["dashboard", "render"]).env(name, value);
        let drawn = call.run().stdout_on_success();
        assert!(!drawn.contains('\x1b') && !drawn.contains('\x07'), "{drawn:?}");
        assert!(drawn.contains("a [31mb c\n"), "{drawn}");
    }
    let forced = project.call(["dashboard", "render"]).env("FORCE_COLOR", "");
    assert!(forced.run().stdout_on_success().starts_with("\x1b[38;5;142mPhase 3: "));
    let both = project.call(["dashboard", "render"]).env("FORCE_COLOR", "1").env("NO_COLOR", "1");
    assert!(both.run().stdout_on_success().starts_with("Phase 3: "));
}

#[test]
fn storm_of_dashboard_events_loses_no_event() {
    let project = sandbox().file(STATE, EMPTY);
    thread::scope(|scope| {
        for caller in 0..50 {
            let project = &project;
            scope.spawn(move || add(project, "error", &format!("{caller}"), "boom"));
        }
    });
    let phases = |values: Vec<Value>| {
        let numbers = values.iter().map(|value| value["phase"].as_str().unwrap().parse().unwrap());
        let mut numbers: Vec<usize> = numbers.collect();
        numbers.sort_unstable();
        numbers
    };
    let lines = project.text(EVENTS);
    let events = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(phases(events), (0..50).collect::<Vec<_>>());
    let state = project.call(["dashboard", "state"]).run().json();
    let pins = state["pinned"].as_array().unwrap().clone();
    assert_eq!(phases(pins), (0..50).collect::<Vec<_>>());
}

#[test]
fn events_are_stored_in_the_main_worktree() {
    let project = sandbox().file(STATE, EMPTY);
    project.git(".", &["init", "-q"]);
    project.git(".", &["add", "."]);
    project.git(".", &["commit", "-qm", "x"]);
    project.git(".", &["worktree", "add", "-q", ".worktrees/p03", "-b", "phase-03"]);
    let call = ["dashboard", "event", "add", "--type", "error", "--phase", "3"];
    project.call(call).cwd(".worktrees/p03").run().json();
    assert_eq!(project.text(EVENTS).lines().count(), 1);
    assert!(!project.root().join(".worktrees/p03").join(EVENTS).exists());
    let seen = project.call(["dashboard", "state"]).cwd(".worktrees/p03").run().json();
    assert_eq!(seen["pinned"][0]["phase"], "3");
}

#[test]
fn dashboard_lists_its_subcommands() {
    for (words, message) in [
        (&["dashboard", "bogus"][..], "render, event, state, clear"),
        (&["dashboard", "event"], "add, prune"),
        (&["dashboard", "event", "drop"], "Unknown dashboard event subcommand: drop"),
    ] {
        sandbox().call(words).run().refuses(message);
    }
}

#[test]
fn the_dashboard_without_a_subcommand_is_drawn() {
    let project = sandbox().file(".planning/STATE.md", "# State\n");
    let add = ["dashboard", "event", "add", "--type", "error", "--phase", "3", "--detail", "dead"];
    project.call(add).run().stdout_on_success();
    let drawn = project.call(["dashboard"]).run().stdout_on_success();
    assert!(drawn.contains("dead"), "{drawn}");
    assert_eq!(drawn, project.call(["dashboard", "render"]).run().stdout_on_success());
    // The product's output has the counts of the contract, and a version.
    let mut counts = project.call(["dashboard", "--json"]).run().json();
    assert_eq!(counts.as_object_mut().unwrap().remove("v"), Some(json!(1)));
    assert_eq!(counts, project.call(["dashboard", "render", "--raw"]).run().json());
    sandbox().call(["dashboard"]).run().refuses("no .planning/ here");
}
