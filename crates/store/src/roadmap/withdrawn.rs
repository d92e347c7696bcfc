//! Recognises phases that must not start although they are not done: phases that somebody removed,
//! deferred, superseded or cancelled, and phases of a milestone that has shipped.
//!
//! Ordinary names contain the same words: `Cancelled orders page` is a phase like any other. So a
//! word counts only where a remark stands (in brackets, after a dash, in a status), and only if
//! what follows it fits such a remark.

use crate::text::heading::{Heading, heading_at};
use crate::text::inline::strip_markup;
use crate::text::list::item_at;

use super::declarations::{Declaration, DeclarationKind, Outline};
use super::phase_groups::{MilestoneIndex, PhaseGroup};
use super::phase_section::PhaseSection;
use super::{completion_words, phase_label};

/// Why a phase that is not done must not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withdrawal {
    /// Whether the phase itself is withdrawn, or its milestone has shipped.
    pub kind: WithdrawalKind,
    /// The line that says so, counted from one.
    pub line: usize,
    /// The text of that line.
    pub text: String,
}

/// What withdraws a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithdrawalKind {
    /// Somebody removed, deferred, superseded or cancelled the phase.
    Marked,
    /// The phase belongs to a milestone that has shipped.
    Shipped,
}

/// Words for withdrawn, as remarks begin. A longer phrase stands before its own beginning.
const WITHDRAWN: &[&str] = &[
    "removed",
    "deferred",
    "superseded",
    "cancelled",
    "canceled",
    "out of scope",
    "out-of-scope",
    "descoped",
    "de-scoped",
    "dropped",
    "abandoned",
    "obsolete",
    "obsoleted",
    "postponed",
    "withdrawn",
    "rejected",
    "scrapped",
    "discarded",
    "shelved",
    "parked",
    "retired",
    "skipped",
    "on hold",
    "won't do",
    "wont do",
    "won't fix",
    "wontfix",
    "not planned",
    "not doing",
    "no longer needed",
    "carried out of",
    "entfernt",
    "verschoben",
    "gestrichen",
    "zurückgestellt",
    "abgebrochen",
    "adiado",
    "adiada",
    "cancelado",
    "cancelada",
    "removido",
    "removida",
    "fora do escopo",
    "aplazado",
    "aplazada",
    "pospuesto",
    "eliminado",
    "eliminada",
    "fuera de alcance",
    "reporté",
    "reportée",
    "annulé",
    "annulée",
    "supprimé",
    "supprimée",
    "hors périmètre",
    "отложен",
    "отложена",
    "отложено",
    "отменен",
    "отменена",
    "отменён",
    "отменено",
    "удалена",
    "удален",
    "已取消",
    "取消",
    "已延期",
    "延期",
    "推迟",
    "已移除",
    "废弃",
    "已废弃",
    "超出范围",
    "中止",
    "延期",
];
/// Words that withdraw a phase only before the place that its work went to.
const MOVED: &[&str] =
    &["moved", "folded", "merged", "absorbed", "replaced", "subsumed", "carried"];
/// Words that may follow a word for withdrawn in any remark.
const REASONS: &[&str] = &[
    "until",
    "due",
    "because",
    "since",
    "per",
    "see",
    "pending",
    "indefinitely",
    "entirely",
    "permanently",
];
/// What a phase may be deferred to, removed from or superseded by.
const PLACES: &[&str] = &[
    "v",
    "phase",
    "phases",
    "fase",
    "milestone",
    "backlog",
    "later",
    "next",
    "future",
    "post",
    "scope",
    "roadmap",
    "the roadmap",
    "plan",
    "this milestone",
    "this release",
    "this version",
    "the milestone",
    "the next",
    "the backlog",
    "a later",
    "a future",
    "release",
    "version",
    "mvp",
    "q1",
    "q2",
    "q3",
    "q4",
    "favor",
    "favour",
    "now",
    "launch",
    "the plan",
    "project scope",
    "the scope",
    "#",
];
const PREPOSITIONS: &[&str] =
    &["to", "from", "by", "in", "into", "for", "on", "after", "at", "with", "of", "as"];
/// Words for things that a heading about withdrawn phases may name.
const GROUPS: &[&str] = &[
    "phases",
    "phase",
    "fases",
    "work",
    "items",
    "scope",
    "milestone",
    "milestones",
    "and",
    "or",
    "features",
    "ideas",
];
/// Words that open a heading about finished milestones.
const SHIPPED_HEADS: &[&str] =
    &["shipped", "completed", "archived", "closed", "released", "previous", "past"];

