//! What a scout, which reads a source ahead of its lowering, tells the lowering.

use std::any::Any;
use std::fmt;

use crate::Source;

/// What a [`crate::Scout`] says, in a form of its format's own.
pub struct Scouted(Box<dyn Any + Send>);

impl fmt::Debug for Scouted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scouted")
    }
}

/// What a scout found in one pass over a part, from where the stretch before it ended on.
pub(crate) struct Stretch<T> {
    /// Passes are made in the order of their numbers.
    pub(crate) pass: u32,
    pub(crate) until: u64,
    /// What was found, with the offset at which it begins, in the order of the offsets.
    pub(crate) found: Vec<(u64, T)>,
}

impl<T: Send + 'static> Stretch<T> {
    pub(crate) fn say(self) -> Scouted {
        Scouted(Box::new(self))
    }
}

/// What a scout found, as the lowering comes to it.
pub(crate) struct Ahead<'s, T> {
    /// Where a scout is heard, as long as it says anything.
    source: Option<&'s dyn Source>,
    stretch: Stretch<T>,
    next: usize,
}

impl<'s, T: 'static> Ahead<'s, T> {
    /// Knows nothing.
    pub(crate) fn nothing() -> Self {
        Self {
            source: None,
            stretch: Stretch {
                pass: 0,
                until: 0,
                found: Vec::new(),
            },
            next: 0,
        }
    }

    /// Listens to the scout of a source, where one is at work.
    pub(crate) fn of(source: &'s dyn Source) -> Self {
        Self {
            source: Some(source),
            ..Self::nothing()
        }
    }

    /// Returns what was found at an offset, which is behind those that were asked for before; waits for the scout to come by
    /// it.
    #[inline]
    pub(crate) fn at(&mut self, pass: u32, offset: u64) -> Option<&T> {
        self.source?;
        if (self.stretch.pass, self.stretch.until) <= (pass, offset) {
            self.listen(pass, offset)?;
        }
        if self.stretch.pass != pass {
            return None;
        }
        loop {
            let (begin, found) = self.stretch.found.get(self.next)?;
            if *begin >= offset {
                return (*begin == offset).then_some(found);
            }
            self.next += 1;
        }
    }

    /// Takes all that was found in the stretch that an offset is in, which is behind those that were taken before; waits for the
    /// scout to come by it.
    pub(crate) fn take(&mut self, pass: u32, offset: u64) -> Option<Stretch<T>> {
        if (self.stretch.pass, self.stretch.until) <= (pass, offset) {
            self.listen(pass, offset)?;
        }
        (self.stretch.pass == pass).then(|| {
            let next = Stretch {
                pass,
                until: self.stretch.until,
                found: Vec::new(),
            };
            std::mem::replace(&mut self.stretch, next)
        })
    }

    /// Waits for a stretch that ends behind an offset.
    #[cold]
    fn listen(&mut self, pass: u32, offset: u64) -> Option<()> {
        while (self.stretch.pass, self.stretch.until) <= (pass, offset) {
            let heard = self.source?.heard();
            let heard = heard.and_then(|heard| heard.0.downcast::<Stretch<T>>().ok());
            let Some(stretch) = heard else {
                self.source = None;
                return None;
            };
            (self.stretch, self.next) = (*stretch, 0);
        }
        Some(())
    }
}
