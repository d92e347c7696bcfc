//! Finds the JSON in what an agent wrote.

/// Returns the last fenced block of JSON, or else the text itself where it is one bare object.
///
/// A block that is never closed runs to the end of the text.
pub(super) fn last_json(text: &str) -> Option<&str> {
    let mut found = None;
    let mut open: Option<Fence> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let Some(mark) = Mark::parse(line) else { continue };
        match &open {
            Some(fence) if mark.ends(fence) => {
                if fence.is_json {
                    found = Some(&text[fence.inside..start]);
                }
                open = None;
            }
            // A fence that was left open swallows no answer; one inside a longer fence is quoted.
            Some(fence) if !(mark.is_json && mark.is_as_long(fence)) => {}
            _ => {
                let Mark { sign, length, is_json, .. } = mark;
                open = Some(Fence { sign, length, is_json, inside: end });
            }
        }
    }
    if let Some(fence) = open.filter(|fence| fence.is_json) {
        found = Some(&text[fence.inside..]);
    }
    let bare = text.trim();
    found.or_else(|| (bare.starts_with('{') && bare.ends_with('}')).then_some(bare))
}

/// A block that is open.
struct Fence {
    sign: u8,
    length: usize,
    is_json: bool,
    inside: usize,
}

/// A line that opens or closes a block.
struct Mark {
    sign: u8,
    length: usize,
    is_bare: bool,
    is_json: bool,
}

impl Mark {
    fn parse(line: &str) -> Option<Self> {
        let line = line.trim();
        let sign = *line.as_bytes().first().filter(|sign| matches!(sign, b'`' | b'~'))?;
        let length = line.bytes().take_while(|byte| *byte == sign).count();
        let words = line[length..].trim();
        let is_json =
            words.split_whitespace().next().is_some_and(|w| w.eq_ignore_ascii_case("json"));
        (length >= 3).then_some(Self { sign, length, is_bare: words.is_empty(), is_json })
    }

    fn is_as_long(&self, fence: &Fence) -> bool {
        self.sign == fence.sign && self.length >= fence.length
    }

    fn ends(&self, fence: &Fence) -> bool {
        self.is_bare && self.is_as_long(fence)
    }
}
