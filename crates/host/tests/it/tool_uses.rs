//! Tests that every agent reports what it says and does: texts, tool calls with input, results.

use mow_host::agent::{Event, Reply, ToolOutcome};
use mow_testkit::agents::Agent;
use mow_testkit::llm::{Script, Step};

use crate::fixture::{AgentFixture, ScriptedPerson, done_text};

/// Runs an agent that says something, runs two commands and writes a file.
fn events_of(agent: Agent) -> Vec<Event> {
    let script = Script::new("work")
        .step(Step { text: "First I look.".to_owned(), ..Step::sh("echo seen; echo more") })
        .step(Step::sh("echo bad; exit 3"))
        .step(Step::write("made.txt", "made\n"))
        .says("all done");
    let fixture = AgentFixture::with(agent, [script]);
    let mut person = ScriptedPerson::new(vec![Reply::Allow; 9]);
    let end = fixture.run(&fixture.job("[[script:work]]"), &mut person);
    assert_eq!(done_text(&end), "all done");
    person.events
}

/// Asserts the order of what the agent did. `ends` are the results of the two commands.
fn assert_reported(agent: Agent, ends: [(bool, &str); 2]) {
    let events = events_of(agent);
    let mut position = 0;
    let mut next = |what: &str, is_wanted: &dyn Fn(&Event) -> bool| {
        let found = events[position..].iter().position(is_wanted);
        let found = found.unwrap_or_else(|| panic!("no {what} from {position} on: {events:#?}"));
        position += found + 1;
        events[position - 1].clone()
    };
    next("text", &|event| *event == Event::Text("First I look.".to_owned()));
    for (command, (is_ok, text)) in ["echo seen; echo more", "echo bad; exit 3"].iter().zip(ends) {
        let call = next(
            command,
            &|event| matches!(event, Event::Tool(call) if call.summary.contains(command)),
        );
        let Event::Tool(call) = call else { unreachable!("it was matched") };
        let ended = ToolOutcome { id: call.id, is_ok, text: text.to_owned() };
        next("result", &|event| *event == Event::ToolEnded(ended.clone()));
    }
    next(
        "edit",
        &|event| matches!(event, Event::Tool(call) if call.edits.len() == 1 && call.edits[0].ends_with("made.txt")),
    );
    next(
        "result of the edit",
        &|event| matches!(event, Event::ToolEnded(outcome) if outcome.is_ok),
    );
    next("last text", &|event| *event == Event::Text("all done".to_owned()));
}

#[test]
fn claude_reports_texts_tools_and_results() {
    assert_reported(Agent::Claude, [(true, "seen\nmore"), (false, "Exit code 3\nbad")]);
}

#[test]
fn codex_reports_texts_tools_and_results() {
    assert_reported(Agent::Codex, [(true, "seen\nmore"), (false, "exit 3\nbad")]);
}

#[test]
fn opencode_reports_texts_tools_and_results() {
    assert_reported(Agent::OpenCode, [(true, "seen\nmore"), (false, "exit 3\nbad")]);
}

#[test]
fn gemini_reports_texts_and_tools() {
    // Gemini sends neither the output nor the exit code of a command to its client.
    assert_reported(Agent::Gemini, [(true, ""), (true, "")]);
}
