//! Tests that the team section is created, changed and removed.

use super::{
    TeamError, TeamMembers, Teammate, TeammateChange, add, parse, set_members, start, stop, update,
};

const HEAD: &str = "## Agent Team Status\n\n**Team:** t\n**Started:** D\n\n\
                    | Teammate | Worktree | Task | Status | Last Update |\n\
                    |----------|----------|------|--------|-------------|\n";
const COLORED: &str = "| Teammate | Worktree | Task | Status | Color | Last Update |\n\
                       |----------|----------|------|--------|-------|-------------|\n";

fn change(name: &str) -> TeammateChange<'_> {
    TeammateChange { name, today: "D", ..TeammateChange::default() }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_team_starts_before_the_session() {
    let session = "## Session Continuity\n\nx\n";
    let check = |before: &str, after: &str| {
        assert_eq!(text(start(before.as_bytes(), "t", "D")), after);
    };
    check(&format!("# S\n\n{session}"), &format!("# S\n\n{HEAD}\n{session}"));
    check(&format!("# S\n{session}"), &format!("# S\n\n{HEAD}\n{session}"));
    check("# S\n", &format!("# S\n\n{HEAD}"));
    check("# S", &format!("# S\n\n{HEAD}"));
    check("", HEAD);
    let old = HEAD.replace("** t", "** old") + "| a | b | c | d | e |\n";
    check(&format!("# S\n\n{old}\n{session}"), &format!("# S\n\n{HEAD}\n{session}"));
    check(&format!("# S\n\n{session}\n{old}"), &format!("# S\n\n{HEAD}\n{session}"));
}

#[test]
fn stopping_removes_the_section_alone() {
    let check = |before: &str, after: &str| assert_eq!(text(stop(before.as_bytes())), after);
    check(&format!("# S\n\nx\n\n{HEAD}\n## N\n"), "# S\n\nx\n\n## N\n");
    check(&format!("# S\n\nx\n\n{HEAD}"), "# S\n\nx\n");
    check(
        &format!("# S\n\n{HEAD}\n### Verification Results\n\ny\n"),
        "# S\n\n### Verification Results\n\ny\n",
    );
    check("# S\n", "# S\n");
}

#[test]
fn members_get_rows() {
    let file = |rows: &str| format!("{HEAD}{rows}\n## N\n");
    let one = add(file("").as_bytes(), change("w|1")).unwrap();
    assert_eq!(text(one.clone()), file("| w\\|1 | — | — | active | D |\n"));
    let whole = TeammateChange {
        worktree: Some("/w"),
        task: Some("$1"),
        status: Some("idle"),
        ..change("w2")
    };
    let two = add(&one, whole).unwrap();
    let rows = "| w\\|1 | — | — | active | D |\n| w2 | /w | $1 | idle | D |\n";
    assert_eq!(text(two.clone()), file(rows));
    assert_eq!(text(add(&two, whole).unwrap()), file(rows), "no second row of one name");
    let changed = TeammateChange { status: Some("done"), today: "E", ..change("w|1") };
    let rows = rows.replace("— | active | D", "— | done | E");
    assert_eq!(text(update(&two, changed).unwrap()), file(&rows));
}

#[test]
fn a_color_adds_its_column() {
    let one = add(HEAD.as_bytes(), change("a")).unwrap();
    let two = add(&one, TeammateChange { color: Some("green"), ..change("b") }).unwrap();
    let rows = "| a | — | — | active | — | D |\n| b | — | — | active | green | D |\n";
    assert_eq!(text(two.clone()).split_once("D\n\n").unwrap().1, format!("{COLORED}{rows}"));
    let updated = update(&two, TeammateChange { status: Some("idle"), ..change("b") }).unwrap();
    assert!(text(updated).contains("| b | — | — | idle | green | D |"));
    let third = text(add(&two, change("c")).unwrap());
    assert!(third.ends_with("| c | — | — | active | — | D |\n"), "{third}");
    let colors: Vec<_> = parse(&two).unwrap().teammates.into_iter().map(|t| t.color).collect();
    assert_eq!(colors, [Some(None), Some(Some("green".to_owned()))]);
}

