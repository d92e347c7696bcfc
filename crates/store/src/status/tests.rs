//! Tests of status files: what is read, what an edit changes, and that nothing else changes.

use super::*;

const NOW: &str = "2026-01-02T10:05:00.000Z";

fn plans() -> Vec<(String, usize)> {
    vec![("03-01".to_owned(), 2), ("03-02".to_owned(), 5)]
}

fn fresh() -> String {
    render(&NewStatus { phase: "03", name: "User Login", plans: &plans() })
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("tests write text")
}

fn update(file: &str, change: PlanChange<'_>) -> String {
    text(update_plan(file.as_bytes(), &PlanChange { now_utc: NOW, ..change }).expect("plan exists"))
}

/// An older file: five columns, plain words, other headings, no Aggregate section.
const OLD: &str = "\
# Phase 7: Search -- Status

**Status:** executing
**Worker:** w1

## Plan Progress

| Plan | Status | Duration | Commit | Notes |
|------|--------|----------|--------|-------|
| 07-01 | complete | 4m | abc1234 | fine |
| 07-02 | pending | | | a \\| b |

## Issues

- Slow disk
  on the second host
- [x] Port taken

## Decisions (Phase-Local)

None.
";

#[test]
fn a_new_file_is_rendered_from_the_template() {
    let expected = "\
# Phase 03: User Login -- Status

**Phase:** 03
**Status:** not started
**Worker:** --
**Worktree:** --
**Started:** --
**Last update:** --
**Blocker mode:** --

## Plan Progress

| Plan | Status | Started | Duration | Commit | Tasks |
|------|--------|---------|----------|--------|-------|
| 03-01 | not started | -- | -- | -- | 0/2 |
| 03-02 | not started | -- | -- | -- | 0/5 |

## Aggregate

**Plans:** 0 complete, 0 in progress, 2 not started, 0 failed
**Commits:** --

## Blockers

None.

## Decisions

None.

## Context

None.
";
    assert_eq!(fresh(), expected);
}

#[test]
fn a_new_file_without_plans_reads_as_such() {
    let file = render(&NewStatus { phase: "9.05", name: "A", plans: &[] });
    let status = parse(file.as_bytes());
    assert_eq!((status.phase.as_str(), status.plans.len()), ("9.05", 0));
    assert_eq!(status.aggregate(), Aggregate::default());
    assert!(file.contains("|-------|\n\n## Aggregate"), "{file}");
}

#[test]
fn a_project_template_replaces_the_built_in_one() {
    let template = "# {phase_name} ({phase_number}) {other}\r\n\r\n## Plan Progress\r\n\r\n\
        | Tasks | Who | Plan | Status |\r\n|---|---|---|---|\r\n| 0/9 | x | example | failed |\r\n";
    let new = NewStatus { phase: "03", name: "$1 {phase_number}", plans: &plans() };
    let expected = "# $1 {phase_number} (03) {other}\r\n\r\n## Plan Progress\r\n\r\n\
        | Tasks | Who | Plan | Status |\r\n|---|---|---|---|\r\n\
        | 0/2 | -- | 03-01 | not started |\r\n| 0/5 | -- | 03-02 | not started |\r\n\r\n\
        ## Aggregate\r\n\r\n\
        **Plans:** 0 complete, 0 in progress, 2 not started, 0 failed\r\n**Commits:** --\r\n";
    assert_eq!(render_with(template, &new), expected);
}

#[test]
fn a_template_without_a_table_gets_one() {
    let new = NewStatus { phase: "03", name: "N", plans: &plans() };
    for template in ["", "# T", "# T\n\n## Plan Progress\n\nwords\n\n## Context\n\nNone.\n"] {
        let file = render_with(template, &new);
        assert_eq!(parse(file.as_bytes()).plans.len(), 2, "{file}");
        assert_eq!(file.matches("## Plan Progress").count(), 1, "{file}");
        assert!(file.contains("2 not started"), "{file}");
    }
}

