//! Tests crashes at every failpoint in lead, workers and commands of people.
//!
//! The final state must equal that of an undisturbed run. The failpoints are read from the source;
//! a point that no scene passes fails the test. `MOW_FAILPOINTS` sets the amount: `lead` (each
//! point in the lead, the default), `all` (each process that passes a point, and lead and worker
//! together), `soak` (in every scene, at several passes, many pairs). `MOW_FAILPOINT_CASE` runs one
//! case; a failing case prints it.

mod scene_runner;
mod scenes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;

use failpoint::{KillPoint, ProcessRole, source};
use mow_testkit::seeded_rng::SeededRng;

use scene_runner::SceneRunner;
use scenes::{SCENES, Scene};

/// The number of cases that run at the same time.
const PARALLEL_CASES: usize = 2;
/// The maximum number of cases for a point that is only passed during recovery from a crash.
const RECOVERIES_MAX: usize = 4;
/// The number of pairs of crashes in the tiers `all` and `soak`.
const PAIRS_IN_ALL: usize = 20;
const PAIRS_IN_SOAK: usize = 400;
/// The passes of journal points at which a process is killed. Every decision passes them.
const JOURNAL_HITS: [u32; 3] = [1, 4, 9];

/// The set of cases to run, from `MOW_FAILPOINTS`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    Lead,
    All,
    Soak,
}

/// Names of failpoints with the role of a process that passed them.
type PassedPoints = BTreeSet<(String, ProcessRole)>;

/// A scene and the points at which processes are killed in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Case {
    scene: usize,
    kill_points: Vec<KillPoint>,
}

impl fmt::Display for Case {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", SCENES[self.scene].name)?;
        self.kill_points.iter().try_for_each(|kill_point| write!(formatter, " {kill_point}"))
    }
}

impl Case {
    fn one(scene: usize, point: &str, roles: &[ProcessRole], hit: u32) -> Self {
        let (point, roles) = (point.to_owned(), roles.to_vec());
        Self { scene, kill_points: vec![KillPoint { point, roles, hit }] }
    }

    /// Parses the output of [`fmt::Display`].
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let name = words.next()?;
        let scene = SCENES.iter().position(|scene| scene.name == name)?;
        Some(Self { scene, kill_points: words.map(KillPoint::parse).collect() })
    }

    /// Returns this case with one more kill point at the end.
    fn then(&self, (point, role): &(String, ProcessRole)) -> Self {
        let mut more = self.clone();
        more.kill_points.push(KillPoint { point: point.clone(), roles: vec![*role], hit: 1 });
        more
    }
}

/// A scene that ran without kills: the expected result and the points it passed.
struct UndisturbedScene {
    runner: SceneRunner,
    final_state: BTreeMap<String, String>,
    passed: PassedPoints,
}

impl UndisturbedScene {
    fn record(Scene { setup, run, .. }: &Scene) -> Self {
        let runner = SceneRunner::new(setup(), Vec::new());
        run(&runner);
        runner.project.assert_consistent();
        let (final_state, mut passed) = (runner.project.normalized_state(), runner.passed());
        // Whether a lead that the scene kills was writing at that moment is chance. The successor
        // of a lead that died there passes these points for sure.
        passed.retain(|(point, _)| point != "disk.cleared" && point != "lead.reopened");
        Self { runner, final_state, passed }
    }
}

/// Runs a case and compares the result with the undisturbed scene. Returns the points that were
/// passed, and the kill points at which no process died.
fn run_case(case: &Case, undisturbed: &UndisturbedScene) -> (PassedPoints, Vec<String>) {
    let Scene { setup, run, .. } = SCENES[case.scene];
    let disturbed = SceneRunner::new(setup(), case.kill_points.clone());
    run(&disturbed);
    disturbed.project.assert_same_result_as(&undisturbed.runner.project);
    let final_state = disturbed.project.normalized_state();
    let names: BTreeSet<_> = final_state.keys().chain(undisturbed.final_state.keys()).collect();
    let mut differing = String::new();
    for name in names {
        let (ours, theirs) = (final_state.get(name), undisturbed.final_state.get(name));
        if ours != theirs {
            differing += &difference(name, theirs, ours);
        }
    }
    assert!(differing.is_empty(), "the result differs from the undisturbed run:\n{differing}");
    (disturbed.passed(), disturbed.unreached_kill_points())
}

