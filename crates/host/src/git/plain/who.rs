//! In whose name a commit is made, and when, as git finds it out.

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use gix::actor::{Signature, date::Time};
use gix::bstr::{BString, ByteSlice};
use jiff::{Timestamp, tz::TimeZone};

use super::settings::{has_variable, variable};
use super::{Plain, seal};

/// Where the names of time zones stand for files.
const ZONES: &str = "/usr/share/zoneinfo";
const LOCAL_ZONE: &str = "/etc/localtime";

/// What git cuts off at both ends of names, in one version or another.
const CRUD: &[u8] = b".,:;<>\"\\'";

impl Plain {
    /// Returns the author and the committer of a commit that is made now.
    pub(super) fn people(&self) -> Option<[Signature; 2]> {
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
                name.filter(is_kept)
            };
            Some(Signature { name: part("NAME", "name")?, email: part("EMAIL", "email")?, time })
        };
        Some([person("AUTHOR", "author")?, person("COMMITTER", "committer")?])
    }
}

/// Returns whether git takes a name as it is. What it cuts off depends on its version.
fn is_kept(name: &BString) -> bool {
    let is_crud = |byte: Option<&u8>| byte.is_none_or(|it| *it <= b' ' || CRUD.contains(it));
    let is_text = |name: &str| seal::is_kept(name) && !name.contains(['<', '>', '\n']);
    !is_crud(name.first()) && !is_crud(name.last()) && name.to_str().is_ok_and(is_text)
}

/// Returns the time, with the distance of the local zone.
fn now() -> Option<Time> {
    let now = Timestamp::now();
    let offset = zone()?.to_offset(now).seconds();
    // Git counts whole minutes.
    Some(Time { seconds: now.as_second(), offset: offset - offset % 60 })
}

/// Reads the local time zone. A library would list all zones there are to find one.
fn zone() -> Option<TimeZone> {
    let file = match variable("TZ") {
        None => PathBuf::from(LOCAL_ZONE),
        Some(name) => {
            let name = name.into_string().ok()?;
            let name = name.strip_prefix(':').unwrap_or(&name);
            if name.is_empty() || name == "UTC" {
                return Some(TimeZone::UTC);
            }
            Path::new(ZONES).join(name)
        }
    };
    match fs::read(&file) {
        Ok(bytes) => TimeZone::tzif("local", &bytes).ok(),
        // Without that file, the system's clock is the zone.
        Err(_) if file == Path::new(LOCAL_ZONE) && !file.exists() => Some(TimeZone::UTC),
        Err(_) => None,
    }
}
