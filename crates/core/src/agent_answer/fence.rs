//! Finds the JSON answer in the text of an agent.

/// Returns the content of the last fenced `json` block, or the whole text if it is one bare object.
///
/// A block without a closing fence extends to the end of the text.
pub(super) fn last_json(text: &str) -> Option<&str> {
    let mut last = None;
    let mut open: Option<OpenFence> = None;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (offset, offset + line.len());
        offset = end;
        let Some(mark) = FenceLine::parse(line) else { continue };
        match &open {
            Some(fence) if mark.closes(fence) => {
                if fence.is_json {
                    last = Some(&text[fence.content_start..start]);
                }
                open = None;
            }
            // A new `json` fence ends a block that was never closed, so that block cannot hide the
            // answer. A fence inside a longer fence is quoted text.
            Some(fence) if !(mark.is_json && mark.is_as_long(fence)) => {}
            _ => {
                let FenceLine { sign, length, is_json, .. } = mark;
                open = Some(OpenFence { sign, length, is_json, content_start: end });
            }
        }
    }
    if let Some(fence) = open.filter(|fence| fence.is_json) {
        last = Some(&text[fence.content_start..]);
    }
    let bare = text.trim();
    last.or_else(|| (bare.starts_with('{') && bare.ends_with('}')).then_some(bare))
}

/// A block that has been opened and not closed.
struct OpenFence {
    sign: u8,
    length: usize,
    is_json: bool,
    /// The byte offset of the first line inside the block.
    content_start: usize,
}

/// A line that opens or closes a fenced block.
struct FenceLine {
    sign: u8,
    length: usize,
    is_bare: bool,
    is_json: bool,
}

impl FenceLine {
    fn parse(line: &str) -> Option<Self> {
        let line = line.trim();
        let sign = *line.as_bytes().first().filter(|sign| matches!(sign, b'`' | b'~'))?;
        let length = line.bytes().take_while(|byte| *byte == sign).count();
        let language = line[length..].trim();
        let is_json = language
            .split_whitespace()
            .next()
            .is_some_and(|word| word.eq_ignore_ascii_case("json"));
        (length >= 3).then_some(Self { sign, length, is_bare: language.is_empty(), is_json })
    }

    fn is_as_long(&self, fence: &OpenFence) -> bool {
        self.sign == fence.sign && self.length >= fence.length
    }

    fn closes(&self, fence: &OpenFence) -> bool {
        self.is_bare && self.is_as_long(fence)
    }
}
