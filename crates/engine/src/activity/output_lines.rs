//! Splits the output of a command into lines and records them while the command runs.

use super::{ActivityKind, ActivityStream};

/// The most bytes of a line.
const LINE_BYTES_MAX: usize = 1 << 10;
/// The most lines of one piece of output; of a longer one the last lines are kept.
const LINES_MAX: usize = 1_000;

/// Records the output of one command.
pub(super) struct OutputLines<'a> {
    stream: &'a ActivityStream,
    /// The beginning of a line whose end has not come yet, at most [`LINE_BYTES_MAX`] bytes.
    unfinished: Vec<u8>,
}

impl<'a> OutputLines<'a> {
    pub(super) fn new(stream: &'a ActivityStream) -> Self {
        Self { stream, unfinished: Vec::new() }
    }

    /// Takes a piece of output and records its complete lines.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let mut pieces = bytes.split(|byte| *byte == b'\n');
        let rest = pieces.next_back().unwrap_or_default();
        let mut lines = Vec::new();
        for piece in pieces {
            self.extend(piece);
            lines.extend(self.take_line());
        }
        self.extend(rest);
        let skipped = lines.len().saturating_sub(LINES_MAX);
        if skipped > 0 {
            lines.drain(..skipped);
            lines.insert(0, ActivityKind::Skipped { lines: skipped });
        }
        self.stream.record_all(lines);
    }

    /// Records the last line, if it has no line break.
    pub(super) fn finish(mut self) {
        self.stream.record_all(self.take_line().into_iter().collect());
    }

    fn extend(&mut self, piece: &[u8]) {
        let room = LINE_BYTES_MAX - self.unfinished.len();
        self.unfinished.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    /// Returns the line so far; `None` for an empty line.
    fn take_line(&mut self) -> Option<ActivityKind> {
        let line = std::mem::take(&mut self.unfinished);
        // A progress bar overwrites its line: only its last state is shown.
        let shown = line.trim_ascii_end().rsplit(|byte| *byte == b'\r').next().unwrap_or_default();
        let text = String::from_utf8_lossy(shown).into_owned();
        (!text.is_empty()).then_some(ActivityKind::Output { text })
    }
}
