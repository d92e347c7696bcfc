//! Every setting of `config.json` in one table: its name, default, values and meaning.
//!
//! The rest of [`config`](super) and the page `docs/reference/settings.md` are derived from it.
//! A setting that is missing here is reported as unknown by `mow doctor`.

use serde_json::{Value, json};

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its path, such as `multi_phase.max_workers`. A path that ends in `.*` allows any keys below.
    pub path: &'static str,
    /// A second path for the same setting. On reading, the one at the top level wins.
    pub alias: Option<&'static str>,
    /// What applies when the setting is absent. `None` switches the feature off.
    pub default: Option<DefaultValue>,
    /// Whether `config-get` prints the default of an absent setting. For older settings the
    /// contract wants an error instead.
    pub default_is_printed: bool,
    /// The values it can have, for people.
    pub values: &'static str,
    /// What it does, for people.
    pub about: &'static str,
}

/// The default of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultValue {
    /// `true` or `false`.
    Flag(bool),
    /// A whole number.
    Number(u32),
    /// A text.
    Text(&'static str),
}

impl DefaultValue {
    /// Returns the default as JSON.
    pub fn to_json(self) -> Value {
        match self {
            Self::Flag(flag) => json!(flag),
            Self::Number(number) => json!(number),
            Self::Text(text) => json!(text),
        }
    }
}

use DefaultValue::{Flag, Number, Text};

impl Setting {
    const fn new(path: &'static str, values: &'static str, about: &'static str) -> Self {
        Self { path, alias: None, default: None, default_is_printed: false, values, about }
    }

    const fn alias(self, alias: &'static str) -> Self {
        Self { alias: Some(alias), ..self }
    }

    /// Sets a default that `config-get` prints.
    const fn default(self, value: DefaultValue) -> Self {
        Self { default: Some(value), default_is_printed: true, ..self }
    }

    /// Sets a default that `config-get` does not print.
    const fn silent_default(self, value: DefaultValue) -> Self {
        Self { default: Some(value), ..self }
    }
}

const SWITCH: &str = "`true`, `false`";
const COUNT: &str = "a whole number";
const MINUTES: &str = "minutes, also fractions";
const SHELL: &str = "a shell command";
const TEXT: &str = "a text";
const ANY: &str = "any";

