//! What a writer keeps of the rows of a table, by their number.

/// Values by the numbers of dense ids: a place in a vector, where a map would hash.
#[derive(Debug)]
pub(crate) struct ById<T>(Vec<Option<T>>);

impl<T> Default for ById<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> ById<T> {
    #[inline]
    pub(crate) fn get(&self, number: usize) -> Option<&T> {
        self.0.get(number)?.as_ref()
    }

    pub(crate) fn put(&mut self, number: usize, value: T) {
        if self.0.len() <= number {
            self.0.resize_with(number + 1, || None);
        }
        if let Some(slot) = self.0.get_mut(number) {
            *slot = Some(value);
        }
    }

    /// Forgets what was kept of a row, which is defined anew.
    pub(crate) fn remove(&mut self, number: usize) {
        if let Some(slot) = self.0.get_mut(number) {
            *slot = None;
        }
    }
}
