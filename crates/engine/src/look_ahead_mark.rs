//! The line that marks a file as made by a look-ahead, and the stages that write such files.

use mow_core::stage::Stage;
use mow_store::phase_dirs::PhaseFileKind;

/// The beginning of the line that marks a file as made by a look-ahead.
const MARK: &str = "<!-- Made ahead on ";

/// Returns the stage that writes a file; `None` for other files.
pub(crate) fn stage_of(file: &str) -> Option<Stage> {
    let is = |kind: PhaseFileKind| kind.id(file).is_some();
    match () {
        () if is(PhaseFileKind::Context) => Some(Stage::Discuss),
        () if is(PhaseFileKind::Research) => Some(Stage::Research),
        () if is(PhaseFileKind::Plan) => Some(Stage::Plan),
        () => None,
    }
}

/// Appends the line that marks a look-ahead file and names its base commit.
pub(crate) fn with_mark(bytes: &[u8], head: &str) -> Vec<u8> {
    let close = if bytes.is_empty() || bytes.ends_with(b"\n") { "" } else { "\n" };
    let short = head.get(..8).unwrap_or(head);
    let line = format!("{close}\n{MARK}{short}; the code may have changed since. -->\n");
    [bytes, line.as_bytes()].concat()
}

/// Returns whether a file is marked.
pub(crate) fn is_marked(bytes: &[u8]) -> bool {
    bytes.windows(MARK.len()).any(|part| part == MARK.as_bytes())
}
