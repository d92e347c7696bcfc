//! Lead, workers and people's commands die at every named point; the same command goes on. What is
//! left in the end is what an undisturbed run leaves.
//!
//! The points come from the source: one that nobody passes fails the test. How much is tried is said
//! by `MOW_FAILPOINTS`: `lead` (each point in the lead; the default), `all` (in each process that
//! passes it, and in lead and worker both), `soak` (in every scene, at several passes, many pairs).
//! `MOW_FAILPOINT_CASE` tries one case alone; a case that fails prints it.

mod play;
mod scenes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;

use failpoint::{Blow, Role, source};
use mow_testkit::dice::Dice;

use play::Play;
use scenes::{SCENES, Scene};

/// How many cases run at a time.
const SIDE_BY_SIDE: usize = 2;
/// How many cases there are for a point that is only passed when somebody has died before.
const RECOVERIES_MAX: usize = 4;
/// How many pairs of deaths are tried, where any are.
const PAIRS_IN_ALL: usize = 20;
const PAIRS_IN_SOAK: usize = 400;
/// Which passes of the journal's points are died at: it is written all the time.
const JOURNAL_HITS: [u32; 3] = [1, 4, 9];

/// How much is tried.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    Lead,
    All,
    Soak,
}

/// Who passed which points.
type Passed = BTreeSet<(String, Role)>;

/// A scene, and who dies in it where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Case {
    scene: usize,
    blows: Vec<Blow>,
}

impl fmt::Display for Case {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", SCENES[self.scene].name)?;
        self.blows.iter().try_for_each(|blow| write!(formatter, " {blow}"))
    }
}

impl Case {
    fn one(scene: usize, point: &str, roles: &[Role], hit: u32) -> Self {
        let (point, roles) = (point.to_owned(), roles.to_vec());
        Self { scene, blows: vec![Blow { point, roles, hit }] }
    }

    /// Reads what [`fmt::Display`] writes.
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let name = words.next()?;
        let scene = SCENES.iter().position(|scene| scene.name == name)?;
        Some(Self { scene, blows: words.map(Blow::parse).collect() })
    }

    /// The same with one more death behind it.
    fn then(&self, (point, role): &(String, Role)) -> Self {
        let mut more = self.clone();
        more.blows.push(Blow { point: point.clone(), roles: vec![*role], hit: 1 });
        more
    }
}

/// What is known of a scene that nobody disturbed.
struct Quiet {
    play: Play,
    picture: BTreeMap<String, String>,
    passed: Passed,
}

impl Quiet {
    fn play(Scene { plant, play, .. }: &Scene) -> Self {
        let quiet = Play::new(plant(), Vec::new());
        play(&quiet);
        quiet.field.inspect();
        let (picture, mut passed) = (quiet.field.picture(), quiet.passed());
        // Whether a lead that a scene kills was just writing, or doing anything, is chance. These
        // points are passed for sure by whoever follows one that died there.
        passed.retain(|(point, _)| point != "disk.cleared" && point != "lead.reopened");
        Self { play: quiet, picture, passed }
    }
}

/// Plays a case and compares; returns who passed which points, and where nobody died.
fn play(case: &Case, quiet: &Quiet) -> (Passed, Vec<String>) {
    let Scene { plant, play, .. } = SCENES[case.scene];
    let disturbed = Play::new(plant(), case.blows.clone());
    play(&disturbed);
    disturbed.field.equals(&quiet.play.field);
    let picture = disturbed.field.picture();
    let names: BTreeSet<_> = picture.keys().chain(quiet.picture.keys()).collect();
    let mut differing = String::new();
    for name in names {
        let (ours, theirs) = (picture.get(name), quiet.picture.get(name));
        if ours != theirs {
            differing += &difference(name, theirs, ours);
        }
    }
    assert!(differing.is_empty(), "it is not as after an undisturbed run:\n{differing}");
    (disturbed.passed(), disturbed.missed())
}

/// Plays the first of some cases, and the next where nobody died, and all of them once more; the last
/// must not miss unless that does not matter.
fn play_one_of(cases: &[Case], quiet: &[Quiet], may_miss: bool) -> Passed {
    let mut missed = Vec::new();
    for case in cases.iter().chain(cases) {
        let (passed, none) = play(case, &quiet[case.scene]);
        if none.is_empty() || may_miss {
            return passed;
        }
        missed = none;
    }
    panic!("nobody died at {missed:?}");
}

/// Shows the lines of which one of two texts has more than the other.
fn difference(name: &str, quiet: Option<&String>, disturbed: Option<&String>) -> String {
    let (Some(quiet), Some(disturbed)) = (quiet, disturbed) else {
        let which = if quiet.is_some() { "is missing" } else { "should not be there" };
        return format!("{name} {which}\n");
    };
    let mut text = format!("{name}:\n");
    let (mut old, mut new): (Vec<_>, Vec<_>) =
        (quiet.lines().collect(), disturbed.lines().collect());
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

/// Does something for all items, a few at a time; whoever panics has only failed.
fn side_by_side<I: Sync, T: Send>(
    items: &[I],
    act: impl Fn(&I) -> T + Sync,
) -> Vec<Result<T, String>> {
    let next = Mutex::new(0);
    let done = Mutex::new(Vec::new());
    let work = || loop {
        let at = {
            let mut next = next.lock().expect("nobody panics here");
            *next += 1;
            *next - 1
        };
        let Some(item) = items.get(at) else { return };
        let outcome = catch_unwind(AssertUnwindSafe(|| act(item))).map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
                .unwrap_or_default()
        });
        done.lock().expect("nobody panics here").push((at, outcome));
    };
    std::thread::scope(|scope| (0..SIDE_BY_SIDE).for_each(|_| drop(scope.spawn(work))));
    let mut done = done.into_inner().expect("nobody panics here");
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