/// Checkboxes that are neither open nor ticked: dropped, moved, cancelled.
const WITHDRAWN_BOXES: &[char] = &['~', '-', '→', '>', '➡', '⊘', '🗑'];

/// Returns whether a remark says that a phase is withdrawn: `removed`, `deferred to v2`.
pub(super) fn is_remark(text: &str) -> bool {
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let lower = text.to_lowercase();
    if let Some(rest) = after_any(&lower, WITHDRAWN) {
        return follows_remark(rest) || has_capital_word(text);
    }
    after_any(&lower, MOVED).is_some_and(|rest| {
        let rest = rest.trim_start();
        rest.starts_with('→') || rest.starts_with("->") || names_place(rest)
    })
}

/// Returns what follows the first of some words at the start of a text.
fn after_any<'a>(lower: &'a str, words: &[&str]) -> Option<&'a str> {
    words.iter().find_map(|word| {
        let rest = lower.strip_prefix(word)?;
        let is_script = !word.is_ascii() && !word.chars().all(char::is_lowercase);
        (is_script || !rest.starts_with(char::is_alphanumeric)).then_some(rest)
    })
}

/// Returns whether the text after a word for withdrawn belongs to a remark and not to a name.
fn follows_remark(rest: &str) -> bool {
    let rest = rest.trim_start();
    let Some(first) = rest.chars().next() else { return true };
    if !first.is_alphanumeric() {
        // `Deferred/optional shading` and `Removed & restored rows` are names.
        return !matches!(first, '/' | '&' | '+' | '-' | '_' | '\'');
    }
    if first.is_ascii_digit() || !first.is_ascii() {
        return true;
    }
    after_any(rest, REASONS).is_some() || names_place(rest)
}

/// Returns whether a text is a preposition with a place: `to v2`, `by Phase 9`, `from scope`.
fn names_place(rest: &str) -> bool {
    let Some(place) = after_any(rest, PREPOSITIONS) else { return false };
    let place = place.trim_start();
    let is_version =
        place.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    place.is_empty()
        || is_version
        || place.starts_with(|c: char| c.is_ascii_digit())
        || after_any(place, &PLACES[1..]).is_some()
        || place.starts_with('#')
}

/// Returns whether the first word of a text is in capitals, as marks are: `REMOVED`.
fn has_capital_word(text: &str) -> bool {
    let word = text.split(|c: char| !c.is_alphabetic()).next().unwrap_or("");
    word.len() > 3 && word.chars().all(char::is_uppercase)
}

/// Returns whether a line that declares a phase marks it as withdrawn.
pub(super) fn is_marked(content: &str, kind: DeclarationKind) -> bool {
    if is_struck_through(content) || content.contains('🗑') {
        return true;
    }
    let Some((head, tail)) = after_number(content) else { return false };
    // `Phase 7 (REMOVED): Name`
    let mut head = head.as_str().trim_start();
    while let Some((remark, rest)) = bracketed(head) {
        if is_remark(remark) {
            return true;
        }
        head = rest.trim_start();
    }
    let title = head.trim_start_matches([':', '：', '.', '|', '·', '—', '–', '-', ' ']);
    // The name itself may be the mark, as in `Phase 7: Removed`.
    let is_only_mark = is_remark(title) && !starts_name(title);
    let pieces = pieces(title);
    let name_piece = pieces.first().copied().unwrap_or("");
    let last = pieces.last().copied().unwrap_or("");
    is_only_mark
        || ends_in_remark(name_piece)
        || (kind == DeclarationKind::Heading && ends_in_remark(last))
        || pieces.iter().skip(1).any(|piece| is_remark(piece))
        || tail.is_some_and(|tail| self::pieces(&tail).iter().any(|piece| is_remark(piece)))
}

/// Returns whether a title continues after the word for withdrawn, so that it may be a name in
/// capitals: `DEFERRED RENDERING`.
fn starts_name(title: &str) -> bool {
    let lower = title.to_lowercase();
    after_any(&lower, WITHDRAWN).is_none_or(|rest| !follows_remark(rest))
}

