//! Tests of references in prose and lists.

use super::*;

#[test]
fn finds_tokens_and_coded_paths_once_each() {
    let text = "@.planning/STATE.md, (see @src/a.ts) @~/x/y.md.\n`src/a.ts` `src/b.rs` `b.rs` \
        `http://a/b.c` `${HOME}/x.md` `{{dir}}/x.md` `src/dir/` `src/b.rs` `a/b.c1` `cat a/b.c`\n\
        me@host/x.y @plain\n";
    assert_eq!(parse(text.as_bytes()), [".planning/STATE.md", "src/a.ts", "~/x/y.md", "src/b.rs"]);
}

#[test]
fn code_blocks_refer_to_nothing() {
    assert_eq!(parse(b"```\n@a/b.c `c/d.e`\n```\n@f/g.h\n"), ["f/g.h"]);
    assert_eq!(code_span_paths(b"`a/b.c` and `a/b.c` and `x.y`"), ["a/b.c"]);
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>) {
        parse(&bytes);
        code_span_paths(&bytes);
    }
}