/// All settings that mow knows, in the order of the documentation.
pub const SETTINGS: &[Setting] = &[
    // Runs.
    Setting::new("multi_phase.max_workers", COUNT, "Phases that run at the same time.")
        .default(Number(3)),
    Setting::new("multi_phase.max_agents", COUNT, "Agents that run at the same time, over all phases.")
        .default(Number(4)),
    Setting::new("multi_phase.merge", "`wave`, `immediate`", "Whether a complete phase is merged with its wave or at once.")
        .default(Text("wave")),
    Setting::new("multi_phase.merge_timing", "`batch`, `immediate`", "Older name of `multi_phase.merge`, read when that is absent.")
        .default(Text("batch")),
    Setting::new("multi_phase.lookahead", "`off`, `research`, `plan`", "How far a phase that waits for others is prepared in a free slot.")
        .default(Text("research")),
    Setting::new("multi_phase.circuit_breaker", COUNT, "Failed phases after which no further phase starts; 0 for never.")
        .default(Number(2)),
    Setting::new("multi_phase.circuit_breaker_threshold", COUNT, "Older name of `multi_phase.circuit_breaker`, read when that is absent.")
        .default(Number(2)),
    Setting::new("multi_phase.worker_timeout_min", MINUTES, "Time after which a command or agent is ended. Without a value nothing is ended for its age."),
    Setting::new("multi_phase.stuck_after_min", MINUTES, "Time without output, file changes and processor use after which a person is asked; 0 for never.")
        .default(Number(10)),
    Setting::new("multi_phase.verify", SHELL, "Must pass on every merged tree before the tree becomes the target."),
    Setting::new("parallelization.enabled", SWITCH, "Whether plans of one wave may run in parallel. `parallelization: false` says the same.")
        .silent_default(Flag(true)),
    Setting::new("parallelization.plan_level", SWITCH, "`false` switches parallel plans off, too."),
    Setting::new("workflow.research", SWITCH, "Whether a phase is researched before it is planned.")
        .alias("research")
        .silent_default(Flag(true)),
    Setting::new("workflow.plan_check", SWITCH, "Whether a plan-checker reviews plans before they run.")
        .alias("plan_checker")
        .silent_default(Flag(true)),
    Setting::new("workflow.verifier", SWITCH, "Whether a verifier looks at a phase when its plans are done.")
        .alias("verifier")
        .default(Flag(true)),
    Setting::new("workflow.auto_advance", SWITCH, "Used by the workflow prompts between sessions. A run switches it off when it starts.")
        .default(Flag(false)),
    Setting::new("worker.stage_gates", "`none`, `before_execute`, `every_stage`", "Stage boundaries at which a person is asked.")
        .default(Text("none")),
    Setting::new("worker.blocker_mode", "`skip`, `strict`", "Whether other plans go on when one plan is blocked.")
        .default(Text("skip")),
    // Agents.
    Setting::new("roles.*", ANY, "Who plays a role: `roles.ROLE.agent`, `.model`, or `.command` for a program of your own; `roles.default` for all others."),
    Setting::new("agents.*", ANY, "How an agent is started: `agents.NAME.command`, `.args`, `.env`, `.pass` (variables passed on), `.protocol`. `agents.retry_s` (30) is the first wait in seconds for a model that does not answer; each further wait doubles it."),
    Setting::new("permissions.allow", "a list of rules", "What agents may do without a question: `Tool` or `Tool(pattern)`."),
    Setting::new("permissions.deny", "a list of rules", "Requests of agents that are always refused. Comes before `permissions.allow`."),
    Setting::new("model_profile", "`quality`, `balanced`, `budget`", "Which models Claude Code uses for the roles.")
        .silent_default(Text("balanced")),
    Setting::new("model_overrides.*", ANY, "A model for one agent name, such as `model_overrides.mow-planner`."),
    Setting::new("budget.run_usd", "dollars", "What the agents of a run may cost."),
    Setting::new("budget.phase_usd", "dollars", "What the agents of one phase may cost."),
    Setting::new("budget.run_tokens", COUNT, "Tokens that the agents of a run may use."),
    Setting::new("budget.phase_tokens", COUNT, "Tokens that the agents of one phase may use."),
    // Git.
    Setting::new("git.target", "a branch", "The branch that phases are merged into. Without a value, the branch that is checked out."),
    Setting::new("worktree.root", "a directory", "Where worktrees are made; `.worktrees` without a value."),
    Setting::new("worktree.name", "a name with `{NN}`", "How a worktree is called."),
    Setting::new("worktree.backend", "`wt`", "With `wt`, `mow doctor` checks that WorkTrunk is installed. It has no other effect yet."),
    Setting::new("commit_docs", SWITCH, "Whether planning files are committed.")
        .alias("planning.commit_docs")
        .silent_default(Flag(true)),
    Setting::new("branching_strategy", "`none`, `phase`, `milestone`", "Which branches the workflow prompts use; with `milestone` a run merges into the branch of the milestone.")
        .alias("git.branching_strategy")
        .silent_default(Text("none")),
    Setting::new("phase_branch_template", "with `{phase}`, `{slug}`", "The name of a phase's branch for the workflow prompts.")
        .alias("git.phase_branch_template")
        .silent_default(Text("mow/phase-{phase}-{slug}")),
    Setting::new("milestone_branch_template", "with `{milestone}`, `{slug}`", "The name of a milestone's branch.")
        .alias("git.milestone_branch_template")
        .silent_default(Text("mow/{milestone}-{slug}")),
    // Notices.
    Setting::new("notify.*", ANY, "How you are told about a question: `notify.command` (a shell command), `.webhook` (an address), `.desktop` and `.bell` (`true`)."),
    Setting::new("feedback.terminal_bell", SWITCH, "Whether `mow dashboard render` rings the terminal bell for a new question.")
        .default(Flag(false)),
    Setting::new("feedback.event_log_count", COUNT, "Events that the dashboard shows.")
        .default(Number(6)),
    Setting::new("messages.events", "`verbose`, `lean`", "Which messages of a run the dashboard, `mow events --messages` and the console of `mow run` show: all, or only milestones.")
        .default(Text("verbose")),
    Setting::new("messages.ack_timeout_s", "seconds", "How long a worker waits for the lead to confirm its last message.")
        .default(Number(30)),
    Setting::new("messages.blocker_timeout_s", "seconds", "How long a worker in strict blocker mode waits for the lead to acknowledge a blocker, before it continues with independent plans.")
        .default(Number(120)),
    // Settings that only the workflow prompts read.
    Setting::new("multi_phase.worktree_metadata_push", SWITCH, "Read by the workflow prompts only.")
        .default(Flag(false)),
    Setting::new("feedback.dashboard_redraw", SWITCH, "Read by the workflow prompts only.")
        .default(Flag(false)),
    Setting::new("search_gitignored", SWITCH, "Whether prompts search ignored files, too.")
        .alias("planning.search_gitignored")
        .silent_default(Flag(false)),
    Setting::new("brave_search", SWITCH, "Whether prompts may search the web.")
        .silent_default(Flag(false)),
    Setting::new("executor.max_task_attempts", COUNT, "How often the executor prompt tries a task.")
        .alias("max_task_attempts")
        .silent_default(Number(5)),
    Setting::new("parallelization.task_level", SWITCH, "Read by the workflow prompts only."),
    Setting::new("parallelization.skip_checkpoints", SWITCH, "Read by the workflow prompts only."),
    Setting::new("parallelization.max_concurrent_agents", COUNT, "Read by the workflow prompts only."),
    Setting::new("parallelization.min_plans_for_parallel", COUNT, "Read by the workflow prompts only."),
    Setting::new("mode", TEXT, "Read by the workflow prompts only."),
    Setting::new("depth", TEXT, "Read by the workflow prompts only."),
    Setting::new("gates.*", ANY, "Read by the workflow prompts only."),
    Setting::new("safety.*", ANY, "Read by the workflow prompts only."),
    Setting::new("agent_teams_nudge_dismissed", SWITCH, "Set by `mow config nudge-dismiss`."),
    Setting::new("agent_teams_nudge_dismissed_at", "a date", "Set by `mow config nudge-dismiss`."),
];

/// Defaults of paths that lie below a `.*` setting.
pub(super) const NESTED_DEFAULTS: &[(&str, DefaultValue)] = &[("agents.retry_s", Number(30))];

/// Settings that other tools keep in the same file. mow keeps them; they have no effect here.
pub const FOREIGN: &[&str] = &[
    "granularity",
    "workflow._auto_chain_active",
    "workflow.nyquist_validation",
    "workflow.ui_phase",
    "workflow.ui_safety_gate",
    "workflow.ai_integration_phase",
    "workflow.text_mode",
    "workflow.skip_discuss",
    "workflow.discuss_mode",
    "workflow.research_before_questions",
    "workflow.node_repair",
    "workflow.node_repair_budget",
    "workflow.code_review",
    "workflow.code_review_depth",
    "workflow.code_review_command",
    "workflow.use_worktrees",
    "workflow.tdd_mode",
    "workflow.pattern_mapper",
    "workflow.plan_bounce",
    "workflow.plan_bounce_script",
    "workflow.plan_bounce_passes",
    "git.quick_branch_template",
    "hooks.*",
    "agent_skills.*",
    "features.*",
    "firecrawl",
    "exa_search",
    "project_code",
    "phase_naming",
    "resolve_model_ids",
];
