//! Lists that were asked for in an order that everything had to be read for, kept for their next pages.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use serde_json::{Value, json};
use traceloom_analysis::query::Query;

use super::calls::body;

/// Bytes of all lists that are kept.
const MOST: usize = 96 << 20;

/// The rows of a list, as they are sent.
pub(super) struct KeptList {
    rows: Vec<Bytes>,
    /// What the command ended with: where the list ends, and counts.
    end: Value,
    messages: Vec<String>,
}

impl KeptList {
    pub(super) const fn new(rows: Vec<Bytes>, end: Value, messages: Vec<String>) -> Self {
        Self {
            rows,
            end,
            messages,
        }
    }

    fn n_bytes(&self) -> usize {
        self.rows.iter().map(Bytes::len).sum()
    }

    /// Returns the rows from a number on, as a page.
    pub(super) fn page(&self, from: usize, most: usize) -> Bytes {
        let end = from.saturating_add(most).min(self.rows.len());
        let rows = self.rows.get(from..end).unwrap_or_default();
        let place = |row: &Bytes| {
            let row: Value = serde_json::from_slice(row).ok()?;
            Some(row.get("place")?.as_str()?.to_owned())
        };
        let next = match end == self.rows.len() {
            true => self.end["next"].as_str().map(str::to_owned),
            false => rows.last().and_then(place),
        };
        let counts = json!({
            "read": self.end["read"],
            "selected": self.end["selected"],
            "is_whole": self.end["is_whole"],
            "captures_read": self.end["captures_read"],
            "captures": self.end["captures"],
            "units": self.end["units"],
        });
        let mut end = json!({"next": next, "counts": counts, "messages": self.messages});
        if !self.end["partial"].is_null() {
            end["partial"] = self.end["partial"].clone();
        }
        body(rows, &end)
    }

    /// Returns the number of the row behind a place that an earlier page ended with.
    fn behind(&self, place: &str) -> Option<usize> {
        // Texts in rows have their quotes escaped, so that nothing else looks like it.
        let text = format!("\"place\":{}", json!(place));
        let has = |row: &Bytes| {
            let found = row.windows(text.len());
            found.rev().any(|window| window == text.as_bytes())
        };
        self.rows.iter().position(has).map(|at| at + 1)
    }
}

/// The lists, those last asked for at the end.
#[derive(Default)]
pub(crate) struct KeptLists(Mutex<Vec<(Query, u64, KeptList)>>);

impl KeptLists {
    /// Returns a page, if its list is kept. The first page is of what there is now; later ones are of the list whose first page
    /// was given.
    pub(super) fn page(&self, query: &Query, revision: u64) -> Option<Bytes> {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = list_of(query);
        let found = lists.iter().rposition(|(known, at, _)| {
            *known == wanted && (query.after.is_some() || *at == revision)
        })?;
        let list = lists.remove(found);
        let from = query
            .after
            .as_deref()
            .map_or(Some(0), |after| list.2.behind(after));
        // The rows behind the last one are not there.
        let is_there = |from: &usize| *from < list.2.rows.len() || list.2.end["next"].is_null();
        let page = from
            .filter(is_there)
            .map(|from| list.2.page(from, query.rows));
        lists.push(list);
        page
    }

    /// Keeps a list; those that nobody asked for go first.
    pub(super) fn add(&self, query: &Query, revision: u64, list: KeptList) {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = list_of(query);
        lists.retain(|(known, ..)| *known != key);
        lists.push((key, revision, list));
        let sum = |lists: &[(Query, u64, KeptList)]| -> usize {
            lists.iter().map(|(.., list)| list.n_bytes()).sum()
        };
        while lists.len() > 1 && sum(&lists) > MOST {
            lists.remove(0);
        }
    }
}

/// Returns the query of the whole list.
fn list_of(query: &Query) -> Query {
    Query {
        after: None,
        rows: Query::MOST_ROWS,
        ..query.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(rows: std::ops::Range<u32>, next: Option<&str>) -> KeptList {
        let row = |at: u32| {
            let row = json!({"id": at, "place": format!("1:n{at}"), "title": "\"place\":\"1:n0\""});
            Bytes::from(row.to_string())
        };
        KeptList::new(
            rows.map(row).collect(),
            json!({"next": next, "read": 9}),
            Vec::new(),
        )
    }

    fn ids(page: &Bytes) -> (Vec<u64>, Option<String>) {
        let page: Value = serde_json::from_slice(page).expect("JSON");
        let rows = page["rows"].as_array().expect("rows").iter();
        let ids = rows.map(|row| row["id"].as_u64().expect("an id"));
        (ids.collect(), page["next"].as_str().map(str::to_owned))
    }

    #[test]
    fn pages_follow_each_other_to_the_end() {
        let lists = KeptLists::default();
        let query = Query {
            sort: "-duration".to_owned(),
            rows: 3,
            ..Query::default()
        };
        assert!(lists.page(&query, 1).is_none());
        lists.add(&query, 1, list(0..7, None));
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let query = Query {
                after: after.clone(),
                ..query.clone()
            };
            // Later pages are of the same list, whatever arrived meanwhile.
            let revision = if after.is_none() { 1 } else { 2 };
            let page = lists.page(&query, revision).expect("a page");
            let (page, next) = ids(&page);
            all.extend(page);
            after = next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(all, [0, 1, 2, 3, 4, 5, 6]);
        assert!(lists.page(&query, 2).is_none());
    }

    #[test]
    fn behind_its_end_a_list_that_goes_on_is_not_known() {
        let lists = KeptLists::default();
        let query = Query {
            sort: "-duration".to_owned(),
            ..Query::default()
        };
        lists.add(&query, 1, list(0..3, Some("1:n2")));
        let behind = |place: &str| Query {
            after: Some(place.to_owned()),
            ..query.clone()
        };
        assert_eq!(
            ids(&lists.page(&behind("1:n0"), 1).expect("a page")).0,
            [1, 2]
        );
        assert!(lists.page(&behind("1:n2"), 1).is_none());
        assert!(lists.page(&behind("1:n77"), 1).is_none());
    }
}
