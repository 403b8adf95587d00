//! Writes chunks: what samples and vectors are made with, not a writer of recordings.

use traceloom_formats::jfr::{HEADER, Header, compressed_width, put_integer};

/// Bytes of an event, a pool or a value.
#[derive(Clone, Debug, Default)]
pub struct Bytes {
    /// What was appended so far.
    pub out: Vec<u8>,
    /// Integers are in base 128.
    pub compressed: bool,
}

impl Bytes {
    /// Starts without bytes.
    #[must_use]
    pub fn new(compressed: bool) -> Self {
        Self {
            out: Vec::new(),
            compressed,
        }
    }

    fn integer(mut self, value: u64, fixed: usize) -> Self {
        let width = if self.compressed {
            compressed_width(value)
        } else {
            fixed
        };
        put_integer(&mut self.out, self.compressed, value, width);
        self
    }

    /// Appends an `int`.
    #[must_use]
    pub fn int(self, value: u32) -> Self {
        self.integer(value.into(), 4)
    }

    /// Appends a `short`.
    #[must_use]
    pub fn short(self, value: u16) -> Self {
        self.integer(value.into(), 2)
    }

    /// Appends a `long`.
    #[must_use]
    pub fn long(self, value: u64) -> Self {
        self.integer(value, 8)
    }

    /// Appends bytes as they are.
    #[must_use]
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.out.extend_from_slice(bytes);
        self
    }

    /// Appends a string as UTF-8.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        let len = u32::try_from(text.len()).unwrap_or(0);
        self.raw(&[3]).int(len).raw(text.as_bytes())
    }
}

/// A type to describe: id, name and fields.
#[derive(Debug)]
pub struct DescribedType(pub u64, pub &'static str, pub &'static [DescribedField]);

/// A field to describe: name, type id, how, and an annotation's type id with its value.
#[derive(Debug)]
pub struct DescribedField(
    pub &'static str,
    pub u64,
    pub How,
    pub Option<(u64, &'static str)>,
);

/// How a field holds its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// In place.
    Here,
    /// As a key into a constant pool.
    Pool,
    /// As an array of values in place.
    Array,
}

/// A chunk being written.
#[derive(Debug)]
pub struct ChunkBuilder {
    /// The header as it will be written; sizes and offsets are filled in.
    pub header: Header,
    /// The chunk so far, with room for the header.
    pub out: Vec<u8>,
}

impl ChunkBuilder {
    /// Starts a chunk that lasts a second.
    #[must_use]
    pub fn new(major: u16, compressed: bool, start_time_ns: i64, ticks_per_second: u64) -> Self {
        let header = Header {
            major,
            minor: 0,
            chunk_size: 0,
            constant_pool_offset: 0,
            metadata_offset: 0,
            start_time_ns,
            duration_ns: 1_000_000_000,
            start_ticks: 1_000,
            ticks_per_second,
            file_state: 0,
            capabilities: [0, 0, u8::from(compressed)],
        };
        Self {
            header,
            out: vec![0; HEADER],
        }
    }

    /// Starts the bytes of a value of this chunk.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.header.compressed())
    }

    /// Appends an event; returns where it begins. Sizes take four bytes, as the JDK pads them.
    pub fn event(&mut self, type_id: u64, body: &Bytes) -> usize {
        let at = self.out.len();
        let head = self.bytes().long(type_id);
        let size = 4 + head.out.len() + body.out.len();
        put_integer(&mut self.out, head.compressed, size as u64, 4);
        self.out.extend(head.out);
        self.out.extend_from_slice(&body.out);
        at
    }

    /// Appends a checkpoint of pools, each a type id and entries of key and value.
    pub fn checkpoint(&mut self, pools: &[(u64, Vec<(u64, Bytes)>)]) -> usize {
        let count = |len: usize| u32::try_from(len).unwrap_or(0);
        let mut body = self
            .bytes()
            .long(5)
            .long(0)
            .long(0)
            .raw(&[0])
            .int(count(pools.len()));
        for (type_id, entries) in pools {
            body = body.long(*type_id).int(count(entries.len()));
            for (key, value) in entries {
                body = body.long(*key).raw(&value.out);
            }
        }
        let at = self.event(1, &body);
        self.header.constant_pool_offset = at as u64;
        at
    }

    /// Appends the description of `types`.
    pub fn metadata(&mut self, types: &[&[DescribedType]]) -> usize {
        let mut strings = MetadataStrings::default();
        let mut classes = 0;
        let mut tree = self.bytes();
        for DescribedType(id, name, members) in types.iter().copied().flatten() {
            classes += 1;
            let attributes = [("name", (*name).to_owned()), ("id", id.to_string())];
            tree = strings.element(tree, "class", &attributes, members.len());
            for DescribedField(name, type_id, how, annotation) in *members {
                let mut attributes =
                    vec![("name", (*name).to_owned()), ("class", type_id.to_string())];
                match how {
                    How::Here => {}
                    How::Pool => attributes.push(("constantPool", "true".to_owned())),
                    How::Array => attributes.push(("dimension", "1".to_owned())),
                }
                tree = strings.element(tree, "field", &attributes, annotation.iter().len());
                if let Some((type_id, value)) = annotation {
                    let attributes = [
                        ("class", type_id.to_string()),
                        ("value", (*value).to_owned()),
                    ];
                    tree = strings.element(tree, "annotation", &attributes, 0);
                }
            }
        }
        let mut around = strings.element(self.bytes(), "root", &[], 2);
        around = strings.element(around, "metadata", &[], classes);
        let region = [
            ("locale", "en_US".to_owned()),
            ("gmtOffset", "0".to_owned()),
        ];
        let region = strings.element(self.bytes(), "region", &region, 0);
        let mut body = self.bytes().long(6).long(0).long(1);
        body = body.int(u32::try_from(strings.0.len()).unwrap_or(0));
        for string in &strings.0 {
            body = body.text(string);
        }
        let body = body.raw(&around.out).raw(&tree.out).raw(&region.out);
        let at = self.event(0, &body);
        self.header.metadata_offset = at as u64;
        at
    }

    /// Returns the chunk.
    pub fn finish(mut self) -> Vec<u8> {
        self.header.chunk_size = self.out.len() as u64;
        self.into_bytes()
    }

    /// Returns the chunk with its header as it is.
    pub fn into_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.out.len());
        self.header.write(&mut bytes);
        bytes.extend(self.out.into_iter().skip(HEADER));
        bytes
    }
}

/// The strings of a metadata event.
#[derive(Default)]
struct MetadataStrings(Vec<String>);

impl MetadataStrings {
    fn index(&mut self, text: &str) -> u32 {
        let known = self.0.iter().position(|known| known == text);
        let at = known.unwrap_or_else(|| {
            self.0.push(text.to_owned());
            self.0.len() - 1
        });
        u32::try_from(at).unwrap_or(0)
    }

    fn element(
        &mut self,
        to: Bytes,
        name: &str,
        attributes: &[(&str, String)],
        children: usize,
    ) -> Bytes {
        let count = |len: usize| u32::try_from(len).unwrap_or(0);
        let mut to = to.int(self.index(name)).int(count(attributes.len()));
        for (key, value) in attributes {
            to = to.int(self.index(key)).int(self.index(value));
        }
        to.int(count(children))
    }
}
