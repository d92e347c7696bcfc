//! Finds the files that decide the result of a check command.
//!
//! Inputs are the script that the check runs, the file it compares with, and the file in which its
//! program looks up what to run, such as a Makefile. A task that changes an input of its own check
//! could make that check pass. Files that the check only searches or compiles are not inputs:
//! changing them is the work that is checked. Commands are split by a simple heuristic, not by a
//! real shell parser.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

#[cfg(test)]
mod tests;

/// Shells: programs that run the commands in a file.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "fish"];
/// Interpreters: programs that run the script in a file.
const INTERPRETERS: [&str; 14] = [
    "node",
    "deno",
    "bun",
    "tsx",
    "ts-node",
    "python",
    "python3",
    "ruby",
    "perl",
    "php",
    "pwsh",
    "powershell",
    "source",
    ".",
];
/// Flags with which an interpreter runs no script file.
const NO_SCRIPT_FLAGS: [&str; 8] =
    ["-m", "-c", "-e", "-p", "--check", "--eval", "--print", "--test"];
/// Programs that compare files with each other or with recorded checksums.
const COMPARERS: [&str; 8] =
    ["diff", "cmp", "comm", "cksum", "md5sum", "sha1sum", "sha256sum", "sha512sum"];
/// Programs that read their patterns or rules from a file given by `-f`.
const RULE_FILE_PROGRAMS: [&str; 12] =
    ["grep", "egrep", "fgrep", "rg", "sed", "awk", "gawk", "jq", "make", "gmake", "just", "psql"];
/// Programs that run the scripts of a `package.json`.
const PACKAGE_RUNNERS: [&str; 4] = ["npm", "pnpm", "yarn", "bun"];
/// Words and flags that are followed by a working directory. The flags start at index 2.
const DIR_WORDS: [&str; 6] = ["cd", "pushd", "-C", "--prefix", "--dir", "--cwd"];
/// Keywords and wrappers that come before the program of a command.
const PREFIX_WORDS: [&str; 19] = [
    "if", "then", "else", "elif", "while", "until", "do", "!", "time", "exec", "env", "nice",
    "command", "timeout", "nohup", "setsid", "stdbuf", "sudo", "xargs",
];
/// Characters that separate commands.
const SEPARATORS: [char; 9] = [';', '|', '&', '\n', '(', ')', '{', '}', '`'];
/// Keys of a `package.json` that configure test runners.
const TEST_CONFIG_KEYS: [&str; 7] = ["jest", "mocha", "ava", "vitest", "tap", "nyc", "c8"];
/// The most working directories of one command that are considered.
const DIRS_MAX: usize = 8;
/// How many levels of `sh -c` inside `sh -c` are followed.
const SHELL_DEPTH_MAX: usize = 3;
/// How many levels of package scripts that run package scripts are followed.
const SCRIPT_DEPTH_MAX: usize = 3;

/// Returns whether a file decides the result of a check command.
pub fn is_check_input(command: &str, path: &str) -> bool {
    is_input(command, path, SHELL_DEPTH_MAX)
}

fn is_input(command: &str, path: &str, depth: usize) -> bool {
    let all = commands(command);
    let dirs = dirs(&all);
    let is_path = |word: &&str| dirs.iter().any(|dir| join(dir, word) == path);
    let is_input_of_nested = |nested: &str| {
        let within = |dir: &&str| is_input(&format!("cd {dir}; {nested}"), path, depth - 1);
        depth > 0 && dirs.iter().any(within)
    };
    all.iter().enumerate().any(|(at, words)| {
        let Some((first, rest)) = words.split_first() else { return false };
        let is_piped_to_shell = all.get(at + 1).is_some_and(|next| is_shell(next[0]));
        is_path(first)
            || rest
                .windows(2)
                .any(|pair| announces_file(program(first), pair[0]) && is_path(&pair[1]))
            || ((is_piped_to_shell || COMPARERS.contains(&program(first)))
                && rest.iter().any(is_path))
            || script_of(first, rest).is_some_and(|script| is_path(&script))
            || nested_command(first, rest).is_some_and(is_input_of_nested)
            || default_files(program(first), rest).iter().any(is_path)
    })
}

