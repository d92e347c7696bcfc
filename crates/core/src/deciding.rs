//! Which files decide what a check says: the script that it runs, a file that it compares with, the one
//! in which its program looks up what to run. Whoever changes those answers for the check.
//!
//! A command is read as a person would at a glance, not as a shell does. Files that are merely searched
//! or compiled decide nothing: changing them is the work that is checked.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

#[cfg(test)]
mod tests;

/// Programs that run the commands in a file.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "fish"];
/// Programs that run the script in a file.
const RUNNERS: [&str; 14] = [
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
/// Flags with which these run something else, or nothing.
const WITHOUT_SCRIPT: [&str; 8] =
    ["-m", "-c", "-e", "-p", "--check", "--eval", "--print", "--test"];
/// Programs that compare files with others, or with what is written down of them.
const COMPARING: [&str; 8] =
    ["diff", "cmp", "comm", "cksum", "md5sum", "sha1sum", "sha256sum", "sha512sum"];
/// Programs that take their rules from a file.
const BY_FILE: [&str; 12] =
    ["grep", "egrep", "fgrep", "rg", "sed", "awk", "gawk", "jq", "make", "gmake", "just", "psql"];
/// Programs that run the scripts of a package.
const OF_PACKAGES: [&str; 4] = ["npm", "pnpm", "yarn", "bun"];
/// What is followed by a directory to work in.
const INTO: [&str; 6] = ["cd", "pushd", "-C", "--prefix", "--dir", "--cwd"];
/// Words before a command that are not the command.
const BEFORE: [&str; 19] = [
    "if", "then", "else", "elif", "while", "until", "do", "!", "time", "exec", "env", "nice",
    "command", "timeout", "nohup", "setsid", "stdbuf", "sudo", "xargs",
];
/// What stands between commands.
const BETWEEN: [char; 9] = [';', '|', '&', '\n', '(', ')', '{', '}', '`'];
/// What a package.json says beside its scripts about how tests are run.
const OF_TESTS: [&str; 7] = ["jest", "mocha", "ava", "vitest", "tap", "nyc", "c8"];
/// How many directories of one command are looked at.
const DIRS_MAX: usize = 8;
/// How often shells may be told to run shells.
const SHELLS_DEEP: usize = 3;
/// How often scripts of a package may run each other.
const SCRIPTS_DEEP: usize = 3;

/// Returns whether a file decides what a check says.
pub fn decides_check(command: &str, path: &str) -> bool {
    decides(command, path, SHELLS_DEEP)
}

fn decides(command: &str, path: &str, depth: usize) -> bool {
    let all = commands(command);
    let dirs = dirs(&all);
    let is_it = |word: &&str| dirs.iter().any(|dir| join(dir, word) == path);
    let by_told = |told: &str| {
        let within = |dir: &&str| decides(&format!("cd {dir}; {told}"), path, depth - 1);
        depth > 0 && dirs.iter().any(within)
    };
    all.iter().enumerate().any(|(at, words)| {
        let Some((first, rest)) = words.split_first() else { return false };
        let is_fed = all.get(at + 1).is_some_and(|next| is_shell(next[0]));
        is_it(first)
            || rest.windows(2).any(|pair| reads_file(program(first), pair[0]) && is_it(&pair[1]))
            || ((is_fed || COMPARING.contains(&program(first))) && rest.iter().any(is_it))
            || script_of(first, rest).is_some_and(|script| is_it(&script))
            || told(first, rest).is_some_and(by_told)
            || files_of(program(first), rest).iter().any(is_it)
    })
}

/// Returns whether a file that is new decides what a check says, in place of those that were there.
pub fn takes_over(command: &str, path: &str) -> bool {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    let all = commands(command);
    let runs = |programs: &[&str]| all.iter().any(|words| programs.contains(&program(words[0])));
    let is_taken = match name {
        "GNUmakefile" | "makefile" => runs(&["make", "gmake"]),
        ".justfile" => runs(&["just"]),
        ".npmrc" | ".yarnrc" | ".yarnrc.yml" => runs(&OF_PACKAGES),
        _ => false,
    };
    is_taken && dirs(&all).iter().any(|into| join(into, "") == dir)
}

/// Returns where the packages may be described whose scripts a check runs.
pub fn packages_of(command: &str) -> Vec<String> {
    let all = commands(command);
    let is_one =
        |words: &Vec<&str>| words.first().is_some_and(|it| OF_PACKAGES.contains(&program(it)));
    if !all.iter().any(is_one) {
        return Vec::new();
    }
    dirs(&all).iter().map(|dir| join(dir, "package.json")).collect()
}

/// Returns the scripts of a package that a check runs.
pub fn scripts_of(command: &str, package: &str) -> Vec<String> {
    let scripts = parse(package).and_then(|package| package.get("scripts")?.as_object().cloned());
    let mut found = Vec::new();
    let mut todo = vec![command.to_owned()];
    for _ in 0..SCRIPTS_DEEP {
        let run = |command: &String| scripts_run(command, scripts.as_ref());
        let all: BTreeSet<_> = todo.iter().flat_map(run).collect();
        todo = all.into_iter().filter(|script| !found.contains(script)).collect();
        found.extend(todo.iter().cloned());
    }
    found
}

/// Returns whether two versions of a package.json run the same: what packages it asks for, and scripts
/// that are new, change no check.
pub fn runs_the_same(before: &str, after: &str) -> bool {
    let (Some(before), Some(after)) = (parse(before), parse(after)) else { return false };
    let none = Map::new();
    let scripts = |of: &Map<String, Value>| of.get("scripts").and_then(Value::as_object).cloned();
    let (old, new) = (scripts(&before).unwrap_or(none.clone()), scripts(&after).unwrap_or(none));
    // These are run with others, unasked.
    let joins_in = |name: &String| name.starts_with("pre") || name.starts_with("post");
    old.iter().all(|(name, text)| new.get(name) == Some(text))
        && new.keys().all(|name| old.contains_key(name) || !joins_in(name))
        && OF_TESTS.iter().all(|key| before.get(*key) == after.get(*key))
}

fn parse(package: &str) -> Option<Map<String, Value>> {
    match serde_json::from_str(package) {
        Ok(Value::Object(package)) => Some(package),
        _ => None,
    }
}

fn scripts_run(command: &str, scripts: Option<&Map<String, Value>>) -> Vec<String> {
    let all = commands(command);
    let of_packages = all.iter().filter_map(|words| words.split_first());
    let of_packages = of_packages.filter(|(first, _)| OF_PACKAGES.contains(&program(first)));
    let names = of_packages
        .flat_map(|(_, rest)| rest.iter().map(|word| if *word == "t" { "test" } else { word }));
    // Each counts once, however often it is named.
    let names: BTreeSet<_> = names.collect();
    names.iter().filter_map(|name| Some(scripts?.get(*name)?.as_str()?.to_owned())).collect()
}

/// Returns the script that a program runs.
fn script_of<'a>(first: &str, rest: &[&'a str]) -> Option<&'a str> {
    if !is_shell(first) && !RUNNERS.contains(&program(first)) {
        return None;
    }
    let at = rest.iter().position(|word| !word.starts_with('-') && *word != "run")?;
    let is_without = rest[..at].iter().any(|flag| WITHOUT_SCRIPT.contains(flag));
    (!is_without).then(|| rest[at])
}

