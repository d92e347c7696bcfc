//! Runs a shell command and records its output while it runs.

use mow_host::shell::{self, ShellError, ShellExit, ShellJob, ShellResult};
use mow_host::stop_signal::StopSignal;
use mow_host::stuck_detector::ActivityChange;

use super::ActivityStream;
use super::output_lines::OutputLines;
use crate::worker::describe_failure;

/// Runs a command like [`shell::run`], and records its start, its output and its end.
pub(crate) fn run_shell(
    job: &ShellJob,
    stop: &StopSignal,
    on_activity: &mut dyn FnMut(ActivityChange),
    stream: &ActivityStream,
) -> Result<ShellResult, ShellError> {
    stream.command_started(&job.script, &job.log);
    let mut output = OutputLines::new(stream);
    let end = shell::run_with_output(job, stop, on_activity, &mut |bytes| output.take(bytes));
    output.finish();
    match &end {
        Ok(end) => {
            let text = describe_failure(end).unwrap_or_else(|| "exit 0".to_owned());
            stream.ended(end.exit == ShellExit::Exited(0), &text);
        }
        Err(error) => stream.ended(false, &error.to_string()),
    }
    end
}
