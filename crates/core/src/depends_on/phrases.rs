//! The key words and phrases of dependency texts, in the languages of known roadmaps.

use crate::word_search::find_first_word;

/// Phrases that mean "no dependency" at the start of a field.
const NO_DEPENDENCY: &[&str] = &[
    "nothing",
    "none",
    "no dependencies",
    "no dependency",
    "no phase",
    "no hard",
    "no prior",
    "n/a",
    "na",
    "nil",
    "nada",
    "nenhuma",
    "nenhum",
    "ninguna",
    "ninguno",
    "aucune",
    "aucun",
    "rien",
    "keine",
    "nichts",
    "nessuna",
    "geen",
    "нет",
    "ничего",
    "无",
    "没有",
    "なし",
    "없음",
];

/// Soft words: the phases after them in a clause are no dependencies.
const SOFT_WORDS: &[&str] = &[
    "parallel",
    "independent",
    "benefit",
    "best after",
    "before",
    "precede",
    "unblocks",
    "blocks",
    "enables",
    "feeds",
    "not depend",
    "not require",
    "no dependency",
    "no dependencies",
    "not block",
    "not blocked",
    "soft",
    "optional",
    "concurrent",
    "in any order",
    "nice to have",
    "recommended but",
    "typically",
    "usually",
    "ideally",
    "preferably",
    "unlike",
    "instead of",
];

/// Soft words that also apply to the phases before them.
const SOFT_BACKWARD_WORDS: &[&str] = &["soft", "optional", "nice to have", "recommended but"];

/// The word "phase", which comes before a phase number.
const PHASE_WORDS: &[&str] = &[
    "phases",
    "phase",
    "fases",
    "fase",
    "faza",
    "fáze",
    "etapas",
    "etapa",
    "этап",
    "фаза",
    "阶段",
    "階段",
    "フェーズ",
    "phasen",
    "단계",
];

/// Returns whether a text starts with a phrase for "no dependency", or is only dashes.
pub(super) fn says_nothing(text: &str) -> bool {
    let text = text.trim().trim_start_matches(['*', '_', '"', '.', ':']).to_lowercase();
    let is_dash = text.trim_matches(['-', '–', '—', ' ', '.']).is_empty();
    is_dash
        || NO_DEPENDENCY.iter().any(|word| {
            // Comparing the first byte rules most phrases out quickly.
            let may_start = text.as_bytes().first() == word.as_bytes().first();
            let after = if may_start { text.strip_prefix(word) } else { None };
            after.is_some_and(|after| !after.starts_with(char::is_alphanumeric))
        })
}

/// Returns whether a text means all phases before the current one.
pub(super) fn says_all_previous(text: &str) -> bool {
    let starts = |word: &&str| {
        text.trim().get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word))
    };
    if !["all ", "every ", "todas ", "alle "].iter().any(starts) {
        return false;
    }
    let text = text.trim().to_lowercase();
    let before = ["previous", "prior", "preceding", "earlier", "above", "anteriores", "vorherigen"];
    let phases = text.split([',', ';', '.']).next().unwrap_or("").trim();
    before.iter().any(|word| text.contains(word)) || phases == "all phases"
}

/// Returns whether a text names a milestone: `v1.0 complete`, `Milestone 2`.
pub(super) fn names_milestone(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_version = |word: &str| {
        let digits = word.strip_prefix('v');
        digits.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let words: Vec<_> = lower.split(|c: char| !(c.is_alphanumeric() || c == '.')).collect();
    let starts_number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    let mut pairs = words.windows(2);
    words.iter().any(|word| is_version(word))
        || pairs.any(|pair| pair[0] == "milestone" && starts_number(&pair[1]))
}

/// Words that somebody writes who does not know the phase yet.
const PLACEHOLDERS: &[&str] = &[
    "tbd", "tba", "todo", "tbc", "unknown", "unclear", "?", "??", "???", "n", "x", "y", "xx", "nn",
];

/// Returns whether a part of a list is a placeholder.
pub(super) fn has_placeholder(text: &str) -> bool {
    let lower = text.to_lowercase().replace(" and ", ",").replace(" und ", ",");
    lower.split([',', ';', '+', '&']).any(|part| {
        let part = part.trim().trim_matches(['*', '_', '`', '"', '.']);
        let word = PHASE_WORDS.iter().find_map(|word| part.strip_prefix(word)).unwrap_or(part);
        let word = word.trim_matches([' ', '#', '<', '>', '{', '}']);
        // A single letter is a placeholder only after the word "phase".
        PLACEHOLDERS.contains(&word) && (word.len() > 2 || word.starts_with('?') || part != word)
    })
}

/// Returns the text after "depends on" in a remark, unless it is negated.
pub(super) fn after_depends_on(remark: &str) -> Option<&str> {
    let lower = remark.to_ascii_lowercase();
    let at = lower.find("depends on ")?;
    let negated = lower[..at].trim_end().ends_with("not");
    (!negated).then(|| &remark[at + "depends on ".len()..])
}

/// Returns the part of a clause before its first soft word; `None` without a soft word.
///
/// The part is empty if a soft word also applies to the phases before it.
pub(super) fn before_soft_word(clause: &str) -> Option<&str> {
    let lower = clause.to_ascii_lowercase();
    let at = find_first_word(&lower, SOFT_WORDS)?;
    let is_backward = find_first_word(&lower, SOFT_BACKWARD_WORDS).is_some();
    Some(if is_backward { "" } else { &clause[..at] })
}

/// Returns the text from the number on, if the text starts with the word "phase" and a number.
pub(super) fn strip_phase_word(text: &str) -> Option<&str> {
    PHASE_WORDS.iter().find_map(|word| {
        let head = text.get(..word.len())?;
        let is_word =
            head.eq_ignore_ascii_case(word) || (!word.is_ascii() && head.to_lowercase() == **word);
        if !is_word {
            return None;
        }
        let rest = &text[word.len()..];
        let numbered = rest.trim_start_matches([' ', '\u{a0}', '#', '-', '*', '.']);
        numbered.starts_with(|c: char| c.is_ascii_digit()).then_some(numbered)
    })
}
