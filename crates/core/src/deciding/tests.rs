//! Commands of plans, and the files that decide them.

use super::*;

#[test]
fn a_check_is_decided_by_what_it_runs() {
    for (command, path) in [
        ("sh check.sh", "check.sh"),
        ("./check.sh --all", "check.sh"),
        ("cd web && CI=1 bash -eu 'run/check.sh'; true", "web/run/check.sh"),
        ("cd web && ./check.sh", "web/check.sh"),
        ("if ! ./run/check.sh; then exit 1; fi", "run/check.sh"),
        ("sh -c './check.sh'", "check.sh"),
        ("bash -euc 'sh check.sh'", "check.sh"),
        ("sh -c 'cd web; ./check.sh \"$x\"'", "web/check.sh"),
        ("cd web && sh -c 'true; ./check.sh'", "web/check.sh"),
        ("cat check.sh | sh", "check.sh"),
        ("sh <check.sh", "check.sh"),
        ("sh < check.sh", "check.sh"),
        (". ./env.sh && cargo test", "env.sh"),
        ("node scripts/check.mjs --strict", "scripts/check.mjs"),
        ("bun run scripts/check.ts", "scripts/check.ts"),
        ("python3 -u check.py", "check.py"),
        ("find src -name '*.rs' -exec ./check.sh {} +", "check.sh"),
        ("grep -f words.txt crop", "words.txt"),
        ("grep -qf words.txt crop", "words.txt"),
        ("timeout -k 5 60s sh ci/t.sh", "ci/t.sh"),
        ("sh \"$PWD/ci/t.sh\"", "ci/t.sh"),
        ("sh ci/../ci/t.sh", "ci/t.sh"),
        ("cd web/app && sh ../t.sh", "web/t.sh"),
        ("ls ci/t.sh | xargs sh", "ci/t.sh"),
        ("sha256sum -c sums", "sums"),
        ("diff out expected.txt", "expected.txt"),
        ("make test", "Makefile"),
        ("make -C web/ test", "web/GNUmakefile"),
        ("make -Cweb test", "web/Makefile"),
        ("make -f build.mk", "build.mk"),
        ("just check", ".justfile"),
        ("npm test", "package.json"),
        ("npm --prefix=web test", "web/package.json"),
        ("cd web && pnpm run test", "web/package.json"),
    ] {
        assert!(decides_check(command, path), "{command}: {path}");
    }
}

#[test]
fn files_that_are_searched_or_compiled_decide_nothing() {
    for (command, path) in [
        ("grep -q rye crop", "crop"),
        ("test -e crop && ! grep weeds crop", "crop"),
        ("test -f Cargo.toml && [ -f crop ]", "Cargo.toml"),
        ("[ -f crop ] && [[ -f crop ]]", "crop"),
        ("rm -rf dist && cp -f crop other", "crop"),
        ("wc -l < crop", "crop"),
        ("cat crop | grep -q rye", "crop"),
        ("sh check.sh", "web/check.sh"),
        ("make test", "web/Makefile"),
        ("npm", "package.json"),
        ("cargo test", "Makefile"),
        ("python3 -m py_compile app.py", "app.py"),
        ("node --check app.js", "app.js"),
        ("node -e \"require('./app.js')\"", "app.js"),
        ("npx tsc -p tsconfig.json", "tsconfig.json"),
        ("shellcheck check.sh", "check.sh"),
        ("gcc main.c -o main", "main.c"),
        ("cargo test --manifest-path web/Cargo.toml", "web/Cargo.toml"),
        ("echo 'first; ./check.sh'", "check.sh"),
        ("echo \"it's", "check.sh"),
        ("", "crop"),
        ("/ / -C", "crop"),
    ] {
        assert!(!decides_check(command, path), "{command}: {path}");
    }
}

#[test]
fn new_files_may_take_the_place_of_others() {
    assert!(takes_over("make test", "GNUmakefile") && takes_over("cd web; npm test", "web/.npmrc"));
    assert!(!takes_over("make test", "web/GNUmakefile") && !takes_over("cargo test", ".npmrc"));
    assert!(!takes_over("make test", "Makefile"), "there may have been none");
}

#[test]
fn scripts_of_packages_are_followed() {
    let package =
        r#"{"scripts":{"test":"npm run unit && sh check.sh","unit":"node unit.js","dev":"x"}}"#;
    assert_eq!(scripts_of("npm t", package), ["npm run unit && sh check.sh", "node unit.js"]);
    assert_eq!(scripts_of("npm run dev", package), ["x"]);
    assert!(scripts_of("sh test", package).is_empty() && scripts_of("npm test", "{").is_empty());
    assert_eq!(packages_of("cd web && npm test"), ["package.json", "web/package.json"]);
    assert!(packages_of("cd web && make test").is_empty());
    let circle = r#"{"scripts":{"test":"npm test"}}"#;
    assert_eq!(scripts_of("npm test", circle), ["npm test"]);
}

#[test]
fn only_what_is_run_counts_in_a_package() {
    let package = |test: &str, more: &str| format!(r#"{{"scripts":{{"test":"{test}"{more}}}}}"#);
    let before = package("vitest", "");
    assert!(runs_the_same(&before, &package("vitest", r#","docs":"x""#)));
    assert!(runs_the_same(
        &before,
        r#"{"version":"2","scripts":{"test":"vitest"},"devDependencies":{}}"#
    ));
    assert!(!runs_the_same(&before, &package("vitest", r#","pretest":"x""#)));
    assert!(!runs_the_same(&before, r#"{"jest":{},"scripts":{"test":"vitest"}}"#));
    for after in [package("true", "").as_str(), "{}", "{", "[]"] {
        assert!(!runs_the_same(&before, after), "{after}");
    }
}
