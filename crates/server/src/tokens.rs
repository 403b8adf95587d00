//! Who may ask what over HTTP: tokens, of which only hashes are stored.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use traceloom_input::captures::DataFolder;

use crate::Error;
use crate::audit::{Actor, AuditFile, AuditLine};
use crate::journal::unix_ns;

/// What a token allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Asking for what is stored, and for metrics.
    Read,
    /// Sending recordings.
    Upload,
    /// Changing what is stored, and commands to agents.
    Write,
}

impl Right {
    /// All rights.
    pub const ALL: [Self; 3] = [Self::Read, Self::Upload, Self::Write];

    /// Returns its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Upload => "upload",
            Self::Write => "write",
        }
    }

    /// Returns the right of a name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|right| right.name() == name)
    }
}

/// A token as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredToken {
    /// Whom it was made for.
    pub name: String,
    /// What it allows.
    pub rights: Vec<Right>,
    /// Whom it may send for; without, for the tenant of its own name.
    pub tenants: Vec<String>,
    /// When it was made, in Unix nanoseconds.
    pub created_ns: i64,
    hash: blake3::Hash,
}

impl StoredToken {
    /// Returns whom it sends for: the tenant that a request names, if it may send for that one, else its first, which is its own name
    /// where it has none. `None` for a tenant that it may not send for.
    #[must_use]
    pub fn tenant(&self, named: &str) -> Option<&str> {
        match &*self.tenants {
            // What a request says about itself means nothing to such a token.
            [] => Some(&self.name),
            [first, ..] if named.is_empty() => Some(first),
            several => several
                .iter()
                .map(String::as_str)
                .find(|tenant| *tenant == named),
        }
    }
}

/// Characters of a tenant's name.
const LONGEST_TENANT: usize = 150;

/// Returns `true` for a name that a tenant can have: senders put it into a header.
#[must_use]
pub fn is_tenant(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!-_.*'()".contains(&byte);
    !name.is_empty() && name.len() <= LONGEST_TENANT && name.bytes().all(is_plain)
}

/// The file of a data folder.
const FILE: &str = "tokens";

/// The tokens of a data folder, read again when their file changes.
#[derive(Debug)]
pub struct Tokens {
    folder: DataFolder,
    path: PathBuf,
    read: Mutex<TokensRead>,
}

#[derive(Debug, Default)]
struct TokensRead {
    changed: Option<SystemTime>,
    /// The file was read so soon behind its change that another change may have the same time.
    is_recent: bool,
    list: Vec<StoredToken>,
}

/// Time within which two changes of a file may have the same time: clocks of file systems tick in milliseconds, of some in seconds.
const TICK: Duration = Duration::from_secs(2);

impl Tokens {
    /// Opens the tokens of a data folder, which need not have any.
    ///
    /// # Errors
    /// When their file cannot be read, or is none of tokens.
    pub fn open(folder: &DataFolder) -> Result<Self, Error> {
        let folder = folder.clone();
        let path = folder.path().join(FILE);
        let read = Mutex::new(read(&path)?);
        Ok(Self { folder, path, read })
    }

    /// Returns all tokens.
    #[must_use]
    pub fn list(&self) -> Vec<StoredToken> {
        self.fresh(<[StoredToken]>::to_vec)
    }

    /// Returns what a token allows; `None` for one that is not known.
    #[must_use]
    pub fn rights(&self, token: &str) -> Option<Vec<Right>> {
        self.find(token).map(|stored| stored.rights)
    }

    /// Returns whom a token was made for; `None` for one that is not known.
    #[must_use]
    pub fn owner(&self, token: &str) -> Option<String> {
        self.find(token).map(|stored| stored.name)
    }

    /// Returns what is stored of a token; `None` for one that is not known.
    #[must_use]
    pub fn find(&self, token: &str) -> Option<StoredToken> {
        self.find_by(&blake3::hash(token.as_bytes()))
    }

    /// Returns what is stored of the token of a hash.
    pub(crate) fn find_by(&self, hash: &blake3::Hash) -> Option<StoredToken> {
        self.fresh(|list| list.iter().find(|stored| stored.hash == *hash).cloned())
    }

