//! A person process: answers all questions in its own order, and prints which answers counted.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use mow_core::lead::Lead;
use mow_engine::client::{AnswerRequest, Caller, Client, Interface, PersonAnswer, Refusal};
use mow_engine::lead as engine;
use mow_store::project::Project;
use mow_store::run_files::RunDir;
use mow_testkit::seeded_rng::SeededRng;

use super::{LOST, QUESTIONS_PER_PHASE, WAIT_MAX, WON, phases};

pub(super) fn answer_all(run: &RunDir, name: &str) {
    let began = Instant::now();
    let all = usize::try_from(phases() * QUESTIONS_PER_PHASE).unwrap();
    let mut rng = SeededRng::new(name.bytes().fold(7, |sum, byte| sum * 31 + u64::from(byte)));
    let mut seen = BTreeSet::new();
    loop {
        let lead = engine::load_run(run).map(|(lead, _)| lead).unwrap_or_default();
        // A worker that died has not asked all its questions; the next one asks the rest when these
        // are answered.
        let new = lead.inbox.open().map(|item| item.id).filter(|id| seen.insert(*id));
        let mut open: Vec<_> = new.collect();
        // Each person has another order, so that they compete for every question.
        for at in (1..open.len()).rev() {
            open.swap(at, usize::try_from(rng.below(at as u64 + 1)).unwrap());
        }
        if !open.is_empty() {
            answer(run, &lead, &open, name);
        } else if lead.inbox.items.len() >= all {
            return;
        }
        assert!(began.elapsed() < WAIT_MAX, "there are only {} questions", lead.inbox.items.len());
        thread::sleep(Duration::from_millis(50));
    }
}

fn answer(run: &RunDir, lead: &Lead, open: &[u32], name: &str) {
    let project = Project::find_or_cwd(run.path()).unwrap();
    let client = Client::of_run(&project, run, lead);
    let process = std::process::id();
    let caller = Caller { interface: Interface::Cli, person: Some(name.to_owned()), process };
    let mut out = std::io::stdout().lock();
    for item in open {
        let text = format!("{name}-{item}");
        let answer = PersonAnswer::Text(text.clone());
        let line = match client.submit(AnswerRequest { item: *item, answer, seen: None }, &caller) {
            Ok(_) => format!("\n{WON}{item} {text}\n"),
            Err(Refusal::AlreadyAnswered { answer, .. }) => format!("\n{LOST}{item} {answer}\n"),
            Err(refusal) => panic!("{refusal}"),
        };
        // One write, so that a kill cannot leave half a line.
        out.write_all(line.as_bytes()).unwrap();
        out.flush().unwrap();
    }
}