#[test]
fn an_older_file_reads_by_names() {
    let status = parse(OLD.as_bytes());
    assert_eq!(status.phase, "7");
    assert_eq!((status.worker.as_str(), status.worktree.as_str()), ("w1", UNSET));
    assert_eq!(status.plans[0].commit, "abc1234");
    assert_eq!(status.plans[1].status, "pending");
    assert_eq!((status.plans[1].commit.as_str(), status.plans[1].tasks.as_str()), ("--", "--"));
    let expected = Aggregate { complete: 1, not_started: 1, ..Aggregate::default() };
    assert_eq!(status.aggregate(), expected);
    assert_eq!(status.commits(), ["abc1234"]);
    assert_eq!(status.blockers, ["Slow disk on the second host", "[x] Port taken"]);
    assert!(status.decisions.is_empty() && status.context.is_empty());
}

#[test]
fn states_are_parsed_in_all_spellings() {
    for (written, state) in [
        ("not started", PlanState::NotStarted),
        ("pending", PlanState::NotStarted),
        ("", PlanState::NotStarted),
        ("In Progress", PlanState::InProgress),
        ("in_progress", PlanState::InProgress),
        ("executing (task 2)", PlanState::InProgress),
        ("**complete**", PlanState::Complete),
        ("✅ Complete", PlanState::Complete),
        ("failed", PlanState::Failed),
        ("❌ Failed: tests", PlanState::Failed),
    ] {
        assert_eq!(PlanState::parse(written), state, "{written:?}");
    }
}

#[test]
fn starting_a_plan_sets_its_start_time_and_the_phase_status() {
    let change = PlanChange { plan: "03-02", status: Some("in progress"), ..Default::default() };
    let expected = fresh()
        .replace("| 03-02 | not started | -- |", "| 03-02 | in progress | 10:05 |")
        .replace("**Status:** not started", "**Status:** executing")
        .replace("**Last update:** --", &format!("**Last update:** {NOW}"))
        .replace("0 in progress, 2 not started", "1 in progress, 1 not started");
    assert_eq!(update(&fresh(), change), expected);
}

#[test]
fn the_start_time_is_set_once() {
    let begin = PlanChange { plan: "03-01", status: Some("executing"), ..Default::default() };
    let begun = update(&fresh(), begin);
    let again = PlanChange { now_utc: "2026-01-02T11:11:11.000Z", ..begin };
    let again = update_plan(begun.as_bytes(), &again).expect("plan exists");
    assert_eq!(parse(&again).plans[0].started, "10:05");
    let done = PlanChange { status: Some("complete"), ..begin };
    assert_eq!(parse(update(&fresh(), done).as_bytes()).plans[0].started, UNSET);
}

#[test]
fn finished_plans_set_the_aggregate_and_the_phase_status() {
    let done = PlanChange {
        plan: "03-01",
        status: Some("complete"),
        commit: Some("abc1234"),
        duration: Some("12m"),
        tasks: Some("2/2"),
        ..Default::default()
    };
    let one = update(&fresh(), done);
    assert!(one.contains("| 03-01 | complete | -- | 12m | abc1234 | 2/2 |"), "{one}");
    assert!(one.contains("**Commits:** abc1234\n") && one.contains("**Status:** not started\n"));
    let failed = update(&one, PlanChange { plan: "03-02", status: Some("failed"), ..done });
    assert!(failed.contains("**Status:** failed\n"), "{failed}");
    assert!(failed.contains("**Commits:** abc1234, abc1234\n"), "{failed}");
    let both = update(&failed, PlanChange { plan: "03-02", ..done });
    assert!(both.contains("**Status:** complete\n"), "{both}");
    assert!(both.contains("**Plans:** 2 complete, 0 in progress, 0 not started, 0 failed\n"));
}

#[test]
fn plans_are_found_without_padding_but_as_written_first() {
    let file = fresh().replace("| 03-02 |", "| 3-1 |");
    let row = |plan| {
        let change = PlanChange { plan, tasks: Some("9/9"), ..Default::default() };
        let plans = parse(update(&file, change).as_bytes()).plans;
        plans.iter().position(|row| row.tasks == "9/9")
    };
    assert_eq!((row("3-1"), row("03-01")), (Some(1), Some(0)));
    assert_eq!((row("003-1"), row("3-01-PLAN.md")), (Some(0), Some(0)));
}

