//! What is no file is written to, and not replaced by one.
#![cfg(unix)]

use std::fs;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::Command;

use traceloom_formats::Output;
use traceloom_input::save::Save;

fn pipe(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("pipe");
    let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo");
    assert!(made.success());
    path
}

fn read(path: &Path) -> std::thread::JoinHandle<Vec<u8>> {
    let path = path.to_owned();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut file = fs::File::open(path).expect("opens");
        file.read_to_end(&mut bytes).expect("reads");
        bytes
    })
}

#[test]
fn a_pipe_stays_a_pipe_whether_the_file_is_finished_or_not() {
    let folder = std::env::temp_dir().join(format!("traceloom-pipe-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let path = pipe(&folder);
    for commits in [true, false] {
        let reader = read(&path);
        let mut save = Save::start(&path, false, false).expect("no --force is needed");
        save.write("", b"bytes").expect("writes");
        if commits {
            save.commit().expect("commits");
        } else {
            drop(save);
        }
        assert_eq!(reader.join().expect("reads"), b"bytes");
        let kind = fs::metadata(&path).expect("is still there").file_type();
        assert!(kind.is_fifo());
    }
    let others = fs::read_dir(&folder).expect("a folder").count();
    assert_eq!(others, 1);
    assert!(Save::start(&path, true, true).is_err());
    fs::remove_dir_all(&folder).expect("removed");
}
