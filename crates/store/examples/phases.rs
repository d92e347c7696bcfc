//! Prints phases as JSON, for comparing.
use std::io::Write;
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let bytes = std::fs::read(path).unwrap();
    let phases =
        mow_store::roadmap::parse(&bytes).entries.into_iter().map(|e| e.phase).collect::<Vec<_>>();
    let list: Vec<_> = phases.iter().map(|p| serde_json::json!({"number":p.number.canonical(),"name":p.name,"completed":p.completion.done,"completed_certain":p.completion.certain,"depends_on":p.depends_on.iter().map(|n|n.canonical()).collect::<Vec<_>>(),"depends_stated":p.depends_stated,"sources":p.sources.letters(),"archived":p.archived,"line":p.line})).collect();
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&list).unwrap()).unwrap();
}
