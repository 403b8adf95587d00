//! Zip archives that are damaged: what they still hold is shown, and each damage is a note.
#![allow(
    clippy::disallowed_methods,
    reason = "a test writes the files it opens"
)]

use std::io::{Cursor, Write};
use std::path::Path;

use traceloom_formats::{Record, RecordSink};
use traceloom_input::{Input, OpenOptions};
use traceloom_model::{Flow, Limits, Note};
use zip::write::{SimpleFileOptions, ZipWriter};
use zip::{CompressionMethod, ZipArchive};

/// Bytes of a blst file: a list of `entries` files that is as long as it looks.
fn list(entries: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let string = |bytes: &mut Vec<u8>, text: &str| {
        bytes.push(u8::try_from(text.len()).expect("short"));
        bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes));
    };
    string(&mut bytes, "LOGFORMAT1");
    for number in 0..entries {
        string(&mut bytes, "A");
        string(&mut bytes, &format!("2024/01/02/{:x}", number * 7919));
        bytes.extend([1, 2]);
    }
    bytes
}

fn fill<W: Write + std::io::Seek>(zip: &mut ZipWriter<W>, method: CompressionMethod) {
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, entries, _) in whole() {
        zip.start_file(name, options).expect("in memory");
        zip.write_all(&list(entries)).expect("in memory");
    }
}

/// The archive, and where its members' bytes and its directory begin.
fn archive(method: CompressionMethod) -> (Vec<u8>, Vec<usize>, usize) {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    fill(&mut zip, method);
    let bytes = zip.finish().expect("in memory").into_inner();
    let mut archive = ZipArchive::new(Cursor::new(&bytes)).expect("whole");
    let directory = usize::try_from(archive.central_directory_start()).expect("small");
    let start = |index| {
        let member = archive.by_index(index).expect("whole");
        usize::try_from(member.data_start().expect("known")).expect("small")
    };
    let starts = (0..3).map(start).collect();
    (bytes, starts, directory)
}

#[derive(Default)]
struct Seen {
    entries: usize,
    notes: Vec<&'static str>,
}

impl RecordSink for Seen {
    fn record(&mut self, record: &dyn Record) -> Flow {
        self.entries += usize::from(record.kind() == "blst");
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.notes.push(note.kind);
        Flow::Continue(())
    }
}

/// Name, entries and notes of each member of an archive.
fn seen(bytes: &[u8], name: &str) -> Vec<(String, usize, Vec<&'static str>)> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).expect("written");
    let options = OpenOptions::default();
    let input = Input::open(path.to_str().expect("a path"), &options).expect("an input");
    let parts = input.parts().iter().enumerate();
    let seen = parts.map(|(at, part)| {
        let mut seen = Seen::default();
        match part.part.format.and_then(|format| format.reader) {
            Some(reader) => {
                let mut reader = reader(&Limits::default());
                input.read(at, 0, reader.as_mut(), &mut seen).expect("read");
            }
            None => seen
                .notes
                .extend(input.notes(at).iter().map(|note| note.kind)),
        }
        (part.part.name.clone(), seen.entries, seen.notes)
    });
    seen.collect()
}

fn whole() -> Vec<(String, usize, Vec<&'static str>)> {
    let members = [("a.blst", 50), ("b.blst", 60), ("c.blst", 70)];
    let member = |(name, entries): (&str, usize)| (name.to_owned(), entries, vec![]);
    members.map(member).into()
}

#[test]
fn a_whole_archive_has_no_notes() {
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        assert_eq!(seen(&archive(method).0, "whole.zip"), whole());
    }
}

#[test]
fn one_damaged_member_hides_no_other() {
    let (mut bytes, starts, _) = archive(CompressionMethod::Deflated);
    // A block type that deflate does not have.
    bytes[starts[1]] |= 6;
    let seen = seen(&bytes, "member.zip");
    assert_eq!((&seen[0], &seen[2]), (&whole()[0], &whole()[2]));
    assert_eq!(seen[1], ("b.blst".to_owned(), 0, vec!["damaged_member"]));
}

#[test]
fn a_wrong_checksum_is_a_note_and_the_bytes_are_read() {
    let (mut bytes, starts, _) = archive(CompressionMethod::Stored);
    bytes[starts[1] + 100] ^= 1;
    let seen = seen(&bytes, "checksum.zip");
    assert_eq!((&seen[0], &seen[2]), (&whole()[0], &whole()[2]));
    let (_, entries, notes) = &seen[1];
    assert_eq!(*entries, 60);
    assert_eq!(notes.last(), Some(&"damaged_member"));
}

