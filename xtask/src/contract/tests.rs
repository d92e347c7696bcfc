//! The list is whole, and what counts as covered is covered.

use super::*;

#[test]
fn the_contract_has_all_its_commands() {
    let leaves = leaves();
    assert_eq!((LEAVES.len(), leaves.len()), (39, 112));
    assert_eq!(leaves.iter().collect::<BTreeSet<_>>().len(), 112);
}

#[test]
fn a_command_is_there_by_name_or_as_an_argument() {
    let commands = ["init", "state get", "scaffold", "progress", "dashboard event add"];
    let commands = commands.into_iter().map(str::to_owned).collect();
    for leaf in ["state get", "scaffold uat", "progress", "dashboard event add"] {
        assert!(is_there(&commands, leaf), "{leaf}");
    }
    for leaf in ["state update", "init auto", "dashboard event prune", "team-update --action stop"]
    {
        assert!(!is_there(&commands, leaf), "{leaf}");
    }
}

#[test]
fn calls_are_found_in_every_spelling() {
    let tests = r#"
        project.call(["state", "get", "--raw"]);
        call: &[
            "team-update",
            "--action",
            "start",
        ],
        ("generate-slug \"A\"", "a"),
        project.git(".", &["commit", "-m", "x"]);
        assert_eq!(answer["plans"][0]["commit"], answer["commit"]);
        let json = json!({ "commit": 1, "progress" : 2 });
    "#;
    let calls = join_words(tests);
    for leaf in ["state get", "team-update --action start", "generate-slug"] {
        assert!(is_called(&calls, leaf), "{leaf}: {calls}");
    }
    for leaf in ["commit", "progress", "state update", "team-update --action stop", "get"] {
        assert!(!is_called(&calls, leaf), "{leaf}: {calls}");
    }
}

#[test]
fn defects_are_told_apart() {
    let tests = "fn d12_keeps_the_blank_line() {}\n// D30: four blanks\n";
    for (defect, is_named) in [("D12", true), ("D30", true), ("D1", false), ("D3", false)] {
        assert_eq!(names_defect(tests, defect), is_named, "{defect}");
    }
}
