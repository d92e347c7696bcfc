//! Checks of journals: a cut tail loses only what was cut, and every changed byte is detected.

use std::path::Path;

use mow_store::journal;

use super::Input;

/// A journal: whatever is read stays readable when the tail goes, and is refused when a byte of it
/// changes.
pub fn journal(bytes: &[u8]) {
    let input = Input::new(bytes);
    let parse = |bytes: &[u8]| journal::parse(Path::new("journal"), bytes);
    let Ok(parsed) = parse(input.file) else { return };
    let whole = &input.file[..parsed.whole_bytes];
    assert_eq!(parse(whole).expect("a torn tail may be cut off"), parsed);
    let Some((_, unfinished)) = whole.split_last() else { return };
    let fewer = parse(unfinished).expect("a line without its end is torn");
    assert_eq!(fewer.records[..], parsed.records[..parsed.records.len().saturating_sub(1)]);
    let mut changed = whole.to_vec();
    let at = input.pick(unfinished.len());
    changed[at] ^= 1;
    assert!(parse(&changed).is_err(), "byte {at} was changed without detection");
}
