//! A recorded conversation of an agent with its collector, both directions merged (§10).

use traceloom_model::bounds::length_u32;

use crate::wire::Cursor;
use crate::{Error, Field, Opaque, Record as _};

mod acks;
mod handles;
mod members;
mod reader;
mod repair;

pub(super) use handles::{STREAMS, openings};
pub(super) use members::{component, members};
pub(super) use reader::Conversation;

/// Bytes of the longest field.
pub const LONGEST_FIELD: usize = 1024;

/// The handle of a stream.
pub type Handle = [u8; 16];

/// Protocol versions: legacy, with `dictionary`, with `posDictionary`.
pub const VERSIONS: [i64; 3] = [100_505, 100_605, 100_705];

/// A request with the collector's answer behind it, or an acknowledgement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command<'a> {
    /// 0x14
    GetProtocolVersionV2 {
        /// Version the agent offers.
        client_version: i64,
        /// Pod name, ending in the start time of the process.
        pod: &'a [u8],
        /// Service name.
        service: &'a [u8],
        /// Namespace.
        namespace: &'a [u8],
        /// Version the collector answered.
        server_version: i64,
    },
    /// 0x08
    GetProtocolVersion {
        /// Version the collector answered.
        server_version: i64,
    },
    /// 0x15, and 0x01 with the pod's identity.
    InitStream {
        /// Namespace, service and pod; only in the legacy form.
        identity: Option<[&'a [u8]; 3]>,
        /// Stream name.
        stream: &'a [u8],
        /// Rolling sequence the agent asks for.
        requested_sequence: u32,
        /// The stream starts over.
        reset: u32,
        /// Handle the collector gave; all zero when it refused.
        handle: Handle,
        /// What the collector decided; absent after a refusal.
        granted: Option<Granted>,
    },
    /// 0x02
    RcvData {
        /// Stream.
        handle: Handle,
        /// Bytes of the stream.
        data: &'a [u8],
    },
    /// 0x11
    RequestAckFlush,
    /// 0x13
    ReportCommandResult {
        /// Diagnostic command.
        command: Handle,
        /// `K` or 0xff.
        result: u8,
    },
    /// 0x04
    Close,
    /// 0x10
    ResetStream,
    /// 0x12
    KeepAlive,
    /// A collector's answer: 0, the number of commands that follow, or negative.
    Ack {
        /// The answer.
        answer: i8,
        /// Diagnostic commands: id and word.
        commands: Vec<(Handle, &'a [u8])>,
    },
}

/// What a collector grants a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Granted {
    /// Milliseconds after which to rotate.
    pub rotation_period: i64,
    /// Bytes after which to rotate.
    pub rotation_size: i64,
    /// Rolling sequence to use, from 0.
    pub sequence: u32,
}

/// Words of diagnostic commands.
pub(super) const DIAGNOSTICS: &[&str] = &["heap", "td", "top"];

/// Reads a length-prefixed field.
fn field<'a>(cursor: &mut Cursor<'a>, what: &'static str) -> Result<&'a [u8], Error> {
    let offset = cursor.offset();
    let length = cursor.u32_be(what)? as usize;
    if length > LONGEST_FIELD {
        let message = format!("{what} of {length} bytes; at most {LONGEST_FIELD} are allowed");
        return Err(Error::invalid(offset, message));
    }
    cursor.bytes(length, what)
}

/// Reads a protocol version. Versions are six digits and the refusal is eight; anything else is
/// bytes of something else that begin like a handshake.
fn version(cursor: &mut Cursor<'_>, what: &'static str) -> Result<i64, Error> {
    let offset = cursor.offset();
    let version = cursor.i64_be(what)?;
    if (1..=99_999_999).contains(&version) {
        return Ok(version);
    }
    Err(Error::invalid(offset, format!("{what} {version}")))
}

/// Reads the result of a diagnostic command.
fn result(cursor: &mut Cursor<'_>) -> Result<u8, Error> {
    let offset = cursor.offset();
    match cursor.u8("result")? {
        result @ (b'K' | 0xff) => Ok(result),
        other => Err(Error::invalid(offset, format!("result {other:#04x}"))),
    }
}

pub(super) fn put_field(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = length_u32(bytes.len());
    out.extend(length.to_be_bytes());
    out.extend_from_slice(bytes);
}

