//! Shows long texts in the user's pager.

use std::io::{self, Write};
use std::process::Stdio;

use crate::launch::{self, Launch, Variables};

/// Shows a text in a pager and waits until the user quits it. `pager` is the program and its
/// arguments.
///
/// Fails when the pager cannot be started; the caller then prints the text itself.
pub fn show(pager: &[String], text: &str) -> io::Result<()> {
    let (program, arguments) =
        pager.split_first().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let mut child = launch::start(Launch {
        // F: print a text that fits and exit; R: show colours; X: leave the text on the screen.
        variables: Variables::inherited_with([("LESS", "FRX")]),
        stdin: Stdio::piped(),
        stdout: Stdio::inherit(),
        stderr: Stdio::inherit(),
        ..Launch::other(program).with_args(arguments)
    })
    .map_err(io::Error::other)?;
    let mut stdin = child.stdin.take().expect("its input is piped");
    // The write fails if the user quits before the end of the text, which is fine.
    stdin.write_all(text.as_bytes()).ok();
    drop(stdin);
    child.wait()?;
    Ok(())
}
