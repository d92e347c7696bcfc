//! Recognises the words and signs that say whether a phase is done, in several languages.

use mow_core::word_search::find_first_word;

/// Signs that mean done, wherever they stand.
const DONE_SIGNS: &[char] = &['✅', '✔', '✓', '☑', '🎉'];
/// Signs that mean not done.
const NOT_DONE_SIGNS: &[char] =
    &['🚧', '📋', '🔄', '⏸', '⏳', '🔜', '⬜', '🟡', '⛔', '❌', '🔲', '⚪'];

/// Returns whether a character is a sign of a phase's state.
pub(super) fn is_status_sign(c: char) -> bool {
    DONE_SIGNS.contains(&c) || NOT_DONE_SIGNS.contains(&c)
}

/// Texts that mean not done, even if they contain a word that means done.
const NOT_DONE_WORDS: &[&str] = &[
    "not ",
    "in progress",
    "in-progress",
    "in_progress",
    "incomplete",
    "planned",
    "pending",
    "partial",
    "deferred",
    "blocked",
    "todo",
    "to do",
    "tbd",
    "ready",
    "next",
    "active",
    "executing",
    "started",
    "paused",
    "on hold",
    "cancelled",
    "canceled",
    "removed",
    "dropped",
    "skipped",
    "superseded",
    "future",
    "backlog",
    "parked",
    "wip",
    "ongoing",
    "queued",
    "awaiting",
    "open",
    "upcoming",
    "proposed",
    "draft",
    "moved",
    "folded",
    "gaps",
    "unstarted",
    "researched",
    "discussed",
    "context gathered",
    "planning",
    "pendente",
    "em andamento",
    "não",
    "nao ",
    "a fazer",
    "en curso",
    "planejad",
    "en progreso",
    "pendiente",
    "no iniciad",
    "geplant",
    "offen",
    "nicht",
    "未开始",
    "进行中",
    "待",
    "计划",
    "未着手",
    "не ",
    "в процессе",
    "ожида",
    "запланиров",
    "à faire",
    "en cours",
];

/// Texts that mean done.
const DONE_WORDS: &[&str] = &[
    "complete",
    "done",
    "shipped",
    "closed",
    "finished",
    "resolved",
    "fixed",
    "merged",
    "delivered",
    "verified",
    "released",
    "implemented",
    "archived",
    "deployed",
    "passed",
    "live",
    "validated",
    "concluíd",
    "concluid",
    "completad",
    "completo",
    "completa",
    "feito",
    "hecho",
    "terminad",
    "fertig",
    "erledigt",
    "abgeschlossen",
    "完成",
    "已完成",
    "完了",
    "готов",
    "выполнен",
    "заверш",
    "terminé",
    "완료",
];

/// Reads a status cell or status line. Returns whether it means done; `None` if it says neither.
pub(super) fn parse_status(text: &str) -> Option<bool> {
    let lower = text.to_lowercase();
    let yes = first_match(&lower, DONE_WORDS, DONE_SIGNS);
    // If the text starts with a word for done, nothing can precede it.
    let no =
        if yes == Some(0) { None } else { first_match(&lower, NOT_DONE_WORDS, NOT_DONE_SIGNS) };
    match (yes, no) {
        // The first statement counts: `Complete (one check pending)`, `In progress, 2 done`. A
        // "not" stands before the word it negates anyway.
        (Some(yes), Some(no)) => Some(yes < no),
        (Some(_), None) => Some(true),
        (None, Some(_)) => Some(false),
        (None, None) => None,
    }
}

fn first_match(text: &str, words: &[&str], signs: &[char]) -> Option<usize> {
    // All signs are beyond ASCII, and most texts are pure ASCII.
    let sign = if text.is_ascii() { None } else { text.find(signs) };
    find_first_word(text, words).into_iter().chain(sign).min()
}

/// Words in capitals that mark a heading as done: `— DONE`, `✅ COMPLETE`.
const CAPITAL_DONE_WORDS: &[&str] = &[
    "COMPLETE",
    "COMPLETED",
    "DONE",
    "SHIPPED",
    "FIXED",
    "RESOLVED",
    "VERIFIED",
    "CLOSED",
    "FINISHED",
    "MERGED",
];

/// Reads the marks on a heading or list item, in which ordinary words are part of the name.
pub(super) fn parse_marks(text: &str) -> Option<bool> {
    if !text.is_ascii()
        && let Some(at) = text.find(is_status_sign)
    {
        let sign = text[at..].chars().next().unwrap_or(' ');
        return Some(DONE_SIGNS.contains(&sign));
    }
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    if words.any(|word| CAPITAL_DONE_WORDS.contains(&word)) {
        return Some(true);
    }
    let remark = text.rsplit_once('(').map(|(_, remark)| remark.to_lowercase());
    let done = remark.is_some_and(|r| {
        r.starts_with("complete") || r.starts_with("done") || r.starts_with("shipped")
    });
    done.then_some(true)
}

/// Words for done in the summary of a collapsed milestone.
const SHIPPED_WORDS: &[&str] = &[
    "shipped",
    "complete",
    "closed",
    "archived",
    "released",
    "done",
    "concluíd",
    "completad",
    "完成",
];
const UNDER_WAY: &[&str] =
    &["in progress", "planned", "executing", "not started", "upcoming", "paused", "backlog"];

/// Returns whether the summary of a collapsed block says that its contents have shipped.
pub(super) fn summary_says_shipped(summary: &str) -> bool {
    if let Some(sign) = summary.chars().find(|c| is_status_sign(*c)) {
        return DONE_SIGNS.contains(&sign);
    }
    let lower = summary.to_lowercase();
    let has = |words: &[&str]| find_first_word(&lower, words).is_some();
    has(SHIPPED_WORDS) && !has(UNDER_WAY)
}
