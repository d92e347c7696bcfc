//! Tests `mow doctor`: each problem is found and reported with its place and advice.

use std::fs;

use mow_testkit::sandbox::Sandbox;
use serde_json::Value;

use crate::sandbox;

fn initialized_project() -> Sandbox {
    let project = sandbox();
    project.git("", &["init", "-q"]);
    let _ = project.call(["init", "--yes"]).run().stdout_on_success();
    project
}

/// Returns exit code and report of `mow doctor`. PATH is `../bin` and the system directories.
fn report(project: &Sandbox, arguments: &[&str]) -> (Option<i32>, Value) {
    let bin = project.root().join("../bin");
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display());
    let ran = project.call([&["doctor", "--json"], arguments].concat()).env("PATH", path).run();
    assert!(ran.stderr.is_empty(), "{}", ran.transcript());
    (ran.status.code(), serde_json::from_str(&ran.stdout).expect("the report is JSON"))
}

fn check<'a>(report: &'a Value, part: &str, name: &str) -> &'a Value {
    let checks = report[part].as_array().expect("both parts are lists");
    checks.iter().find(|check| check["check"] == name).unwrap_or_else(|| panic!("{name}: {report}"))
}

#[test]
fn a_healthy_project_passes() {
    let project = initialized_project();
    let (code, report) = report(&project, &[]);
    assert_eq!(code, Some(0), "{report}");
    assert_eq!(report["ok"], true);
    for name in ["git", "locks", "disk", "wt"] {
        assert_eq!(check(&report, "machine", name)["level"], "ok", "{name}: {report}");
    }
    assert_eq!(check(&report, "machine", "identity")["level"], "warn");
    let text = project.call(["doctor"]).env("COLUMNS", "60").run().stdout_on_success();
    assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    assert!(text.contains("git config --global user.name"), "{text}");
}

#[test]
fn a_problem_in_the_planning_files_is_reported_with_its_place() {
    let cases = [
        ("config.json", "{ \"mode\": }", "config", "fail", "config.json: "),
        ("config.json", "{ \"modell\": 1 }", "config", "ok", "modell"),
        ("config.json", "{ \"worker\": { \"gate\": 1 } }", "config", "warn", "worker.gate"),
        ("config.json", "{ \"granularity\": 1 }", "config", "ok", "every key is known"),
        (
            "ROADMAP.md",
            "### Phase 1: A\n**Depends on:** Phase 2\n### Phase 2: B\n**Depends on:** Phase 1\n",
            "roadmap",
            "fail",
            "ycl",
        ),
        (
            "ROADMAP.md",
            "### Phase 1: A\n**Depends on:** Phase 7\n",
            "references",
            "warn",
            "phase 1 depends on phase 7",
        ),
        ("STATE.md", "# State\n\n**Current Phase:** 9\n", "state", "warn", "phase 9"),
        (
            "phases/01-first-steps/01-01-PLAN.md",
            "---\nphase: 1\nwave: [1\n---\n",
            "documents",
            "warn",
            ".planning/phases/01-first-steps/01-01-PLAN.md:3: ",
        ),
        (
            "ROADMAP.md",
            "- [x] **Phase 1: A**\n\n### Phase 1: A\n\n| Phase | Plans Complete | Status | Completed |\n|---|---|---|---|\n| 1. A | 0/1 | In Progress |  |\n",
            "contradictions",
            "warn",
            "ROADMAP.md:",
        ),
    ];
    for (file, content, name, level, words) in cases {
        let project = initialized_project();
        project.write(&format!(".planning/{file}"), content);
        let (code, report) = report(&project, &[]);
        let check = check(&report, "plan", name);
        assert_eq!(check["level"], level, "{file}: {report}");
        assert!(check.to_string().contains(words), "{words}: {check}");
        assert_eq!(code, Some(i32::from(level == "fail")), "{report}");
    }
}

#[test]
fn missing_files_fail_with_the_command_that_writes_them() {
    let project = sandbox().file(".planning/PROJECT.md", "# P\n");
    let (code, report) = report(&project, &[]);
    assert_eq!(code, Some(1));
    let files = check(&report, "plan", "files");
    assert!(files["message"].as_str().unwrap().contains("ROADMAP.md"));
    assert_eq!(files["advice"][0], "mow init --missing");
}

#[test]
fn agents_in_the_path_are_shown_with_their_version() {
    let project = initialized_project();
    let bin = project.root().with_file_name("bin");
    for (name, body) in [("claude", "echo '9.9.9 (Claude Code)'"), ("wt", "echo 'wt 0.9'")] {
        project.write(&format!("../bin/{name}"), format!("#!/bin/sh\n{body}\n"));
        mow_testkit::sandbox::make_executable(&bin.join(name));
    }
    let (_, report) = report(&project, &[]);
    let agent = check(&report, "machine", "agent");
    assert_eq!(agent["message"], "claude: 9.9.9 (Claude Code), not logged in");
    assert_eq!(agent["level"], "ok");
    assert_eq!(check(&report, "machine", "wt")["message"], "wt (WorkTrunk): wt 0.9");
}

#[test]
fn an_agent_with_a_role_must_be_installed_and_logged_in() {
    let project = initialized_project();
    let roles = r#"{ "roles": { "default": { "agent": "claude" } } }"#;
    project.write(".planning/config.json", roles);
    let (code, before) = report(&project, &[]);
    let all = before["machine"].as_array().unwrap();
    let missing = all.iter().find(|check| check["level"] == "fail").unwrap();
    assert_eq!(code, Some(1));
    assert_eq!(missing["message"], "a role uses claude, but `claude` is not installed");
    assert_eq!(missing["advice"][0], "npm install -g @anthropic-ai/claude-code");
    let bin = project.root().with_file_name("bin");
    project.write("../bin/claude", "#!/bin/sh\necho 9.9.9\n");
    mow_testkit::sandbox::make_executable(&bin.join("claude"));
    let (code, after) = report(&project, &[]);
    let agent = check(&after, "machine", "agent");
    assert_eq!((code, agent["level"].as_str()), (Some(0), Some("warn")));
    assert!(agent["advice"][0].as_str().unwrap().contains("/login"), "{agent}");
}

#[test]
fn a_project_configured_for_wt_needs_it_installed() {
    let project = initialized_project();
    project.write(".planning/config.json", r#"{ "worktree": { "backend": "wt" } }"#);
    let (code, report) = report(&project, &[]);
    assert_eq!((code, check(&report, "machine", "wt")["level"].as_str()), (Some(1), Some("fail")));
}

#[test]
fn leftovers_are_reported_and_removed_only_when_asked() {
    let project = initialized_project();
    let stray = ".planning/phases/01-first-steps/.mow-tmp-1-2";
    project.write(stray, "half");
    let (code, found) = report(&project, &[]);
    assert_eq!(
        (code, check(&found, "plan", "leftovers")["level"].as_str()),
        (Some(0), Some("warn"))
    );
    assert_eq!(project.text(stray), "half");
    let (_, fixed) = report(&project, &["--fix"]);
    assert_eq!(check(&fixed, "plan", "leftovers")["message"], "removed 1 temporary file");
    assert!(!project.root().join(stray).exists());
}

#[test]
fn outside_of_a_project_doctor_changes_nothing() {
    let project = sandbox();
    let (code, report) = report(&project, &[]);
    assert_eq!((code, report["plan"][0]["check"].as_str()), (Some(0), Some("planning")));
    assert!(fs::read_dir(project.root()).unwrap().next().is_none());
}
