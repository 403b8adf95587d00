//! Values by process and thread.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::survey::Thread;

type Words<T> = HashMap<Box<[u8]>, T, RandomState>;

/// Values by the words of a process and a thread, which are not copied to find one.
#[derive(Debug)]
pub(super) struct ByThread<T> {
    /// By words that a number holds, as nearly all do.
    short: HashMap<(u64, u64), T, RandomState>,
    processes: Words<Words<T>>,
    len: usize,
}

impl<T> Default for ByThread<T> {
    fn default() -> Self {
        Self {
            short: HashMap::default(),
            processes: HashMap::default(),
            len: 0,
        }
    }
}

impl<T> ByThread<T> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn get(&self, process: &[u8], thread: &[u8]) -> Option<&T> {
        match short(process, thread) {
            Some(key) => self.short.get(&key),
            None => self.processes.get(process)?.get(thread),
        }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, process: &[u8], thread: &[u8]) -> Option<&mut T> {
        match short(process, thread) {
            Some(key) => self.short.get_mut(&key),
            None => self.processes.get_mut(process)?.get_mut(thread),
        }
    }

    pub(super) fn insert(&mut self, (process, thread): Thread, value: T) {
        let before = match short(&process, &thread) {
            Some(key) => self.short.insert(key, value),
            None => {
                let threads = self.processes.entry(process).or_default();
                threads.insert(thread, value)
            }
        };
        self.len += usize::from(before.is_none());
    }
}

/// Returns two words as numbers, each behind a bit that says where it begins, if they are of up to seven bytes.
#[inline]
fn short(process: &[u8], thread: &[u8]) -> Option<(u64, u64)> {
    let number = |word: &[u8]| {
        let packed = word
            .iter()
            .fold(1, |packed, &byte| packed << 8 | u64::from(byte));
        (word.len() < 8).then_some(packed)
    };
    Some((number(process)?, number(thread)?))
}