/// Returns whether a new file takes precedence over an existing input of a check.
///
/// `make`, for example, prefers a new `GNUmakefile` to the existing `Makefile`.
pub fn overrides_check_input(command: &str, path: &str) -> bool {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    let all = commands(command);
    let runs = |programs: &[&str]| all.iter().any(|words| programs.contains(&program(words[0])));
    let takes_precedence = match name {
        "GNUmakefile" | "makefile" => runs(&["make", "gmake"]),
        ".justfile" => runs(&["just"]),
        ".npmrc" | ".yarnrc" | ".yarnrc.yml" => runs(&PACKAGE_RUNNERS),
        _ => false,
    };
    takes_precedence && dirs(&all).iter().any(|work_dir| join(work_dir, "") == dir)
}

/// Returns the possible paths of the `package.json` whose scripts a check runs.
pub fn package_manifests(command: &str) -> Vec<String> {
    let all = commands(command);
    let runs_package = |words: &Vec<&str>| {
        words.first().is_some_and(|word| PACKAGE_RUNNERS.contains(&program(word)))
    };
    if !all.iter().any(runs_package) {
        return Vec::new();
    }
    dirs(&all).iter().map(|dir| join(dir, "package.json")).collect()
}

/// Returns the commands of all package scripts that a check runs, directly or through each other.
///
/// `package` is the text of the `package.json`.
pub fn package_scripts(command: &str, package: &str) -> Vec<String> {
    let scripts =
        parse_manifest(package).and_then(|package| package.get("scripts")?.as_object().cloned());
    let mut all_scripts = Vec::new();
    let mut todo = vec![command.to_owned()];
    for _ in 0..SCRIPT_DEPTH_MAX {
        let run = |command: &String| scripts_run_by(command, scripts.as_ref());
        let all: BTreeSet<_> = todo.iter().flat_map(run).collect();
        todo = all.into_iter().filter(|script| !all_scripts.contains(script)).collect();
        all_scripts.extend(todo.iter().cloned());
    }
    all_scripts
}

/// Returns whether two versions of a `package.json` run the same tests.
///
/// Changed dependencies and new scripts do not matter, except new `pre` and `post` scripts.
pub fn has_same_scripts(before: &str, after: &str) -> bool {
    let (Some(before), Some(after)) = (parse_manifest(before), parse_manifest(after)) else {
        return false;
    };
    let empty = Map::new();
    let scripts = |of: &Map<String, Value>| of.get("scripts").and_then(Value::as_object).cloned();
    let (old, new) = (scripts(&before).unwrap_or(empty.clone()), scripts(&after).unwrap_or(empty));
    // Package runners run `preX` and `postX` together with script `X`.
    let is_hook = |name: &String| name.starts_with("pre") || name.starts_with("post");
    old.iter().all(|(name, text)| new.get(name) == Some(text))
        && new.keys().all(|name| old.contains_key(name) || !is_hook(name))
        && TEST_CONFIG_KEYS.iter().all(|key| before.get(*key) == after.get(*key))
}

fn parse_manifest(package: &str) -> Option<Map<String, Value>> {
    match serde_json::from_str(package) {
        Ok(Value::Object(package)) => Some(package),
        _ => None,
    }
}

fn scripts_run_by(command: &str, scripts: Option<&Map<String, Value>>) -> Vec<String> {
    let all = commands(command);
    let of_packages = all.iter().filter_map(|words| words.split_first());
    let of_packages = of_packages.filter(|(first, _)| PACKAGE_RUNNERS.contains(&program(first)));
    let names = of_packages
        .flat_map(|(_, rest)| rest.iter().map(|word| if *word == "t" { "test" } else { word }));
    let names: BTreeSet<_> = names.collect();
    names.iter().filter_map(|name| Some(scripts?.get(*name)?.as_str()?.to_owned())).collect()
}

/// Returns the script file that a shell or an interpreter runs.
fn script_of<'a>(first: &str, rest: &[&'a str]) -> Option<&'a str> {
    if !is_shell(first) && !INTERPRETERS.contains(&program(first)) {
        return None;
    }
    let at = rest.iter().position(|word| !word.starts_with('-') && *word != "run")?;
    let has_no_script = rest[..at].iter().any(|flag| NO_SCRIPT_FLAGS.contains(flag));
    (!has_no_script).then(|| rest[at])
}

