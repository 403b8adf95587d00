//! Memory that a thread keeps for what it records next.

use std::cell::RefCell;

/// How many pieces of memory a thread keeps, and how large they may be.
const MOST_SPARES: usize = 64;
const LARGEST_SPARE: usize = 4096;

thread_local! {
    static SPARES: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Bytes whose memory is used again.
#[derive(Debug)]
pub struct SpareBytes(pub Vec<u8>);

impl Default for SpareBytes {
    fn default() -> Self {
        let spare = SPARES.try_with(|spares| spares.borrow_mut().pop());
        let new = || Vec::with_capacity(256);
        Self(spare.ok().flatten().unwrap_or_else(new))
    }
}

impl Drop for SpareBytes {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.0);
        if bytes.capacity() > LARGEST_SPARE {
            return;
        }
        bytes.clear();
        // A thread that is ending has none.
        let _ = SPARES.try_with(|spares| {
            let mut spares = spares.borrow_mut();
            if spares.len() < MOST_SPARES {
                spares.push(bytes);
            }
        });
    }
}