    /// Makes a token, and returns it: it is stored nowhere.
    ///
    /// # Errors
    /// When the name is taken, or the file cannot be written.
    pub fn add(&self, name: &str, rights: &[Right], tenants: &[String]) -> Result<String, Error> {
        let _changing = self.folder.lock_changes(FILE)?;
        let mut list = read(&self.path)?.list;
        if list.iter().any(|stored| stored.name == name) {
            let sentence =
                format!("there is a token `{name}`; revoke it first, or take another name");
            return Err(Error::new(sentence));
        }
        let mut secret = [0; 32];
        getrandom::fill(&mut secret)
            .map_err(|error| Error::new(format!("the system has no random bytes: {error}")))?;
        let digits: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        let token = format!("tl_{digits}");
        list.push(StoredToken {
            name: name.to_owned(),
            rights: rights.to_vec(),
            tenants: tenants.to_vec(),
            created_ns: unix_ns(),
            hash: blake3::hash(token.as_bytes()),
        });
        write(&self.path, &list)?;
        self.audit("token_added", name)?;
        Ok(token)
    }

    /// Forgets the token of a name; returns `false` if there is none.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn revoke(&self, name: &str) -> Result<bool, Error> {
        let _changing = self.folder.lock_changes(FILE)?;
        let mut list = read(&self.path)?.list;
        let before = list.len();
        list.retain(|stored| stored.name != name);
        if list.len() == before {
            return Ok(false);
        }
        write(&self.path, &list)?;
        self.audit("token_revoked", name)?;
        Ok(true)
    }

    fn audit(&self, what: &'static str, name: &str) -> Result<(), Error> {
        let line = AuditLine::new(Actor::this_user(), what, name, "done");
        AuditFile::of(self.folder.path()).append(&line, true)
    }

    /// Looks at the tokens as they are in the file now. One that cannot be read allows nothing.
    fn fresh<T>(&self, look: impl FnOnce(&[StoredToken]) -> T) -> T {
        let mut known = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = changed(&self.path).ok() == Some(known.changed);
        if !is_same || known.is_recent || known.changed.is_none() {
            *known = read(&self.path).unwrap_or_default();
        }
        look(&known.list)
    }
}