#[test]
fn an_unknown_plan_is_refused_and_the_known_ones_are_named() {
    let change = PlanChange { plan: "03-09", now_utc: NOW, ..Default::default() };
    let refused = update_plan(fresh().as_bytes(), &change).expect_err("no such plan");
    assert_eq!(refused.to_string(), "plan 03-09 not found; known plans: 03-01, 03-02");
    let refused = update_plan(b"# Nothing\n", &change).expect_err("no table");
    assert_eq!(refused.to_string(), "plan 03-09 not found; known plans: none");
}

#[test]
fn an_older_file_gains_what_it_lacks() {
    let change = PlanChange {
        plan: "7-2",
        status: Some("complete"),
        commit: Some("def"),
        tasks: Some("3/3"),
        ..Default::default()
    };
    let expected = OLD
        .replace("**Worker:** w1\n", "**Worker:** w1\n**Last update:** 2026-01-02T10:05:00.000Z\n")
        .replace("**Status:** executing", "**Status:** complete")
        .replace("| Notes |", "| Notes | Tasks |")
        .replace("--|-------|\n", "--|-------|--------|\n")
        .replace("| fine |", "| fine | -- |")
        .replace("| pending | | | a \\| b |", "| complete | | def | a \\| b | 3/3 |")
        .replace(
            "## Issues",
            "## Aggregate\n\n\
             **Plans:** 2 complete, 0 in progress, 0 not started, 0 failed\n\
             **Commits:** abc1234, def\n\n## Issues",
        );
    assert_eq!(update(OLD, change), expected);
}

#[test]
fn every_known_field_can_be_set() {
    for name in FIELDS {
        let file = text(set_field(fresh().as_bytes(), name, "a $1 | `b`").expect("known field"));
        let label = name.replace('_', " ");
        let lines: Vec<_> = file.lines().filter(|line| line.ends_with(" a $1 | `b`")).collect();
        assert_eq!(lines.len(), 1, "{file}");
        assert!(lines[0].to_lowercase().starts_with(&format!("**{label}:** ")), "{file}");
    }
    let file = set_field(fresh().as_bytes(), "Last update", "now").expect("known field");
    assert_eq!(parse(&file).last_update, "now");
    let file = set_field(&file, "plans_completed", "1/2").expect("known field");
    assert_eq!(parse(&file).plans_completed, "1/2");
    assert!(text(file).contains("**Blocker mode:** --\n**Plans completed:** 1/2\n\n## Plan"));
}

#[test]
fn an_unknown_field_is_refused_and_the_known_ones_are_named() {
    let refused = set_field(fresh().as_bytes(), "mood", "good").expect_err("no such field");
    assert_eq!(
        refused.to_string(),
        "unknown field mood; known fields: status, worker, worktree, started, last_update, \
         blocker_mode, plans_completed, verified"
    );
}

#[test]
fn an_empty_field_stays_on_its_line() {
    let file = "# Phase 03\n\n**Worker:**\n## Aggregate\n";
    assert_eq!(parse(file.as_bytes()).worker, UNSET);
    let set = text(set_field(file.as_bytes(), "worker", "w").expect("known field"));
    assert_eq!(set, "# Phase 03\n\n**Worker:** w\n## Aggregate\n");
    let cleared = text(set_field(set.as_bytes(), "worker", "\n").expect("known field"));
    assert_eq!(cleared, "# Phase 03\n\n**Worker:** --\n## Aggregate\n");
}

#[test]
fn a_field_is_added_to_any_file() {
    for (file, expected) in [
        ("", "**Worker:** w\n\n"),
        ("# T", "# T\n**Worker:** w\n"),
        ("words\n", "words\n**Worker:** w\n\n"),
        ("# T\n\n## Context\n", "# T\n\n**Worker:** w\n\n## Context\n"),
        ("\u{feff}## Context\r\n", "\u{feff}**Worker:** w\r\n\r\n## Context\r\n"),
    ] {
        let set = set_field(file.as_bytes(), "worker", "w").expect("known field");
        assert_eq!(parse(&set).worker, "w", "{file:?}");
        assert_eq!(text(set), expected);
    }
}