#[test]
fn other_columns_are_kept() {
    let table = "## Agent Team Status\n\n| Teammate | Worktree | Phase | Task | Status | Color | Last Update |\n\
                 |-|-|-|-|-|-|-|\n| a |  | 7 | t | active | red | x |\n";
    let team = parse(table.as_bytes()).unwrap();
    let a = Teammate {
        name: "a".into(),
        task: "t".into(),
        status: "active".into(),
        last_update: "x".into(),
        color: Some(Some("red".into())),
        phase: Some("7".into()),
        ..Teammate::default()
    };
    assert_eq!((team.name, team.started, team.teammates), (None, None, vec![a]));
    let two = text(add(table.as_bytes(), change("b")).unwrap());
    assert!(two.ends_with("| b | — | — | — | active | — | D |\n"), "{two}");
    let changed = update(table.as_bytes(), TeammateChange { task: Some("u"), ..change("a") });
    assert!(text(changed.unwrap()).ends_with("| a |  | 7 | u | active | red | D |\n"));
}

#[test]
fn a_section_without_a_table_gets_one() {
    let bare = "## Agent Team Status\n\n**Team:** t\n\n## N\n";
    let made = text(add(bare.as_bytes(), change("a")).unwrap());
    let rest = HEAD.split_once("D\n\n").unwrap().1;
    let row = "| a | — | — | active | D |\n";
    assert_eq!(made, format!("## Agent Team Status\n\n**Team:** t\n\n{rest}{row}\n## N\n"));
    let colored = TeammateChange { color: Some("blue"), ..change("a") };
    let made = text(add(bare.as_bytes(), colored).unwrap());
    assert!(
        made.contains(&format!("{COLORED}| a | — | — | active | blue | D |\n\n## N")),
        "{made}"
    );
}

#[test]
fn unknown_members_and_missing_sections_are_errors() {
    assert_eq!(add(b"# S\n", change("a")), Err(TeamError::NoSection));
    assert_eq!(update(b"# S\n", change("a")), Err(TeamError::NoSection));
    let unknown = Err(TeamError::Unknown("a".to_owned()));
    assert_eq!(update(HEAD.as_bytes(), change("a")), unknown);
    assert_eq!(parse(b"# S\n"), None);
}

/// Sets the members of the team `mow-x`; names that begin with `w` are its own.
fn set(before: &str, names: &[&str]) -> String {
    let member = |name| TeammateChange {
        worktree: Some("/w"),
        phase: Some("3"),
        task: Some("03-01"),
        status: Some("executing"),
        color: Some("green"),
        ..change(name)
    };
    let members: Vec<_> = names.iter().copied().map(member).collect();
    let wanted = TeamMembers { team: "mow-x", members: &members, today: "D" };
    let after = set_members(before.as_bytes(), wanted, |name| name.starts_with('w'));
    let later: Vec<_> = members.iter().map(|m| TeammateChange { today: "L", ..*m }).collect();
    let later = TeamMembers { members: &later, ..wanted };
    assert_eq!(set_members(&after, later, |name| name.starts_with('w')), after);
    text(after)
}

#[test]
fn a_team_of_its_own_comes_and_goes_with_its_members() {
    let file = "# S\n\n## Session Continuity\n\nx\n";
    let head = "## Agent Team Status\n\n**Team:** mow-x\n**Started:** D\n\n\
        | Teammate | Worktree | Phase | Task | Status | Color | Last Update |\n\
        |----------|----------|-------|------|--------|-------|-------------|\n";
    let row = |name: &str| format!("| {name} | /w | 3 | 03-01 | executing | green | D |\n");
    let one = set(file, &["w1"]);
    let section = format!("{head}{}", row("w1"));
    assert_eq!(one, format!("# S\n\n{section}\n## Session Continuity\n\nx\n"));
    let two = set(&one, &["w1", "w2"]);
    assert!(two.contains(&format!("{}{}\n", row("w1"), row("w2"))), "{two}");
    assert_eq!(set(&set(&two, &["w2"]), &[]), file);
}

#[test]
fn a_team_of_people_stays_and_gets_rows_only_while_workers_run() {
    let team = format!("{HEAD}| Ann | — | — | active | D |\n");
    let with_worker = set(&team, &["w1"]);
    assert!(with_worker.contains("| Ann | — | — | active | — | D |\n| w1 | /w | 03-01 |"));
    let after = set(&with_worker, &[]);
    assert!(after.ends_with("| Ann | — | — | active | — | D |\n"), "{after}");
    assert_eq!(set(&team, &[]), team);
}
