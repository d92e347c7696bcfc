//! Tests of `team-status`, `team-update` and `color-assign`.

use serde_json::{Value, json};

use crate::compat::state_fields::today;
use crate::table::{Answer, Case, Files, check};

const STATE: &str = ".planning/STATE.md";
const TOP: &str = "# Project State\n\nText.\n\n";
const REST: &str = "## Session Continuity\n\nLast session: x\n";

fn section(rows: &str) -> String {
    format!(
        "## Agent Team Status\n\n**Team:** the $1 team\n**Started:** {}\n\n\
         | Teammate | Worktree | Task | Status | Last Update |\n\
         |----------|----------|------|--------|-------------|\n{rows}\n",
        today()
    )
}

fn file(rows: &str) -> String {
    format!("{TOP}{}{REST}", section(rows))
}

fn case<'a>(
    about: &'a str,
    files: Files<'a>,
    call: &'a [&'a str],
    answer: Answer<'a>,
    after: Files<'a>,
) -> Case<'a> {
    Case { about, files, call, answer, after }
}

fn action<'a>(action: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    [&["team-update", "--action", action], rest].concat()
}

#[test]
fn d6_d7_team_status_lists_the_members() {
    let nobody = || {
        let value = json!({ "active": false, "team_name": null, "teammates": [], "started": null });
        Answer::Json(value)
    };
    let mate = |name: &str, worktree: &str, task: &str| {
        json!({
            "name": name, "worktree": worktree, "task": task, "status": "active",
            "last_update": "D",
        })
    };
    let team = |mates: &[Value]| {
        Answer::Json(json!({
            "active": true, "team_name": "the $1 team", "teammates": mates, "started": today(),
        }))
    };
    let two = file("| w1 | /a | 1 \\| 2 | active | D |\n| w2 |  | — | active | D |\n");
    let mates = [mate("w1", "/a", "1 | 2"), mate("w2", "", "—")];
    let call = &["team-status"];
    check(&[
        case("team-status: empty cells and pipes", &[(STATE, &two)], call, team(&mates), &[]),
        case("raw", &[(STATE, &two)], &["team-status", "--raw"], team(&mates), &[]),
        case("no members, another section below", &[(STATE, &file(""))], call, team(&[]), &[]),
        case("no section", &[(STATE, "# S\n")], call, nobody(), &[]),
        case("no STATE.md", &[], call, nobody(), &[]),
    ]);
}

#[test]
fn team_update_start_creates_or_resets_the_section() {
    let call = &action("start", &["--team-name", "the $1 team"]);
    let answer =
        || Answer::Json(json!({ "started": true, "team_name": "the $1 team", "date": today() }));
    let bare = format!("{TOP}{REST}");
    let after = file("");
    let old = file("| w | x | y | z | D |\n").replace("the $1 team", "old");
    let after_session = format!("{TOP}{REST}\n{}", section("").trim_end());
    let end = format!("{TOP}{}", section("")).trim_end().to_owned() + "\n";
    check(&[
        case("team-update --action start", &[(STATE, &bare)], call, answer(), &[(STATE, &after)]),
        case("reset", &[(STATE, &old)], call, answer(), &[(STATE, &after)]),
        case(
            "moved before the session",
            &[(STATE, &after_session)],
            call,
            answer(),
            &[(STATE, &after)],
        ),
        case("at the end", &[(STATE, TOP)], call, answer(), &[(STATE, &end)]),
        case(
            "no name",
            &[(STATE, &bare)],
            &action("start", &[]),
            Answer::Refused("--team-name is required"),
            &[],
        ),
        case("no STATE.md", &[], call, Answer::Refused("STATE.md not found"), &[]),
    ]);
}

#[test]
fn team_update_add_teammate_adds_a_row() {
    let added = |worktree: &str, task: &str| {
        Answer::Json(json!({ "added": true, "name": "w1", "worktree": worktree, "task": task }))
    };
    let bare = file("");
    let files: Files<'_> = &[(STATE, &bare)];
    let short = file(&format!("| w1 | — | — | active | {} |\n", today()));
    let whole = file(&format!("| w1 | /a | $& \\| b | idle | {} |\n", today()));
    let all = ["--name", "w1", "--worktree", "/a", "--task", "$& | b", "--status", "idle"];
    let call = &action("add-teammate", &["--name", "w1"]);
    check(&[
        case("team-update --action add-teammate", files, call, added("—", "—"), &[(STATE, &short)]),
        case(
            "all of it",
            files,
            &action("add-teammate", &all),
            added("/a", "$& | b"),
            &[(STATE, &whole)],
        ),
        case("again", &[(STATE, &whole)], call, added("—", "—"), &[(STATE, &short)]),
        case(
            "no name",
            files,
            &action("add-teammate", &[]),
            Answer::Refused("--name is required"),
            &[],
        ),
        case("no section", &[(STATE, "# S\n")], call, Answer::Refused("Agent Team Status"), &[]),
        case("no STATE.md", &[], call, Answer::Refused("STATE.md not found"), &[]),
    ]);
}

