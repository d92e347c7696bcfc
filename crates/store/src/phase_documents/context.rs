//! Renders CONTEXT.md from the answers of people, and from nothing else.
//!
//! Each answer goes with its question to one of three sections: it decides the matter, leaves it to
//! the agents' discretion, or defers it. The first words of the answer choose the section; an
//! answer without such words is a decision. Answers are never shortened, so a wrong choice loses
//! nothing.

#[cfg(test)]
mod tests;

use std::fmt::Write;

use mow_core::inbox::{InboxAnswer, QuestionTopic};

use super::{DocumentHeader, one_line};

/// The first words of answers that leave the matter to the agents.
const DISCRETION_STARTS: [&str; 11] = [
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

/// The first words of answers that defer the matter.
const DEFERRAL_STARTS: [&str; 6] =
    ["later", "not now", "defer", "deferred", "postpone", "postponed"];

/// Words that may follow [`DEFERRAL_STARTS`] in a deferral: `defer it to the next version` is one,
/// `defer loading of images` is a decision.
const DEFERRAL_FILLERS: [&str; 27] = [
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

/// The section to which an answer belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AnswerKind {
    Decision,
    Discretion,
    Deferred,
}

/// Renders CONTEXT.md: decisions, then discretion, then deferred ideas.
pub fn render_context(header: &DocumentHeader<'_>, answers: &[InboxAnswer]) -> Vec<u8> {
    let (mut decisions, mut discretion, mut deferred) = (Vec::new(), Vec::new(), Vec::new());
    for (kind, line) in classified_lines(answers) {
        match kind {
            AnswerKind::Decision => decisions.push(line),
            AnswerKind::Discretion => discretion.push(line),
            AnswerKind::Deferred => deferred.push(line),
        }
    }
    if answers.is_empty() {
        decisions.push("None: the roadmap asks for no discussion.".to_owned());
    }
    if discretion.is_empty() {
        discretion.push("All that is not decided above.".to_owned());
    }
    let mut text = format!(
        "# Phase {}: {} - Context\n\n**Gathered:** {}\n**Status:** Ready for planning\n\n\
         ## Phase Boundary\n\n{}\n",
        header.number,
        header.name,
        header.today(),
        if header.goal.is_empty() { header.name } else { header.goal },
    );
    section(&mut text, "Implementation Decisions", &decisions);
    section(&mut text, "Claude's Discretion", &discretion);
    section(&mut text, "Deferred Ideas", &deferred);
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

/// Returns the section and the line of each answer.
fn classified_lines(answers: &[InboxAnswer]) -> Vec<(AnswerKind, String)> {
    // The last two standard questions ask for the agents' discretion and for deferred ideas.
    let standard: Vec<_> =
        answers.iter().filter(|answer| is_to_standard_question(answer)).collect();
    let last = standard.len().checked_sub(2).map(|from| &standard[from..]);
    let kind_of_question = |answer: &InboxAnswer| {
        let at = last?.iter().position(|one| std::ptr::eq(*one, answer))?;
        Some([AnswerKind::Discretion, AnswerKind::Deferred][at])
    };
    let classify_line = |answer: &InboxAnswer| {
        let (question, text) = (one_line(&answer.question), one_line(&answer.text));
        match kind_of_question(answer) {
            Some(kind) => (kind, text),
            None => (classify(&text), format!("{question} -> **{text}**")),
        }
    };
    answers.iter().map(classify_line).collect()
}

/// Returns whether mow itself asked the question, not an agent.
fn is_to_standard_question(answer: &InboxAnswer) -> bool {
    matches!(answer.key.topic(), QuestionTopic::StandardDiscuss(_))
}

/// Chooses the section of an answer by its first words.
fn classify(answer: &str) -> AnswerKind {
    let lower = answer.to_lowercase().replace('\u{2019}', "'");
    let end = lower.find([',', '.', ';', ':', '!', '?', '(', '–', '—']).unwrap_or(lower.len());
    let words: Vec<_> = lower[..end].split_whitespace().take_while(|word| *word != "-").collect();
    let words_after = |start: &str| {
        let start: Vec<_> = start.split(' ').collect();
        words.starts_with(&start).then(|| &words[start.len()..])
    };
    let is_discretion =
        words.ends_with(&["discretion"]) && !matches!(words[0], "no" | "not" | "without");
    if is_discretion || DISCRETION_STARTS.iter().any(|start| words_after(start).is_some()) {
        return AnswerKind::Discretion;
    }
    let is_filler = |word: &&str| DEFERRAL_FILLERS.contains(word) || is_number(word);
    let mut deferrals = DEFERRAL_STARTS.iter().filter_map(|start| words_after(start));
    if deferrals.any(|rest| rest.iter().all(is_filler)) {
        return AnswerKind::Deferred;
    }
    AnswerKind::Decision
}

/// Returns whether a word is a number, such as `7` or `v2`.
fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix('v').unwrap_or(word);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}
