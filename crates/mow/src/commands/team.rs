//! `mow team-status`, `mow team-update` and `mow color-assign`.

use clap::ValueEnum;
use mow_core::team_color;
use mow_store::state::team::{self, Team, Teammate, TeammateChange};
use serde::Serialize;
use serde_json::json;

use super::state::{change, no_state};
use crate::context::{Context, today};
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::{Brief, Run};

/// What `team-update` can do.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Action {
    /// Begin a team anew
    Start,
    /// Add a member
    AddTeammate,
    /// Change a member's row
    UpdateTeammate,
    /// Remove the section
    Stop,
}

/// The arguments of `team-update`.
#[derive(Debug, clap::Args)]
pub(crate) struct TeamUpdate {
    /// What to do
    #[arg(long, value_enum)]
    action: Action,
    /// The team's name, for `start`
    #[arg(long, allow_hyphen_values = true, value_name = "NAME")]
    team_name: Option<String>,
    /// The member's name
    #[arg(long, allow_hyphen_values = true)]
    name: Option<String>,
    /// Where the member works
    #[arg(long, allow_hyphen_values = true, value_name = "DIR")]
    worktree: Option<String>,
    /// What the member does
    #[arg(long, allow_hyphen_values = true)]
    task: Option<String>,
    /// How the member is; `active` for a new one
    #[arg(long, allow_hyphen_values = true)]
    status: Option<String>,
    /// The member's colour, such as green
    #[arg(long, allow_hyphen_values = true)]
    color: Option<String>,
}

#[derive(Serialize)]
struct StatusJson {
    active: bool,
    team_name: Option<String>,
    teammates: Vec<Teammate>,
    started: Option<String>,
    /// The run that is live.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<Brief>,
}

/// `mow team-status`.
pub(super) fn status(context: &Context) -> Result<Output, Failure> {
    let team = team::parse(&context.load("STATE.md")?.unwrap_or_default());
    let active = team.is_some();
    let Team { name, started, teammates } = team.unwrap_or_default();
    let run = Run::live(context).map(|run| run.brief());
    Ok(Output::json(StatusJson { active, team_name: name, teammates, started, run }))
}

/// Returns an argument that must be there.
fn required<'a>(value: Option<&'a String>, flag: &str) -> Result<&'a str, Failure> {
    let value = value.map(|value| value.trim()).filter(|value| !value.is_empty());
    value.ok_or_else(|| {
        Failure::refused(format!("{flag} is required")).hint("mow team-update --help")
    })
}

impl TeamUpdate {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let today = today();
        let answer = match self.action {
            Action::Start => {
                let name = required(self.team_name.as_ref(), "--team-name")?;
                change(context, |old| Ok((Some(team::start(old, name, &today)), ())))?
                    .map(|()| json!({ "started": true, "team_name": name, "date": today }))
            }
            Action::AddTeammate => {
                let teammate = self.teammate(&today)?;
                let row = change_row(context, &teammate, |old| team::add(old, teammate))?;
                row.map(|Teammate { name, worktree, task, .. }| {
                    json!({ "added": true, "name": name, "worktree": worktree, "task": task })
                })
            }
            Action::UpdateTeammate => {
                let teammate = self.teammate(&today)?;
                let row = change_row(context, &teammate, |old| team::update(old, teammate))?;
                row.map(|Teammate { name, status, task, .. }| {
                    json!({ "updated": true, "name": name, "status": status, "task": task })
                })
            }
            Action::Stop => change(context, |old| Ok((Some(team::stop(old)), ())))?
                .map(|()| json!({ "stopped": true })),
        };
        answer.map(Output::json).ok_or_else(no_state)
    }

    fn teammate<'a>(&'a self, today: &'a str) -> Result<TeammateChange<'a>, Failure> {
        Ok(TeammateChange {
            name: required(self.name.as_ref(), "--name")?,
            worktree: self.worktree.as_deref(),
            task: self.task.as_deref(),
            status: self.status.as_deref(),
            color: self.color.as_deref(),
            today,
        })
    }
}

/// Changes a member's row and returns what it says then.
fn change_row(
    context: &Context,
    teammate: &TeammateChange<'_>,
    edit: impl Fn(&[u8]) -> Result<Vec<u8>, team::TeamError>,
) -> Result<Option<Teammate>, Failure> {
    change(context, |old| {
        let bytes = edit(old)?;
        let row = team::find(&bytes, teammate.name).unwrap_or_default();
        Ok((Some(bytes), row))
    })
}

/// `mow color-assign`: the lead has one colour, workers the others in order.
pub(super) fn color_assign(worker: &str) -> Result<Output, Failure> {
    let numbered = || worker.parse().ok().and_then(team_color::worker);
    let color = if worker == "lead" { Some(team_color::LEAD) } else { numbered() };
    let color = color.ok_or_else(|| {
        Failure::refused(format!("\"{worker}\" is neither a worker's number nor `lead`"))
            .hint("workers are counted from 1: mow color-assign 1")
    })?;
    Ok(Output::with_raw(json!({ "worker": worker, "color": color }), color))
}
