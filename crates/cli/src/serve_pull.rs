//! `[[pull]]` in the file of `serve --config`: Go programs whose profiles are pulled. Only the file names them.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use toml::{Table, Value};
use traceloom_server::{PullTarget, PulledProfile, TlsClient, is_tenant};

use crate::usage::{Usage, nearest};

/// The setting, a table for each program.
pub(crate) const PULL: &str = "pull";

/// Keys of a table.
const KEYS: [&str; 9] = [
    "url",
    "service",
    "interval",
    "cpu-seconds",
    "profiles",
    "tags",
    "tenant",
    "ca",
    "authorization",
];

/// Least seconds from round to round, as Datakit has it.
const LEAST_INTERVAL: u64 = 10;
const INTERVAL: u64 = 60;
const CPU_SECONDS: u64 = 10;
/// What is pulled where nothing is said: `allocs` has what `heap` has.
const PROFILES: [PulledProfile; 5] = [
    PulledProfile::Heap,
    PulledProfile::Mutex,
    PulledProfile::Block,
    PulledProfile::Goroutine,
    PulledProfile::Cpu,
];

/// Reads the tables of a file.
pub(crate) fn targets(path: &Path) -> anyhow::Result<Vec<PullTarget>> {
    let tables = tables(path)?;
    let targets = (1..).zip(&tables).map(|(number, table)| {
        let read = table
            .as_table()
            .ok_or("it is no table")
            .map_err(str::to_owned);
        let read = read.and_then(target);
        let named = |reason| Usage(format!("{}: pull {number}: {reason}", path.display())).into();
        read.map_err(named)
    });
    targets.collect()
}

/// Returns the tables of a file as they are.
pub(crate) fn tables(path: &Path) -> anyhow::Result<Vec<Value>> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
    let mut table: Table = text.parse()?;
    match table.remove(PULL) {
        None => Ok(Vec::new()),
        Some(Value::Array(tables)) => Ok(tables),
        Some(_) => Err(Usage(format!(
            "{}: programs to pull from are tables, each begun by [[{PULL}]]",
            path.display()
        ))
        .into()),
    }
}

fn target(table: &Table) -> Result<PullTarget, String> {
    for key in table.keys() {
        if !KEYS.contains(&&**key) {
            let hint =
                nearest(key, KEYS.into_iter()).map(|near| format!("; did you mean `{near}`?"));
            return Err(format!(
                "there is no setting `{key}`{}",
                hint.unwrap_or_default()
            ));
        }
    }
    let url =
        text(table, "url")?.ok_or("it has no `url`, such as http://127.0.0.1:6060/debug/pprof")?;
    let address = PullAddress::read(url)?;
    let interval = seconds(table, "interval", INTERVAL)?;
    let cpu = seconds(table, "cpu-seconds", CPU_SECONDS)?;
    if interval < LEAST_INTERVAL {
        return Err(format!("`interval` is at least {LEAST_INTERVAL} s"));
    }
    if cpu == 0 || cpu >= interval {
        return Err("`cpu-seconds` is at least 1, and less than `interval`".to_owned());
    }
    let tenant = text(table, "tenant")?.unwrap_or_default();
    if !tenant.is_empty() && !is_tenant(tenant) {
        return Err(format!("`{tenant}` is no name of a tenant"));
    }
    Ok(PullTarget {
        tls: tls(table, &address)?,
        authorization: authorization(table)?,
        profiles: profiles(table)?,
        interval: Duration::from_secs(interval),
        cpu: Duration::from_secs(cpu),
        service: text(table, "service")?.unwrap_or(&address.host).to_owned(),
        tenant: tenant.to_owned(),
        tags: tags(table)?,
        host: address.host,
        path: address.path,
    })
}

/// Where a program serves its profiles.
struct PullAddress {
    is_tls: bool,
    host: String,
    path: String,
}

impl PullAddress {
    fn read(url: &str) -> Result<Self, String> {
        let wrong = || format!("`{url}` is no address such as http://127.0.0.1:6060/debug/pprof");
        let (scheme, rest) = url.split_once("://").ok_or_else(wrong)?;
        let (is_tls, port) = match scheme {
            "http" => (false, 80),
            "https" => (true, 443),
            _ => return Err(wrong()),
        };
        let is_plain = |character: char| character.is_ascii_graphic() && !"?#@".contains(character);
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if host.is_empty() || !rest.chars().all(is_plain) {
            return Err(wrong());
        }
        let named = host.rsplit_once(':');
        let host = match named.is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
            true => host.to_owned(),
            false => format!("{host}:{port}"),
        };
        let path = match path.trim_end_matches('/') {
            "" => "/debug/pprof",
            path => path,
        };
        Ok(Self {
            is_tls,
            host,
            path: path.to_owned(),
        })
    }
}

fn text<'t>(table: &'t Table, key: &str) -> Result<Option<&'t str>, String> {
    let value = table.get(key);
    let text = value.map(|value| value.as_str().ok_or_else(|| format!("`{key}` is a text")));
    text.transpose()
}

fn seconds(table: &Table, key: &str, default: u64) -> Result<u64, String> {
    let Some(value) = table.get(key) else {
        return Ok(default);
    };
    let number = value.as_integer();
    let number = number.and_then(|number| u64::try_from(number).ok());
    // A day is longer than any round.
    number
        .filter(|number| *number <= 86_400)
        .ok_or_else(|| format!("`{key}` is a number of seconds, 86400 at most"))
}

