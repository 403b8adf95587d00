//! Files of a folder that is being written.

use std::fs;
use std::io::Read;

use flate2::read::GzDecoder;
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
