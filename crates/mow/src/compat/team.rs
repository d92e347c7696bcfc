//! `mow team-status`, `mow team-update` and `mow color-assign`: the agent team in STATE.md and the
//! colours of its members.

use clap::ValueEnum;
use mow_core::team_color::{self, TeamColor};
use mow_store::state::team::{self, Team, Teammate, TeammateChange};
use serde::Serialize;
use serde_json::json;

use super::state::{change_state, state_missing};
use crate::context::{Context, today};
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::Run;
use crate::wire::ps::RunSummaryJson;

/// The actions of `team-update`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum TeamAction {
    /// Start a new team
    Start,
    /// Add a member
    AddTeammate,
    /// Change the row of a member
    UpdateTeammate,
    /// Remove the team section from STATE.md
    Stop,
}

/// The arguments of `team-update`.
#[derive(Debug, clap::Args)]
pub(crate) struct TeamUpdateArgs {
    /// The action to take
    #[arg(long, value_enum)]
    action: TeamAction,
    /// The name of the team, for `start`
    #[arg(long, allow_hyphen_values = true, value_name = "NAME")]
    team_name: Option<String>,
    /// The name of the member
    #[arg(long, allow_hyphen_values = true)]
    name: Option<String>,
    /// The worktree of the member
    #[arg(long, allow_hyphen_values = true, value_name = "DIR")]
    worktree: Option<String>,
    /// The task of the member
    #[arg(long, allow_hyphen_values = true)]
    task: Option<String>,
    /// The status of the member; by default `active` for a new member
    #[arg(long, allow_hyphen_values = true)]
    status: Option<String>,
    /// The colour of the member, such as green
    #[arg(long, allow_hyphen_values = true)]
    color: Option<String>,
}

#[derive(Serialize)]
struct TeamStatusJson {
    active: bool,
    team_name: Option<String>,
    teammates: Vec<Teammate>,
    started: Option<String>,
    /// The live run, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunSummaryJson>,
}

/// Runs `mow team-status`.
pub(crate) fn status(context: &Context) -> Result<Output, Failure> {
    let team = team::parse(&context.load("STATE.md")?.unwrap_or_default());
    let active = team.is_some();
    let Team { name, started, teammates } = team.unwrap_or_default();
    let run = Run::live(context).map(|run| RunSummaryJson::of(&run.view()));
    Ok(Output::json(TeamStatusJson { active, team_name: name, teammates, started, run }))
}

/// Returns the value of a required argument, or refuses the call.
fn required<'a>(value: Option<&'a String>, flag: &str) -> Result<&'a str, Failure> {
    let value = value.map(|value| value.trim()).filter(|value| !value.is_empty());
    value.ok_or_else(|| {
        Failure::refused(format!("{flag} is required")).hint("mow team-update --help")
    })
}

impl TeamUpdateArgs {
    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let today = today();
        let answer = match self.action {
            TeamAction::Start => {
                let name = required(self.team_name.as_ref(), "--team-name")?;
                change_state(context, |old| Ok((Some(team::start(old, name, &today)), ())))?
                    .map(|()| json!({ "started": true, "team_name": name, "date": today }))
            }
            TeamAction::AddTeammate => {
                let teammate = self.teammate(&today)?;
                let row = change_row(context, &teammate, |old| team::add(old, teammate))?;
                row.map(|Teammate { name, worktree, task, .. }| {
                    json!({ "added": true, "name": name, "worktree": worktree, "task": task })
                })
            }
            TeamAction::UpdateTeammate => {
                let teammate = self.teammate(&today)?;
                let row = change_row(context, &teammate, |old| team::update(old, teammate))?;
                row.map(|Teammate { name, status, task, .. }| {
                    json!({ "updated": true, "name": name, "status": status, "task": task })
                })
            }
            TeamAction::Stop => change_state(context, |old| Ok((Some(team::stop(old)), ())))?
                .map(|()| json!({ "stopped": true })),
        };
        answer.map(Output::json).ok_or_else(state_missing)
    }

    fn teammate<'a>(&'a self, today: &'a str) -> Result<TeammateChange<'a>, Failure> {
        Ok(TeammateChange {
            name: required(self.name.as_ref(), "--name")?,
            worktree: self.worktree.as_deref(),
            phase: None,
            task: self.task.as_deref(),
            status: self.status.as_deref(),
            color: self.color.as_deref(),
            today,
        })
    }
}

/// Changes the row of a member and returns the new row.
fn change_row(
    context: &Context,
    teammate: &TeammateChange<'_>,
    edit: impl Fn(&[u8]) -> Result<Vec<u8>, team::TeamError>,
) -> Result<Option<Teammate>, Failure> {
    change_state(context, |old| {
        let bytes = edit(old)?;
        let row = team::find(&bytes, teammate.name).unwrap_or_default();
        Ok((Some(bytes), row))
    })
}

/// Runs `mow color-assign`: the lead has a colour of its own, workers get the others in order.
pub(crate) fn color_assign(worker: &str) -> Result<Output, Failure> {
    let numbered = || worker.parse().ok().and_then(team_color::worker_color);
    let color = if worker == "lead" { Some(team_color::LEAD_COLOR) } else { numbered() };
    let color = color.ok_or_else(|| {
        Failure::refused(format!("\"{worker}\" is neither a worker's number nor `lead`"))
            .hint("workers are counted from 1: mow color-assign 1")
    })?;
    let value = json!({
        "worker": worker,
        "color": color.name,
        "name": color.name,
        "ansi_bg": color.background,
        "ansi_fg": color.foreground,
        "ansi_reset": TeamColor::RESET,
    });
    Ok(Output::with_raw(value, color.name))
}
