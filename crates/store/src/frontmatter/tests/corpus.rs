//! Edits every planning file below `MOW_CORPUS`, or a few samples of real dialects if it is not set.

use std::path::Path;
use std::{env, fs};

use serde_json::json;

use crate::frontmatter::{parse, remove, set};

const SAMPLES: [&str; 5] = [
    "---\nphase: 01-base\nplan: 02\nwave: 1\ndepends_on: []  # ids\nmust_haves:\n  truths:\n    \
     - \"Login works\"\n  artifacts:\n    - path: \"src/a.rs\"\n      min_lines: 3\n---\n<tasks>\n",
    "---\r\nphase: 2\r\ntags: [a, \"b c\"]\r\nkey-files:\r\n  created:\r\n    - x\r\n---\r\n\r\n# S\r\n",
    "\u{feff}---\nstatus: gaps_found\nscore: 3/4 must-haves verified\ngaps:\n  - truth: Done: all\n    \
     status: failed\n---\n",
    "---\ntitle: @me: `x`\ntrigger: |\n  It broke\n  # again\nlist:\n- 1\n- 2\n---\n",
    "# No block\n\n---\nhere: 1\n---\n",
];

fn markdown_files(folder: &Path, files: &mut Vec<Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("the folder can be listed") {
        let entry = entry.expect("the folder can be listed");
        let kind = entry.file_type().expect("the entry has a type");
        let path = entry.path();
        if kind.is_dir() {
            markdown_files(&path, files);
        } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "md") {
            files.push(fs::read(&path).expect("the file can be read"));
        }
    }
}

#[test]
fn every_file_survives_an_added_and_removed_key() {
    let mut files: Vec<Vec<u8>> = SAMPLES.iter().map(|sample| sample.as_bytes().to_vec()).collect();
    if let Some(folder) = env::var_os("MOW_CORPUS") {
        files.clear();
        markdown_files(Path::new(&folder), &mut files);
    }
    let (mut blocks, mut broken) = (0, 0);
    for file in &files {
        let Some(front) = parse(file) else { continue };
        blocks += 1;
        broken += usize::from(!front.problems.is_empty());
        for value in [json!("a: b"), json!([{"p": ["q", "r", "s", "t"]}])] {
            let added = set(file, "unrelated-key", &value).expect("a new key harms nothing");
            let read = parse(&added).and_then(|front| front.entry("unrelated-key").cloned());
            assert_eq!(read.map(|value| value.to_json()), Some(value));
            assert!(remove(&added, "unrelated-key").expect("nothing refers to it") == *file);
        }
        for (key, value) in &front.map {
            let Ok(edited) = set(file, key, &value.to_json()) else { continue };
            let after = parse(&edited).expect("the block is still there");
            let same_others = after.map.iter().zip(&front.map).all(|(new, old)| new == old);
            assert!(same_others || !front.problems.is_empty() || has_null(value), "{key}");
        }
    }
    assert!(blocks > 0, "no frontmatter found");
    eprintln!("{} files, {blocks} blocks, {broken} with problems", files.len());
}

/// Returns whether the value contains a null, which `set` drops.
fn has_null(value: &crate::frontmatter::Value) -> bool {
    value.to_json().to_string().contains("null")
}
