//! Tests help, documentation pages, shell completions and manual pages.

use crate::sandbox;

#[test]
fn help_ends_with_examples() {
    let text = sandbox().call(["help", "roadmap", "graph"]).run().stdout_on_success();
    assert!(text.contains("Examples:\n  mow roadmap graph\n"), "{text}");
    let flag = sandbox().call(["roadmap", "graph", "--help"]).run().stdout_on_success();
    assert!(flag.contains("Examples:\n  mow roadmap graph\n"), "{flag}");
    let top = sandbox().call(["--help"]).run().stdout_on_success();
    assert!(top.contains("mow init") && !top.contains("__commands"), "{top}");
}

#[test]
fn three_question_marks_open_the_documentation() {
    let calls: [&[&str]; 5] = [
        &["help-open", "roadmap", "graph"],
        &["roadmap", "graph", "???"],
        &["--cwd", ".", "roadmap", "graph", "--open", "???"],
        &["roadmap", "graph", "extra", "???"],
        &["--raw", "roadmap", "graph", "???"],
    ];
    for call in &calls[..4] {
        let text = sandbox().call(*call).run().stdout_on_success();
        assert!(text.starts_with("mow roadmap graph\n\nDraws the dependencies"), "{text}");
        assert!(!text.contains('\x1b'));
    }
    assert_eq!(sandbox().call(calls[4]).run().json()["command"], "roadmap");
    let page = sandbox().call(["roadmap", "???"]).run().stdout_on_success();
    assert!(page.starts_with("mow roadmap\n") && page.contains("mow roadmap analyze\n"), "{page}");
    let list = sandbox().call(["???"]).run().stdout_on_success();
    assert!(list.lines().any(|line| line == "  state"), "{list}");
    sandbox().call(["bogus", "???"]).run().refuses("there is no help page for \"bogus\"");
    // In the middle it is an argument like any other.
    sandbox().call(["roadmap", "???", "phases"]).run().refuses("???");
}

#[test]
fn completions_name_the_commands_of_every_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let script = sandbox().call(["completions", shell]).run().stdout_on_success();
        assert!(script.contains("help-open") && script.contains("analyze-dag"), "{shell}");
    }
    sandbox().call(["completions", "dos"]).run().refuses("invalid value 'dos'");
}

#[test]
fn manual_pages_are_printed_and_written() {
    let project = sandbox();
    let page = project.call(["man"]).run().stdout_on_success();
    assert!(page.contains(".TH mow 1"), "{page}");
    let _ = project.call(["man", "share/man1"]).run().stdout_on_success();
    assert!(project.text("share/man1/mow.1").contains("mow\\-doctor(1)"));
    let graph = project.text("share/man1/mow-roadmap-graph.1");
    assert!(graph.contains("Examples:"), "{graph}");
    assert!(!project.files().keys().any(|name| name.contains("__commands")));
}

#[test]
fn the_hidden_command_list_is_json() {
    let leaves = sandbox().call(["__commands"]).run().json();
    let leaves = leaves.as_array().unwrap();
    assert!(leaves.iter().any(|leaf| leaf == "roadmap analyze-dag"));
    assert!(leaves.iter().all(|leaf| leaf != "roadmap" && leaf != "__commands"), "{leaves:?}");
}
