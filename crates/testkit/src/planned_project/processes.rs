//! Reads process information from `/proc`.

use std::fs;
use std::time::Duration;

/// Returns the processes of a run, found by the token in their environment.
pub fn processes_of_run(run: &str) -> Vec<u32> {
    let wanted = format!("MOW_TOKEN={run}/");
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let carries = |pid: &u32| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|variable| variable.starts_with(wanted.as_bytes()))
    };
    pids.filter(carries).collect()
}

/// Returns the CPU time of a process, summed over its threads.
pub fn cpu_time(pid: u32) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let nanoseconds = tasks.filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}

/// Returns the page faults of exited children of a process. Every child causes at least one.
pub fn child_page_faults(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name of the program may hold anything; field 11 is the ninth one behind it.
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    rest.split_ascii_whitespace().nth(8).and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// Returns the proportional set size (PSS) of a process, in kilobytes.
pub fn memory_kb(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find(|line| line.starts_with("Pss:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
