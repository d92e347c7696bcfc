//! What a reader of planning files sees, and that offsets hold.

mod blocks;
mod lines;
mod properties;

use super::Text;

/// Returns what is visible, blank lines and trailing blanks left out.
fn seen(file: &str) -> Vec<String> {
    let text = Text::new(file.as_bytes());
    let lines = text.visible().lines().map(str::trim_end);
    lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn a_closed_fence_is_hidden() {
    assert_eq!(seen("a\n```\n# no\n```\nb\n"), ["a", "b"]);
    assert_eq!(seen("a\n~~~md\n# no\n```\nno\n~~~\nb\n"), ["a", "b"]);
    assert_eq!(seen("a\n````\n```\n# no\n```\n````\nb\n"), ["a", "b"]);
    assert_eq!(seen("a\r\n```\r\n# no\r\n```\r\nb\r\n"), ["a", "b"]);
    assert_eq!(seen("> a\n> ```\n> # no\n> ```\nb\n")[0], "> a");
}

#[test]
fn an_indented_fence_does_not_end_the_frontmatter() {
    assert_eq!(seen("---\na: |\n  ---\n# no\n---\nb\n"), ["b"]);
    assert_eq!(seen("\u{feff}---\na: 1\n---\nb\n"), ["b"]);
    assert_eq!(seen(" ---\na\n---\n"), [" ---", "a", "---"]);
}

#[test]
fn a_fence_in_a_list_is_hidden() {
    assert_eq!(seen("- a\n\n  ```\n  # no\n  ```\n- b\n"), ["- a", "- b"]);
    assert_eq!(seen("1. a\n   ~~~\n   - [x] no\n   ~~~\n2. b\n"), ["1. a", "2. b"]);
}

#[test]
fn a_fence_that_never_closes_hides_nothing() {
    assert_eq!(seen("a\n```\n# yes\nb\n"), ["a", "```", "# yes", "b"]);
    assert_eq!(seen("a\n```\nno\n```\nb\n~~~\n# yes\n"), ["a", "b", "~~~", "# yes"]);
    assert_eq!(seen("- ```\n- b\n"), ["- ```", "- b"]);
}

#[test]
fn a_comment_is_hidden() {
    assert_eq!(seen("a <!-- no --> b\n"), ["a             b"]);
    assert_eq!(seen("a\n<!--\n# no\n\n- no\n-->\nb\n"), ["a", "b"]);
    assert_eq!(seen("a\r\n<!-- no\r\n# no -->\r\nb\r\n"), ["a", "b"]);
    assert_eq!(seen("- a <!-- no --> <!-- no -->\n- b\n"), ["- a", "- b"]);
    assert_eq!(seen("| a | <!-- no --> |\n"), ["| a |             |"]);
}

#[test]
fn what_follows_a_comment_on_its_line_is_seen() {
    assert_eq!(seen("<!-- no --> yes\n"), ["            yes"]);
    assert_eq!(seen("<!--\nno\n--> yes\nb\n"), ["    yes", "b"]);
    assert_eq!(seen("<!-- no --> yes <!-- no -->\nb\n"), ["            yes", "b"]);
}

#[test]
fn a_comment_that_never_closes_hides_nothing() {
    assert_eq!(seen("a\n<!-- yes\n# yes\n"), ["a", "<!-- yes", "# yes"]);
    assert_eq!(seen("<!-- no -->\na\n<!-- yes\n- b\n"), ["a", "<!-- yes", "- b"]);
}

#[test]
fn code_and_comments_do_not_open_each_other() {
    assert_eq!(seen("```\n<!--\n```\n# yes\n<!-- no -->\n"), ["# yes"]);
    assert_eq!(seen("<!--\n```\n-->\n# yes\n\n```\nno\n```\n"), ["# yes"]);
    assert_eq!(seen("use `<!--` and `-->`\n"), ["use `<!--` and `-->`"]);
}

#[test]
fn frontmatter_is_hidden_at_the_very_top_only() {
    assert_eq!(seen("---\nstatus: no\n---\n# yes\n"), ["# yes"]);
    assert_eq!(seen("\u{feff}---\r\nstatus: no\r\n---\r\n# yes\r\n"), ["# yes"]);
    assert_eq!(seen("# a\n---\nb\n---\n"), ["# a", "---", "b", "---"]);
    assert_eq!(seen("---\n# yes\n"), ["---", "# yes"]);
}

#[test]
fn a_mark_of_byte_order_hides_no_heading() {
    let text = Text::new("\u{feff}# T\n".as_bytes());
    assert_eq!(text.visible(), "   # T\n");
    assert!(super::heading::heading_at(&text, 0).is_some());
}

#[test]
fn bytes_that_are_no_text_keep_their_place() {
    let text = Text::new(b"# a\xff\xfeb\n**X:** \xc3\n");
    assert_eq!(text.visible(), "# a??b\n**X:** ?\n");
    assert_eq!(text.raw(3..5), "\u{fffd}\u{fffd}");
}

#[test]
fn tags_do_not_swallow_the_list_below_them() {
    let file =
        "<details>\n<summary>Done</summary>\n- [x] a <!-- no -->\n\n```\nno\n```\n</details>\n";
    assert_eq!(seen(file), ["<details>", "<summary>Done</summary>", "- [x] a", "</details>"]);
}

#[test]
fn lines_end_at_feeds_only() {
    let text = Text::new(b"a\r\nb\rc\n\nd");
    let lines: Vec<_> = (0..5).map(|line| text.line(line)).collect();
    assert_eq!(lines, ["a", "b\rc", "", "d", ""]);
    assert_eq!(text.line_ending(), "\r\n");
    assert_eq!(Text::new(b"a").line_ending(), "\n");
    let at: Vec<_> = [0, 2, 3, 7, 99].into_iter().map(|at| text.line_at(at)).collect();
    assert_eq!(at, [0, 0, 1, 2, 3]);
    assert_eq!(Text::new(b"").line_at(0), 0);
}
