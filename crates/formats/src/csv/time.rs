//! Times for people.

use jiff::Timestamp;

use crate::text::scalars;

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// Writes times; most are of the day of the one before, whose date is remembered.
#[derive(Default)]
pub(super) struct Day {
    day: Option<i64>,
    /// The date up to the letter T.
    date: Vec<u8>,
}

impl Day {
    /// Appends a time in microseconds since 1970; nothing for one beyond the years of RFC 3339.
    pub fn put(&mut self, us: i64, out: &mut Vec<u8>) {
        let Ok(time) = Timestamp::from_microsecond(us) else {
            return;
        };
        let (day, rest) = (us.div_euclid(DAY), us.rem_euclid(DAY).unsigned_abs());
        if self.day != Some(day) {
            let text = time.to_string();
            self.date.clear();
            self.date
                .extend(text.bytes().take_while(|&byte| byte != b'T'));
            self.date.push(b'T');
            self.day = Some(day);
        }
        out.extend_from_slice(&self.date);
        let seconds = rest / 1_000_000;
        let parts = [seconds / 3_600, seconds / 60 % 60, seconds % 60];
        for (part, behind) in parts.into_iter().zip([b':', b':', b'.']) {
            scalars::padded::<2>(part, out);
            out.push(behind);
        }
        scalars::padded::<6>(rest % 1_000_000, out);
        out.push(b'Z');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        let mut times = vec![0, -1, 1, DAY - 1, DAY, -DAY, -DAY - 1, i64::MIN, i64::MAX];
        let (least, most) = (Timestamp::MIN, Timestamp::MAX);
        let ends = [least.as_microsecond(), most.as_microsecond()];
        times.extend(
            ends.map(|end| [end, end - 1, end + 1, end - DAY / 2, end + DAY / 2])
                .concat(),
        );
        times.extend((0..200).map(|at| at * 7_777_777_777_777 - 500_000_000_000_000));
        let mut day = Day::default();
        for us in times {
            let mut out = Vec::new();
            day.put(us, &mut out);
            let exact = Timestamp::from_microsecond(us);
            let exact = exact.map_or_else(|_| String::new(), |time| format!("{time:.6}"));
            assert_eq!(String::from_utf8(out).unwrap(), exact, "{us}");
        }
    }
}
