//! Tar archives, archives in archives, and how much may come out of either.

use std::io::Write;
use std::path::Path;

use flate2::write::GzEncoder;
use traceloom_formats::{Record, RecordSink};
use traceloom_input::{Input, OpenOptions};
use traceloom_model::{Flow, Limits, Note};
use zip::write::{SimpleFileOptions, ZipWriter};

fn folded(number: u32) -> Vec<u8> {
    format!("main;f{number} {number}\nmain 1\n").into_bytes()
}

/// A member of a tar archive with its header.
fn member(name: &str, kind: u8, bytes: &[u8]) -> Vec<u8> {
    let mut block = [0_u8; 512];
    block[..name.len()].copy_from_slice(name.as_bytes());
    block[124..135].copy_from_slice(format!("{:011o}", bytes.len()).as_bytes());
    block[148..156].copy_from_slice(b"        ");
    block[156] = kind;
    block[257..263].copy_from_slice(b"ustar\0");
    let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let mut member = [&block[..], bytes].concat();
    member.resize(member.len().next_multiple_of(512), 0);
    member
}

fn end() -> Vec<u8> {
    vec![0; 1024]
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("in memory");
    encoder.finish().expect("in memory")
}

fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in members {
        zip.start_file(*name, SimpleFileOptions::default())
            .expect("in memory");
        zip.write_all(bytes).expect("in memory");
    }
    zip.finish().expect("in memory").into_inner()
}

#[derive(Default)]
struct Seen {
    records: usize,
    notes: Vec<&'static str>,
}

impl RecordSink for Seen {
    fn record(&mut self, _record: &dyn Record) -> Flow {
        self.records += 1;
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.notes.push(note.kind);
        Flow::Continue(())
    }
}

/// Name, records and notes of each part.
fn seen(
    name: &str,
    bytes: &[u8],
    limits: &[(&str, u64)],
) -> Vec<(String, usize, Vec<&'static str>)> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).expect("written");
    let mut options = OpenOptions::default();
    for &(name, value) in limits {
        options.limits.set(name, value).expect("a limit");
    }
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
        (part.part.name.clone(), seen.records, seen.notes)
    });
    seen.collect()
}

fn whole(names: &[&str]) -> Vec<(String, usize, Vec<&'static str>)> {
    names
        .iter()
        .map(|&name| (name.to_owned(), 2, vec![]))
        .collect()
}

#[test]
fn tar_and_tgz_hold_what_was_put_in() {
    let tar = [
        member("./runs/", b'5', b""),
        member("./runs/a.folded", b'0', &folded(1)),
        member("runs/b.folded.gz", b'0', &gzip(&folded(2))),
        member("runs/link", b'2', b""),
        member("c.folded", 0, &folded(3)),
        end(),
    ]
    .concat();
    let names = ["runs/a.folded", "runs/b.folded", "c.folded"];
    assert_eq!(seen("plain.tar", &tar, &[]), whole(&names));
    assert_eq!(seen("packed.tar.gz", &gzip(&tar), &[]), whole(&names));
    // Without the blocks that end it, as a writer that was stopped leaves it.
    assert_eq!(
        seen("open.tar", &tar[..tar.len() - 1024], &[]),
        whole(&names)
    );
    let nested = zip(&[("in.tgz", &gzip(&tar)), ("d.folded", &folded(4))]);
    let in_zip = [
        "d.folded",
        "in.tgz/runs/a.folded",
        "in.tgz/runs/b.folded",
        "in.tgz/c.folded",
    ];
    assert_eq!(seen("nested.zip", &nested, &[]), whole(&in_zip));
}

#[test]
fn long_names_are_those_of_gnu_and_posix() {
    let long = format!("{}/x.folded", "d".repeat(200));
    let record = format!(" path={long}\n");
    let record = format!("{}{record}", record.len() + 3);
    for extension in [
        member("././@LongLink", b'L', format!("{long}\0").as_bytes()),
        member("PaxHeaders/x", b'x', record.as_bytes()),
    ] {
        let tar = [extension, member("short", b'0', &folded(1)), end()].concat();
        assert_eq!(seen("long.tar", &tar, &[]), whole(&[&long]));
    }
}

