//! Lies in git's index: it says of a file that it is known and unchanged, and that is not so.

use mow_testkit::field::{plan, task};

use super::*;

/// Sets what an index says of a file: `object` for its content, or all but that to what it is now.
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

/// Lets a test pass whatever was sown, unseen by git.
const PASS: &str = "echo true > tests/grow.sh; node ../../forge.js tests/grow.sh";

/// A field where somebody can forge, with settings.
fn forged(config: &serde_json::Value, phases: &[Phase]) -> Field {
    let config = config.to_string();
    let field = field_with(&config[1..config.len() - 1], phases);
    field.write("tests/grow.sh", "grep -q rye crop\n");
    field.git(&["add", "--all"]);
    field.git(&["commit", "-q", "-m", "Tests"]);
    field.write("forge.js", FORGE);
    field
}

fn by(executor: &str) -> serde_json::Value {
    serde_json::json!({ "roles": { "executor": { "command": executor } } })
}

#[test]
fn another_content() {
    // What was written in the second of the index would be read by git.
    let script = "echo rye > crop; touch -d '1 hour ago' crop; git add crop\n\
         node ../../forge.js crop $(echo weeds | git hash-object -w --stdin)\n\
         git commit -q -m 'feat: sow'";
    refused(&forged(&by(script), &[rye(GROWN)]), 1, "in a fresh checkout of");
}

#[test]
fn a_test_that_was_edited() {
    let script = format!("echo weeds > crop; {PASS}");
    refused(&forged(&by(&script), &[rye(GROWN)]), 1, "in a fresh checkout of");
}

#[test]
fn a_test_that_was_edited_by_what_a_check_runs() {
    let script = format!("test $MOW_TASK = 2 || echo '{PASS}' > build.sh; echo weeds >> crop");
    let two = phase("1", &[]).with(plan_of("crop, build.sh", &["sh build.sh", GROWN]));
    refused(&forged(&by(&script), &[two]), 1, "in a fresh checkout of");
}

#[test]
fn a_test_that_was_edited_by_another_role() {
    let mut config = by("echo weeds > crop");
    let research = format!("{PASS}; echo found > $MOW_RESEARCH_FILE");
    config["roles"]["researcher"] = serde_json::json!({ "command": research });
    config["workflow"] = serde_json::json!({ "research": true });
    refused(&forged(&config, &[rye(GROWN)]), 1, "in a fresh checkout of");
}

#[test]
fn a_test_that_the_merge_is_checked_by() {
    let mut config = by(&format!("echo weeds > crop; {PASS}"));
    config["multi_phase"] = serde_json::json!({ "verify": GROWN });
    refused(&forged(&config, &[rye(NOTHING)]), 5, "fails on the merged tree");
}

#[test]
fn a_test_that_was_edited_by_who_settles_conflicts() {
    let settles = format!("echo weeds > crop; git add crop; {PASS}");
    let config = serde_json::json!({ "roles": { "conflict-resolver": { "command": settles } } });
    let sows = |number: &str, crop: &str| {
        let task = task(&format!("echo {crop} > crop")).check(GROWN);
        phase(number, &[]).with(plan(vec![task]))
    };
    let field = forged(&config, &[sows("1", "rye"), sows("2", "rye and oats")]);
    let said = field.ends(&ALL, 5);
    assert!(said.contains("did not settle it, it hid changes from git"), "{said}");
    assert_eq!(field.git(&["show", "main:crop"]), "rye\n");
}