fn profiles(table: &Table) -> Result<Vec<PulledProfile>, String> {
    let Some(value) = table.get("profiles") else {
        return Ok(PROFILES.to_vec());
    };
    let all = PulledProfile::ALL;
    let wrong = || {
        let names = all.map(PulledProfile::name).join(", ");
        format!("`profiles` is a list of these: {names}")
    };
    let values = value.as_array().filter(|values| !values.is_empty());
    let mut profiles = Vec::new();
    for value in values.ok_or_else(wrong)? {
        let name = value.as_str().ok_or_else(wrong)?;
        let found = all.into_iter().find(|one| one.name() == name);
        let found = found.ok_or_else(wrong)?;
        if profiles.contains(&found) {
            return Err(format!("`{name}` stands twice in `profiles`"));
        }
        profiles.push(found);
    }
    let both = [PulledProfile::Heap, PulledProfile::Allocs];
    match both.iter().all(|one| profiles.contains(one)) {
        true => Err("`heap` has all that `allocs` has: allocations would count twice".to_owned()),
        false => Ok(profiles),
    }
}

fn tags(table: &Table) -> Result<BTreeMap<String, String>, String> {
    let Some(value) = table.get("tags") else {
        return Ok(BTreeMap::new());
    };
    let wrong = || "`tags` is a table of texts, such as { env = \"prod\" }".to_owned();
    let tags = value.as_table().ok_or_else(wrong)?.iter();
    let tags = tags.map(|(key, value)| {
        let value = value.as_str().ok_or_else(wrong)?;
        Ok((key.clone(), value.to_owned()))
    });
    tags.collect()
}

fn tls(table: &Table, address: &PullAddress) -> Result<Option<TlsClient>, String> {
    match (address.is_tls, text(table, "ca")?) {
        (false, None) => Ok(None),
        (true, Some(ca)) => {
            let name = address.host.rsplit_once(':');
            let name = name.map_or(&*address.host, |(name, _)| name);
            let client = TlsClient::new(name, Path::new(ca), None);
            client.map(Some).map_err(|error| error.to_string())
        }
        _ => {
            Err("`ca`, a PEM file, goes with an address of https://, and that with `ca`".to_owned())
        }
    }
}

/// Reads the file that has what the program wants as Authorization.
fn authorization(table: &Table) -> Result<Option<String>, String> {
    let file = text(table, "authorization")?;
    let read = file.map(|file| {
        let text = std::fs::read_to_string(file);
        text.map(|text| text.trim().to_owned())
            .map_err(|error| format!("{file}: {error}"))
    });
    read.transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<PullTarget, String> {
        target(&text.parse().unwrap())
    }

    #[test]
    fn what_is_not_said_is_as_datakit_has_it() {
        let target = read("url = \"http://shop.internal:6060\"").unwrap();
        assert_eq!(target.url(), "http://shop.internal:6060/debug/pprof");
        assert_eq!(target.service, "shop.internal:6060");
        assert_eq!(target.profiles, PROFILES);
        let seconds = (target.interval.as_secs(), target.cpu.as_secs());
        assert_eq!(seconds, (60, 10));
        let own = "url = \"http://h/pprof/\"\nservice = \"s\"\nprofiles = [\"allocs\"]\ntags = { env = \"prod\" }";
        let target = read(own).unwrap();
        assert_eq!(target.url(), "http://h:80/pprof");
        assert_eq!(target.profiles, [PulledProfile::Allocs]);
        assert_eq!(target.tags["env"], "prod");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (wrong, said) in [
            ("", "no `url`"),
            ("url = \"ftp://h\"", "no address"),
            ("url = \"http://user@h\"", "no address"),
            ("url = \"http://h/p?a=b\"", "no address"),
            ("url = \"http:///p\"", "no address"),
            ("url = \"http://h/a b\"", "no address"),
            (
                "url = \"http://h\"\nservices = \"a\"",
                "did you mean `service`?",
            ),
            ("url = \"http://h\"\ninterval = 9", "at least 10"),
            (
                "url = \"http://h\"\ncpu-seconds = 60",
                "less than `interval`",
            ),
            ("url = \"http://h\"\ncpu-seconds = 0", "at least 1"),
            ("url = \"http://h\"\ninterval = -1", "number of seconds"),
            ("url = \"http://h\"\nprofiles = [\"trace\"]", "goroutine"),
            ("url = \"http://h\"\nprofiles = []", "goroutine"),
            (
                "url = \"http://h\"\nprofiles = [\"heap\", \"heap\"]",
                "twice",
            ),
            (
                "url = \"http://h\"\nprofiles = [\"heap\", \"allocs\"]",
                "count twice",
            ),
            ("url = \"http://h\"\ntags = { a = 1 }", "table of texts"),
            ("url = \"http://h\"\ntenant = \"a b\"", "tenant"),
            ("url = \"https://h\"", "`ca`"),
            ("url = \"http://h\"\nca = \"a.pem\"", "`ca`"),
        ] {
            let error = read(wrong).unwrap_err();
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }
}
