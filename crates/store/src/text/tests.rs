//! Tests that code, comments and frontmatter are hidden and that all offsets stay valid.

mod blocks;
mod lines;
mod properties;

use super::Text;

/// Returns the visible lines without blank lines and trailing whitespace.
fn visible_lines(file: &str) -> Vec<String> {
    let text = Text::new(file.as_bytes());
    let lines = text.visible().lines().map(str::trim_end);
    lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn a_closed_fence_is_hidden() {
    assert_eq!(visible_lines("a\n```\n# no\n```\nb\n"), ["a", "b"]);
    assert_eq!(visible_lines("a\n~~~md\n# no\n```\nno\n~~~\nb\n"), ["a", "b"]);
    assert_eq!(visible_lines("a\n````\n```\n# no\n```\n````\nb\n"), ["a", "b"]);
    assert_eq!(visible_lines("a\r\n```\r\n# no\r\n```\r\nb\r\n"), ["a", "b"]);
    assert_eq!(visible_lines("> a\n> ```\n> # no\n> ```\nb\n")[0], "> a");
}

#[test]
fn an_indented_fence_does_not_end_the_frontmatter() {
    assert_eq!(visible_lines("---\na: |\n  ---\n# no\n---\nb\n"), ["b"]);
    assert_eq!(visible_lines("\u{feff}---\na: 1\n---\nb\n"), ["b"]);
    assert_eq!(visible_lines(" ---\na\n---\n"), [" ---", "a", "---"]);
}

#[test]
fn a_fence_in_a_list_is_hidden() {
    assert_eq!(visible_lines("- a\n\n  ```\n  # no\n  ```\n- b\n"), ["- a", "- b"]);
    assert_eq!(visible_lines("1. a\n   ~~~\n   - [x] no\n   ~~~\n2. b\n"), ["1. a", "2. b"]);
}

#[test]
fn a_fence_that_never_closes_hides_nothing() {
    assert_eq!(visible_lines("a\n```\n# yes\nb\n"), ["a", "```", "# yes", "b"]);
    assert_eq!(visible_lines("a\n```\nno\n```\nb\n~~~\n# yes\n"), ["a", "b", "~~~", "# yes"]);
    assert_eq!(visible_lines("- ```\n- b\n"), ["- ```", "- b"]);
}

#[test]
fn a_comment_is_hidden() {
    assert_eq!(visible_lines("a <!-- no --> b\n"), ["a             b"]);
    assert_eq!(visible_lines("a\n<!--\n# no\n\n- no\n-->\nb\n"), ["a", "b"]);
    assert_eq!(visible_lines("a\r\n<!-- no\r\n# no -->\r\nb\r\n"), ["a", "b"]);
    assert_eq!(visible_lines("- a <!-- no --> <!-- no -->\n- b\n"), ["- a", "- b"]);
    assert_eq!(visible_lines("| a | <!-- no --> |\n"), ["| a |             |"]);
}

#[test]
fn text_after_a_comment_on_the_same_line_is_visible() {
    assert_eq!(visible_lines("<!-- no --> yes\n"), ["            yes"]);
    assert_eq!(visible_lines("<!--\nno\n--> yes\nb\n"), ["    yes", "b"]);
    assert_eq!(visible_lines("<!-- no --> yes <!-- no -->\nb\n"), ["            yes", "b"]);
}

#[test]
fn a_comment_that_never_closes_hides_nothing() {
    assert_eq!(visible_lines("a\n<!-- yes\n# yes\n"), ["a", "<!-- yes", "# yes"]);
    assert_eq!(visible_lines("<!-- no -->\na\n<!-- yes\n- b\n"), ["a", "<!-- yes", "- b"]);
}

#[test]
fn code_and_comments_do_not_open_each_other() {
    assert_eq!(visible_lines("```\n<!--\n```\n# yes\n<!-- no -->\n"), ["# yes"]);
    assert_eq!(visible_lines("<!--\n```\n-->\n# yes\n\n```\nno\n```\n"), ["# yes"]);
    assert_eq!(visible_lines("use `<!--` and `-->`\n"), ["use `<!--` and `-->`"]);
}

#[test]
fn frontmatter_is_hidden_at_the_very_top_only() {
    assert_eq!(visible_lines("---\nstatus: no\n---\n# yes\n"), ["# yes"]);
    assert_eq!(visible_lines("\u{feff}---\r\nstatus: no\r\n---\r\n# yes\r\n"), ["# yes"]);
    assert_eq!(visible_lines("# a\n---\nb\n---\n"), ["# a", "---", "b", "---"]);
    assert_eq!(visible_lines("---\n# yes\n"), ["---", "# yes"]);
}

#[test]
fn a_byte_order_mark_does_not_hide_the_first_heading() {
    let text = Text::new("\u{feff}# T\n".as_bytes());
    assert_eq!(text.visible(), "   # T\n");
    assert!(super::heading::heading_at(&text, 0).is_some());
}

#[test]
fn bytes_that_are_not_utf8_are_masked_one_for_one() {
    let text = Text::new(b"# a\xff\xfeb\n**X:** \xc3\n");
    assert_eq!(text.visible(), "# a??b\n**X:** ?\n");
    assert_eq!(text.raw(3..5), "\u{fffd}\u{fffd}");
}

#[test]
fn html_tags_do_not_hide_the_list_below_them() {
    let file =
        "<details>\n<summary>Done</summary>\n- [x] a <!-- no -->\n\n```\nno\n```\n</details>\n";
    assert_eq!(
        visible_lines(file),
        ["<details>", "<summary>Done</summary>", "- [x] a", "</details>"]
    );
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
