//! Keeps the members of the team that a program maintains up to date.
//!
//! Rows of other members stay, and so does a team with another name.

use super::{Team, TeammateChange, parse, start_with_columns, stop, table, team_section, update};
use crate::text::Text;
use crate::text::splice::{Splice, apply};

/// The columns of a team that is started with its first members.
const COLUMNS: [&str; 7] =
    ["Teammate", "Worktree", "Phase", "Task", "Status", "Color", "Last Update"];

/// The members that a program maintains.
#[derive(Clone, Copy, Debug)]
pub struct TeamMembers<'a> {
    /// The name of the program's own team.
    pub team: &'a str,
    /// The members that work now.
    pub members: &'a [TeammateChange<'a>],
    /// The current date.
    pub today: &'a str,
}

/// Makes the rows that `is_own` accepts, by the member's name, equal to some members.
///
/// Starts the team if there is none, and stops it when its last member leaves. A row that already
/// shows its member is not changed.
pub fn set_members(
    bytes: &[u8],
    wanted: TeamMembers<'_>,
    is_own: impl Fn(&str) -> bool,
) -> Vec<u8> {
    let old = parse(bytes);
    if wanted.members.is_empty() && old.as_ref().is_none_or(|old| is_emptied(old, wanted, &is_own))
    {
        return if old.is_some() { stop(bytes) } else { bytes.to_vec() };
    }
    let mut bytes = match old {
        Some(_) => bytes.to_vec(),
        None => start_with_columns(bytes, (wanted.team, wanted.today), &COLUMNS),
    };
    let is_gone = |name: &str| is_own(name) && wanted.members.iter().all(|new| new.name != name);
    bytes = remove(&bytes, is_gone);
    for member in wanted.members {
        bytes = show(&bytes, *member);
    }
    bytes
}

/// Returns whether the program's own team has no other members.
fn is_emptied(old: &Team, wanted: TeamMembers<'_>, is_own: impl Fn(&str) -> bool) -> bool {
    old.name.as_deref() == Some(wanted.team)
        && old.teammates.iter().all(|teammate| is_own(&teammate.name))
}

fn remove(bytes: &[u8], is_gone: impl Fn(&str) -> bool) -> Vec<u8> {
    let text = Text::new(bytes);
    let Some(table) = team_section(&text).and_then(|section| table(&text, &section)) else {
        return bytes.to_vec();
    };
    let columns = super::TeamColumns::new(&text, &table);
    let gone = table.rows.iter().filter(|row| is_gone(&columns.read(&text, row).name));
    let lines = gone.map(|row| Splice::remove(text.lines()[row.line].range_with_ending()));
    apply(bytes, lines.collect())
}

/// Adds or changes the row of a member, unless the row shows all of it.
fn show(bytes: &[u8], member: TeammateChange<'_>) -> Vec<u8> {
    let shown = super::find(bytes, member.name).is_some_and(|row| {
        let is_same = |new: Option<&str>, old: &str| new.is_none_or(|new| new == old);
        let color = row.color.clone().flatten().unwrap_or_default();
        is_same(member.worktree, &row.worktree)
            && is_same(member.task, &row.task)
            && is_same(member.status, &row.status)
            && is_same(member.color, &color)
            && row.phase.is_none_or(|phase| is_same(member.phase, &phase))
    });
    if shown {
        return bytes.to_vec();
    }
    let changed = update(bytes, member).or_else(|_| super::add(bytes, member));
    changed.unwrap_or_else(|_| bytes.to_vec())
}