#[test]
fn members_of_an_archive_without_directory_are_found() {
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let (bytes, _, directory) = archive(method);
        for end in [directory, directory + 60, bytes.len() - 1] {
            let mut expected = whole();
            expected[0].2.push("archive_without_directory");
            let cut = bytes.get(..end).expect("within");
            assert_eq!(seen(cut, "cut.zip"), expected, "{method} up to {end}");
        }
    }
}

#[test]
fn the_last_member_of_a_cut_archive_is_read_as_far_as_it_goes() {
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let (bytes, starts, directory) = archive(method);
        let end = usize::midpoint(starts[2], directory);
        let seen = seen(bytes.get(..end).expect("within"), "last.zip");
        assert_eq!(seen[1], whole()[1]);
        let (_, entries, notes) = &seen[2];
        assert!((1..70).contains(entries), "{method}: {entries}");
        assert_eq!(notes.last(), Some(&"damaged_member"), "{method}");
    }
}

#[test]
fn sizes_behind_the_members_are_found_without_directory() {
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let mut zip = ZipWriter::new_stream(Vec::new());
        fill(&mut zip, method);
        let bytes = zip.finish().expect("in memory").into_inner();
        let directory = bytes.windows(4).position(|four| four == b"PK\x01\x02");
        let bytes = bytes
            .get(..directory.expect("a directory"))
            .expect("within");
        let mut expected = whole();
        expected[0].2.push("archive_without_directory");
        assert_eq!(seen(bytes, "streamed.zip"), expected, "{method}");
    }
}

#[test]
fn an_archive_that_cannot_be_opened_hides_no_file_beside_it() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("beside");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("a.blst"), list(5)).expect("written");
    std::fs::write(folder.join("b.zip"), b"PK\x03\x04 and no more").expect("written");
    let input = Input::open(folder.to_str().expect("a path"), &OpenOptions::default());
    let input = input.expect("an input");
    assert_eq!(input.parts().len(), 2);
    assert!(input.parts()[0].part.format.is_some());
    assert_eq!(input.notes(1)[0].kind, "unreadable_archive");
}

/// Cuts the directory off an archive of `count` members and returns what is found of them.
#[test]
fn thousands_of_members_without_a_directory_are_all_found() {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default();
    for number in 0..3000 {
        zip.start_file(format!("{}/{number}.folded", number % 7), options)
            .expect("in memory");
        zip.write_all(format!("main;f{number} {number}\n").as_bytes())
            .expect("in memory");
    }
    let bytes = zip.finish().expect("in memory").into_inner();
    let archive = ZipArchive::new(Cursor::new(&bytes)).expect("whole");
    let directory = usize::try_from(archive.central_directory_start()).expect("small");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("thousands.zip");
    std::fs::write(&path, &bytes[..directory]).expect("written");
    let options = OpenOptions::default();
    let input = Input::open(path.to_str().expect("a path"), &options).expect("an input");
    assert_eq!(input.parts().len(), 3000);
    let known = |part: &traceloom_input::InputPart| {
        part.part
            .format
            .is_some_and(|format| format.name == "folded")
    };
    assert!(input.parts().iter().all(known));
    assert_eq!(input.documents().count(), 3000);
}

/// Members that are stored, whose sizes stand behind them, and no directory.
fn described_behind(members: usize, mark: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    for number in 0..members {
        let (name, bytes) = (format!("{number:05}.blst"), list(number % 3 + 1));
        file.extend(b"PK\x03\x04\x0a\0\x08\0\0\0\0\0\0\0");
        file.extend([0; 12]);
        file.extend(u16::try_from(name.len()).expect("short").to_le_bytes());
        file.extend([0; 2]);
        file.extend(name.as_bytes());
        file.extend(&bytes);
        file.extend(mark);
        let mut crc = flate2::Crc::new();
        crc.update(&bytes);
        let size = u32::try_from(bytes.len()).expect("short");
        file.extend(crc.sum().to_le_bytes());
        file.extend([size.to_le_bytes(), size.to_le_bytes()].concat());
    }
    file
}

/// Where descriptors have no mark, a search for one went through the rest of the archive for each member.
#[test]
fn stored_members_end_before_their_descriptors_marked_or_not() {
    for mark in [&b"PK\x07\x08"[..], b""] {
        let few = seen(&described_behind(3, mark), "described.zip");
        let names = ["00000.blst", "00001.blst", "00002.blst"];
        for (number, (member, name)) in few.iter().zip(names).enumerate() {
            assert_eq!((member.0.as_str(), member.1), (name, number + 1));
            assert!(!member.2.contains(&"damaged_member"), "{member:?}");
        }
        assert_eq!(few.len(), 3);
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("described-many.zip");
    std::fs::write(&path, described_behind(8_000, b"")).expect("written");
    let options = OpenOptions::default();
    let input = Input::open(path.to_str().expect("a path"), &options).expect("an input");
    assert_eq!(input.parts().len(), 8_000);
}
