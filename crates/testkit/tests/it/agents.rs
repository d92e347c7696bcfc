//! Each real agent performs the same script with its own tools, and contacts only the scripted model.

use mow_testkit::agents::{Agent, Agents};
use mow_testkit::llm::{Protocol, Request, Script, ScriptedLlm, Step};
use mow_testkit::program_call::ProgramCall;
use mow_testkit::sandbox::Sandbox;

/// The arguments for one prompt without a person, with whatever lets the agent write and run.
fn arguments(agent: Agent, prompt: &str) -> Vec<String> {
    let line = match agent {
        Agent::Claude => {
            "-p PROMPT --output-format stream-json --verbose --permission-mode acceptEdits \
             --allowedTools Bash --model MODEL"
        }
        Agent::Codex => "exec --json --sandbox workspace-write PROMPT",
        Agent::Gemini => "-p PROMPT -m MODEL -o stream-json --approval-mode yolo --skip-trust",
        Agent::OpenCode => "run --format json PROMPT",
    };
    let word = |word: &str| match word {
        "PROMPT" => prompt.to_owned(),
        "MODEL" => agent.model().to_owned(),
        word => word.to_owned(),
    };
    line.split_whitespace().map(word).collect()
}

/// The command that ends an agent that hangs.
const WITH_TIMEOUT: &[&str] = &["timeout", "--kill-after=5", "300"];

/// A call of an agent by another program, or by none.
fn call(
    sandbox: &Sandbox,
    llm: &ScriptedLlm,
    agent: Agent,
    by: &[&str],
    words: &[String],
) -> ProgramCall {
    let agents = Agents::find();
    let program = agents.program(agent).to_string_lossy().into_owned();
    let by = by.iter().map(|&word| word.to_owned());
    let call = sandbox.call(by.chain([program]).chain(words.iter().cloned()));
    let environment = agents.environment(agent, llm, &sandbox.home());
    environment.into_iter().fold(call, |call, (name, value)| call.env(&name, value))
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new("env");
    sandbox.git(".", &["init", "-q"]);
    sandbox
}

/// Lets an agent do the script and returns the requests that belong to it.
fn work(agent: Agent) -> Vec<Request> {
    let llm = ScriptedLlm::start([Script::new("work")
        .step(Step {
            text: "I begin.".to_owned(),
            ..Step::write("made/${name}.txt", "it's made\n")
        })
        .step(Step::sh("cat made/${name}.txt > copy.txt; echo \"copied $?\""))
        .says("The end: ${last_tool_result}")]);
    let sandbox = sandbox();
    let words = arguments(agent, "Do it. [[script:work]] [[name=thing]]");
    let ran = call(&sandbox, &llm, agent, WITH_TIMEOUT, &words).run();
    let requests = llm.requests();
    let about = format!("{}\n{}", ran.transcript(), llm.transcript());
    assert!(ran.status.success(), "{about}");
    for path in ["made/thing.txt", "copy.txt"] {
        let bytes = sandbox.files().remove(path);
        assert_eq!(bytes.as_deref(), Some(&b"it's made\n"[..]), "{path}: {about}");
    }
    assert!(ran.stdout.contains("The end: ") && ran.stdout.contains("copied 0"), "{about}");
    for request in &requests {
        assert!(request.path.starts_with('/'), "reaches out: {about}");
        assert!(request.refused.is_none() && request.has_auth, "{about}");
    }
    let (scripted, aside): (Vec<_>, Vec<_>) =
        requests.into_iter().partition(|request| request.script.is_some());
    let steps: Vec<_> = scripted.iter().map(|request| request.step).collect();
    assert_eq!(steps, [0, 1, 2], "{about}");
    assert!(aside.iter().all(|request| request.tools.is_empty()), "{about}");
    assert!(scripted.iter().all(|request| request.user.contains("Do it.")), "{about}");
    assert!(scripted[2].results[1].contains("copied 0"), "{about}");
    scripted
}

/// Checks what is known of an agent: its protocol, its path, and the tools that write and run.
#[track_caller]
fn check(agent: Agent, protocol: Protocol, path: &str, tools: [&str; 2]) {
    for request in work(agent) {
        assert_eq!((request.protocol, request.path.as_str()), (Some(protocol), path));
        for tool in tools {
            assert!(request.tools.iter().any(|name| name == tool), "{:?}", request.tools);
        }
        // How a model is called within the agent is its own business.
        assert!(agent.model().ends_with(&request.model), "{}", request.model);
    }
}

#[test]
fn claude_code() {
    check(Agent::Claude, Protocol::Anthropic, "/v1/messages?beta=true", ["Write", "Bash"]);
}

#[test]
fn codex() {
    check(Agent::Codex, Protocol::Responses, "/v1/responses", ["apply_patch", "exec_command"]);
}

#[test]
fn gemini_cli() {
    let path = "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse";
    check(Agent::Gemini, Protocol::Gemini, path, ["write_file", "run_shell_command"]);
}

#[test]
fn open_code() {
    check(Agent::OpenCode, Protocol::Chat, "/v1/chat/completions", ["write", "bash"]);
}