/// Runs the cases in order until one reaches all its kill points, and each of them at most twice.
/// Panics if none does, unless `may_miss` is set.
fn run_first_that_dies(
    cases: &[Case],
    undisturbed: &[UndisturbedScene],
    may_miss: bool,
) -> PassedPoints {
    let mut missed = Vec::new();
    for case in cases.iter().chain(cases) {
        let (passed, not_reached) = run_case(case, &undisturbed[case.scene]);
        if not_reached.is_empty() || may_miss {
            return passed;
        }
        missed = not_reached;
    }
    panic!("no process died at {missed:?}");
}

/// Lists the lines that only one of two texts has.
fn difference(name: &str, undisturbed: Option<&String>, disturbed: Option<&String>) -> String {
    let (Some(undisturbed), Some(disturbed)) = (undisturbed, disturbed) else {
        let which = if undisturbed.is_some() { "is missing" } else { "should not be there" };
        return format!("{name} {which}\n");
    };
    let mut text = format!("{name}:\n");
    let (mut old, mut new): (Vec<_>, Vec<_>) =
        (undisturbed.lines().collect(), disturbed.lines().collect());
    new.retain(|line| match old.iter().position(|other| other == line) {
        Some(at) => {
            old.remove(at);
            false
        }
        None => true,
    });
    if old.is_empty() && new.is_empty() {
        text += "  the same lines in another order\n";
    }
    old.iter().for_each(|line| text += &format!("  - {line}\n"));
    new.iter().for_each(|line| text += &format!("  + {line}\n"));
    text
}

/// Calls a function for all items, [`PARALLEL_CASES`] at a time. A panic becomes an `Err` with its
/// text.
fn run_in_parallel<I: Sync, T: Send>(
    items: &[I],
    act: impl Fn(&I) -> T + Sync,
) -> Vec<Result<T, String>> {
    let next = Mutex::new(0);
    let done = Mutex::new(Vec::new());
    let work = || loop {
        let at = {
            let mut next = next.lock().expect("no thread panics with the lock held");
            *next += 1;
            *next - 1
        };
        let Some(item) = items.get(at) else { return };
        let outcome = catch_unwind(AssertUnwindSafe(|| act(item))).map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
                .unwrap_or_default()
        });
        done.lock().expect("no thread panics with the lock held").push((at, outcome));
    };
    std::thread::scope(|scope| (0..PARALLEL_CASES).for_each(|_| drop(scope.spawn(work))));
    let mut done = done.into_inner().expect("no thread panics with the lock held");
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

/// Runs one case of each list. Returns the points that each passed, and the failures.
fn run_all_cases(
    cases: &[Vec<Case>],
    undisturbed: &[UndisturbedScene],
    may_miss: bool,
) -> (Vec<(Case, PassedPoints)>, Vec<String>) {
    let outcomes =
        run_in_parallel(cases, |cases| run_first_that_dies(cases, undisturbed, may_miss));
    let (mut passed, mut failed) = (Vec::new(), Vec::new());
    for (cases, outcome) in cases.iter().zip(outcomes) {
        let case = cases.first().expect("there is at least one");
        match outcome {
            Ok(points) => passed.push((case.clone(), points)),
            Err(why) => failed.push(format!(
                "{why}\nTo repeat it: MOW_FAILPOINT_CASE='{case}' cargo test -p mow --test it \
                 run::failpoints\n"
            )),
        }
    }
    (passed, failed)
}

/// Returns the cases in which one process dies, or lead and worker at the same point.
fn single_cases(tier: Tier, undisturbed: &[UndisturbedScene]) -> Vec<Vec<Case>> {
    let mut cases = BTreeSet::new();
    let all_passed: PassedPoints =
        undisturbed.iter().flat_map(|undisturbed| undisturbed.passed.clone()).collect();
    let scenes_of = |point: &str, roles: &[ProcessRole]| {
        let pass = |scene: &usize| {
            let passed = &undisturbed[*scene].passed;
            roles.iter().all(|role| passed.contains(&(point.to_owned(), *role)))
        };
        let count = if tier == Tier::Soak { SCENES.len() } else { 1 };
        (0..SCENES.len()).filter(pass).take(count).collect::<Vec<_>>()
    };
    for (point, role) in &all_passed {
        if tier == Tier::Lead && *role != ProcessRole::Lead {
            continue;
        }
        for scene in scenes_of(point, &[*role]) {
            cases.insert(Case::one(scene, point, &[*role], 1));
            if point.starts_with("journal.append.") && *role != ProcessRole::Person {
                cases.extend(JOURNAL_HITS.map(|hit| Case::one(scene, point, &[*role], hit)));
            }
        }
        if tier > Tier::Lead && *role == ProcessRole::Lead {
            let both = [ProcessRole::Lead, ProcessRole::Worker];
            let scenes = scenes_of(point, &both).into_iter();
            cases.extend(scenes.map(|scene| Case::one(scene, point, &both, 1)));
        }
    }
    cases.into_iter().map(|case| vec![case]).collect()
}

