//! Tells a person away from the terminal that something waits: a command, a web hook, the desktop.
//!
//! A convenience: what is not heard is still in the inbox. Nothing waits for it, and it has bounds in
//! time and number.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use mow_core::item::Item;
use mow_core::lead::Event;
use mow_host::shell::{self, ShellJob};
use mow_host::stop::Stop;
use mow_store::config::Config;
use serde_json::{Value, json};

use crate::site::Site;

/// How many are on their way at a time; more are left out.
const AT_A_TIME: usize = 4;
const WALL_MAX: Duration = Duration::from_secs(20);
/// Sends what the variable holds. Curl is everywhere, and so is its knowledge of certificates.
const WEBHOOK: &str = "printf '%s' \"$MOW_NOTIFY_JSON\" | curl --silent --show-error --fail \
                       --max-time 15 --header 'content-type: application/json' --data @- \
                       \"$MOW_NOTIFY_WEBHOOK\"";
const DESKTOP: &str = if cfg!(target_os = "macos") {
    "osascript -e 'on run a' -e 'display notification (item 2 of a) with title (item 1 of a)' \
     -e 'end run' \"$MOW_NOTIFY_TITLE\" \"$MOW_NOTIFY_TEXT\""
} else {
    "notify-send --app-name=mow \"$MOW_NOTIFY_TITLE\" \"$MOW_NOTIFY_TEXT\""
};

/// Sends notices of what a person has to answer.
#[derive(Default)]
pub(super) struct Notices {
    under_way: Arc<AtomicUsize>,
}

impl Notices {
    /// Sends a notice of each new question.
    pub(super) fn heed(&self, site: &Arc<Site>, events: &[Event]) {
        let asked = events.iter().filter_map(|event| match event {
            Event::Asked { item } => Some(item),
            _ => None,
        });
        let asked: Vec<_> = asked.collect();
        if asked.is_empty() {
            return;
        }
        let Ok(config) = site.config() else { return };
        for item in asked {
            for script in scripts(&config) {
                self.send(site, script, item, &config);
            }
        }
    }

    fn send(&self, site: &Arc<Site>, script: String, item: &Item, config: &Config) {
        if self.under_way.fetch_add(1, Ordering::SeqCst) >= AT_A_TIME {
            self.under_way.fetch_sub(1, Ordering::SeqCst);
            return;
        }
        let job = ShellJob {
            script,
            program: "sh".to_owned(),
            cwd: site.project.root.clone(),
            env: environment(site, item, config),
            log: site.run.path().join("logs").join(format!("notify-{}.log", item.id)),
            wall_max: Some(WALL_MAX),
            stuck_after: None,
            watched: Vec::new(),
        };
        let under_way = Arc::clone(&self.under_way);
        let send = move || {
            if let Ok(stop) = Stop::new() {
                // What went wrong is in its log; there is nobody to tell.
                shell::run(&job, &stop, &mut |_| {}).ok();
            }
            under_way.fetch_sub(1, Ordering::SeqCst);
        };
        // Without a thread there is no notice, and the question is in the inbox all the same.
        thread::Builder::new().name("mow-notify".to_owned()).spawn(send).ok();
    }
}

/// Returns what is to be run for a notice.
fn scripts(config: &Config) -> Vec<String> {
    let text = |key: &str| config.value(key).and_then(Value::as_str).map(str::to_owned);
    let command = text("notify.command").filter(|command| !command.trim().is_empty());
    let webhook = text("notify.webhook").map(|_| WEBHOOK.to_owned());
    let is_on = config.value("notify.desktop") == Some(&json!(true));
    command.into_iter().chain(webhook).chain(is_on.then(|| DESKTOP.to_owned())).collect()
}

fn environment(site: &Site, item: &Item, config: &Config) -> Vec<(String, String)> {
    let phase = item.phase.map(|phase| phase.to_string()).unwrap_or_default();
    let (kind, text) = (item.ask.kind.name(), &item.ask.question);
    let title = match phase.as_str() {
        "" => "mow waits for you".to_owned(),
        phase => format!("mow: phase {phase} waits for you"),
    };
    let all = json!({
        "run": site.run.run(), "item": item.id, "kind": kind, "phase": item.phase,
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
