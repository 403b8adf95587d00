//! Who may ask what over HTTP: tokens, of which only hashes are stored.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

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
    /// When it was made, in Unix nanoseconds.
    pub created_ns: i64,
    hash: blake3::Hash,
}

/// The tokens of a data folder, read again when their file changes.
#[derive(Debug)]
pub struct Tokens {
    path: PathBuf,
    read: Mutex<TokensRead>,
}

#[derive(Debug, Default)]
struct TokensRead {
    changed: Option<SystemTime>,
    list: Vec<StoredToken>,
}

impl Tokens {
    /// Opens the tokens of a data folder, which need not have any.
    ///
    /// # Errors
    /// When their file cannot be read, or is none of tokens.
    pub fn open(folder: &DataFolder) -> Result<Self, Error> {
        let path = folder.path().join("tokens");
        let (changed, list) = read(&path)?;
        let read = Mutex::new(TokensRead { changed, list });
        Ok(Self { path, read })
    }

    /// Returns all tokens.
    #[must_use]
    pub fn list(&self) -> Vec<StoredToken> {
        self.fresh(<[StoredToken]>::to_vec)
    }

    /// Returns what a token allows; `None` for one that is not known.
    #[must_use]
    pub fn rights(&self, token: &str) -> Option<Vec<Right>> {
        self.rights_of(&blake3::hash(token.as_bytes()))
    }

    /// Returns what the token of a hash allows.
    pub(crate) fn rights_of(&self, hash: &blake3::Hash) -> Option<Vec<Right>> {
        self.fresh(|list| {
            let found = list.iter().find(|stored| stored.hash == *hash);
            found.map(|stored| stored.rights.clone())
        })
    }

    /// Returns whom a token was made for; `None` for one that is not known.
    #[must_use]
    pub fn owner(&self, token: &str) -> Option<String> {
        self.owner_of(&blake3::hash(token.as_bytes()))
    }

    /// Returns whom the token of a hash was made for.
    pub(crate) fn owner_of(&self, hash: &blake3::Hash) -> Option<String> {
        self.fresh(|list| {
            let found = list.iter().find(|stored| stored.hash == *hash);
            found.map(|stored| stored.name.clone())
        })
    }

    /// Makes a token, and returns it: it is stored nowhere.
    ///
    /// # Errors
    /// When the name is taken, or the file cannot be written.
    pub fn add(&self, name: &str, rights: &[Right]) -> Result<String, Error> {
        let mut list = self.list();
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
        let mut list = self.list();
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
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let line = AuditLine::new(Actor::this_user(), what, name, "done");
        AuditFile::of(folder).append(&line, true)
    }

    /// Looks at the tokens as they are in the file now. One that cannot be read allows nothing.
    fn fresh<T>(&self, look: impl FnOnce(&[StoredToken]) -> T) -> T {
        let mut known = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if changed(&self.path).ok() != Some(known.changed) || known.changed.is_none() {
            let (changed, list) = read(&self.path).unwrap_or_default();
            *known = TokensRead { changed, list };
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

fn read(path: &Path) -> Result<(Option<SystemTime>, Vec<StoredToken>), Error> {
    let failed = |error: &dyn std::fmt::Display| Error::new(format!("{}: {error}", path.display()));
    // Asked before: a change meanwhile is seen the next time.
    let Some(changed) = changed(path).map_err(|error| failed(&error))? else {
        return Ok((None, Vec::new()));
    };
    let text = fs::read_to_string(path).map_err(|error| failed(&error))?;
    let rows = text.lines().map(|line| stored_token(line).ok_or(line));
    let list: Result<Vec<_>, _> = rows.collect();
    let list = list.map_err(|_| failed(&"a line is no token"))?;
    Ok((Some(changed), list))
}

fn stored_token(line: &str) -> Option<StoredToken> {
    let row: Value = serde_json::from_str(line).ok()?;
    let rights = row["rights"].as_array()?.iter();
    Some(StoredToken {
        name: row["name"].as_str()?.to_owned(),
        rights: rights
            .map(|right| Right::of(right.as_str()?))
            .collect::<Option<_>>()?,
        created_ns: row["created_ns"].as_i64()?,
        hash: blake3::Hash::from_hex(row["blake3"].as_str()?).ok()?,
    })
}

/// Replaces the file, readable by its owner alone.
fn write(path: &Path, list: &[StoredToken]) -> Result<(), Error> {
    let rows = list.iter().map(|stored| {
        let rights: Vec<_> = stored.rights.iter().map(|right| right.name()).collect();
        let row = json!({
            "name": stored.name,
            "rights": rights,
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
        let ci = operator.add("ci", &[Right::Upload]).unwrap();
        assert!(operator.add("ci", &[Right::Read]).is_err());
        assert_eq!(collector.rights(&ci), Some(vec![Right::Upload]));
        assert_eq!(collector.rights(&ci[..ci.len() - 1]), None);
        let file = data.path().join("tokens");
        assert!(!fs::read_to_string(&file).unwrap().contains(&ci));
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        // A file system's clock may be coarse: the file is another one all the same.
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(operator.revoke("ci").unwrap());
        assert!(!operator.revoke("ci").unwrap());
        assert_eq!(collector.rights(&ci), None);
    }

    #[test]
    fn a_file_that_is_damaged_allows_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataFolder::create(&folder.path().join("data")).unwrap();
        let tokens = Tokens::open(&data).unwrap();
        let token = tokens.add("a", &Right::ALL).unwrap();
        let file = data.path().join("tokens");
        let text = fs::read_to_string(&file).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::write(&file, text.replace("\"write\"", "\"everything\"")).unwrap();
        assert_eq!(tokens.rights(&token), None);
        assert!(Tokens::open(&data).is_err());
    }
}
