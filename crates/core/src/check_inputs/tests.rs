//! Check commands, and the files that are or are not their inputs.

use super::*;

#[test]
fn scripts_and_compared_files_are_inputs() {
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
        assert!(is_check_input(command, path), "{command}: {path}");
    }
}

#[test]
fn searched_or_compiled_files_are_no_inputs() {
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
        assert!(!is_check_input(command, path), "{command}: {path}");
    }
}

#[test]
fn new_files_may_override_an_input() {
    assert!(
        overrides_check_input("make test", "GNUmakefile")
            && overrides_check_input("cd web; npm test", "web/.npmrc")
    );
    assert!(
        !overrides_check_input("make test", "web/GNUmakefile")
            && !overrides_check_input("cargo test", ".npmrc")
    );
    assert!(
        !overrides_check_input("make test", "Makefile"),
        "an existing Makefile is an ordinary input"
    );
}

#[test]
fn scripts_of_packages_are_followed() {
    let package =
        r#"{"scripts":{"test":"npm run unit && sh check.sh","unit":"node unit.js","dev":"x"}}"#;
    assert_eq!(package_scripts("npm t", package), ["npm run unit && sh check.sh", "node unit.js"]);
    assert_eq!(package_scripts("npm run dev", package), ["x"]);
    assert!(
        package_scripts("sh test", package).is_empty()
            && package_scripts("npm test", "{").is_empty()
    );
    assert_eq!(package_manifests("cd web && npm test"), ["package.json", "web/package.json"]);
    assert!(package_manifests("cd web && make test").is_empty());
    let cyclic = r#"{"scripts":{"test":"npm test"}}"#;
    assert_eq!(package_scripts("npm test", cyclic), ["npm test"]);
}

#[test]
fn only_scripts_and_test_settings_of_a_package_count() {
    let package = |test: &str, more: &str| format!(r#"{{"scripts":{{"test":"{test}"{more}}}}}"#);
    let before = package("vitest", "");
    assert!(has_same_scripts(&before, &package("vitest", r#","docs":"x""#)));
    assert!(has_same_scripts(
        &before,
        r#"{"version":"2","scripts":{"test":"vitest"},"devDependencies":{}}"#
    ));
    assert!(!has_same_scripts(&before, &package("vitest", r#","pretest":"x""#)));
    assert!(!has_same_scripts(&before, r#"{"jest":{},"scripts":{"test":"vitest"}}"#));
    for after in [package("true", "").as_str(), "{}", "{", "[]"] {
        assert!(!has_same_scripts(&before, after), "{after}");
    }
}
