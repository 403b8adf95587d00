//! Values by process and thread.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::survey::Thread;

type Words<T> = HashMap<Box<[u8]>, T, RandomState>;

/// Values by the words of a process and a thread, which are not copied to find one.
#[derive(Debug)]
pub(super) struct ByThread<T> {
    processes: Words<Words<T>>,
    len: usize,
}

impl<T> Default for ByThread<T> {
    fn default() -> Self {
        Self {
            processes: HashMap::default(),
            len: 0,
        }
    }
}

impl<T> ByThread<T> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, process: &[u8], thread: &[u8]) -> Option<&T> {
        self.processes.get(process)?.get(thread)
    }

    pub(super) fn get_mut(&mut self, process: &[u8], thread: &[u8]) -> Option<&mut T> {
        self.processes.get_mut(process)?.get_mut(thread)
    }

    pub(super) fn insert(&mut self, (process, thread): Thread, value: T) {
        let threads = self.processes.entry(process).or_default();
        self.len += usize::from(threads.insert(thread, value).is_none());
    }
}
