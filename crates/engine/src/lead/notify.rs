//! Notifies a person about new questions, by a command, a web hook or a desktop notification.
//!
//! Best effort: every question is in the inbox, too. Nothing waits for a notification; their number
//! and run time are limited.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use mow_core::inbox::InboxItem;
use mow_core::lead::Event;
use mow_host::shell::{self, ShellJob};
use mow_host::stop_signal::StopSignal;
use mow_store::config::Config;
use serde_json::{Value, json};

use crate::run_context::RunContext;

/// The most notifications that run at a time; more are dropped.
const CONCURRENT_MAX: usize = 4;
const WALL_MAX: Duration = Duration::from_secs(20);
/// Posts `MOW_NOTIFY_JSON`. Curl is installed almost everywhere and knows the certificates.
const WEBHOOK: &str = "printf '%s' \"$MOW_NOTIFY_JSON\" | curl --silent --show-error --fail \
                       --max-time 15 --header 'content-type: application/json' --data @- \
                       \"$MOW_NOTIFY_WEBHOOK\"";
const DESKTOP: &str = if cfg!(target_os = "macos") {
    "osascript -e 'on run a' -e 'display notification (item 2 of a) with title (item 1 of a)' \
     -e 'end run' \"$MOW_NOTIFY_TITLE\" \"$MOW_NOTIFY_TEXT\""
} else {
    "notify-send --app-name=mow \"$MOW_NOTIFY_TITLE\" \"$MOW_NOTIFY_TEXT\""
};

/// Sends notifications about questions to a person.
#[derive(Default)]
pub(super) struct Notifier {
    running: Arc<AtomicUsize>,
}

impl Notifier {
    /// Sends a notification for each new question among the events.
    pub(super) fn notify_questions(&self, ctx: &Arc<RunContext>, events: &[Event]) {
        let asked = events.iter().filter_map(|event| match event {
            Event::Asked { item } => Some(item),
            _ => None,
        });
        let asked: Vec<_> = asked.collect();
        if asked.is_empty() {
            return;
        }
        let Ok(config) = ctx.config() else { return };
        for item in asked {
            for script in scripts(&config) {
                self.send(ctx, script, item, &config);
            }
        }
    }

    fn send(&self, ctx: &Arc<RunContext>, script: String, item: &InboxItem, config: &Config) {
        if self.running.fetch_add(1, Ordering::SeqCst) >= CONCURRENT_MAX {
            self.running.fetch_sub(1, Ordering::SeqCst);
            return;
        }
        let job = ShellJob {
            script,
            program: "sh".to_owned(),
            cwd: ctx.project.root.clone(),
            env: environment(ctx, item, config),
            // The command acts for the person who wrote it into the settings; it may answer.
            marks: None,
            log: ctx.run.path().join("logs").join(format!("notify-{}.log", item.id)),
            timeout: Some(WALL_MAX),
            stuck_after: None,
            watched: Vec::new(),
        };
        let running = Arc::clone(&self.running);
        let send = move || {
            if let Ok(stop) = StopSignal::new() {
                // A failure is in the log file; there is nobody else to tell.
                shell::run(&job, &stop, &mut |_| {}).ok();
            }
            running.fetch_sub(1, Ordering::SeqCst);
        };
        // If no thread can be started, the question is still in the inbox.
        thread::Builder::new().name("mow-notify".to_owned()).spawn(send).ok();
    }
}

/// Returns the scripts that the settings want for a notification.
fn scripts(config: &Config) -> Vec<String> {
    let text = |key: &str| config.value(key).and_then(Value::as_str).map(str::to_owned);
    let command = text("notify.command").filter(|command| !command.trim().is_empty());
    let webhook = text("notify.webhook").map(|_| WEBHOOK.to_owned());
    let is_on = config.value("notify.desktop") == Some(&json!(true));
    command.into_iter().chain(webhook).chain(is_on.then(|| DESKTOP.to_owned())).collect()
}

fn environment(ctx: &RunContext, item: &InboxItem, config: &Config) -> Vec<(String, String)> {
    let phase = item.phase.map(|phase| phase.to_string()).unwrap_or_default();
    let (kind, text) = (item.ask.kind.name(), &item.ask.question);
    let title = match phase.as_str() {
        "" => "mow waits for you".to_owned(),
        phase => format!("mow: phase {phase} waits for you"),
    };
    let all = json!({
        "run": ctx.run.run(), "item": item.id, "kind": kind, "phase": item.phase,
        "title": title, "question": text, "choices": item.ask.choices,
        "answer": format!("mow answer {} …", item.id),
    });
    let webhook = config.value("notify.webhook").and_then(Value::as_str).unwrap_or_default();
    [
        ("MOW_NOTIFY_TITLE", title),
        ("MOW_NOTIFY_TEXT", text.clone()),
        ("MOW_NOTIFY_KIND", kind.to_owned()),
        ("MOW_NOTIFY_PHASE", phase),
        ("MOW_NOTIFY_ITEM", item.id.to_string()),
        ("MOW_NOTIFY_JSON", all.to_string()),
        ("MOW_NOTIFY_WEBHOOK", webhook.to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}