/// Returns whether the whole label of a phase is struck through: `~~Phase 7: Name~~`.
fn is_struck_through(content: &str) -> bool {
    let label = content.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '~');
    if label.starts_with("~~") {
        return true;
    }
    // `Phase 7: ~~Name~~`
    let Some((_, title)) = content.split_once(':') else { return false };
    let title = title.trim_start_matches(['*', '_', ' ']);
    let inner = title.strip_prefix("~~").and_then(|rest| rest.split_once("~~"));
    inner.is_some_and(|(_, rest)| {
        let rest = rest.trim_matches(['*', '_', ' ']);
        rest.is_empty() || rest.starts_with(['(', '[', '—', '–', '-']) || is_remark(rest)
    })
}

/// Returns the text after the phase number without markup, and the text after a bold part.
fn after_number(content: &str) -> Option<(String, Option<String>)> {
    let label = phase_label::parse_cell_label(content)?;
    let (bold, tail) =
        match content.trim_start().strip_prefix("**").and_then(|rest| rest.split_once("**")) {
            Some((bold, tail)) => (bold, Some(strip_markup(tail).into_owned())),
            None => (content, None),
        };
    let plain = strip_markup(bold).into_owned();
    let at = plain.find(label.written.as_ref())? + label.written.len();
    Some((plain[at..].to_owned(), tail))
}

/// Returns the content of brackets at the start of a text, and the rest.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix(['(', '['])?.split_once([')', ']'])
}

/// Splits a text at dashes with blanks around them.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = vec![text];
    for dash in [" — ", " – ", " -- ", " - "] {
        pieces = pieces.into_iter().flat_map(|piece| piece.split(dash)).collect();
    }
    let lead = |piece: &&str| !piece.trim().is_empty();
    pieces.into_iter().filter(lead).collect()
}

/// Returns whether a text ends in a remark in brackets that means withdrawn.
fn ends_in_remark(text: &str) -> bool {
    let mut text = text.trim_end_matches([' ', '*', '.', '_']);
    while text.ends_with([')', ']'])
        && let Some(at) = text.rfind(['(', '['])
    {
        if is_remark(&text[at + 1..text.len() - 1]) {
            return true;
        }
        text = text[..at].trim_end();
    }
    false
}

/// Returns whether a heading or summary is about withdrawn phases: `Out of Scope`, `Deferred Phases`,
/// `v2.0 Ideas (Deferred)`.
pub(super) fn is_withdrawn_section(title: &str) -> bool {
    let title = strip_markup(title);
    let plain = title.trim_start_matches(|c: char| !c.is_alphanumeric());
    let lower = plain.to_lowercase();
    let starts = |text: &str| {
        after_any(text, WITHDRAWN).is_some_and(|rest| {
            let rest = rest.trim_start();
            after_any(rest, GROUPS).is_some() || follows_remark(rest)
        })
    };
    let after_group = after_any(&lower, GROUPS).map(str::trim_start);
    starts(&lower)
        || after_group.is_some_and(starts)
        || ends_in_remark(plain)
        || pieces(plain).iter().skip(1).any(|piece| is_remark(piece))
}

/// Returns whether a heading or summary is about a milestone that has shipped.
fn is_shipped_section(title: &str) -> bool {
    let plain =
        strip_markup(title).trim_start_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let is_group = after_any(&plain, SHIPPED_HEADS).is_some_and(|rest| {
        after_any(rest.trim_start(), GROUPS).is_some() || rest.trim().is_empty()
    });
    is_group || completion_words::summary_says_shipped(title)
}

/// Finds out whether phases are withdrawn.
pub(super) struct WithdrawalIndex<'a> {
    outline: &'a Outline<'a>,
    milestones: &'a MilestoneIndex<'a>,
    /// Lines at which the enclosing headings change, each with the line of the heading that
    /// withdraws what follows, or `None`.
    changes: Vec<(usize, Option<(usize, WithdrawalKind)>)>,
}

impl<'a> WithdrawalIndex<'a> {
    pub(super) fn new(milestones: &'a MilestoneIndex<'a>) -> Self {
        let outline = milestones.outline();
        let mut current: Option<(usize, usize, WithdrawalKind)> = None;
        let mut changes = Vec::new();
        for Heading { level, line, text, .. } in &outline.headings {
            let title = outline.text.slice(text.clone());
            // The mark of a phase is not a mark of the phases below it.
            let is_phase = phase_label::parse_label(title).is_some();
            if current.is_some_and(|(own, ..)| *level <= own) {
                current = None;
            }
            if let Some(kind) = section_kind(title).filter(|_| !is_phase && current.is_none()) {
                current = Some((*level, *line, kind));
            }
            changes.push((*line, current.map(|(_, line, kind)| (line, kind))));
        }
        Self { outline, milestones, changes }
    }

