//! What a call did, in words.

use std::borrow::Cow;

use traceloom_model::{Attribute, Recording};

use super::value_text;

/// Attributes that hold the words themselves.
const TITLES: [&str; 2] = ["profiler.title", "title"];

/// Returns the title a producer gave, else one put together from the request: `GET /orders, client: 10.1.2.3`.
#[must_use]
pub fn title<'t>(tables: &'t Recording, attributes: &'t [Attribute]) -> Option<Cow<'t, str>> {
    if attributes.is_empty() {
        return None;
    }
    let named = |wanted: &str| {
        attributes
            .iter()
            .find(|attribute| {
                let key = tables.attribute_key(attribute.key);
                key.is_some_and(|key| tables.text(key.name) == wanted)
            })
            .map(|attribute| value_text(tables, &attribute.value))
            .filter(|text| !text.is_empty())
    };
    if let Some(title) = TITLES.iter().find_map(|name| named(name)) {
        return Some(title);
    }
    let Some(url) = named("web.url").or_else(|| named("http.url")) else {
        return named("db.statement");
    };
    let mut title = String::new();
    if let Some(method) = named("web.method").or_else(|| named("http.method")) {
        title.push_str(&method);
        title.push(' ');
    }
    title.push_str(&url);
    if let Some(query) = named("web.query") {
        title.push('?');
        title.push_str(&query);
    }
    if let Some(client) = named("web.remote.addr") {
        title.push_str(", client: ");
        title.push_str(&client);
    }
    Some(title.into())
}
