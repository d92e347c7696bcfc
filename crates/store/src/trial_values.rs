//! Values for property tests.

use std::ops::Range;

use proptest::prelude::*;
use proptest::sample::select;

/// Returns values with everything that ever broke a table, a list, a field or a replacement, made
/// of some pieces.
pub(crate) fn value(pieces: Range<usize>) -> impl Strategy<Value = String> {
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
