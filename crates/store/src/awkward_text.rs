//! Generates text for property tests that is likely to break Markdown edits.

use std::ops::Range;

use proptest::prelude::*;
use proptest::sample::select;

/// Generates text from some pieces. The fixed pieces once broke a table, list, field or
/// replacement.
pub(crate) fn awkward_text(pieces: Range<usize>) -> impl Strategy<Value = String> {
    let awkward = select(vec![
        "|",
        "\\",
        "\\|",
        "$1",
        "$&",
        "`",
        "```",
        "~~~",
        "<!--",
        "-->",
        "**",
        ":",
        "#",
        "## ",
        "- ",
        "[x] ",
        "--",
        "\n",
        "\r\n",
        "\r",
        " ",
        "\t",
        "é",
        "🎉",
        "\u{3000}",
        "---",
        "|---|",
        "None",
        "</details>",
        "<details>",
    ]);
    let piece = prop_oneof![awkward.prop_map(str::to_owned), "[a-z0-9]{1,4}", "\\PC"];
    prop::collection::vec(piece, pieces).prop_map(|pieces| pieces.concat())
}
