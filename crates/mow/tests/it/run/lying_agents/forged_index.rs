//! Tests forged index entries, which make git believe that a changed file is unchanged.

use mow_testkit::planned_project::{plan, task};

use super::*;

/// A script that forges the index entry of a file. With a second argument it sets the blob id,
/// otherwise it copies the current stat data, so that git takes the file for unchanged.
const FORGE: &str = r#"const fs = require("fs"), run = require("child_process").execSync;
const [file, object] = process.argv.slice(2), say = (line) => run(line).toString().trim();
const path = say("git rev-parse --git-dir") + "/index", bytes = fs.readFileSync(path);
const entry = bytes.indexOf(Buffer.from(file + "\0")) - 62;
if (object) Buffer.from(object, "hex").copy(bytes, entry + 40);
else {
  const about = fs.statSync(file, { bigint: true }), second = 1000000000n;
  const numbers = [about.ctimeNs / second, about.ctimeNs % second, about.mtimeNs / second,
    about.mtimeNs % second, about.dev, about.ino];
  numbers.forEach((n, at) => bytes.writeUInt32BE(Number(n & 0xffffffffn), entry + 4 * at));
  bytes.writeUInt32BE(Number(about.size), entry + 36);
}
const body = bytes.subarray(0, -20);
require("crypto").createHash("sha1").update(body).digest().copy(bytes, body.length);
fs.writeFileSync(path, bytes);
const later = Date.now() / 1000 + 60;
fs.utimesSync(path, later, later);
"#;

/// Edits the test so that it always passes, and hides the edit from git.
const FORGE_PASSING_TEST: &str = "echo true > tests/grow.sh; node ../../forge.js tests/grow.sh";

/// Makes a project with a configuration and with the forging script.
fn project_with_forge_script(
    config: &serde_json::Value,
    phases: &[PhaseFixture],
) -> PlannedProject {
    let config = config.to_string();
    let project = project_with_config(&config[1..config.len() - 1], phases);
    project.write("tests/grow.sh", "grep -q rye crop\n");
    project.git(&["add", "--all"]);
    project.git(&["commit", "-q", "-m", "Tests"]);
    project.write("forge.js", FORGE);
    project
}

fn executor_config(executor: &str) -> serde_json::Value {
    serde_json::json!({ "roles": { "executor": { "command": executor } } })
}

#[test]
fn an_index_entry_with_another_blob() {
    // Git rereads files whose time is not older than the index, so the file must be older.
    let script = "echo rye > crop; touch -d '1 hour ago' crop; git add crop\n\
         node ../../forge.js crop $(echo weeds | git hash-object -w --stdin)\n\
         git commit -q -m 'feat: sow'";
    assert_refused(
        &project_with_forge_script(&executor_config(script), &[rye_phase(RYE_CHECK)]),
        1,
        "in a fresh checkout of",
    );
}

#[test]
fn an_edited_test() {
    let script = format!("echo weeds > crop; {FORGE_PASSING_TEST}");
    assert_refused(
        &project_with_forge_script(&executor_config(&script), &[rye_phase(RYE_CHECK)]),
        1,
        "in a fresh checkout of",
    );
}

#[test]
fn a_test_edited_by_a_script_that_a_check_runs() {
    let script =
        format!("test $MOW_TASK = 2 || echo '{FORGE_PASSING_TEST}' > build.sh; echo weeds >> crop");
    let two = phase("1", &[]).with(plan_with_checks("crop, build.sh", &["sh build.sh", RYE_CHECK]));
    assert_refused(
        &project_with_forge_script(&executor_config(&script), &[two]),
        1,
        "in a fresh checkout of",
    );
}

#[test]
fn a_test_edited_by_another_role() {
    let mut config = executor_config("echo weeds > crop");
    let research = format!("{FORGE_PASSING_TEST}; echo found > $MOW_RESEARCH_FILE");
    config["roles"]["researcher"] = serde_json::json!({ "command": research });
    config["workflow"] = serde_json::json!({ "research": true });
    assert_refused(
        &project_with_forge_script(&config, &[rye_phase(RYE_CHECK)]),
        1,
        "in a fresh checkout of",
    );
}

#[test]
fn an_edited_test_that_verifies_the_merged_tree() {
    let mut config = executor_config(&format!("echo weeds > crop; {FORGE_PASSING_TEST}"));
    config["multi_phase"] = serde_json::json!({ "verify": RYE_CHECK });
    assert_refused(
        &project_with_forge_script(&config, &[rye_phase(ALWAYS_PASSES)]),
        5,
        "fails on the merged tree",
    );
}

#[test]
fn a_test_edited_by_the_conflict_resolver() {
    let resolver_script = format!("echo weeds > crop; git add crop; {FORGE_PASSING_TEST}");
    let config =
        serde_json::json!({ "roles": { "conflict-resolver": { "command": resolver_script } } });
    let phase_writing = |number: &str, crop: &str| {
        let task = task(&format!("echo {crop} > crop")).check(RYE_CHECK);
        phase(number, &[]).with(plan(vec![task]))
    };
    let project = project_with_forge_script(
        &config,
        &[phase_writing("1", "rye"), phase_writing("2", "rye and oats")],
    );
    let output = project.exits_with(&ALL, 5);
    assert!(output.contains("did not resolve it, it hid changes from git"), "{output}");
    assert_eq!(project.git(&["show", "main:crop"]), "rye\n");
}
