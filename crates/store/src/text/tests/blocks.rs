//! Tests for tables, collapsed `<details>` blocks and inline markup.

use crate::text::Text;
use crate::text::collapsed::collapsed_blocks;
use crate::text::inline::strip_markup;
use crate::text::splice::apply;
use crate::text::table::{Table, render_row, tables};

fn cells(file: &str) -> Vec<Vec<String>> {
    let text = Text::new(file.as_bytes());
    let found = tables(&text, 0..text.lines().len());
    let rows = found.iter().flat_map(|table| &table.rows);
    rows.map(|row| (0..row.cells.len()).map(|cell| row.cell(&text, cell)).collect()).collect()
}

fn only_table(text: &Text<'_>) -> Table {
    let mut found = tables(text, 0..text.lines().len());
    assert_eq!(found.len(), 1);
    found.remove(0)
}

/// Sets cells of the first row.
fn set(row: &str, changes: &[(usize, &str)]) -> String {
    let file = format!("| a | b |\n|---|---|\n{row}");
    let text = Text::new(file.as_bytes());
    let splices = only_table(&text).rows[0].set(&text, changes);
    let file = String::from_utf8(apply(text.bytes(), splices)).expect("text");
    file.lines().nth(2).expect("the row is there").to_owned()
}

#[test]
fn rows_are_split_into_cells() {
    let table = |row: &str| cells(&format!("| a | b |\n|---|---|\n{row}\n"));
    assert_eq!(table("| x | y |"), [["x", "y"]]);
    assert_eq!(table("|x|y"), [["x", "y"]]);
    assert_eq!(table("| x \\| z | y |"), [["x | z", "y"]]);
    assert_eq!(table("| | y |"), [["", "y"]]);
    assert_eq!(table("|||"), [["", ""]]);
    assert_eq!(table("| x |"), [["x"]]);
    assert_eq!(table("  | x | y |  \r"), [["x", "y"]]);
    assert_eq!(table("| 🎉 | é |"), [["🎉", "é"]]);
}

#[test]
fn where_a_table_begins_and_ends() {
    assert_eq!(cells("a | b\n--|--\nx | y\n"), [["x", "y"]]);
    assert_eq!(cells("| a |\n|---|\n| x |\nprose | with a pipe\n| no |\n"), [["x"]]);
    assert_eq!(cells("| a |\n|---|\n\n| no |\n"), Vec::<Vec<String>>::new());
    assert_eq!(cells("| a |\n|---|\n\n## B\n\n| a |\n|:-:|\n| x |\n"), [["x"]]);
    assert_eq!(cells("| a |\n| no |\n"), Vec::<Vec<String>>::new());
    assert_eq!(cells("a\n---\nb\n"), Vec::<Vec<String>>::new());
    assert_eq!(cells("```\n| a |\n|---|\n| no |\n```\n"), Vec::<Vec<String>>::new());
    assert_eq!(cells("| a |\r\n|---|\r\n| x |\r\n"), [["x"]]);
    let text = Text::new(b"words\n| a |\n|---|\n| x |\n| y |\nwords\n");
    assert_eq!(only_table(&text).end(), 5);
}

#[test]
fn columns_are_found_by_name() {
    let text = Text::new(b"| **Plan** | Plans Complete | `Status` |\n|---|---|---|\n");
    let table = only_table(&text);
    assert_eq!(table.column(&text, &["plan"]), Some(0));
    assert_eq!(table.column(&text, &["State", "STATUS"]), Some(2));
    assert_eq!(table.column(&text, &["Commit"]), None);
    assert_eq!(table.end(), 2);
}

#[test]
fn setting_cells_keeps_the_others() {
    assert_eq!(set("|  x   | y |", &[(0, "z")]), "|  z   | y |");
    assert_eq!(set("| x | y |", &[(1, "a|b\n$1")]), "| x | a\\|b $1 |");
    assert_eq!(set("| x || z |", &[(1, "y")]), "| x | y | z |");
    assert_eq!(set("|x|y|", &[(0, "c:\\")]), "|c:\\ |y|");
    assert_eq!(set("| x | y |", &[(3, "z"), (0, "w")]), "| w | y |  | z |");
    assert_eq!(set("| x", &[(1, "y")]), "| x | y |");
    assert_eq!(set("| x | y |", &[(0, "")]), "|  | y |");
}

#[test]
fn a_row_is_written_so_that_it_reads_back() {
    let row = render_row(&["a|b", "c\\", "", " d\ne ", "🎉"]);
    assert_eq!(row, "| a\\|b | c\\ |  | d e | 🎉 |");
    let file = format!("| 1 | 2 | 3 | 4 | 5 |\n|--|--|--|--|--|\n{row}\n");
    assert_eq!(cells(&file), [["a|b", "c\\", "", "d e", "🎉"]]);
}

#[test]
fn details_elements_are_collapsed_blocks() {
    let file = "<details>\n<summary>✅ <b>v1.0</b> MVP</summary>\n\n<DETAILS open>\n\
        <summary>inner\n  words</summary>\n</DETAILS>\n</details>\n\
        <details><summary>one</summary>x</details>\nthe <details> word\n<details>\nopen\n";
    let text = Text::new(file.as_bytes());
    let found: Vec<_> = collapsed_blocks(&text)
        .into_iter()
        .map(|block| (block.first_line, block.last_line, block.summary))
        .collect();
    let expected = [
        (0, 7, "✅ v1.0 MVP".to_owned()),
        (3, 6, "inner words".to_owned()),
        (8, 8, "one".to_owned()),
        (10, 11, String::new()),
    ];
    assert_eq!(found, expected);
    assert!(collapsed_blocks(&Text::new(b"```\n<details>\n```\n</details>\n")).is_empty());
}

#[test]
fn a_block_does_not_take_the_summary_of_a_nested_block() {
    let text = Text::new(b"<details>\n</details>\n<details>\n<summary>b</summary>\n</details>\n");
    let summaries: Vec<_> =
        collapsed_blocks(&text).into_iter().map(|block| block.summary).collect();
    assert_eq!(summaries, ["", "b"]);
}

#[test]
fn inline_markup_is_stripped() {
    for (written, expected) in [
        ("**a** *b* `c`", "a b c"),
        ("~~a~~ b", "a b"),
        ("[a](b) c", "a c"),
        ("[**a**](b)", "a"),
        ("[a] (b)", "[a] (b)"),
        ("snake_case _em_ __strong__", "snake_case em strong"),
        ("a \\* b \\| c", "a * b | c"),
        ("a \\", "a \\"),
        ("  a \t b\n", "a b"),
    ] {
        assert_eq!(strip_markup(written), expected, "{written:?}");
    }
}
