//! Which parts of short and long outputs are kept.

use super::*;

fn write_log(pieces: &[&[u8]]) -> (String, u64) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deep/log");
    let mut log = BoundedLog::create_with(&path, 10).unwrap();
    for piece in pieces {
        log.append(piece).unwrap();
        assert!(
            fs::metadata(&path).unwrap().len() < 3 * 10 + 40,
            "the file stays bounded while writing"
        );
    }
    log.finish().unwrap();
    (fs::read_to_string(&path).unwrap(), log.left_out())
}

#[test]
fn a_short_output_is_kept_whole() {
    assert_eq!(write_log(&[]), (String::new(), 0));
    assert_eq!(write_log(&[b"abc", b"", b"def"]), ("abcdef".to_owned(), 0));
    let both = b"0123456789abcdefghij";
    assert_eq!(write_log(&[both]), (String::from_utf8_lossy(both).into_owned(), 0));
}

#[test]
fn the_middle_of_a_long_output_is_left_out() {
    let wanted = "0123456789\n[… 5 bytes left out …]\nfghijklmno".to_owned();
    assert_eq!(write_log(&[b"0123456789abcdefghijklmno"]), (wanted.clone(), 5));
    let singles: Vec<&[u8]> = b"0123456789abcdefghijklmno".chunks(1).collect();
    assert_eq!(write_log(&singles), (wanted, 5));
    let long = [&b"0123456789"[..], &[b'x'; 9_999], b"0123456789"].concat();
    let wanted = "0123456789\n[… 9999 bytes left out …]\n0123456789".to_owned();
    assert_eq!(write_log(&[&long]), (wanted, 9_999));
}