#[test]
fn fields_below_the_head_are_not_the_phase() {
    let file = fresh().replace("None.", "- **Worker:** somebody else\n\nWorktree: far away");
    assert_eq!(parse(file.as_bytes()).worker, UNSET);
    assert_eq!(parse(file.as_bytes()).worktree, UNSET);
}

#[test]
fn comments_are_not_read() {
    let hidden = "<!--\n**Worker:** ghost\n| 03-09 | failed | | | | |\n-->\n";
    let file = fresh().replace("**Phase:**", &format!("{hidden}\n**Phase:**"));
    assert_eq!(parse(file.as_bytes()), parse(fresh().as_bytes()));
}

#[test]
fn the_aggregate_follows_the_rows() {
    let stale = fresh().replace("0 complete, 0 in", "7 complete, 0 in");
    assert_eq!(text(rewrite_aggregate(stale.as_bytes())), fresh());
    let bare = fresh().replace("**Commits:** --\n", "");
    assert_eq!(text(rewrite_aggregate(bare.as_bytes())), fresh());
    let empty = "## Aggregate\n";
    let expected = "## Aggregate\n\n\
        **Plans:** 0 complete, 0 in progress, 0 not started, 0 failed\n**Commits:** --\n";
    assert_eq!(text(rewrite_aggregate(empty.as_bytes())), expected);
}

#[test]
fn an_empty_table_ends_before_the_next_section() {
    let file = "## Plan Progress\n\n| Plan | Status |\n|---|---|\n\n## Other\n\n\
        | Plan | Status |\n|---|---|\n| 1 | failed |\n";
    assert!(parse(file.as_bytes()).plans.is_empty());
}

#[test]
fn a_bullet_replaces_the_placeholder() {
    let added = text(add_blocker(fresh().as_bytes(), "Disk | $1\nfull `x`").expect("has text"));
    let bullet = "- Disk | $1 full `x`";
    assert_eq!(added, fresh().replacen("None.", bullet, 1));
    let more = text(add_blocker(added.as_bytes(), "None of it works").expect("has text"));
    assert_eq!(more, fresh().replacen("None.", &format!("{bullet}\n- None of it works"), 1));
    let status = parse(more.as_bytes());
    assert_eq!(status.blockers, ["Disk | $1 full `x`", "None of it works"]);
    let decided = add_decision(more.as_bytes(), "Use A 🎉").expect("has text");
    let noted = add_context(&decided, "- [ ] look").expect("has text");
    assert_eq!(parse(&noted).decisions, ["Use A 🎉"]);
    assert_eq!(parse(&noted).context, ["- [ ] look"]);
    assert_eq!(add_blocker(b"", " \n"), Err(StatusError::EmptyEntry));
}

#[test]
fn sections_are_added_in_their_order() {
    let file = "# T\n\n## Context\n\nx";
    let decided = text(add_decision(file.as_bytes(), "d").expect("has text"));
    assert_eq!(decided, "# T\n\n## Decisions\n\n- d\n\n## Context\n\nx");
    let blocked = text(add_blocker(decided.as_bytes(), "b").expect("has text"));
    assert_eq!(blocked, "# T\n\n## Blockers\n\n- b\n\n## Decisions\n\n- d\n\n## Context\n\nx");
    let issue = text(add_blocker(OLD.as_bytes(), "b").expect("has text"));
    assert_eq!(issue, OLD.replace("taken\n", "taken\n- b\n"));
    let noted = text(add_context(b"# T", "c").expect("has text"));
    assert_eq!(noted, "# T\n\n## Context\n\n- c\n");
}