/// Returns the command that a shell is told to run.
fn told<'a>(first: &str, rest: &[&'a str]) -> Option<&'a str> {
    let at = rest.iter().position(is_command_flag).filter(|_| is_shell(first))?;
    rest.get(at + 1).copied()
}

fn is_shell(word: &str) -> bool {
    SHELLS.contains(&program(word))
}

/// Returns whether a word says that a file with rules follows, or a program to run: `-f`, `-qf`.
fn reads_file(program: &str, word: &str) -> bool {
    let is_short = word.starts_with('-') && !word.starts_with("--") && word.ends_with('f');
    match word {
        "<" => SHELLS.contains(&program) || RUNNERS.contains(&program),
        "-exec" => program == "find",
        _ => (is_short || word == "--file") && BY_FILE.contains(&program),
    }
}

/// Returns whether a flag of a shell says that a command follows: `-c`, `-euc`.
fn is_command_flag(word: &&str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
}

/// Returns the files in which a program looks up what to run.
fn files_of(program: &str, rest: &[&str]) -> &'static [&'static str] {
    match program {
        "make" | "gmake" => &["Makefile", "makefile", "GNUmakefile"],
        "just" => &["justfile", "Justfile", ".justfile"],
        _ if OF_PACKAGES.contains(&program) && !rest.is_empty() => &["package.json"],
        _ => &[],
    }
}

fn program(word: &str) -> &str {
    word.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(word)
}

/// Returns the directories that commands work in, the first one among them.
fn dirs<'a>(all: &[Vec<&'a str>]) -> Vec<&'a str> {
    let mut dirs = vec![""];
    for words in all {
        dirs.extend(words.windows(2).filter(|pair| INTO.contains(&pair[0])).map(|pair| pair[1]));
        let glued = |word: &&'a str| {
            let rest = INTO[2..].iter().find_map(|flag| word.strip_prefix(flag))?;
            Some(rest.trim_start_matches('=')).filter(|rest| !rest.is_empty())
        };
        dirs.extend(words.iter().filter_map(glued));
    }
    dirs.truncate(DIRS_MAX);
    dirs
}

/// Returns the name of a file in a directory, without the steps that lead nowhere.
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

/// Returns the words of each command in a line; what is quoted is one word.
fn commands(line: &str) -> Vec<Vec<&str>> {
    let mut all = vec![Vec::new()];
    let (mut begun, mut quote) = (None, None);
    for (at, letter) in line.char_indices() {
        let is_end = letter.is_whitespace() || BETWEEN.contains(&letter) || letter == '<';
        match quote {
            Some(mark) if letter == mark => quote = None,
            None if is_end => {
                push(&mut all, begun.take().map(|begun| &line[begun..at]));
                match letter {
                    '<' => push(&mut all, Some("<")),
                    _ if BETWEEN.contains(&letter) => all.push(Vec::new()),
                    _ => {}
                }
                continue;
            }
            None if matches!(letter, '"' | '\'') => quote = Some(letter),
            _ => {}
        }
        begun.get_or_insert(at);
    }
    push(&mut all, begun.map(|begun| &line[begun..]));
    all.retain(|words| !words.is_empty());
    all
}

/// Adds a word to the last command, without quotes; what comes before its program does not count.
fn push<'a>(all: &mut [Vec<&'a str>], word: Option<&'a str>) {
    let word = word.unwrap_or_default().trim_matches(['"', '\'']);
    let word = word.strip_prefix("$PWD/").unwrap_or(word).trim_start_matches('$');
    let word = word.strip_prefix("./").unwrap_or(word);
    let word = if word == "/" { word } else { word.trim_end_matches('/') };
    // Flags and times belong to what comes before, as in `timeout -k 5 60s`.
    let is_time = word.starts_with(|c: char| c.is_ascii_digit()) && !word.contains('/');
    let is_before =
        BEFORE.contains(&word) || word.contains('=') || word.starts_with('-') || is_time;
    if let Some(words) = all.last_mut()
        && !(word.is_empty() || (words.is_empty() && is_before))
    {
        words.push(word);
    }
}
