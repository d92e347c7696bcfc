//! Finds the shell commands in the text of a plan: the code blocks of a task's action and the
//! commands that check a task.

use mow_store::plan::Task;

/// A fenced code block that a shell can run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ShellBlock {
    /// The shell that the fence names: `sh` or `bash`.
    pub(super) program: &'static str,
    pub(super) text: String,
}

/// Returns the commands that check a task: the contents of its `<automated>` elements.
pub(crate) fn check_commands(task: &Task) -> Vec<String> {
    let automated = task.elements.iter().filter(|element| element.tag == "automated");
    let texts = automated.map(|element| without_fence(&element.text));
    texts.filter(|text| !text.is_empty() && !text.starts_with("MISSING")).collect()
}

/// Returns the contents of the shell blocks, or the whole text if it has none.
fn without_fence(text: &str) -> String {
    let inner = shell_blocks(text);
    match inner.as_slice() {
        [] => text.trim().trim_matches('`').trim().to_owned(),
        some => some.iter().map(|block| block.text.as_str()).collect::<Vec<_>>().join("\n"),
    }
}

/// Finds the fenced blocks of a text that a shell can run.
pub(super) fn shell_blocks(text: &str) -> Vec<ShellBlock> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let start = line.trim_start();
        let ticks = start.bytes().take_while(|byte| *byte == b'`').count();
        let program = match start[ticks..].trim() {
            "sh" | "shell" => "sh",
            "bash" => "bash",
            _ => {
                if ticks >= 3 {
                    take_fenced(&mut lines, ticks);
                }
                continue;
            }
        };
        if ticks < 3 {
            continue;
        }
        let indent = line.len() - start.len();
        let body = take_fenced(&mut lines, ticks);
        let body = body.iter().map(|line| {
            let blanks = line.len() - line.trim_start().len();
            &line[blanks.min(indent)..]
        });
        found.push(ShellBlock { program, text: body.collect::<Vec<_>>().join("\n") });
    }
    found
}

/// Takes the lines up to the closing fence, which is taken too.
fn take_fenced<'a>(lines: &mut std::str::Lines<'a>, ticks: usize) -> Vec<&'a str> {
    let is_end = |line: &str| {
        let line = line.trim();
        line.len() >= ticks && line.bytes().all(|byte| byte == b'`')
    };
    lines.take_while(|line| !is_end(line)).collect()
}

#[cfg(test)]
mod tests;