impl<'a> Command<'a> {
    /// Reads a command, or an acknowledgement; `known` tells the handles of open streams.
    ///
    /// # Errors
    /// `Truncated`; `Invalid` for an unknown command or a field above 1,024 bytes.
    pub fn read(cursor: &mut Cursor<'a>, known: &dyn Fn(&Handle) -> bool) -> Result<Self, Error> {
        let (start, offset) = (cursor.position(), cursor.offset());
        let code = cursor.u8("command")?;
        Ok(match code {
            0x00 | 0xff => Self::Ack {
                answer: code.cast_signed(),
                commands: Vec::new(),
            },
            0x02 => {
                let handle: Handle = cursor.array("stream handle")?;
                if !known(&handle) {
                    let after = cursor.position();
                    cursor.seek(start + 1);
                    if let Some(ack) = Self::diagnostics(cursor, code)? {
                        return Ok(ack);
                    }
                    cursor.seek(after);
                }
                let data = field(cursor, "data")?;
                Self::RcvData { handle, data }
            }
            0x01 => {
                if let Some(ack) = Self::diagnostics(cursor, code)? {
                    return Ok(ack);
                }
                cursor.seek(start + 1);
                let identity = [
                    field(cursor, "namespace")?,
                    field(cursor, "service")?,
                    field(cursor, "pod")?,
                ];
                Self::init(cursor, Some(identity))?
            }
            0x15 => Self::init(cursor, None)?,
            0x14 => Self::GetProtocolVersionV2 {
                client_version: version(cursor, "client version")?,
                pod: field(cursor, "pod")?,
                service: field(cursor, "service")?,
                namespace: field(cursor, "namespace")?,
                server_version: version(cursor, "server version")?,
            },
            0x08 => Self::GetProtocolVersion {
                server_version: version(cursor, "server version")?,
            },
            0x11 => Self::RequestAckFlush,
            0x13 => Self::ReportCommandResult {
                command: cursor.array("command id")?,
                result: result(cursor)?,
            },
            0x04 => Self::Close,
            0x10 => Self::ResetStream,
            0x12 => Self::KeepAlive,
            other => {
                if matches!(other, 3..=7)
                    && let Some(ack) = Self::diagnostics(cursor, code)?
                {
                    return Ok(ack);
                }
                return Err(Error::invalid(
                    offset,
                    format!("unknown command {other:#04x}"),
                ));
            }
        })
    }

