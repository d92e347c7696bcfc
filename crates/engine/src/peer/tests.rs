//! Messages between phases: heard once by who lives, and again after a death.

use mow_core::phase::PhaseNumber;
use mow_store::project::Project;
use mow_store::run_files::RunDir;

use super::*;

#[test]
fn what_an_agent_forgot_is_heard_by_the_next() {
    let dir = tempfile::tempdir().unwrap();
    disk::create_dir(&dir.path().join(".planning")).unwrap();
    let project = Project::find(dir.path()).unwrap();
    let run = RunDir::new(&dir.path().join("mow"), "r1").unwrap();
    let [one, two] = ["1", "2"].map(|text| PhaseNumber::parse(text).unwrap());
    let tell = |text: &str| send(&project, &run, (&one, &two), text).unwrap();
    let heard = |ear: &mut Ear| -> Vec<_> {
        let said = ear.listen().unwrap();
        said.iter().map(|text| text.rsplit("> ").next().unwrap().to_owned()).collect()
    };
    tell("first");
    let mut killed = Ear::new(&run, &two);
    assert_eq!(heard(&mut killed), ["first"]);
    assert_eq!(heard(&mut killed), [""; 0], "it is told once");
    tell("second");
    assert_eq!(heard(&mut killed), ["second"]);
    let mut next = Ear::new(&run, &two);
    assert_eq!(heard(&mut next), ["first", "second"]);
    next.settle().unwrap();
    tell("third");
    assert_eq!(heard(&mut next), ["third"]);
    // One that heard less does not take anything back.
    killed.settle().unwrap();
    assert_eq!(heard(&mut Ear::new(&run, &two)), ["third"]);
    next.settle().unwrap();
    assert_eq!(heard(&mut Ear::new(&run, &two)), [""; 0]);
}
