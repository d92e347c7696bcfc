//! Reading the version that git prints.

use super::*;

#[test]
fn git_versions_are_read_in_all_spellings() {
    assert_eq!(parse_version("git version 2.47.3"), Some((2, 47)));
    assert_eq!(parse_version("git version 2.39.5 (Apple Git-154)"), Some((2, 39)));
    assert_eq!(parse_version("git version 2.41.0.windows.1"), Some((2, 41)));
    assert_eq!(parse_version("git version 2.50-rc1"), Some((2, 50)));
    assert_eq!(parse_version("git"), None);
    assert!((2, 100) > GIT_MIN && (2, 40) < GIT_MIN);
}