    pub(super) fn outline(&self) -> &'a Outline<'a> {
        self.outline
    }

    /// Returns what the headings and collapsed blocks around a line say.
    fn around(&self, line: usize) -> Option<(usize, WithdrawalKind)> {
        let block = self.outline.collapsed_at(line);
        let of_block =
            block.and_then(|block| Some((block.first_line, section_kind(&block.summary)?)));
        of_block.or_else(|| {
            let after = self.changes.partition_point(|(from, _)| *from <= line);
            self.changes[..after].last().and_then(|(_, kind)| *kind)
        })
    }

    /// Returns why a phase is withdrawn, from its own lines, its section and the sections around it.
    pub(super) fn of_phase(
        &self,
        group: &PhaseGroup<'_>,
        sections: &[PhaseSection<'_>],
    ) -> Option<Withdrawal> {
        let marked = group.declarations.iter().find(|own| self.is_marked(group, own));
        let marked = marked.map(|declaration| declaration.line);
        let stated = || sections.iter().find_map(PhaseSection::withdrawn_line);
        if let Some(line) = marked.or_else(stated) {
            return Some(self.withdrawal(line, WithdrawalKind::Marked));
        }
        // A list of deferred work may mention a phase that is declared elsewhere.
        let best = group.best().kind;
        let is_defining = |own: &&Declaration<'_>| {
            own.kind == best
                || matches!(own.kind, DeclarationKind::Heading | DeclarationKind::Checklist)
        };
        let mut around =
            group.declarations.iter().filter(is_defining).map(|own| self.around(own.line));
        let first = around.next()??;
        around.all(|other| other.is_some()).then(|| self.withdrawal(first.0, first.1))
    }

    fn withdrawal(&self, line: usize, kind: WithdrawalKind) -> Withdrawal {
        let text = self.outline.text.line(line).trim().to_owned();
        Withdrawal { kind, line: line + 1, text }
    }

    /// Returns whether a declaration marks its phase as withdrawn.
    ///
    /// A phase that moved from one milestone to the next is listed in both; there the unmarked line
    /// counts.
    fn is_marked(&self, group: &PhaseGroup<'_>, own: &Declaration<'_>) -> bool {
        let is_remark_only = own.kind == DeclarationKind::Bullet
            && group.best().kind != DeclarationKind::Bullet
            && !is_struck_through(
                self.outline.text.line(own.line).trim_start_matches(['-', '*', ' ']),
            );
        let moved_on = |other: &Declaration<'_>| {
            other.kind == own.kind
                && self.milestones.at(other.line) != self.milestones.at(own.line)
                && !self.has_mark(other)
        };
        !is_remark_only && self.has_mark(own) && !group.declarations.iter().any(moved_on)
    }

    /// Returns whether the line of a declaration has a mark.
    fn has_mark(&self, own: &Declaration<'_>) -> bool {
        let text = self.outline.text;
        match own.kind {
            DeclarationKind::Heading => heading_at(text, own.line)
                .is_some_and(|heading| is_marked(text.slice(heading.text), own.kind)),
            DeclarationKind::Checklist | DeclarationKind::Bullet => item_at(text, own.line)
                .is_some_and(|item| {
                    item.checkbox.is_some_and(|tick| WITHDRAWN_BOXES.contains(&tick))
                        || is_marked(text.slice(item.text), own.kind)
                }),
            DeclarationKind::Table => {
                let cells = text.line(own.line).trim().trim_matches('|').split('|').map(str::trim);
                own.status.is_some_and(|status| is_remark(&strip_markup(status)))
                    || cells.take(2).any(|cell| is_marked(cell, own.kind))
            }
        }
    }
}

fn section_kind(title: &str) -> Option<WithdrawalKind> {
    if is_withdrawn_section(title) {
        return Some(WithdrawalKind::Marked);
    }
    is_shipped_section(title).then_some(WithdrawalKind::Shipped)
}

#[cfg(test)]
mod tests;
