//! Tests concurrent answers to the same questions while people's commands and leads are killed.
//!
//! Each question gets exactly one answer. A command that reports success has given that answer, and
//! the phase receives exactly it. `MOW_INBOX_CRITERIA` sets the number of success criteria of each
//! of the three phases; each phase asks that many questions and three more.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use mow_testkit::planned_project::{ALL, PlannedProject};
use mow_testkit::seeded_rng::SeededRng;

use super::{one_task_phase, project};

const CRITERIA_DEFAULT: usize = 80;
const PEOPLE: u64 = 2;
/// The maximum lifetime of a lead. Its start takes a good part of that.
const LEAD_MS_MAX: u64 = 500;
/// The maximum lifetime of a person's command that is killed.
const COMMAND_MICROS_MAX: u64 = 40_000;

fn criteria() -> usize {
    let count = std::env::var("MOW_INBOX_CRITERIA").ok();
    count.map_or(CRITERIA_DEFAULT, |text| text.parse().expect("a number"))
}

/// Makes a project with three phases that ask many questions.
fn project_with_questions() -> PlannedProject {
    let lines: String = (1..=criteria()).map(|n| format!("{n}. Row {n} is straight\n")).collect();
    let details = format!("**Success Criteria**:\n{lines}");
    let phases =
        ["1", "2", "3"].map(|n| one_task_phase(n, &[], "").without_context().details(&details));
    project(&phases)
}

/// Answers all questions in random order. Some commands are killed and repeated. Returns the
/// answers that the commands reported as accepted, and the number of killed commands.
fn answer_in_random_order(
    project: &PlannedProject,
    person: u64,
    items: &[u64],
) -> (BTreeMap<u64, String>, usize) {
    let mut rng = SeededRng::new(person);
    let (mut won, mut killed) = (BTreeMap::new(), 0);
    let mut items = items.to_vec();
    for at in (1..items.len()).rev() {
        items.swap(at, usize::try_from(rng.below(at as u64 + 1)).expect("it is small"));
    }
    for item in items {
        for tries in 0.. {
            let text = format!("word-{person}-{tries}-of-{item}.");
            let call = project.start(&["answer", &item.to_string(), &text]);
            if rng.below(4) == 0 {
                // This sleep waits for nothing: it is the lifetime of the command.
                thread::sleep(Duration::from_micros(rng.below(COMMAND_MICROS_MAX)));
                call.kill();
                killed += 1;
                continue;
            }
            let (status, output) = call.end();
            match status.code() {
                Some(0) => assert!(won.insert(item, text).is_none(), "question {item} twice"),
                Some(1) => assert!(output.contains("answered"), "question {item}: {output}"),
                code => panic!("question {item} ended with {code:?}: {output}"),
            }
            break;
        }
    }
    (won, killed)
}

/// Starts leads and kills them until `stop` is set. Returns the number of leads.
fn start_and_kill_leads(project: &PlannedProject, stop: &AtomicBool) -> usize {
    let mut rng = SeededRng::new(99);
    let mut leads = 0;
    while !stop.load(Ordering::Relaxed) {
        let lead = project.start(&ALL);
        thread::sleep(Duration::from_millis(rng.below(LEAD_MS_MAX)));
        lead.kill();
        leads += 1;
    }
    leads
}

#[test]
fn each_question_has_one_answer_whichever_process_is_killed() {
    let project = project_with_questions();
    project.exits_with(&ALL, 5);
    let asked_events = project.events().into_iter().filter(|event| event["event"] == "asked");
    let items: Vec<u64> = asked_events.filter_map(|event| event["item"]["id"].as_u64()).collect();
    assert_eq!(items.len(), 3 * (criteria() + 3));
    let stop = AtomicBool::new(false);
    let (people, leads) = thread::scope(|scope| {
        let lead = scope.spawn(|| start_and_kill_leads(&project, &stop));
        let people: Vec<_> = (0..PEOPLE)
            .map(|person| {
                let (project, items) = (&project, &items);
                scope.spawn(move || answer_in_random_order(project, person, items))
            })
            .collect();
        let people: Vec<_> = people.into_iter().map(thread::ScopedJoinHandle::join).collect();
        stop.store(true, Ordering::Relaxed);
        (people, lead.join().expect("it only starts leads"))
    });
    let people: Vec<_> = people.into_iter().map(|person| person.expect("it ends well")).collect();
    project.exits_with(&ALL, 0);
    project.assert_consistent();
    check_answers(&project, &items, &people);
    let killed: usize = people.iter().map(|(_, killed)| killed).sum();
    let won: usize = people.iter().map(|(won, _)| won.len()).sum();
    println!("{} questions, {won} won, {killed} commands and {leads} leads killed", items.len());
}

/// Compares the recorded answers with those reported to people and those in the CONTEXT.md files.
fn check_answers(
    project: &PlannedProject,
    items: &[u64],
    people: &[(BTreeMap<u64, String>, usize)],
) {
    let mut answers: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for event in project.events().iter().filter(|event| event["event"] == "answered") {
        let text = event["text"].as_str().expect("a text").to_owned();
        answers.entry(event["item"].as_u64().expect("a number")).or_default().push(text);
    }
    let contexts: String = ["01", "02", "03"]
        .map(|n| project.git(&["show", &format!("main:{}", context_of(n))]))
        .concat();
    for item in items {
        let recorded = answers.get(item).map_or(&[][..], Vec::as_slice);
        let [answer] = recorded else { panic!("question {item} has the answers {recorded:?}") };
        let accepted: Vec<_> = people.iter().filter_map(|(won, _)| won.get(item)).collect();
        assert!(accepted.len() <= 1, "question {item} was won by {accepted:?}");
        assert!(
            accepted.iter().all(|text| *text == answer),
            "question {item}: {accepted:?}, {answer}"
        );
        assert_eq!(contexts.matches(answer.as_str()).count(), 1, "question {item}: {contexts}");
    }
}

fn context_of(padded: &str) -> String {
    let number = padded.trim_start_matches('0');
    format!(".planning/phases/{padded}-field-{number}/{padded}-CONTEXT.md")
}
