//! Files of a folder that is being written.

use std::fs;
use std::io::Read;

use flate2::read::{GzDecoder, MultiGzDecoder};
use traceloom_formats::Output;
use traceloom_input::save::Save;

#[test]
fn a_file_that_ends_is_whole_before_its_folder_is() {
    let folder = std::env::temp_dir().join(format!("traceloom-saving-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let target = folder.join("dump");
    let mut save = Save::start(&target, true, false).expect("starts");
    save.write("trace/1.gz", b"first").expect("writes");
    save.end("trace/1.gz").expect("ends");
    save.end("calls/1.gz").expect("nothing was written to it");
    save.write("trace/2.gz", b"second").expect("writes");

    let read = |path: std::path::PathBuf| {
        let mut text = String::new();
        let file = fs::File::open(path).expect("opens");
        let read = GzDecoder::new(file).read_to_string(&mut text);
        read.map(|_| text)
    };
    let mut hidden = fs::read_dir(&folder).expect("a folder");
    let hidden = hidden.next().expect("one").expect("an entry").path();
    assert_eq!(read(hidden.join("trace/1.gz")).expect("is whole"), "first");
    assert!(read(hidden.join("trace/2.gz")).is_err());

    save.commit().expect("commits");
    assert_eq!(read(target.join("trace/1.gz")).expect("is whole"), "first");
    assert_eq!(read(target.join("trace/2.gz")).expect("is whole"), "second");
    fs::remove_dir_all(&folder).expect("removed");
}

#[test]
#[cfg(target_os = "linux")]
fn a_folder_of_many_files_keeps_none_of_them_open() {
    let scratch = tempfile::tempdir().expect("a folder");
    let target = scratch.path().join("out");
    let open = || {
        let links = fs::read_dir("/proc/self/fd").expect("listed");
        let links = links.filter_map(|link| fs::read_link(link.ok()?.path()).ok());
        links
            .filter(|file| file.starts_with(scratch.path()))
            .count()
    };
    let mut save = Save::start(&target, true, false).expect("starts");
    let block = [b'x'; 70_000];
    let names: Vec<String> = (0..600)
        .map(|number| format!("{number}/trace{}", if number % 3 == 0 { ".gz" } else { "" }))
        .collect();
    for name in &names {
        save.write(name, b"first ").expect("writes");
    }
    for name in &names {
        save.write(name, &block).expect("writes");
    }
    assert_eq!(open(), 0);
    save.commit().expect("commits");
    for name in &names {
        let file = fs::File::open(target.join(name)).expect("is there");
        let mut bytes = Vec::new();
        let read = match name.ends_with(".gz") {
            true => MultiGzDecoder::new(file).read_to_end(&mut bytes),
            false => {
                let mut file = file;
                file.read_to_end(&mut bytes)
            }
        };
        read.expect("reads");
        assert!(
            bytes.len() == 70_006 && bytes.starts_with(b"first xx"),
            "{name}"
        );
    }
}
