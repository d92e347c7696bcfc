//! Shows long texts in the user's pager.

use std::io::{self, Write};
use std::process::{Command, Stdio};

/// Shows a text in a pager and waits until the user quits it. `pager` is the program and its
/// arguments.
///
/// Fails when the pager cannot be started; the caller then prints the text itself.
#[expect(clippy::disallowed_methods, reason = "a pager is another program")]
pub fn show(pager: &[&str], text: &str) -> io::Result<()> {
    let (program, arguments) =
        pager.split_first().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let mut child = Command::new(program)
        .args(arguments)
        // F: print a text that fits and exit; R: show colours; X: leave the text on the screen.
        .env("LESS", "FRX")
        .stdin(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().expect("its input is piped");
    // The write fails if the user quits before the end of the text, which is fine.
    stdin.write_all(text.as_bytes()).ok();
    drop(stdin);
    child.wait()?;
    Ok(())
}
