//! What is encoded of spans that wait for the spans around them.

/// Bytes that may lie about before what is left is moved together.
const SLACK: usize = 1 << 18;

/// Where the bytes of a span are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body {
    start: usize,
    len: usize,
}

impl Body {
    #[inline]
    pub(crate) const fn len(self) -> usize {
        self.len
    }
}

/// The bytes of spans in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    bytes: Vec<u8>,
    /// Bytes of spans that still wait.
    needed: usize,
}

impl Bodies {
    /// Keeps what `encode` appends.
    #[inline]
    pub(crate) fn keep(&mut self, encode: impl FnOnce(&mut Vec<u8>)) -> Body {
        let start = self.bytes.len();
        encode(&mut self.bytes);
        let len = self.bytes.len() - start;
        self.needed += len;
        Body { start, len }
    }

    /// Appends the bytes of a span to `out`: it waits no longer.
    #[inline]
    pub(crate) fn put(&mut self, body: Body, out: &mut Vec<u8>) {
        let bytes = self.bytes.get(body.start..body.start + body.len);
        out.extend_from_slice(bytes.unwrap_or_default());
        self.needed -= body.len;
        if self.needed == 0 {
            self.bytes.clear();
        }
    }

    /// Moves together what `bodies` need, at most so `many` of them, when more lies about than that.
    pub(crate) fn tidy<'b>(&mut self, many: usize, bodies: impl Iterator<Item = &'b mut Body>) {
        // Looking through them all pays for itself.
        let slack = SLACK.max(many.saturating_mul(16));
        if self.bytes.len() < slack + 2 * self.needed {
            return;
        }
        let mut left = Vec::with_capacity(2 * (self.needed + SLACK));
        for body in bodies {
            let start = left.len();
            let bytes = self.bytes.get(body.start..body.start + body.len);
            left.extend_from_slice(bytes.unwrap_or_default());
            body.start = start;
        }
        self.bytes = left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_kept_and_the_rest_is_not() {
        let mut bodies = Bodies::default();
        let mut waiting = Vec::new();
        let text = |number: usize| format!("{number}").repeat(9);
        for number in 0..100_000 {
            let body = bodies.keep(|out| out.extend_from_slice(text(number).as_bytes()));
            if number % 100 == 0 {
                waiting.push(body);
            } else {
                bodies.put(body, &mut Vec::new());
            }
            bodies.tidy(waiting.len(), waiting.iter_mut());
        }
        assert!(bodies.bytes.len() < 4 * SLACK, "{}", bodies.bytes.len());
        for (number, body) in (0..).step_by(100).zip(waiting) {
            let mut out = Vec::new();
            bodies.put(body, &mut out);
            assert_eq!(out.len(), body.len());
            assert_eq!(out, text(number).as_bytes());
        }
        assert!(bodies.bytes.is_empty());
    }
}
