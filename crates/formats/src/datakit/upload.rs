//! An upload as a collector sees it: its parts, and what tells it from other uploads.

use super::Metadata;
use super::http::{self, HttpMessage};
use super::metadata::rfc3339;
use traceloom_model::Limits;

/// Parts that an upload may have.
const MOST_PARTS: usize = 256;

/// The body of an upload, taken apart.
#[derive(Debug)]
pub struct Upload<'a> {
    message: HttpMessage<'a>,
}

/// A part of an upload.
#[derive(Clone, Debug)]
pub struct UploadPart<'a> {
    /// Its field.
    pub field: &'a str,
    /// Its file; the field again for a form value.
    pub file: &'a str,
    /// Its bytes as they were sent.
    pub content: &'a [u8],
}

impl UploadPart<'_> {
    /// Returns `true` for the metadata.
    #[must_use]
    pub fn is_event(&self) -> bool {
        matches!(self.field, "event" | "event.json") || self.file == "event.json"
    }
}

/// What senders number their uploads by: none of it changes when an upload is sent again.
const SEQUENCE: [[&str; 2]; 4] = [
    ["runtime-id", "runtime_id"],
    ["recording-start", "start"],
    ["recording-end", "end"],
    ["profile_seq", "profile-seq"],
];

impl<'a> Upload<'a> {
    /// Takes a multipart body apart by the boundary in `content_type`.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn read(content_type: &str, body: &'a [u8]) -> Result<Self, &'static str> {
        let message = http::multipart(content_type, body)
            .ok_or("the Content-Type is no multipart/form-data with a boundary")?;
        if message.parts.is_empty() {
            return Err("the body has no part");
        }
        if !message.closed {
            return Err("the multipart body has no end");
        }
        if message.parts.len() > MOST_PARTS {
            return Err("the body has more than 256 parts");
        }
        Ok(Self { message })
    }

    /// Returns the parts in their order.
    pub fn parts(&self) -> impl Iterator<Item = UploadPart<'_>> {
        self.message.parts.iter().map(|part| UploadPart {
            field: &part.name,
            file: part.file_name(),
            content: self.message.slice(&part.content),
        })
    }

    /// Returns what the upload says of itself: the values of its form, then its `event.json`, as decoded.
    #[must_use]
    pub fn metadata(&self, event: Option<&[u8]>, limits: &Limits) -> Metadata {
        let mut metadata = Metadata::from_form(&self.message);
        if let Some(event) = event {
            metadata.fill_from(Metadata::from_event(event, limits));
        }
        metadata
    }
}

impl Metadata {
    /// Returns what tells an upload from others of its process: process, start, end and number, each empty where it is not
    /// said.
    #[must_use]
    pub fn sequence(&self) -> [&str; 4] {
        SEQUENCE.map(|[key, alias]| match self.get(key) {
            "" => self.get(alias),
            value => value,
        })
    }

    /// Returns when the recording ended by the sender's clock, in Unix nanoseconds.
    #[must_use]
    pub fn end_ns(&self) -> Option<i64> {
        let [_, _, end, _] = self.sequence();
        rfc3339(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = b"--b\r\nContent-Disposition: form-data; name=\"auto\"; filename=\"auto.pprof\"\r\n\r\n\x1f\x8bx\r\n\
        --b\r\nContent-Disposition: form-data; name=\"event\"; filename=\"event.json\"\r\n\r\n\
        {\"start\":\"2024-08-08T15:47:06Z\",\"tags_profiler\":\"runtime-id:r1,profile_seq:4,service:shop\"}\r\n--b--\r\n";

    #[test]
    fn parts_come_in_any_order_and_metadata_numbers_them() {
        let upload = Upload::read("multipart/form-data; boundary=b", BODY).unwrap();
        let parts: Vec<_> = upload.parts().collect();
        let named = parts.iter().map(|part| (part.file, part.content.len()));
        let named: Vec<_> = named.collect();
        assert_eq!(named, [("auto.pprof", 3), ("event.json", 91)]);
        let event = parts.iter().find(|part| part.is_event()).unwrap();
        let metadata = upload.metadata(Some(event.content), &Limits::default());
        assert_eq!(metadata.sequence(), ["r1", "2024-08-08T15:47:06Z", "", "4"]);
        assert_eq!(metadata.get("service"), "shop");
    }

    #[test]
    fn what_is_no_upload_is_told() {
        let multipart = "multipart/form-data; boundary=b";
        assert!(Upload::read("application/json", BODY).is_err());
        assert!(Upload::read(multipart, b"nothing").is_err());
        let cut = BODY.get(..BODY.len() - 6).unwrap();
        assert!(Upload::read(multipart, cut).is_err());
        assert!(Upload::read("multipart/form-data", BODY).is_err());
    }
}
