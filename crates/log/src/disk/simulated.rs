use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Disk, File};

/// A disk in memory that forgets at a crash what was not synced, and fails when told to.
///
/// Every operation that changes it is counted; [`Simulated::fail_at`] chooses the ones that fail.
#[derive(Clone, Default)]
pub struct Simulated {
    files: Arc<Mutex<SimulatedFiles>>,
    /// What the names of this folder begin with on the disk.
    prefix: String,
}

/// What an operation does in place of its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskFault {
    /// The machine stops: this operation and all that follow fail until [`Simulated::restart`].
    Crash,
    /// The operation fails once. A failed append leaves half of its bytes; a failed sync drops what was not
    /// durable from the disk and keeps showing it to readers, as Linux does.
    Error,
    /// A sync reports success and makes nothing durable. No disk should; it shows that tests would notice.
    Lie,
}

/// How much of what was not synced outlasts a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survivors {
    /// Nothing.
    None,
    /// Everything, as when a process is killed and the machine goes on.
    All,
    /// For each file a part of its bytes, the rest of them zeros or gone, and some of the names; drawn from a
    /// seed.
    Some(u64),
}

#[derive(Default)]
struct SimulatedFiles {
    inodes: Vec<Inode>,
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    /// Names created, renamed or removed since the last sync of the folder.
    n_changes: u64,
    faults: BTreeMap<u64, DiskFault>,
    crashed: bool,
    /// Folders whose files are not made durable by syncs.
    lies: BTreeSet<String>,
    /// Folders whose names are not made durable by syncs.
    name_lies: BTreeSet<String>,
}

#[derive(Default, Clone)]
struct Inode {
    /// What readers see.
    bytes: Vec<u8>,
    /// What a crash leaves.
    durable: Vec<u8>,
    /// Bytes before this were there at the last sync, successful or not.
    clean: usize,
}

impl Simulated {
    /// Returns a folder of the same disk. Names of each folder are synced apart from those of the others.
    #[must_use]
    pub fn folder(&self, name: &str) -> Self {
        Self {
            files: self.files.clone(),
            prefix: format!("{}{name}/", self.prefix),
        }
    }

    /// Returns the number of changing operations so far.
    #[must_use]
    pub fn n_changes(&self) -> u64 {
        self.lock().n_changes
    }

    /// Has the `n`-th changing operation fail, counted from 0.
    pub fn fail_at(&self, n: u64, fault: DiskFault) {
        self.lock().faults.insert(n, fault);
    }

    /// Has every sync of a file of this folder report success without making anything durable.
    pub fn lie(&self) {
        self.lock().lies.insert(self.prefix.clone());
    }

    /// Has every sync of this folder report success without making its names durable.
    pub fn lie_about_names(&self) {
        self.lock().name_lies.insert(self.prefix.clone());
    }

    /// Starts the machine again after a crash, or kills the processes on it.
    pub fn restart(&self, survivors: Survivors) {
        let mut state = self.lock();
        state.crashed = false;
        state.faults.clear();
        let mut random = match survivors {
            Survivors::All => return,
            Survivors::None => None,
            Survivors::Some(seed) => Some(SeededRandom(seed)),
        };
        let mut names = state.durable_names.clone();
        if let Some(random) = &mut random {
            let visible = state.names.clone();
            for (name, &inode) in &visible {
                if names.get(name) != Some(&inode) && random.below(2) == 0 {
                    // The old name of a file that was renamed goes with the new one's coming.
                    names.retain(|_, of| *of != inode);
                    names.insert(name.clone(), inode);
                }
            }
            names.retain(|name, inode| {
                visible.contains_key(name) || {
                    let renamed = visible.values().any(|of| of == inode);
                    renamed || random.below(2) == 0
                }
            });
        }
        for inode in &mut state.inodes {
            if let Some(random) = &mut random {
                let unsynced = inode.bytes.get(inode.durable.len()..).unwrap_or_default();
                let kept = random.below(unsynced.len() as u64 + 1) as usize;
                let mut tail = unsynced[..kept].to_vec();
                if random.below(3) == 0 {
                    let zeros = random.below(tail.len() as u64 + 1) as usize;
                    tail[zeros..].fill(0);
                }
                inode.durable.extend_from_slice(&tail);
            }
            inode.bytes.clone_from(&inode.durable);
            inode.clean = inode.bytes.len();
        }
        state.names.clone_from(&names);
        state.durable_names = names;
    }

    /// Changes one byte of a file, as a failing disk does.
    ///
    /// # Panics
    /// When there is no such byte.
    pub fn flip(&self, name: &str, offset: usize, bits: u8) {
        let mut state = self.lock();
        let inode = state.names[&self.path(name)];
        state.inodes[inode].bytes[offset] ^= bits;
        state.inodes[inode].durable = state.inodes[inode].bytes.clone();
    }

