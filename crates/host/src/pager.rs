//! Long texts, shown page by page by the user's own pager.

use std::io::{self, Write};
use std::process::{Command, Stdio};

/// Shows a text with a pager, given as words, and waits until the user leaves it.
///
/// Fails when the pager cannot be started; the caller then prints the text itself.
#[expect(clippy::disallowed_methods, reason = "a pager is another program")]
pub fn show(pager: &[&str], text: &str) -> io::Result<()> {
    let (program, arguments) =
        pager.split_first().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let mut child = Command::new(program)
        .args(arguments)
        // Short texts are printed and stay on the screen; colours are shown.
        .env("LESS", "FRX")
        .stdin(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().expect("its input is piped");
    // The user may leave before the end; then nobody misses the rest.
    stdin.write_all(text.as_bytes()).ok();
    drop(stdin);
    child.wait()?;
    Ok(())
}