#[test]
fn d12_team_update_update_teammate_changes_only_its_row() {
    let before = file("| w1 | — | — | active | D |\n| w2 |  | t | active | D |\n");
    let files: Files<'_> = &[(STATE, &before)];
    let updated = |status: &str, task: &str| {
        Answer::Json(json!({ "updated": true, "name": "w2", "status": status, "task": task }))
    };
    let row = |row: &str| before.replace("| w2 |  | t | active | D |", row);
    let idle = row(&format!("| w2 |  | t | idle | {} |", today()));
    let moved = row(&format!("| w2 | /b | u | active | {} |", today()));
    let call = &action("update-teammate", &["--name", "w2", "--status", "idle"]);
    let other = &action("update-teammate", &["--name", "w2", "--task", "u", "--worktree", "/b"]);
    check(&[
        case(
            "team-update --action update-teammate",
            files,
            call,
            updated("idle", "t"),
            &[(STATE, &idle)],
        ),
        case("task and worktree", files, other, updated("active", "u"), &[(STATE, &moved)]),
        case(
            "nobody of that name",
            files,
            &action("update-teammate", &["--name", "w"]),
            Answer::Refused("teammate \"w\" not found"),
            &[],
        ),
        case("no section", &[(STATE, "# S\n")], call, Answer::Refused("Agent Team Status"), &[]),
        case("no name", files, &action("update-teammate", &[]), Answer::Refused("--name"), &[]),
        case("no STATE.md", &[], call, Answer::Refused("STATE.md not found"), &[]),
    ]);
}

#[test]
fn the_first_colour_adds_a_column_that_stays() {
    let colored = |rows: &str| {
        file(rows)
            .replace("| Status | Last", "| Status | Color | Last")
            .replace("|--------|-------------|", "|--------|-------|-------------|")
    };
    let before = file("| w1 | — | — | active | D |\n");
    let day = today();
    let green =
        format!("| w1 | — | — | active | — | D |\n| w2 | — | — | active | green | {day} |\n");
    let plain = format!("{green}| w3 | — | — | active | — | {day} |\n");
    let (green, plain) = (colored(&green), colored(&plain));
    let added = |name: &str| {
        Answer::Json(json!({ "added": true, "name": name, "worktree": "—", "task": "—" }))
    };
    let second = &action("add-teammate", &["--name", "w2", "--color", "green"]);
    let third = &action("add-teammate", &["--name", "w3"]);
    let mate = |name: &str, date: &str, color: Value| {
        json!({
            "name": name, "worktree": "—", "task": "—", "status": "active", "last_update": date,
            "color": color,
        })
    };
    let mates = [mate("w1", "D", Value::Null), mate("w2", &day, json!("green"))];
    let team = json!({
        "active": true, "team_name": "the $1 team", "teammates": mates, "started": day,
    });
    check(&[
        case("the first colour", &[(STATE, &before)], second, added("w2"), &[(STATE, &green)]),
        case("a member without one", &[(STATE, &green)], third, added("w3"), &[(STATE, &plain)]),
        case("in the answer", &[(STATE, &green)], &["team-status"], Answer::Json(team), &[]),
    ]);
}

#[test]
fn team_update_stop_removes_the_section() {
    let call = &action("stop", &[]);
    let stopped = || Answer::Json(json!({ "stopped": true }));
    let (before, after) = (file("| w1 | — | — | active | D |\n"), format!("{TOP}{REST}"));
    check(&[
        case("team-update --action stop", &[(STATE, &before)], call, stopped(), &[(STATE, &after)]),
        case("nothing to stop", &[(STATE, &after)], call, stopped(), &[]),
        case("no STATE.md", &[], call, Answer::Refused("STATE.md not found"), &[]),
    ]);
}

#[test]
fn team_update_needs_a_known_action() {
    let files: Files<'_> = &[(STATE, TOP)];
    check(&[
        case("none", files, &["team-update"], Answer::Refused("--action"), &[]),
        case("no value", files, &["team-update", "--action"], Answer::Refused("--action"), &[]),
        case("unknown", files, &action("dance", &[]), Answer::Refused("dance"), &[]),
    ]);
}

#[test]
fn color_assign_assigns_colours_in_order() {
    let color = |worker: &str, color: &str, background: &str, foreground: &str| {
        json!({
            "worker": worker, "color": color, "name": color,
            "ansi_bg": format!("\u{1b}[{background}m"),
            "ansi_fg": format!("\u{1b}[{foreground}m"),
            "ansi_reset": "\u{1b}[0m",
        })
    };
    let colors = [
        ("green", "42", "32"),
        ("yellow", "43", "33"),
        ("blue", "44", "34"),
        ("magenta", "45", "35"),
        ("cyan", "46", "36"),
        ("white", "47", "97"),
        ("green", "42", "32"),
    ];
    for (index, (name, background, foreground)) in colors.into_iter().enumerate() {
        let worker = (index + 1).to_string();
        let answer = Answer::Json(color(&worker, name, background, foreground));
        check(&[case("a worker", &[], &["color-assign", &worker], answer, &[])]);
    }
    let lead = color("lead", "red", "41", "31");
    let refused = || Answer::Refused("neither a worker's number nor `lead`");
    check(&[
        case("the lead", &[], &["color-assign", "lead"], Answer::Json(lead), &[]),
        case("raw", &[], &["color-assign", "2", "--raw"], Answer::Text("yellow"), &[]),
        case("zero", &[], &["color-assign", "0"], refused(), &[]),
        case("a word", &[], &["color-assign", "x"], refused(), &[]),
        case("below zero", &[], &["color-assign", "-1"], Answer::Refused("-1"), &[]),
        case("nothing", &[], &["color-assign"], Answer::Refused("<WORKER>"), &[]),
    ]);
}