/// Returns the command string after the `-c` of a shell.
fn nested_command<'a>(first: &str, rest: &[&'a str]) -> Option<&'a str> {
    let at = rest.iter().position(is_command_flag).filter(|_| is_shell(first))?;
    rest.get(at + 1).copied()
}

fn is_shell(word: &str) -> bool {
    SHELLS.contains(&program(word))
}

/// Returns whether the next word is a file with rules or a program to run: after `-f`, `-qf`, `<`.
fn announces_file(program: &str, word: &str) -> bool {
    let is_short = word.starts_with('-') && !word.starts_with("--") && word.ends_with('f');
    match word {
        "<" => SHELLS.contains(&program) || INTERPRETERS.contains(&program),
        "-exec" => program == "find",
        _ => (is_short || word == "--file") && RULE_FILE_PROGRAMS.contains(&program),
    }
}

/// Returns whether a shell flag is followed by a command string: `-c`, `-euc`.
fn is_command_flag(word: &&str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
}

/// Returns the files in which a program looks up what to run when no file is named.
fn default_files(program: &str, rest: &[&str]) -> &'static [&'static str] {
    match program {
        "make" | "gmake" => &["Makefile", "makefile", "GNUmakefile"],
        "just" => &["justfile", "Justfile", ".justfile"],
        _ if PACKAGE_RUNNERS.contains(&program) && !rest.is_empty() => &["package.json"],
        _ => &[],
    }
}

/// Returns the name of a program without its directory.
fn program(word: &str) -> &str {
    word.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(word)
}

/// Returns the directories that commands may work in; the first is the start directory, `""`.
fn dirs<'a>(all: &[Vec<&'a str>]) -> Vec<&'a str> {
    let mut dirs = vec![""];
    for words in all {
        dirs.extend(
            words.windows(2).filter(|pair| DIR_WORDS.contains(&pair[0])).map(|pair| pair[1]),
        );
        let glued_dir = |word: &&'a str| {
            let rest = DIR_WORDS[2..].iter().find_map(|flag| word.strip_prefix(flag))?;
            Some(rest.trim_start_matches('=')).filter(|rest| !rest.is_empty())
        };
        dirs.extend(words.iter().filter_map(glued_dir));
    }
    dirs.truncate(DIRS_MAX);
    dirs
}

/// Joins a directory and a file name, and resolves `.` and `..`.
fn join(dir: &str, file: &str) -> String {
    let mut parts = Vec::new();
    for part in dir.split('/').chain(file.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Splits a line into commands and each command into words; a quoted text is one word.
fn commands(line: &str) -> Vec<Vec<&str>> {
    let mut all = vec![Vec::new()];
    let (mut word_start, mut quote) = (None, None);
    for (at, letter) in line.char_indices() {
        let is_end = letter.is_whitespace() || SEPARATORS.contains(&letter) || letter == '<';
        match quote {
            Some(mark) if letter == mark => quote = None,
            None if is_end => {
                push_word(&mut all, word_start.take().map(|start| &line[start..at]));
                match letter {
                    '<' => push_word(&mut all, Some("<")),
                    _ if SEPARATORS.contains(&letter) => all.push(Vec::new()),
                    _ => {}
                }
                continue;
            }
            None if matches!(letter, '"' | '\'') => quote = Some(letter),
            _ => {}
        }
        word_start.get_or_insert(at);
    }
    push_word(&mut all, word_start.map(|start| &line[start..]));
    all.retain(|words| !words.is_empty());
    all
}

/// Adds a word to the last command, without quotes. Prefix words before the program are dropped.
fn push_word<'a>(all: &mut [Vec<&'a str>], word: Option<&'a str>) {
    let word = word.unwrap_or_default().trim_matches(['"', '\'']);
    let word = word.strip_prefix("$PWD/").unwrap_or(word).trim_start_matches('$');
    let word = word.strip_prefix("./").unwrap_or(word);
    let word = if word == "/" { word } else { word.trim_end_matches('/') };
    // Flags and durations before the program belong to a wrapper, as in `timeout -k 5 60s`.
    let is_duration = word.starts_with(|c: char| c.is_ascii_digit()) && !word.contains('/');
    let is_prefix =
        PREFIX_WORDS.contains(&word) || word.contains('=') || word.starts_with('-') || is_duration;
    if let Some(words) = all.last_mut()
        && !(word.is_empty() || (words.is_empty() && is_prefix))
    {
        words.push(word);
    }
}
