//! Tests that a message is delivered once, and again to the successor of a killed agent.

use mow_core::phase::PhaseNumber;
use mow_store::project::Project;
use mow_store::run_files::RunDir;

use super::*;

#[test]
fn messages_to_a_killed_agent_are_delivered_to_the_next() {
    let dir = tempfile::tempdir().unwrap();
    disk::create_engine_dir(&dir.path().join(".planning")).unwrap();
    let project = Project::find(dir.path()).unwrap();
    let run = RunDir::new(&dir.path().join("mow"), "r1").unwrap();
    let [one, two] = ["1", "2"].map(|text| PhaseNumber::parse(text).unwrap());
    let send_text = |text: &str| send(&project, &run, (&one, &two), text).unwrap();
    let delivered = |inbox: &mut PeerInbox| -> Vec<_> {
        let messages = inbox.take_new().unwrap();
        messages.iter().map(|text| text.rsplit("> ").next().unwrap().to_owned()).collect()
    };
    send_text("first");
    let mut killed = PeerInbox::new(&run, &two);
    assert_eq!(delivered(&mut killed), ["first"]);
    assert_eq!(delivered(&mut killed), [""; 0], "a message is delivered once");
    send_text("second");
    assert_eq!(delivered(&mut killed), ["second"]);
    let mut next = PeerInbox::new(&run, &two);
    assert_eq!(delivered(&mut next), ["first", "second"]);
    next.mark_read().unwrap();
    send_text("third");
    assert_eq!(delivered(&mut next), ["third"]);
    // An agent that got fewer messages does not lower the mark.
    killed.mark_read().unwrap();
    assert_eq!(delivered(&mut PeerInbox::new(&run, &two)), ["third"]);
    next.mark_read().unwrap();
    assert_eq!(delivered(&mut PeerInbox::new(&run, &two)), [""; 0]);
}
