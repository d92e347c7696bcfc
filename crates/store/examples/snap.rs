//! Prints a snapshot.
use std::io::Write;
fn main() {
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path).unwrap();
        let s = mow_store::state::snapshot::parse(&bytes);
        writeln!(std::io::stdout(), "{} | {:?} {:?} of {:?} | plan {:?}/{:?} | {:?} | {:?}% | {:?} | {:?} | dec {} blk {} | {:?}", path.split('/').rev().nth(2).unwrap(), s.current_phase, s.current_phase_name, s.total_phases, s.current_plan, s.total_plans_in_phase, s.status, s.progress_percent, s.last_activity, s.last_activity_desc, s.decisions.len(), s.blockers.len(), s.session).unwrap();
    }
}