    fn lock(&self) -> MutexGuard<'_, SimulatedFiles> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Returns the name that a path of the disk has in this folder.
    fn name_of<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.strip_prefix(&self.prefix)
            .filter(|name| !name.contains('/'))
    }

    fn file(&self, inode: usize) -> Arc<dyn File> {
        Arc::new(SimulatedFile {
            disk: self.clone(),
            inode,
        })
    }
}

impl SimulatedFiles {
    /// Counts an operation and returns the fault that it must show.
    fn change(&mut self) -> io::Result<Option<DiskFault>> {
        self.alive()?;
        let fault = self.faults.get(&self.n_changes).copied();
        self.n_changes += 1;
        self.crashed = fault == Some(DiskFault::Crash);
        Ok(fault)
    }

    fn alive(&self) -> io::Result<()> {
        if self.crashed {
            return Err(io::Error::other("the machine stopped"));
        }
        Ok(())
    }

    /// Counts an operation that has no half way.
    fn change_whole(&mut self) -> io::Result<()> {
        failing(self.change()?)
    }

    fn inode(&self, name: &str) -> io::Result<usize> {
        self.names
            .get(name)
            .copied()
            .ok_or(io::ErrorKind::NotFound.into())
    }
}

fn failing(fault: Option<DiskFault>) -> io::Result<()> {
    match fault {
        Some(DiskFault::Error) => Err(io::Error::other("the disk failed")),
        Some(DiskFault::Crash) => Err(io::Error::other("the machine stopped")),
        Some(DiskFault::Lie) | None => Ok(()),
    }
}

impl Disk for Simulated {
    fn list(&self) -> io::Result<Vec<String>> {
        let state = self.lock();
        state.alive()?;
        let names = state.names.keys().filter_map(|path| self.name_of(path));
        Ok(names.map(str::to_owned).collect())
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let name = self.path(name);
        let mut state = self.lock();
        state.change_whole()?;
        if state.names.contains_key(&name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.inodes.push(Inode::default());
        let inode = state.inodes.len() - 1;
        state.names.insert(name, inode);
        drop(state);
        Ok(self.file(inode))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let state = self.lock();
        state.alive()?;
        let inode = state.inode(&self.path(name))?;
        drop(state);
        Ok(self.file(inode))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.lock();
        state.change_whole()?;
        let inode = state.inode(&self.path(from))?;
        state.names.remove(&self.path(from));
        state.names.insert(self.path(to), inode);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.lock();
        state.change_whole()?;
        let name = self.path(name);
        state.inode(&name)?;
        state.names.remove(&name);
        Ok(())
    }

    fn sync_folder(&self) -> io::Result<()> {
        let mut state = self.lock();
        state.change_whole()?;
        if state.name_lies.contains(&self.prefix) {
            return Ok(());
        }
        let elsewhere = |path: &String| self.name_of(path).is_none();
        state.durable_names.retain(|path, _| elsewhere(path));
        let visible = state.names.iter();
        let here = visible.filter(|(path, _)| !elsewhere(path));
        let here: Vec<_> = here.map(|(path, inode)| (path.clone(), *inode)).collect();
        state.durable_names.extend(here);
        Ok(())
    }
}

struct SimulatedFile {
    disk: Simulated,
    inode: usize,
}

impl File for SimulatedFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.disk.lock();
        let fault = state.change()?;
        let written = match fault {
            Some(DiskFault::Error) => bytes.len() / 2,
            _ => bytes.len(),
        };
        state.inodes[self.inode]
            .bytes
            .extend_from_slice(&bytes[..written]);
        failing(fault)
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.lock();
        let fault = state.change()?;
        let lies = state.lies.contains(&self.disk.prefix) || fault == Some(DiskFault::Lie);
        let inode = &mut state.inodes[self.inode];
        let clean = std::mem::replace(&mut inode.clean, inode.bytes.len());
        failing(fault)?;
        if !lies {
            // Bytes that an earlier sync lost are clean: they are not written again.
            inode.durable.resize(clean, 0);
            inode.durable.extend_from_slice(&inode.bytes[clean..]);
        }
        Ok(())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.disk.lock();
        state.alive()?;
        let bytes = &state.inodes[self.inode].bytes;
        let start = usize::try_from(offset).map_or(bytes.len(), |offset| offset.min(bytes.len()));
        let length = buffer.len().min(bytes.len() - start);
        buffer[..length].copy_from_slice(&bytes[start..start + length]);
        Ok(length)
    }

    fn length(&self) -> io::Result<u64> {
        let state = self.disk.lock();
        state.alive()?;
        Ok(state.inodes[self.inode].bytes.len() as u64)
    }
}

/// A small generator (splitmix64), so that a seed replays.
struct SeededRandom(u64);

impl SeededRandom {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ word >> 31) % bound.max(1)
    }
}
