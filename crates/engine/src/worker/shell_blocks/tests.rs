//! Tests that shell blocks and check commands are found in the text of a plan.

use super::*;

fn task(action: &str, verify: &str) -> Task {
    let text = format!(
        "<task type=\"auto\">\n<name>T</name>\n<action>\n{action}\n</action>\n<verify>{verify}</verify>\n</task>\n"
    );
    mow_store::plan::parse(text.as_bytes()).tasks.remove(0)
}

#[test]
fn shell_blocks_are_found_and_other_blocks_ignored() {
    let text = "Do this:\n```sh\necho one\n```\nnot this:\n```python\nprint(1)\n```\n  ````bash\n  echo '```'\n   two\n  ````\n";
    let found = shell_blocks(text);
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].program, found[0].text.as_str()), ("sh", "echo one"));
    assert_eq!((found[1].program, found[1].text.as_str()), ("bash", "echo '```'\n two"));
}

#[test]
fn a_fence_that_never_closes_runs_to_the_end() {
    assert_eq!(shell_blocks("```sh\necho one\necho two")[0].text, "echo one\necho two");
}

#[test]
fn prose_has_no_shell_blocks() {
    assert_eq!(shell_blocks("Run `sh build.sh` and then `make`.\n``` \nsh\n```\n"), []);
}

#[test]
fn check_commands_are_the_automated_elements() {
    let found = |verify: &str| check_commands(&task("x", verify));
    assert_eq!(found("<automated>sh t.sh && true</automated>"), ["sh t.sh && true"]);
    assert_eq!(found("<automated>`sh t.sh`</automated>"), ["sh t.sh"]);
    assert_eq!(found("<automated>\n```sh\na\nb\n```\n</automated>"), ["a\nb"]);
    assert!(found("look at it closely").is_empty());
    assert!(found("<automated>MISSING: write the test first</automated>").is_empty());
}
