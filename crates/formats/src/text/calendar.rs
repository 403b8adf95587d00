//! Dates of text, in UTC.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// Returns year, month and day of a time in epoch milliseconds; times beyond the year 9999 count as its end.
pub(crate) fn civil(ms: i64) -> (i64, i64, i64) {
    let (first, last) = (Timestamp::MIN, Timestamp::MAX);
    let ms = ms.clamp(first.as_millisecond(), last.as_millisecond());
    let time = Timestamp::from_millisecond(ms).unwrap_or(last);
    let date = time.to_zoned(TimeZone::UTC).date();
    (date.year().into(), date.month().into(), date.day().into())
}

fn number(text: &str) -> Option<i64> {
    let digits = !text.is_empty() && text.len() <= 9 && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

fn epoch_ms(year: i64, month: i64, day: i64, of_day: i64) -> Option<i64> {
    let (month, day) = (i8::try_from(month).ok()?, i8::try_from(day).ok()?);
    let date = Date::new(i16::try_from(year).ok()?, month, day).ok()?;
    let midnight = date.to_zoned(TimeZone::UTC).ok()?.timestamp();
    let plausible = (1970..2262).contains(&year);
    plausible.then(|| midnight.as_millisecond() + of_day)
}

/// Reads `HH:mm:ss`; milliseconds of the day.
pub(crate) fn time_of_day(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let (hours, minutes) = (number(parts.next()?)?, number(parts.next()?)?);
    let seconds = number(parts.next()?)?;
    let whole = parts.next().is_none() && hours < 24 && minutes < 60 && seconds < 61;
    whole.then_some(((hours * 60 + minutes) * 60 + seconds) * 1000)
}

/// Reads `yyyy-MM-dd[T ]HH:mm:ss[.SSS][±hhmm|Z]`; epoch milliseconds and what follows. Without a zone
/// the time is taken as UTC.
pub(crate) fn instant(text: &str) -> Option<(i64, &str)> {
    let date = text.get(..10)?;
    let mut parts = date.split('-');
    let (year, month) = (number(parts.next()?)?, number(parts.next()?)?);
    let day = number(parts.next()?)?;
    if !matches!(text.get(10..11)?, "T" | " ") {
        return None;
    }
    let mut of_day = time_of_day(text.get(11..19)?)?;
    let mut rest = text.get(19..)?;
    if let Some(after) = rest.strip_prefix(['.', ',']) {
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let fraction = format!("{:0<3}", after.get(..digits)?);
        of_day += number(fraction.get(..3)?)?;
        rest = after.get(digits..)?;
    }
    if let Some(after) = rest.strip_prefix('Z') {
        rest = after;
    } else if let (Some(sign), Some(zone)) = (rest.get(..1), rest.get(1..5))
        && matches!(sign, "+" | "-")
        && let Some(zone) = number(zone)
    {
        let minutes = zone / 100 * 60 + zone % 100;
        of_day -= if sign == "+" { minutes } else { -minutes } * 60_000;
        rest = rest.get(5..)?;
    }
    Some((epoch_ms(year, month, day, of_day)?, rest))
}

/// Finds `yyyyMMddTHHmmss` in a file's name; epoch milliseconds.
pub(crate) fn clock_in_name(name: &str) -> Option<i64> {
    let file = name.rsplit('/').next().unwrap_or(name);
    let at = file.match_indices('T').find_map(|(at, _)| {
        let date = file.get(at.checked_sub(8)?..at)?;
        let time = file.get(at + 1..at + 7)?;
        Some((number(date)?, number(time)?))
    });
    let (date, time) = at?;
    let of_day = ((time / 10_000 * 60 + time / 100 % 100) * 60 + time % 100) * 1000;
    epoch_ms(date / 10_000, date / 100 % 100, date % 100, of_day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(1_643_822_466_534), (2022, 2, 2));
        assert_eq!(civil(1_709_164_800_000), (2024, 2, 29));
        assert_eq!(civil(-1), (1969, 12, 31));
        let read = |text| instant(text).unwrap();
        assert_eq!(read("2023-12-19 06:24:34"), (1_702_967_074_000, ""));
        assert_eq!(
            read("2023-12-19T05:29:51.464+0000]["),
            (1_702_963_791_464, "][")
        );
        assert_eq!(
            read("2023-12-19T07:29:51.464+0200: 1"),
            (1_702_963_791_464, ": 1")
        );
        assert_eq!(instant("2023-12-19"), None);
        assert_eq!(
            clock_in_name("a/20231219T061734UTC.top.txt"),
            Some(1_702_966_654_000)
        );
        assert_eq!(clock_in_name("Top.txt"), None);
    }
}
