//! The words that give a dependency text its meaning, in the languages roadmaps are written in.

use crate::words::first_of;

/// Texts that mean "no dependency" when a field starts with them.
const NOTHING: &[&str] = &[
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

/// Words after which a clause names phases that are no dependencies.
const SOFT: &[&str] = &[
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

/// Words that make the phase in front of them no dependency.
const SOFT_AFTER: &[&str] = &["soft", "optional", "nice to have", "recommended but"];

/// The words that announce a phase number.
const PHASE: &[&str] = &[
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

/// Returns whether a text starts by saying that there is no dependency.
pub(super) fn says_nothing(text: &str) -> bool {
    let text = text.trim().trim_start_matches(['*', '_', '"', '.', ':']).to_lowercase();
    let dash = text.trim_matches(['-', '–', '—', ' ', '.']).is_empty();
    dash || NOTHING.iter().any(|word| {
        // The first byte rules most words out.
        let may_start = text.as_bytes().first() == word.as_bytes().first();
        let after = if may_start { text.strip_prefix(word) } else { None };
        after.is_some_and(|after| !after.starts_with(char::is_alphanumeric))
    })
}

/// Returns whether a text means every phase before this one.
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

/// Returns what follows "depends on" in a remark.
pub(super) fn after_depends_on(remark: &str) -> Option<&str> {
    let lower = remark.to_ascii_lowercase();
    let at = lower.find("depends on ")?;
    let negated = lower[..at].trim_end().ends_with("not");
    (!negated).then(|| &remark[at + "depends on ".len()..])
}

/// Returns the part of a clause that comes before its first soft word, if it has one.
pub(super) fn before_soft_word(clause: &str) -> Option<&str> {
    let lower = clause.to_ascii_lowercase();
    let at = first_of(&lower, SOFT)?;
    let unsettled = first_of(&lower, SOFT_AFTER).is_some();
    Some(if unsettled { "" } else { &clause[..at] })
}

/// Returns the rest of a text that starts with the word for "phase".
pub(super) fn strip_phase_word(text: &str) -> Option<&str> {
    PHASE.iter().find_map(|word| {
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
