//! Files that were uploaded: several of one capture are a recording of several files.

use std::collections::HashMap;

use traceloom_formats::protocol::{
    Assemble, AssembledPart, CaptureRules, Entry, FIRST_KIND, Identity,
};

/// How uploads are stored. A stream is a file: its name comes first, then its bytes.
pub const UPLOAD: CaptureRules = CaptureRules {
    name: "upload",
    number: 3,
    assemble: || Box::new(CapturedFiles::of("upload")),
};

/// The kind of an entry with the name of its file, as the sender gave it.
pub const NAME: u8 = FIRST_KIND;
/// The kind of an entry with bytes of its file.
pub const DATA: u8 = FIRST_KIND + 1;
/// The kind of an entry with the service that the capture is of.
pub const SERVICE: u8 = FIRST_KIND + 2;
/// The kind of an entry with the process that the capture is of.
pub const INSTANCE: u8 = FIRST_KIND + 3;

/// Characters that a name keeps; what is longer is cut from its beginning, where the ending tells the format.
const LONGEST_NAME: usize = 200;

/// The kind of an entry that says what a file is known by, so that it is stored once: see [`super::posts`].
pub const MARK: u8 = FIRST_KIND + 4;
/// The kind of an entry in the place of a file that is stored already: see [`super::posts`].
pub const REPEAT: u8 = FIRST_KIND + 5;
/// The kind of an entry with the tenant that it is sent for: one of its token's, or the token's name.
pub const TENANT: u8 = FIRST_KIND + 6;
/// The kind of an entry with the version of the service.
pub const VERSION: u8 = FIRST_KIND + 7;

/// The files of a capture so far.
#[derive(Default)]
pub(super) struct CapturedFiles {
    /// The first component of their names.
    folder: &'static str,
    identity: Identity,
    parts: Vec<AssembledPart>,
    /// The part of each stream.
    part_of: HashMap<u32, usize>,
    /// How often each name was sent.
    names: HashMap<String, u32>,
    doubts: Vec<String>,
}

impl CapturedFiles {
    pub(super) fn of(folder: &'static str) -> Self {
        Self {
            folder,
            ..Self::default()
        }
    }

    /// Returns the name of a part, unlike those before it.
    fn new_name(&mut self, sent: &str) -> String {
        let name = plain_path(sent);
        let mut unique = name.clone();
        while self.names.contains_key(&unique) {
            let times = self.names.entry(name.clone()).or_default();
            *times += 1;
            unique = format!("{times}-{name}");
        }
        self.names.insert(unique.clone(), 1);
        // The first component is the sender's own.
        format!("{}/{unique}", self.folder)
    }

    fn doubt(&mut self, doubt: String) {
        if !self.doubts.contains(&doubt) {
            self.doubts.push(doubt);
        }
    }
}

impl Assemble for CapturedFiles {
    fn take(&mut self, entry: &Entry<'_>) -> Option<usize> {
        let text = || String::from_utf8_lossy(entry.bytes).into_owned();
        let known = self.part_of.get(&entry.stream).copied();
        match entry.kind {
            NAME if known.is_none() => {
                let name = self.new_name(&text());
                self.part_of.insert(entry.stream, self.parts.len());
                self.parts.push(AssembledPart { name });
                None
            }
            SERVICE => {
                self.identity.service = text();
                None
            }
            INSTANCE => {
                self.identity.instance = text();
                None
            }
            TENANT => {
                self.identity.namespace = text();
                None
            }
            VERSION => {
                self.identity.version = text();
                None
            }
            MARK | REPEAT => None,
            DATA => {
                if known.is_none() {
                    self.doubt(format!("bytes of file {}, which has no name", entry.stream));
                }
                known
            }
            kind => {
                self.doubt(format!("an entry of the unknown kind {kind}"));
                None
            }
        }
    }

    fn parts(&self) -> Vec<AssembledPart> {
        self.parts.clone()
    }

    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn doubts(&self) -> &[String] {
        &self.doubts
    }
}

/// Returns a relative path of plain file names.
fn plain_path(sent: &str) -> String {
    let folders = sent
        .split(['/', '\\'])
        .map(|name| name.trim_start_matches('.'));
    let plain: Vec<String> = folders
        .filter(|name| !name.is_empty())
        .map(|name| name.chars().map(plain_character).collect())
        .collect();
    let joined = plain.join("/");
    let surplus = joined.chars().count().saturating_sub(LONGEST_NAME);
    let kept: String = joined.chars().skip(surplus).collect();
    let kept = kept.trim_start_matches('/');
    match kept {
        "" => "file".to_owned(),
        kept => kept.to_owned(),
    }
}

fn plain_character(character: char) -> char {
    match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' | '_' | '+' | '=' | '@' => character,
        _ => '_',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(files: &mut dyn Assemble, stream: u32, kind: u8, bytes: &[u8]) -> Option<usize> {
        files.take(&Entry {
            stream,
            kind,
            bytes,
        })
    }

    #[test]
    fn bytes_go_to_the_file_of_their_stream() {
        let mut files = (UPLOAD.assemble)();
        assert_eq!(take(&mut *files, 4, DATA, b"early"), None);
        assert_eq!(take(&mut *files, 0, NAME, b"dump/trace/000001"), None);
        assert_eq!(take(&mut *files, 1, NAME, b"dump/calls/000001"), None);
        assert_eq!(take(&mut *files, 1, DATA, b"x"), Some(1));
        assert_eq!(take(&mut *files, 0, DATA, b"y"), Some(0));
        take(&mut *files, 0, SERVICE, b"shop");
        take(&mut *files, 0, INSTANCE, b"shop-1");
        take(&mut *files, 0, VERSION, b"1.2.4");
        assert_eq!(files.identity().service, "shop");
        assert_eq!(files.identity().instance, "shop-1");
        assert_eq!(files.identity().version, "1.2.4");
        assert_eq!(files.parts()[1].name, "upload/dump/calls/000001");
        assert_eq!(
            files.doubts(),
            ["bytes of file 4, which has no name".to_owned()]
        );
    }

    #[test]
    fn names_from_the_wire_are_plain_and_stay_below_their_folder() {
        let mut files = (UPLOAD.assemble)();
        let sent = [
            ("a.jfr", "upload/a.jfr"),
            ("a.jfr", "upload/2-a.jfr"),
            ("a.jfr", "upload/3-a.jfr"),
            ("../../etc/passwd", "upload/etc/passwd"),
            ("/..\\.\\", "upload/file"),
            (".hidden", "upload/hidden"),
            ("a\u{1b}[31m\n b", "upload/a__31m__b"),
        ];
        for (stream, (name, _)) in (0..).zip(sent) {
            take(&mut *files, stream, NAME, name.as_bytes());
        }
        let names: Vec<_> = files.parts().into_iter().map(|part| part.name).collect();
        assert_eq!(names, sent.map(|(_, name)| name.to_owned()));
        let long = format!("{}/end.pprof", "x".repeat(5000));
        take(&mut *files, 99, NAME, long.as_bytes());
        let name = &files.parts()[7].name;
        assert!(
            name.len() <= LONGEST_NAME + 7 && name.ends_with("x/end.pprof"),
            "{name}"
        );
    }
}
