//! The module behind `traceloom.html`: bytes of a file in, JSON and pictures out.
//!
//! The page writes the name of a file and its bytes to where [`name()`] and [`input()`] say, calls [`read()`] or [`flame()`], and
//! takes the text of [`answer_length()`] bytes at [`answer()`]. There is one file in a module: the page makes a module for each.
//!
//! Only on wasm32 the functions have these names for a linker: elsewhere `read` would take the place of the system's.
//!
//! Deliberately absent: compression, which the browser opens where it can, and anything that is not in memory.

mod read;

use std::sync::{Mutex, MutexGuard, PoisonError};

use traceloom::analysis::CallTree;
use traceloom::analysis::flame::{self, Picture};

/// The file, and what became of it.
struct DroppedFile {
    name: Vec<u8>,
    bytes: Vec<u8>,
    trees: Vec<CallTree>,
    answer: String,
}

static FILE: Mutex<DroppedFile> = Mutex::new(DroppedFile {
    name: Vec::new(),
    bytes: Vec::new(),
    trees: Vec::new(),
    answer: String::new(),
});

fn file() -> MutexGuard<'static, DroppedFile> {
    FILE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes room for the name of the file, in UTF-8, and returns where it goes.
// SAFETY: no other item of the module has this name.
#[cfg_attr(
    target_arch = "wasm32",
    expect(unsafe_code, reason = "a name of its own is what the page calls"),
    unsafe(no_mangle)
)]
pub extern "C" fn name(length: usize) -> *mut u8 {
    let name = &mut file().name;
    name.resize(length, 0);
    name.as_mut_ptr()
}

/// Makes room for the bytes of the file and returns where they go.
// SAFETY: as above.
#[cfg_attr(
    target_arch = "wasm32",
    expect(unsafe_code, reason = "a name of its own is what the page calls"),
    unsafe(no_mangle)
)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    let bytes = &mut file().bytes;
    bytes.resize(length, 0);
    bytes.as_mut_ptr()
}

/// Reads the file; the answer is JSON: what it is, what is in it, and its hot functions.
// SAFETY: as above.
#[cfg_attr(
    target_arch = "wasm32",
    expect(unsafe_code, reason = "a name of its own is what the page calls"),
    unsafe(no_mangle)
)]
pub extern "C" fn read() {
    let mut file = file();
    let name = String::from_utf8_lossy(&file.name).into_owned();
    let (answer, trees) = read::read(&name, &file.bytes);
    file.trees = trees;
    file.answer = answer.to_string();
}

/// Draws the flame graphs of all measures; the answer is a page, empty where there is nothing to draw.
// SAFETY: as above.
#[cfg_attr(
    target_arch = "wasm32",
    expect(unsafe_code, reason = "a name of its own is what the page calls"),
    unsafe(no_mangle)
)]
pub extern "C" fn flame() {
    let mut file = file();
    let name = String::from_utf8_lossy(&file.name).into_owned();
    let picture = Picture {
        title: &name,
        short_names: true,
        ..Picture::default()
    };
    file.answer = match file.trees.is_empty() {
        true => String::new(),
        false => flame::html(&file.trees, &picture),
    };
}

/// Returns where the answer is.
// SAFETY: as above.
#[cfg_attr(
    target_arch = "wasm32",
    expect(unsafe_code, reason = "a name of its own is what the page calls"),
    unsafe(no_mangle)
)]
pub extern "C" fn answer() -> *const u8 {
    file().answer.as_ptr()
}

/// Returns the length of the answer in bytes.
// SAFETY: as above.
#[cfg_attr(
    target_arch = "wasm32",
    expect(unsafe_code, reason = "a name of its own is what the page calls"),
    unsafe(no_mangle)
)]
pub extern "C" fn answer_length() -> usize {
    file().answer.len()
}
