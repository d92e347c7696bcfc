//! Makes CONTEXT.md of what people answered, and of nothing else.
//!
//! Each answer stands with its question in one of three places: it decides something, it leaves it to
//! the agents, or it puts it off. Which one, a few plain words tell; whatever is not plain decides. The
//! answer itself is never shortened, so that nothing is lost when a word was misunderstood.

#[cfg(test)]
mod tests;

use std::fmt::Write;

use mow_core::item::Answer;

use super::{About, one_line};

/// What an answer begins with that leaves the matter to the agents.
const FREE: [&str; 11] = [
    "you decide",
    "you choose",
    "up to you",
    "your choice",
    "your call",
    "as you like",
    "whatever you",
    "no preference",
    "does not matter",
    "doesn't matter",
    "i don't care",
];

/// What an answer begins with that puts the matter off.
const LATER: [&str; 6] = ["later", "not now", "defer", "deferred", "postpone", "postponed"];

/// What may follow that without making it an answer to something: `defer it to the next version`, but
/// not `defer loading of images`.
const LATER_MORE: [&str; 27] = [
    "it",
    "this",
    "that",
    "these",
    "them",
    "all",
    "please",
    "for",
    "now",
    "to",
    "until",
    "till",
    "a",
    "the",
    "another",
    "next",
    "later",
    "maybe",
    "perhaps",
    "but",
    "in",
    "on",
    "phase",
    "version",
    "milestone",
    "release",
    "time",
];

/// Where an answer belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Decision,
    Discretion,
    Deferred,
}

/// Makes CONTEXT.md: decisions first, then what is free, then what is for later. Without answers it
/// says that nobody was asked.
pub fn context(about: &About<'_>, answers: &[Answer]) -> Vec<u8> {
    let (mut decisions, mut free, mut later) = (Vec::new(), Vec::new(), Vec::new());
    for (part, line) in sorted(answers) {
        match part {
            Part::Decision => decisions.push(line),
            Part::Discretion => free.push(line),
            Part::Deferred => later.push(line),
        }
    }
    if answers.is_empty() {
        decisions.push("None: the roadmap asks for no discussion.".to_owned());
    }
    if free.is_empty() {
        free.push("All that is not decided above.".to_owned());
    }
    let mut text = format!(
        "# Phase {}: {} - Context\n\n**Gathered:** {}\n**Status:** Ready for planning\n\n\
         ## Phase Boundary\n\n{}\n",
        about.number,
        about.name,
        about.today(),
        if about.goal.is_empty() { about.name } else { about.goal },
    );
    section(&mut text, "Implementation Decisions", &decisions);
    section(&mut text, "Claude's Discretion", &free);
    section(&mut text, "Deferred Ideas", &later);
    text.into_bytes()
}

fn section(text: &mut String, title: &str, lines: &[String]) {
    write!(text, "\n## {title}\n\n").expect("text can be extended");
    if lines.is_empty() {
        text.push_str("- None.\n");
    }
    for line in lines {
        writeln!(text, "- {line}").expect("text can be extended");
    }
}

/// Finds the place of each answer, and the line that says it.
fn sorted(answers: &[Answer]) -> Vec<(Part, String)> {
    // Of the questions that mow puts by itself, the last two ask for what is free and for what is
    // for later.
    let fixed: Vec<_> = answers.iter().filter(|answer| is_fixed(answer)).collect();
    let last = fixed.len().checked_sub(2).map(|from| &fixed[from..]);
    let asked_for = |answer: &Answer| {
        let at = last?.iter().position(|one| std::ptr::eq(*one, answer))?;
        Some([Part::Discretion, Part::Deferred][at])
    };
    let place = |answer: &Answer| {
        let (question, said) = (one_line(&answer.question), one_line(&answer.text));
        match asked_for(answer) {
            Some(part) => (part, said),
            None => (part_of(&said), format!("{question} -> **{said}**")),
        }
    };
    answers.iter().map(place).collect()
}

/// Returns whether mow puts the question by itself: these are numbered 1, 2, …, and those that an
/// agent thought of 1.1, 1.2, ….
fn is_fixed(answer: &Answer) -> bool {
    let number = answer.key.rsplit('/').next().unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Tells by its first words what an answer does.
fn part_of(answer: &str) -> Part {
    let lower = answer.to_lowercase().replace('\u{2019}', "'");
    let end = lower.find([',', '.', ';', ':', '!', '?', '(', '–', '—']).unwrap_or(lower.len());
    let words: Vec<_> = lower[..end].split_whitespace().take_while(|word| *word != "-").collect();
    let begins = |start: &str| {
        let start: Vec<_> = start.split(' ').collect();
        words.starts_with(&start).then(|| &words[start.len()..])
    };
    let is_free = words.ends_with(&["discretion"]) && !matches!(words[0], "no" | "not" | "without");
    if is_free || FREE.iter().any(|start| begins(start).is_some()) {
        return Part::Discretion;
    }
    let is_filler = |word: &&str| LATER_MORE.contains(word) || is_number(word);
    if LATER.iter().filter_map(|start| begins(start)).any(|rest| rest.iter().all(is_filler)) {
        return Part::Deferred;
    }
    Part::Decision
}

/// Returns whether a word is a number, such as `7` or `v2`.
fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix('v').unwrap_or(word);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}