/// Returns cases for each point that is only passed during recovery from a crash.
///
/// Whether a recovery passes the point may be chance, so there are several cases per point.
fn recovery_cases(known: &PassedPoints, done_cases: &[(Case, PassedPoints)]) -> Vec<Vec<Case>> {
    let mut cases: BTreeMap<_, Vec<Case>> = BTreeMap::new();
    for (case, passed) in done_cases {
        for second in passed.difference(known) {
            cases.entry(second.clone()).or_default().push(case.then(second));
        }
    }
    cases.into_values().map(|cases| cases.into_iter().take(RECOVERIES_MAX).collect()).collect()
}

/// Returns random cases with two crashes: one in the scene, and one in the process that resumes.
fn sampled_pairs(count: usize, done_cases: &[(Case, PassedPoints)]) -> Vec<Vec<Case>> {
    let mut rng = SeededRng::new(count as u64);
    let mut pairs = BTreeSet::new();
    for _ in 0..count * 10 {
        if pairs.len() == count {
            break;
        }
        let (case, passed) = &done_cases[rng.below(done_cases.len() as u64) as usize];
        let second = passed.iter().nth(rng.below(passed.len() as u64) as usize);
        pairs
            .extend(second.filter(|_| case.kill_points.len() == 1).map(|second| case.then(second)));
    }
    pairs.into_iter().map(|pair| vec![pair]).collect()
}

fn tier() -> Tier {
    match std::env::var("MOW_FAILPOINTS").as_deref() {
        Err(_) | Ok("lead") => Tier::Lead,
        Ok("all") => Tier::All,
        Ok("soak") => Tier::Soak,
        Ok(other) => panic!("MOW_FAILPOINTS={other} is none of lead, all, soak"),
    }
}

#[test]
fn a_crash_at_any_failpoint_loses_nothing_and_repeats_nothing() {
    if let Ok(text) = std::env::var("MOW_FAILPOINT_CASE") {
        let case = Case::parse(&text).expect("a case as this test prints it");
        let (_, missed) = run_case(&case, &UndisturbedScene::record(&SCENES[case.scene]));
        assert!(missed.is_empty(), "no process died at {missed:?}");
        return;
    }
    let tier = tier();
    let undisturbed = run_in_parallel(&SCENES, UndisturbedScene::record);
    let undisturbed: Vec<_> = undisturbed
        .into_iter()
        .map(|undisturbed| undisturbed.expect("the undisturbed scene succeeds"))
        .collect();
    let mut known: PassedPoints =
        undisturbed.iter().flat_map(|undisturbed| undisturbed.passed.clone()).collect();
    let (mut done_cases, mut failed) =
        run_all_cases(&single_cases(tier, &undisturbed), &undisturbed, false);
    let recoveries = recovery_cases(&known, &done_cases);
    known.extend(done_cases.iter().flat_map(|(_, passed)| passed.clone()));
    let (more, why) = run_all_cases(&recoveries, &undisturbed, false);
    done_cases.extend(more);
    failed.extend(why);
    let count = match tier {
        Tier::Lead => 0,
        Tier::All => PAIRS_IN_ALL,
        Tier::Soak => PAIRS_IN_SOAK,
    };
    let (pairs, why) = run_all_cases(&sampled_pairs(count, &done_cases), &undisturbed, true);
    failed.extend(why);
    // Drop the runners now, or a panic below would print their transcripts, too.
    drop(undisturbed);
    // Read at run time, because several clones may share one target directory.
    let crate_dir = std::env::var("CARGO_MANIFEST_DIR").expect("cargo runs the tests");
    let repository = Path::new(&crate_dir).join("../..");
    let points = source::points(&repository).expect("the source can be read");
    for point in points.iter().filter(|point| !known.iter().any(|(name, _)| *name == point.name)) {
        let source::Failpoint { name, file, line } = point;
        failed.push(format!("{file}:{line}: no process passes the point {name}\n"));
    }
    let count = done_cases.len() + pairs.len() + failed.len();
    println!("{} points, {count} cases, {} failed", points.len(), failed.len());
    assert!(failed.is_empty(), "{} of {count} failed:\n\n{}", failed.len(), failed.join("\n"));
}
