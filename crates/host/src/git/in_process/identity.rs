//! Finds the author, the committer and the time of a new commit, as git does.

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use gix::actor::{Signature, date::Time};
use gix::bstr::{BString, ByteSlice};
use jiff::{Timestamp, tz::TimeZone};

use super::settings::{has_variable, variable};
use super::{InProcessRepo, commit_tree};

/// The directory in which time zone names are file names.
const ZONE_DIR: &str = "/usr/share/zoneinfo";
const LOCAL_ZONE_FILE: &str = "/etc/localtime";

/// Bytes that some version of git trims from both ends of names.
const TRIMMED_BYTES: &[u8] = b".,:;<>\"\\'";

impl InProcessRepo {
    /// Returns the author and the committer of a commit made now.
    pub(super) fn author_and_committer(&self) -> Option<[Signature; 2]> {
        let config = self.repo.config_snapshot();
        let is_dated = ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"].into_iter().any(has_variable);
        if is_dated || self.is_set("i18n.commitEncoding") {
            return None;
        }
        let time = now()?;
        let person = |prefix: &str, role: &str| {
            let part = |part: &str, key: &str| {
                let set =
                    variable(&format!("GIT_{prefix}_{part}")).map(|text| text.into_vec().into());
                let configured = |section: &str| config.string(format!("{section}.{key}").as_str());
                let name = set.or_else(|| configured(role)).or_else(|| configured("user"));
                name.filter(is_kept_by_git)
            };
            Some(Signature { name: part("NAME", "name")?, email: part("EMAIL", "email")?, time })
        };
        Some([person("AUTHOR", "author")?, person("COMMITTER", "committer")?])
    }
}

/// Returns whether every version of git keeps a name unchanged.
fn is_kept_by_git(name: &BString) -> bool {
    let is_trimmed =
        |byte: Option<&u8>| byte.is_none_or(|it| *it <= b' ' || TRIMMED_BYTES.contains(it));
    let is_text =
        |name: &str| commit_tree::is_kept_by_git(name) && !name.contains(['<', '>', '\n']);
    !is_trimmed(name.first()) && !is_trimmed(name.last()) && name.to_str().is_ok_and(is_text)
}

/// Returns the current time with the offset of the local time zone.
fn now() -> Option<Time> {
    let now = Timestamp::now();
    let offset = local_time_zone()?.to_offset(now).seconds();
    // Git stores offsets in whole minutes.
    Some(Time { seconds: now.as_second(), offset: offset - offset % 60 })
}

/// Reads the local time zone. A library would list all zones to find one, which takes 5 ms.
fn local_time_zone() -> Option<TimeZone> {
    let file = match variable("TZ") {
        None => PathBuf::from(LOCAL_ZONE_FILE),
        Some(name) => {
            let name = name.into_string().ok()?;
            let name = name.strip_prefix(':').unwrap_or(&name);
            if name.is_empty() || name == "UTC" {
                return Some(TimeZone::UTC);
            }
            Path::new(ZONE_DIR).join(name)
        }
    };
    match fs::read(&file) {
        Ok(bytes) => TimeZone::tzif("local", &bytes).ok(),
        // Without that file, the system's zone is UTC.
        Err(_) if file == Path::new(LOCAL_ZONE_FILE) && !file.exists() => Some(TimeZone::UTC),
        Err(_) => None,
    }
}
