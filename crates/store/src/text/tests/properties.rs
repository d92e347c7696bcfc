//! Property tests that hold for every file: offsets, structure ranges, edits.

use proptest::prelude::*;
use proptest::sample::select;

use crate::text::Text;
use crate::text::collapsed::collapsed_blocks;
use crate::text::field::field_at;
use crate::text::heading::{headings, section_end};
use crate::text::inline::strip_markup;
use crate::text::list::item_at;
use crate::text::splice::{Splice, apply};
use crate::text::table::tables;

/// Generates bytes from Markdown structure tokens mixed with random bytes.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let marks = select(vec![
        "\n",
        "\r\n",
        "\r",
        "```",
        "~~~",
        "````",
        "<!--",
        "-->",
        "---\n",
        "# ",
        "## ",
        "- ",
        "- [x] ",
        "1. ",
        "> ",
        "  ",
        "\t",
        "|",
        "|---|\n",
        "\\",
        "**",
        "**A:** ",
        "A: ",
        "：",
        "<details>",
        "</details>",
        "<summary>",
        "</summary>",
        "\u{feff}",
        "é",
        "🎉",
        "a",
        "[",
        "](",
        ")",
        "_",
        "`",
    ]);
    let noise = prop::collection::vec(any::<u8>(), 1..3);
    let piece = prop_oneof![9 => marks.prop_map(|mark| mark.as_bytes().to_vec()), 1 => noise];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn the_visible_copy_has_the_same_offsets(bytes in bytes()) {
        let text = Text::new(&bytes);
        let visible = text.visible().as_bytes();
        prop_assert_eq!(visible.len(), bytes.len());
        for (at, (visible, byte)) in visible.iter().zip(&bytes).enumerate() {
            let is_same = visible == byte || *byte != b'\n' && matches!(visible, b' ' | b'?');
            prop_assert!(is_same, "at {}", at);
        }
        let whole: Vec<u8> =
            text.lines().iter().flat_map(|line| bytes[line.range_with_ending()].to_vec()).collect();
        prop_assert_eq!(whole, bytes);
    }

    #[test]
    fn structures_lie_within_the_text(bytes in bytes()) {
        let text = Text::new(&bytes);
        let lines = text.lines().len();
        let headings = headings(&text);
        for at in 0..headings.len() {
            prop_assert!(text.visible().get(headings[at].text.clone()).is_some());
            prop_assert!((headings[at].line + 1..=lines).contains(&section_end(&text, &headings, at)));
        }
        for line in 0..lines {
            let span = text.lines()[line];
            if let Some(field) = field_at(&text, line) {
                prop_assert!(text.visible().get(field.name).is_some());
                prop_assert!(text.visible().get(field.value.clone()).is_some());
                prop_assert!(span.start < field.value.start && field.value.end <= span.end);
            }
            if let Some(item) = item_at(&text, line) {
                prop_assert!(text.visible().get(item.checkbox_range).is_some());
                prop_assert!(text.visible().get(item.text.clone()).is_some());
                prop_assert!(span.start < item.text.start && item.text.end <= span.end);
            }
        }
        for table in tables(&text, 0..lines) {
            for row in table.rows.iter().chain([&table.header]) {
                for cell in &row.cells {
                    prop_assert!(text.visible().get(cell.clone()).is_some());
                }
            }
        }
        for block in collapsed_blocks(&text) {
            prop_assert!(block.first_line <= block.last_line && block.last_line < lines);
        }
        strip_markup(text.visible());
    }

    #[test]
    fn a_field_that_is_set_reads_back(bytes in bytes(), value in "[a-z][a-z$|` ]{0,6}[a-z]") {
        let text = Text::new(&bytes);
        let found = (0..text.lines().len()).find_map(|line| field_at(&text, line));
        if let Some(field) = found {
            let new = apply(&bytes, vec![field.set(&text, &value)]);
            let unchanged = &bytes[..field.value.start];
            prop_assert!(new.starts_with(unchanged));
            prop_assert!(new.ends_with(&bytes[text.lines()[field.line].end..]));
            let text = Text::new(&new);
            let read = field_at(&text, field.line).map(|field| text.slice(field.value).to_owned());
            prop_assert_eq!(read, Some(value));
        }
    }

    #[test]
    fn no_edit_is_no_change(bytes in bytes()) {
        prop_assert_eq!(&apply(&bytes, Vec::new()), &bytes);
        let middle = bytes.len() / 2;
        let nothing = vec![Splice::insert(middle, ""), Splice::remove(middle..middle)];
        prop_assert_eq!(&apply(&bytes, nothing), &bytes);
    }

    #[test]
    fn edits_apply_in_any_order(bytes in prop::collection::vec(any::<u8>(), 4..20)) {
        let first = Splice::replace(0..1, "ab");
        let then = Splice::insert(2, "c");
        let after = Splice::insert(2, "d");
        let last = Splice::remove(3..4);
        let expected = [b"ab", &bytes[1..2], b"cd", &bytes[2..3], &bytes[4..]].concat();
        let ordered = vec![first.clone(), then.clone(), after.clone(), last.clone()];
        prop_assert_eq!(&apply(&bytes, ordered), &expected);
        prop_assert_eq!(&apply(&bytes, vec![last, then, after, first]), &expected);
    }
}