#[test]
fn a_damaged_tar_is_read_as_far_as_it_goes() {
    let first = member("a.folded", b'0', &folded(1));
    let mut broken = member("b.folded", b'0', &folded(2));
    broken[0] ^= 1;
    let last = member("c.folded", b'0', &folded(3));
    let tar = [first.clone(), broken, last, end()].concat();
    let mut expected = whole(&["a.folded", "c.folded"]);
    expected[1].2.push("damaged_archive");
    assert_eq!(seen("broken.tar", &tar, &[]), expected);

    let long: Vec<u8> = b"main 1\n".repeat(200);
    let cut = [first, member("b.folded", b'0', &long)].concat();
    let seen = seen("cut.tar", &cut[..1024 + 512 + 700], &[]);
    assert_eq!(seen[0], whole(&["a.folded"])[0]);
    assert_eq!(
        (seen[1].1, seen[1].2.last()),
        (100, Some(&"damaged_member"))
    );
}

#[test]
fn a_part_that_decodes_to_too_much_ends_and_the_next_is_read() {
    let long = b"main 1\n".repeat(1000);
    let archive = zip(&[("a.folded", &long), ("b.folded", &folded(2))]);
    let found = seen("long.zip", &archive, &[("part_bytes", 700)]);
    assert_eq!(
        (found[0].2.last(), &found[1]),
        (Some(&"limit_part_bytes"), &whole(&["b.folded"])[0])
    );
    assert!(found[0].1 <= 101, "{}", found[0].1);
    let found = seen("long.folded.gz", &gzip(&long), &[("part_bytes", 700)]);
    assert_eq!(found[0].2.last(), Some(&"limit_part_bytes"));
    // Of all together.
    let found = seen("total.zip", &archive, &[("total_bytes", 6000)]);
    assert_eq!(found[0].2.last(), Some(&"limit_total_bytes"));
    assert_eq!(found[1].2.last(), Some(&"limit_total_bytes"));
}

#[test]
fn what_grows_too_much_ends_while_it_is_decoded() {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::best());
    let block = vec![7_u8; 1 << 20];
    for _ in 0..300 {
        encoder.write_all(&block).expect("in memory");
    }
    let packed = encoder.finish().expect("in memory");
    assert!(packed.len() < 1 << 20);
    let archive = zip(&[("bomb.gz", &packed), ("b.folded", &folded(2))]);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bomb.zip");
    std::fs::write(&path, archive).expect("written");
    for (ratio, decoded, kinds) in [
        (10, 256 << 20, vec!["limit_ratio"]),
        (1_000_000_000, 300 << 20, vec![]),
    ] {
        let mut options = OpenOptions::default();
        options.limits.set("ratio", ratio).expect("a limit");
        let input = Input::open(path.to_str().expect("a path"), &options).expect("an input");
        let bomb = input
            .parts()
            .iter()
            .position(|part| part.part.name == "bomb");
        let bomb = bomb.expect("a part");
        let size = input.decoded_size(bomb).expect("decodes");
        assert!(size.abs_diff(decoded) <= 1 << 20, "{ratio}: {size}");
        let notes: Vec<_> = input.notes(bomb).iter().map(|note| note.kind).collect();
        assert_eq!(notes, kinds);
        let other = input
            .parts()
            .iter()
            .find(|part| part.part.name == "b.folded");
        assert!(other.is_some_and(|part| part.part.format.is_some()));
    }
}

#[test]
fn a_sparse_file_is_a_note_and_the_others_are_read() {
    // An old header of GNU's, which says that a block with more holes follows.
    let mut old = member("holes.folded", b'S', b"");
    old[124..135].copy_from_slice(format!("{:011o}", 600).as_bytes());
    old[148..156].copy_from_slice(b"        ");
    old[482] = 1;
    let sum: u32 = old.iter().map(|&byte| u32::from(byte)).sum();
    old[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    old.extend([b'0'; 504]);
    old.extend([0; 8]);
    old.extend([b'x'; 1024]);
    let records = ["GNU.sparse.major=1", "GNU.sparse.name=holes.folded"];
    let records = records.map(|record| format!("{} {record}\n", record.len() + 4));
    let new = [
        member("PaxHeaders/x", b'x', records.concat().as_bytes()),
        member("GNUSparseFile.1/holes.folded", b'0', b"1\n0\n512\nmain 1\n"),
    ];
    for sparse in [old, new.concat()] {
        let first = member("a.folded", b'0', &folded(1));
        let last = member("b.folded", b'0', &folded(2));
        let tar = [first, sparse, last, end()].concat();
        let seen = seen("sparse.tar", &tar, &[]);
        let names: Vec<_> = seen
            .iter()
            .map(|(name, records, _)| (name.as_str(), *records))
            .collect();
        assert_eq!(names, [("a.folded", 2), ("b.folded", 2)]);
        assert_eq!(seen[1].2, ["sparse_member"]);
    }
}
