//! The bytes of segments and groups; `FORMAT.md` has the tables.

use crate::Error;

/// The version that this program writes. Every version up to it is read.
pub const FORMAT_VERSION: u32 = 1;

/// Bytes of a segment's header.
pub(crate) const SEGMENT_HEADER: usize = 80;
/// Bytes in front of a group's records.
pub(crate) const GROUP_HEADER: usize = 40;
/// Bytes in front of a record's own.
pub(crate) const RECORD_HEADER: usize = 17;

const SEGMENT_MAGIC: &[u8; 8] = b"tracelog";
pub(crate) const GROUP_MAGIC: &[u8; 4] = b"tlg\x01";

/// Bytes of a stream of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// The session that the bytes arrived in; numbers are the writer's own.
    pub session: u64,
    /// The stream of the session.
    pub stream: u32,
    /// What the bytes are: a protocol's unit, or a decision of the writer's. The log does not interpret it.
    pub kind: u8,
    /// The record itself.
    pub bytes: &'a [u8],
}

/// The first bytes of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) number: u64,
    /// Counts the times the log was opened for writing, from 1.
    pub(crate) incarnation: u64,
    /// Position of the first record.
    pub(crate) first: u64,
    /// The segment whose last record comes before `first`; 0 for the first of a log.
    pub(crate) predecessor: u64,
    /// Bytes of the predecessor.
    pub(crate) predecessor_end: u64,
    /// The segment that this one is a copy of; 0 when it is none.
    pub(crate) supersedes: u64,
    /// Unpredictable, so that no record can be made to look like a group of this segment.
    pub(crate) salt: u64,
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> [u8; SEGMENT_HEADER] {
        let mut bytes = [0; SEGMENT_HEADER];
        bytes[..8].copy_from_slice(SEGMENT_MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        let fields = [
            self.number,
            self.incarnation,
            self.first,
            self.predecessor,
            self.predecessor_end,
            self.supersedes,
            self.salt,
        ];
        for (at, field) in fields.iter().enumerate() {
            bytes[16 + 8 * at..24 + 8 * at].copy_from_slice(&field.to_le_bytes());
        }
        let sum = crc32c::crc32c(&bytes[..72]);
        bytes[72..76].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Decodes the header of the segment that its name numbers `number`.
    pub(crate) fn decode(bytes: &[u8; SEGMENT_HEADER], number: u64) -> Result<Self, Error> {
        if bytes[..8] != *SEGMENT_MAGIC {
            return Err(Error::corrupt(number, 0, "the file is no segment of a log"));
        }
        let version = word(bytes, 8);
        if version > FORMAT_VERSION {
            return Err(Error::unknown_version(number, version));
        }
        if word(bytes, 72) != crc32c::crc32c(&bytes[..72]) || bytes[76..] != [0; 4] {
            return Err(Error::corrupt(
                number,
                0,
                "the checksum of the header does not hold",
            ));
        }
        let field = |at: usize| long(bytes, 16 + 8 * at);
        let header = Self {
            number: field(0),
            incarnation: field(1),
            first: field(2),
            predecessor: field(3),
            predecessor_end: field(4),
            supersedes: field(5),
            salt: field(6),
        };
        if header.number != number {
            let text = format!("the header is that of segment {}", header.number);
            return Err(Error::corrupt(number, 0, text));
        }
        Ok(header)
    }

    /// Returns the checksum that groups of this segment continue.
    fn seed(&self) -> u32 {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.salt.to_le_bytes());
        bytes[8..].copy_from_slice(&self.number.to_le_bytes());
        crc32c::crc32c(&bytes)
    }
}

/// The bytes in front of a group's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupHeader {
    /// Bytes of the records with their headers.
    pub(crate) length: u32,
    /// Counts the groups of the segment, from 0.
    pub(crate) number: u64,
    /// Offset of the group in the segment, which is the end of the previous group.
    pub(crate) offset: u64,
    /// Position of the first record.
    pub(crate) first: u64,
    pub(crate) n_records: u32,
}

