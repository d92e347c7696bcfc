//! `mow run` with the real program, real git and real processes: undisturbed, and disturbed in every
//! way that people, machines and other programs have.
//!
//! A run that was disturbed and taken up again must leave what an undisturbed one leaves: the same
//! code, each task and each plan committed once, nothing broken, nothing running.

mod ahead;
mod apart;
mod bad_input;
mod beside;
mod edits;
mod failpoints;
mod failures;
mod inbox;
mod kills;
mod liar;
mod merging;
mod notices;
mod people;
mod places;
mod projects;
mod signals;
mod stuck;

use mow_testkit::field::{Field, Phase, Soil, phase, plan, task};

/// The program under test.
const MOW: &str = env!("CARGO_BIN_EXE_mow");

fn field(phases: &[Phase]) -> Field {
    Field::new(MOW, phases)
}

fn field_with(config: &str, phases: &[Phase]) -> Field {
    Field::on(MOW, &Soil { config, ..Soil::default() }, phases)
}

/// A phase with one plan of one task that leaves a file, after a script.
fn sown(number: &str, depends_on: &[&str], script: &str) -> Phase {
    let script = format!("{script}\necho {number} > crop-{number}");
    phase(number, depends_on).with(plan(vec![task(&script)]))
}

/// Answers all questions that are open, as a person would from another terminal.
fn answer_all(field: &Field, text: &str) {
    let events = field.events();
    let answered: Vec<_> =
        events.iter().filter(|e| e["event"] == "answered").map(|e| &e["item"]).collect();
    let asked = events.iter().filter(|e| e["event"] == "asked").map(|e| &e["item"]["id"]);
    for id in asked.filter(|id| !answered.contains(id)) {
        answer(field, id, text);
    }
}

fn answer(field: &Field, item: &serde_json::Value, text: &str) {
    field.ends(&["answer", &item.to_string(), text], 0);
}