/// Returns when the file was changed last; `None` where there is none.
fn changed(path: &Path) -> io::Result<Option<SystemTime>> {
    match fs::metadata(path) {
        Ok(found) => found.modified().map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn read(path: &Path) -> Result<TokensRead, Error> {
    let failed = |error: &dyn std::fmt::Display| Error::new(format!("{}: {error}", path.display()));
    // Asked before: a change meanwhile is seen the next time.
    let Some(changed) = changed(path).map_err(|error| failed(&error))? else {
        return Ok(TokensRead::default());
    };
    let age = SystemTime::now().duration_since(changed);
    let text = fs::read_to_string(path).map_err(|error| failed(&error))?;
    let rows = text.lines().map(|line| stored_token(line).ok_or(line));
    let list: Result<Vec<_>, _> = rows.collect();
    let list = list.map_err(|_| failed(&"a line is no token"))?;
    Ok(TokensRead {
        changed: Some(changed),
        // A change in the future tells nothing.
        is_recent: age.is_ok_and(|age| age < TICK),
        list,
    })
}

fn stored_token(line: &str) -> Option<StoredToken> {
    let row: Value = serde_json::from_str(line).ok()?;
    let rights = row["rights"].as_array()?.iter();
    Some(StoredToken {
        name: row["name"].as_str()?.to_owned(),
        rights: rights
            .map(|right| Right::of(right.as_str()?))
            .collect::<Option<_>>()?,
        tenants: tenants(&row)?,
        created_ns: row["created_ns"].as_i64()?,
        hash: blake3::Hash::from_hex(row["blake3"].as_str()?).ok()?,
    })
}

/// Returns the tenants of a row, which rows of earlier versions do not have.
fn tenants(row: &Value) -> Option<Vec<String>> {
    let Some(tenants) = row.get("tenants") else {
        return Some(Vec::new());
    };
    let tenants = tenants.as_array()?.iter();
    let tenants = tenants.map(|tenant| Some(tenant.as_str()?.to_owned()));
    tenants.collect()
}

/// Replaces the file, readable by its owner alone.
fn write(path: &Path, list: &[StoredToken]) -> Result<(), Error> {
    let rows = list.iter().map(|stored| {
        let rights: Vec<_> = stored.rights.iter().map(|right| right.name()).collect();
        let row = json!({
            "name": stored.name,
            "rights": rights,
            "tenants": stored.tenants,
            "created_ns": stored.created_ns,
            "blake3": stored.hash.to_hex().as_str(),
        });
        format!("{row}\n")
    });
    let text: String = rows.collect();
    let new = path.with_extension("new");
    let written = || {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        File::open(path.parent().unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all())
    };
    written().map_err(|error| Error::new(format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_until_it_is_revoked_and_stored_as_a_hash() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataFolder::create(&folder.path().join("data")).unwrap();
        let (operator, collector) = (Tokens::open(&data).unwrap(), Tokens::open(&data).unwrap());
        assert_eq!(collector.rights(""), None);
        let ci = operator.add("ci", &[Right::Upload], &[]).unwrap();
        assert!(operator.add("ci", &[Right::Read], &[]).is_err());
        assert_eq!(collector.rights(&ci), Some(vec![Right::Upload]));
        assert_eq!(collector.rights(&ci[..ci.len() - 1]), None);
        let file = data.path().join("tokens");
        assert!(!fs::read_to_string(&file).unwrap().contains(&ci));
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert!(operator.revoke("ci").unwrap());
        assert!(!operator.revoke("ci").unwrap());
        assert_eq!(collector.rights(&ci), None);
    }

    #[test]
    fn tokens_made_at_the_same_time_are_all_known() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataFolder::create(&folder.path().join("data")).unwrap();
        let collector = Tokens::open(&data).unwrap();
        let names: Vec<_> = (0..40).map(|number| format!("t{number}")).collect();
        let made: Vec<_> = std::thread::scope(|scope| {
            let makers = names.chunks(10).map(|names| {
                let (data, collector) = (&data, &collector);
                scope.spawn(move || {
                    let operator = Tokens::open(data).unwrap();
                    let make = |name: &String| {
                        let token = operator.add(name, &[Right::Read], &[]).unwrap();
                        assert_eq!(collector.owner(&token).as_ref(), Some(name));
                        token
                    };
                    names.iter().map(make).collect::<Vec<_>>()
                })
            });
            let makers: Vec<_> = makers.collect();
            let made = makers.into_iter().map(|maker| maker.join().unwrap());
            made.flatten().collect()
        });
        for token in &made {
            assert_eq!(collector.rights(token), Some(vec![Right::Read]));
        }
        assert!(collector.revoke("t7").unwrap());
        assert_eq!(collector.rights(&made[7]), None);
        assert_eq!(collector.list().len(), 39);
    }

    #[test]
    fn a_file_that_is_damaged_allows_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataFolder::create(&folder.path().join("data")).unwrap();
        let tokens = Tokens::open(&data).unwrap();
        let token = tokens.add("a", &Right::ALL, &[]).unwrap();
        let file = data.path().join("tokens");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace("\"write\"", "\"everything\"")).unwrap();
        assert_eq!(tokens.rights(&token), None);
        assert!(Tokens::open(&data).is_err());
    }

    #[test]
    fn a_token_sends_for_the_tenants_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataFolder::create(&folder.path().join("data")).unwrap();
        let tokens = Tokens::open(&data).unwrap();
        let of = |names: &[&str]| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>()
        };
        let alone = tokens.add("alone", &[Right::Upload], &[]).unwrap();
        let both = tokens
            .add("both", &[Right::Upload], &of(&["a", "b"]))
            .unwrap();
        let tenant = |token: &str, named: &str| {
            let stored = Tokens::open(&data).unwrap().find(token).unwrap();
            stored.tenant(named).map(str::to_owned)
        };
        // What a request says of itself gives it nobody else's place.
        assert_eq!(tenant(&alone, "").as_deref(), Some("alone"));
        assert_eq!(tenant(&alone, "a").as_deref(), Some("alone"));
        assert_eq!(tenant(&both, "").as_deref(), Some("a"));
        assert_eq!(tenant(&both, "b").as_deref(), Some("b"));
        assert_eq!(tenant(&both, "both"), None);
        assert_eq!(tenant(&both, "A"), None);
        // A row of a version that knew no tenants.
        let row = json!({"name": "old", "rights": ["read"], "created_ns": 1, "blake3": blake3::hash(b"x").to_hex().as_str()});
        assert_eq!(
            stored_token(&row.to_string()).unwrap().tenant("a"),
            Some("old")
        );
        for bad in ["", "a b", "a|b", "a/b", "ä", &"x".repeat(151)] {
            assert!(!is_tenant(bad), "{bad}");
        }
        assert!(is_tenant("team-1.eu_(prod)"));
    }
}