    fn init(cursor: &mut Cursor<'a>, identity: Option<[&'a [u8]; 3]>) -> Result<Self, Error> {
        let offset = cursor.offset();
        let stream = field(cursor, "stream name")?;
        if stream.is_empty() || !stream.iter().all(u8::is_ascii_graphic) {
            let name = stream.escape_ascii();
            return Err(Error::invalid(offset, format!("stream name `{name}`")));
        }
        let requested_sequence = cursor.u32_be("requested sequence")?;
        let reset = cursor.u32_be("reset")?;
        let handle: Handle = cursor.array("stream handle")?;
        let granted = if handle == [0; 16] {
            None
        } else {
            Some(Granted {
                rotation_period: cursor.i64_be("rotation period")?,
                rotation_size: cursor.i64_be("rotation size")?,
                sequence: cursor.u32_be("sequence")?,
            })
        };
        Ok(Self::InitStream {
            identity,
            stream,
            requested_sequence,
            reset,
            handle,
            granted,
        })
    }

    /// Reads the commands behind a positive acknowledgement; `None` when that is not what follows.
    ///
    /// The number of commands shares its values with requests. A diagnostic command is a random id and
    /// one of three words, which no request resembles.
    fn diagnostics(cursor: &mut Cursor<'a>, count: u8) -> Result<Option<Self>, Error> {
        let mut commands = Vec::new();
        for _ in 0..count {
            let id: Handle = cursor.array("command id")?;
            let length = cursor.u32_be("diagnostic command")? as usize;
            if !(2..=4).contains(&length) {
                return Ok(None);
            }
            let word = cursor.bytes(length, "diagnostic command")?;
            if !DIAGNOSTICS.iter().any(|known| known.as_bytes() == word) {
                return Ok(None);
            }
            commands.push((id, word));
        }
        Ok(Some(Self::Ack {
            answer: count.cast_signed(),
            commands,
        }))
    }

    /// Returns the record kind.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::GetProtocolVersionV2 { .. } => "get_protocol_version_v2",
            Self::GetProtocolVersion { .. } => "get_protocol_version",
            Self::InitStream { identity: None, .. } => "init_stream_v2",
            Self::InitStream { .. } => "init_stream",
            Self::RcvData { .. } => "rcv_data",
            Self::RequestAckFlush => "request_ack_flush",
            Self::ReportCommandResult { .. } => "report_command_result",
            Self::Close => "close",
            Self::ResetStream => "reset_stream",
            Self::KeepAlive => "keep_alive",
            Self::Ack { .. } => "ack",
        }
    }

    /// Appends the command and its answer.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::GetProtocolVersionV2 {
                client_version,
                pod,
                service,
                namespace,
                server_version,
            } => {
                out.push(0x14);
                out.extend(client_version.to_be_bytes());
                for bytes in [pod, service, namespace] {
                    put_field(out, bytes);
                }
                out.extend(server_version.to_be_bytes());
            }
            Self::GetProtocolVersion { server_version } => {
                out.push(0x08);
                out.extend(server_version.to_be_bytes());
            }
            Self::InitStream {
                identity,
                stream,
                requested_sequence,
                reset,
                handle,
                granted,
            } => {
                out.push(if identity.is_some() { 0x01 } else { 0x15 });
                for bytes in identity.iter().flatten() {
                    put_field(out, bytes);
                }
                put_field(out, stream);
                out.extend(requested_sequence.to_be_bytes());
                out.extend(reset.to_be_bytes());
                out.extend(handle);
                if let Some(granted) = granted {
                    out.extend(granted.rotation_period.to_be_bytes());
                    out.extend(granted.rotation_size.to_be_bytes());
                    out.extend(granted.sequence.to_be_bytes());
                }
            }
            Self::RcvData { handle, data } => {
                out.push(0x02);
                out.extend(handle);
                put_field(out, data);
            }
            Self::RequestAckFlush => out.push(0x11),
            Self::ReportCommandResult { command, result } => {
                out.push(0x13);
                out.extend(command);
                out.push(*result);
            }
            Self::Close => out.push(0x04),
            Self::ResetStream => out.push(0x10),
            Self::KeepAlive => out.push(0x12),
            Self::Ack { answer, commands } => {
                out.push(answer.cast_unsigned());
                for (id, word) in commands {
                    out.extend(id);
                    put_field(out, word);
                }
            }
        }
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        match self {
            Self::GetProtocolVersionV2 {
                client_version,
                pod,
                service,
                namespace,
                server_version,
            } => {
                show("client_version", Field::I64(*client_version));
                show("pod", Field::Text(pod));
                show("service", Field::Text(service));
                show("namespace", Field::Text(namespace));
                show("server_version", Field::I64(*server_version));
            }
            Self::GetProtocolVersion { server_version } => {
                show("server_version", Field::I64(*server_version));
            }
            Self::InitStream {
                identity,
                stream,
                requested_sequence,
                reset,
                handle,
                granted,
            } => {
                let names = ["namespace", "service", "pod"];
                for (name, bytes) in names.into_iter().zip(identity.iter().flatten()) {
                    show(name, Field::Text(bytes));
                }
                show("stream", Field::Text(stream));
                show(
                    "requested_sequence",
                    Field::U64((*requested_sequence).into()),
                );
                show("reset", Field::U64((*reset).into()));
                show("handle", Field::Bytes(handle));
                if let Some(granted) = granted {
                    show("rotation_period", Field::I64(granted.rotation_period));
                    show("rotation_size", Field::I64(granted.rotation_size));
                    show("sequence", Field::U64(granted.sequence.into()));
                }
            }
            Self::RcvData { handle, data } => {
                show("handle", Field::Bytes(handle));
                show("length", Field::U64(data.len() as u64));
                Opaque::damage(0, data).fields(show);
            }
            Self::ReportCommandResult { command, result } => {
                show("command", Field::Bytes(command));
                show("result", Field::U64((*result).into()));
            }
            Self::Ack { answer, commands } => {
                show("answer", Field::I64((*answer).into()));
                if !commands.is_empty() {
                    let rows: Vec<_> = commands
                        .iter()
                        .map(|(id, word)| (Field::Bytes(id), Field::Text(word)))
                        .collect();
                    show("commands", Field::Map(&rows));
                }
            }
            Self::RequestAckFlush | Self::Close | Self::ResetStream | Self::KeepAlive => {}
        }
    }
}