impl GroupHeader {
    /// Reads the fields; [`checksum_holds`] says whether they are true.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < GROUP_HEADER || bytes[..4] != *GROUP_MAGIC {
            return None;
        }
        Some(Self {
            length: word(bytes, 4),
            number: long(bytes, 8),
            offset: long(bytes, 16),
            first: long(bytes, 24),
            n_records: word(bytes, 32),
        })
    }

    fn encode(&self) -> [u8; GROUP_HEADER] {
        let mut bytes = [0; GROUP_HEADER];
        bytes[..4].copy_from_slice(GROUP_MAGIC);
        bytes[4..8].copy_from_slice(&self.length.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.number.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.offset.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.first.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.n_records.to_le_bytes());
        bytes
    }
}

/// Returns `true` if `group`, a header with its records, is what was written to the segment.
pub(crate) fn checksum_holds(segment: &SegmentHeader, group: &[u8]) -> bool {
    word(group, 36) == checksum(segment, group)
}

fn checksum(segment: &SegmentHeader, group: &[u8]) -> u32 {
    let sum = crc32c::crc32c_append(segment.seed(), &group[..36]);
    crc32c::crc32c_append(sum, &group[GROUP_HEADER..])
}

/// A group being put together, with room for its header in front.
#[derive(Debug)]
pub(crate) struct GroupBuffer {
    bytes: Vec<u8>,
    n_records: u32,
}

impl GroupBuffer {
    pub(crate) fn new() -> Self {
        let bytes = vec![0; GROUP_HEADER];
        Self {
            bytes,
            n_records: 0,
        }
    }

    pub(crate) fn push(&mut self, record: &Record<'_>) {
        let length = u32::try_from(record.bytes.len()).expect("records are checked to be small");
        self.bytes.extend_from_slice(&length.to_le_bytes());
        self.bytes.extend_from_slice(&record.stream.to_le_bytes());
        self.bytes.extend_from_slice(&record.session.to_le_bytes());
        self.bytes.push(record.kind);
        self.bytes.extend_from_slice(record.bytes);
        self.n_records += 1;
    }

    /// Appends records as [`GroupBuffer::push`] framed them.
    pub(crate) fn push_framed(&mut self, payload: &[u8], n_records: u32) {
        self.bytes.extend_from_slice(payload);
        self.n_records += n_records;
    }

    pub(crate) fn n_records(&self) -> u32 {
        self.n_records
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.n_records == 0
    }

    /// Returns the bytes of the group so far, its header included.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Fills in the header and returns the whole group.
    pub(crate) fn seal(
        &mut self,
        segment: &SegmentHeader,
        number: u64,
        offset: u64,
        first: u64,
    ) -> &[u8] {
        let length = self.bytes.len() - GROUP_HEADER;
        let header = GroupHeader {
            length: u32::try_from(length).expect("groups are bounded far below 4 GiB"),
            number,
            offset,
            first,
            n_records: self.n_records,
        };
        self.bytes[..GROUP_HEADER].copy_from_slice(&header.encode());
        let sum = checksum(segment, &self.bytes);
        self.bytes[36..40].copy_from_slice(&sum.to_le_bytes());
        &self.bytes
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.truncate(GROUP_HEADER);
        self.n_records = 0;
    }
}

/// The records of a group, from its bytes behind the header.
#[derive(Debug, Clone)]
pub(crate) struct Records<'a> {
    bytes: &'a [u8],
}

impl<'a> Records<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        let (head, rest) = self.bytes.split_at_checked(RECORD_HEADER)?;
        let (bytes, rest) = rest.split_at_checked(word(head, 0) as usize)?;
        self.bytes = rest;
        Some(Record {
            stream: word(head, 4),
            session: long(head, 8),
            kind: head[16],
            bytes,
        })
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}