#[test]
fn line_endings_are_kept() {
    let file = fresh().replace('\n', "\r\n");
    let change = PlanChange { plan: "03-01", status: Some("complete"), ..Default::default() };
    let updated = update(&file, change);
    let updated = text(add_blocker(updated.as_bytes(), "one\r\ntwo").expect("has text"));
    let updated = text(set_field(updated.as_bytes(), "verified", "abc").expect("known field"));
    assert_eq!(updated.matches('\n').count(), file.matches('\n').count() + 1);
    assert_eq!(updated.matches('\n').count(), updated.matches("\r\n").count());
    assert_eq!(updated.matches('\r').count(), updated.matches("\r\n").count());
}

#[test]
fn plans_are_counted_as_they_are_read() {
    let unknown = fresh().replacen("not started", "✅ **Complete** (late)", 1);
    let no_table = "# Phase 3\n\n**Status:** complete\n";
    let blank_row = OLD.replace("| 07-02 | pending | | | a \\| b |", "| -- | - | | | |");
    for file in [OLD, &fresh(), &unknown, no_table, &blank_row, ""] {
        let status = parse(file.as_bytes());
        let read = (status.aggregate().complete, status.plans.len());
        assert_eq!(plan_counts(file.as_bytes()), read, "{file}");
    }
    assert_eq!(plan_counts(OLD.as_bytes()), (1, 2));
    assert_eq!(plan_counts(blank_row.as_bytes()), (1, 1));
}

#[test]
fn a_heading_ends_a_bullet() {
    let status = parse(b"## Blockers\n- a\n### More\nwords\n- b\n  and c\n");
    assert_eq!(status.blockers, ["a", "b and c"]);
}

#[test]
fn progress_is_shown_and_everything_else_stays() {
    let file = fresh().replace("## Blockers\n\nNone.", "## Blockers\n\n- Port 80 is taken | $1");
    let plans = [
        PlanChange {
            plan: "03-01",
            status: Some("in progress"),
            started: Some("10:01"),
            tasks: Some("1/2"),
            ..Default::default()
        },
        PlanChange { plan: "03-03", tasks: Some("0/4"), ..Default::default() },
    ];
    let change = ProgressChange {
        status: Some("executing"),
        blocker_mode: Some("skip"),
        plans: &plans,
        all_plans: Some(&["03-01", "03-03"]),
        now_utc: NOW,
    };
    let shown = text(show_progress(file.as_bytes(), &change));
    let expected = file
        .replace(
            "| 03-01 | not started | -- | -- | -- | 0/2 |",
            "| 03-01 | in progress | 10:01 | -- | -- | 1/2 |",
        )
        .replace(
            "| 03-02 | not started | -- | -- | -- | 0/5 |",
            "| 03-03 | not started | -- | -- | -- | 0/4 |",
        )
        .replace("**Status:** not started", "**Status:** executing")
        .replace("**Blocker mode:** --", "**Blocker mode:** skip")
        .replace("**Last update:** --", &format!("**Last update:** {NOW}"))
        .replace("0 in progress, 2 not started", "1 in progress, 1 not started");
    assert_eq!(shown, expected);
    let later = ProgressChange { now_utc: "2026-01-02T11:00:00.000Z", ..change };
    assert_eq!(text(show_progress(shown.as_bytes(), &later)), shown, "nothing else changed");
}

#[test]
fn progress_is_shown_in_any_file() {
    let plans = [PlanChange { plan: "7-2", status: Some("failed"), ..Default::default() }];
    let change = ProgressChange { plans: &plans, now_utc: NOW, ..Default::default() };
    for file in ["", "# Words\r\n", OLD, "## Plan Progress\n\n| Plan |\n|---|\n"] {
        let shown = show_progress(file.as_bytes(), &change);
        assert_eq!(parse(&shown).aggregate().failed, 1, "{file}");
        assert_eq!(parse(&shown).last_update, NOW);
    }
    let done = OLD.replace("07-02 | pending", "07-09 | complete");
    let change = ProgressChange { all_plans: Some(&["07-01"]), now_utc: NOW, ..Default::default() };
    assert_eq!(parse(&show_progress(OLD.as_bytes(), &change)).plans.len(), 1);
    assert_eq!(parse(&show_progress(done.as_bytes(), &change)).plans.len(), 2, "it was executed");
}