/// Plays one of each list of cases; returns what each passed, and why some failed.
fn try_all(
    cases: &[Vec<Case>],
    quiet: &[Quiet],
    may_miss: bool,
) -> (Vec<(Case, Passed)>, Vec<String>) {
    let outcomes = side_by_side(cases, |cases| play_one_of(cases, quiet, may_miss));
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

/// The cases in which one process dies, or lead and worker.
fn single_cases(tier: Tier, quiet: &[Quiet]) -> Vec<Vec<Case>> {
    let mut cases = BTreeSet::new();
    let everywhere: Passed = quiet.iter().flat_map(|quiet| quiet.passed.clone()).collect();
    let scenes_of = |point: &str, roles: &[Role]| {
        let pass = |scene: &usize| {
            let passed = &quiet[*scene].passed;
            roles.iter().all(|role| passed.contains(&(point.to_owned(), *role)))
        };
        let count = if tier == Tier::Soak { SCENES.len() } else { 1 };
        (0..SCENES.len()).filter(pass).take(count).collect::<Vec<_>>()
    };
    for (point, role) in &everywhere {
        if tier == Tier::Lead && *role != Role::Lead {
            continue;
        }
        for scene in scenes_of(point, &[*role]) {
            cases.insert(Case::one(scene, point, &[*role], 1));
            if point.starts_with("journal.append.") && *role != Role::Person {
                cases.extend(JOURNAL_HITS.map(|hit| Case::one(scene, point, &[*role], hit)));
            }
        }
        if tier > Tier::Lead && *role == Role::Lead {
            let both = [Role::Lead, Role::Worker];
            let scenes = scenes_of(point, &both).into_iter();
            cases.extend(scenes.map(|scene| Case::one(scene, point, &both, 1)));
        }
    }
    cases.into_iter().map(|case| vec![case]).collect()
}

/// The points that are only passed when somebody has died before, each with cases for it.
///
/// Whether somebody who goes on has to pass it may be chance, so there are several.
fn recovery_cases(known: &Passed, seen: &[(Case, Passed)]) -> Vec<Vec<Case>> {
    let mut cases: BTreeMap<_, Vec<Case>> = BTreeMap::new();
    for (case, passed) in seen {
        for second in passed.difference(known) {
            cases.entry(second.clone()).or_default().push(case.then(second));
        }
    }
    cases.into_values().map(|cases| cases.into_iter().take(RECOVERIES_MAX).collect()).collect()
}

/// Cases in which somebody dies, and then somebody who goes on.
fn sampled_pairs(count: usize, seen: &[(Case, Passed)]) -> Vec<Vec<Case>> {
    let mut dice = Dice::new(count as u64);
    let mut pairs = BTreeSet::new();
    for _ in 0..count * 10 {
        if pairs.len() == count {
            break;
        }
        let (case, passed) = &seen[dice.below(seen.len() as u64) as usize];
        let second = passed.iter().nth(dice.below(passed.len() as u64) as usize);
        pairs.extend(second.filter(|_| case.blows.len() == 1).map(|second| case.then(second)));
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
fn whoever_dies_at_any_point_leaves_nothing_lost_and_nothing_twice() {
    if let Ok(text) = std::env::var("MOW_FAILPOINT_CASE") {
        let case = Case::parse(&text).expect("it is a case as this test prints it");
        let (_, missed) = play(&case, &Quiet::play(&SCENES[case.scene]));
        assert!(missed.is_empty(), "nobody died at {missed:?}");
        return;
    }
    let tier = tier();
    let quiet = side_by_side(&SCENES, Quiet::play);
    let quiet: Vec<_> = quiet.into_iter().map(|quiet| quiet.expect("nobody disturbs it")).collect();
    let mut known: Passed = quiet.iter().flat_map(|quiet| quiet.passed.clone()).collect();
    let (mut seen, mut failed) = try_all(&single_cases(tier, &quiet), &quiet, false);
    let recoveries = recovery_cases(&known, &seen);
    known.extend(seen.iter().flat_map(|(_, passed)| passed.clone()));
    let (more, why) = try_all(&recoveries, &quiet, false);
    seen.extend(more);
    failed.extend(why);
    let count = match tier {
        Tier::Lead => 0,
        Tier::All => PAIRS_IN_ALL,
        Tier::Soak => PAIRS_IN_SOAK,
    };
    let (pairs, why) = try_all(&sampled_pairs(count, &seen), &quiet, true);
    failed.extend(why);
    // What they said is of no use when a case has failed.
    drop(quiet);
    // Asked at run time, because clones may share what is built.
    let crate_dir = std::env::var("CARGO_MANIFEST_DIR").expect("cargo runs the tests");
    let repository = Path::new(&crate_dir).join("../..");
    let points = source::points(&repository).expect("the source can be read");
    for point in points.iter().filter(|point| !known.iter().any(|(name, _)| *name == point.name)) {
        let source::Point { name, file, line } = point;
        failed.push(format!("{file}:{line}: nobody ever passes the point {name}\n"));
    }
    let count = seen.len() + pairs.len() + failed.len();
    println!("{} points, {count} cases, {} failed", points.len(), failed.len());
    assert!(failed.is_empty(), "{} of {count} failed:\n\n{}", failed.len(), failed.join("\n"));
}
