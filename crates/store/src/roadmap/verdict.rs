//! Words and signs that say whether a phase is done.

use mow_core::words::first_of;

/// Signs that say yes wherever they stand.
const YES_SIGNS: &[char] = &['✅', '✔', '✓', '☑', '🎉'];
/// Signs that say no.
const NO_SIGNS: &[char] = &['🚧', '📋', '🔄', '⏸', '⏳', '🔜', '⬜', '🟡', '⛔', '❌', '🔲', '⚪'];

/// Returns whether a character is a sign of a phase's state.
pub(super) fn is_sign(c: char) -> bool {
    YES_SIGNS.contains(&c) || NO_SIGNS.contains(&c)
}

/// Texts that say no, also where a "yes" word is part of them.
const NO: &[&str] = &[
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

/// Texts that say yes.
const YES: &[&str] = &[
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

/// Reads a status cell or a status line; `None` when it says neither.
pub(super) fn of_status(text: &str) -> Option<bool> {
    let lower = text.to_lowercase();
    let yes = first_said(&lower, YES, YES_SIGNS);
    // Nothing is said before the beginning.
    let no = if yes == Some(0) { None } else { first_said(&lower, NO, NO_SIGNS) };
    match (yes, no) {
        // What is said first counts: `Complete (one check pending)`, `In progress, 2 done`. A "not"
        // stands before its word anyway.
        (Some(yes), Some(no)) => Some(yes < no),
        (Some(_), None) => Some(true),
        (None, Some(_)) => Some(false),
        (None, None) => None,
    }
}

fn first_said(text: &str, words: &[&str], signs: &[char]) -> Option<usize> {
    // All signs are beyond ASCII, and most texts are not.
    let sign = if text.is_ascii() { None } else { text.find(signs) };
    first_of(text, words).into_iter().chain(sign).min()
}

/// The words in capitals that end a heading: `— DONE`, `✅ COMPLETE`, `(complete)`.
const SHOUTED: &[&str] = &[
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

/// Reads the marks on a heading or an item, where ordinary words are part of the name.
pub(super) fn of_marks(text: &str) -> Option<bool> {
    if !text.is_ascii()
        && let Some(at) = text.find(is_sign)
    {
        let sign = text[at..].chars().next().unwrap_or(' ');
        return Some(YES_SIGNS.contains(&sign));
    }
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    if words.any(|word| SHOUTED.contains(&word)) {
        return Some(true);
    }
    let remark = text.rsplit_once('(').map(|(_, remark)| remark.to_lowercase());
    let done = remark.is_some_and(|r| {
        r.starts_with("complete") || r.starts_with("done") || r.starts_with("shipped")
    });
    done.then_some(true)
}

/// Words in the summary of a folded milestone.
const SHIPPED: &[&str] = &[
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

/// Reads the summary of a folded block: has what is inside shipped?
pub(super) fn of_fold(summary: &str) -> bool {
    if let Some(sign) = summary.chars().find(|c| is_sign(*c)) {
        return YES_SIGNS.contains(&sign);
    }
    let lower = summary.to_lowercase();
    let has = |words: &[&str]| first_of(&lower, words).is_some();
    has(SHIPPED) && !has(UNDER_WAY)
}
