//! What a frame or a track is called where a target has room for one name.

use traceloom_model::{FrameId, FunctionId, Recording, StringId, TrackId, TrackKind};

/// Tracks around a track that are looked at for a name.
const AROUND: usize = 16;

/// Returns the bytes of a string, `#id` when it was never defined.
pub(crate) fn text(tables: &Recording, id: StringId) -> Vec<u8> {
    match tables.string(id) {
        Some(text) => text.as_bytes().to_vec(),
        None => format!("#{}", id.raw()).into_bytes(),
    }
}

/// Returns the name of a function, `[unknown]` for none.
pub(crate) fn function(tables: &Recording, id: Option<FunctionId>) -> Vec<u8> {
    match id.map(|id| (id, tables.function(id))) {
        Some((_, Some(row))) => text(tables, row.name),
        Some((id, None)) => format!("#{}", id.raw()).into_bytes(),
        None => b"[unknown]".to_vec(),
    }
}

/// Returns the name of a frame's function, else `module+0xaddress` as far as it is known.
pub(crate) fn frame(tables: &Recording, id: FrameId) -> Vec<u8> {
    let Some(frame) = tables.frame(id) else {
        return format!("#{}", id.raw()).into_bytes();
    };
    if frame.function.is_some() {
        return function(tables, frame.function);
    }
    let file = frame.mapping.and_then(|id| tables.mapping(id)?.file);
    let mut name = file.map_or_else(Vec::new, |file| text(tables, file));
    if let Some(at) = name.iter().rposition(|&byte| byte == b'/') {
        name.drain(..=at);
    }
    match frame.address {
        Some(address) if !name.is_empty() => name.extend(format!("+{address:#x}").bytes()),
        Some(address) => name.extend(format!("{address:#x}").bytes()),
        None if name.is_empty() => name.extend(b"[unknown]"),
        None => {}
    }
    name
}

/// Returns the name of a track, else its kind and number; a lane adds its own number.
pub(crate) fn track(tables: &Recording, id: TrackId) -> Vec<u8> {
    let mut lanes = Vec::new();
    let mut at = id;
    let mut name = Vec::new();
    while let Some(row) = tables.track(at).filter(|_| lanes.len() < AROUND) {
        if row.kind == TrackKind::Lane {
            lanes.push(row.lane);
        }
        let around = row.parent.filter(|_| row.kind == TrackKind::Lane);
        if let (None, Some(parent)) = (row.name, around) {
            at = parent;
            continue;
        }
        let number = row.id.or(row.os_id);
        name = match (row.name, row.kind) {
            (Some(name), _) => text(tables, name),
            (None, TrackKind::Stream) => b"stream".to_vec(),
            (None, TrackKind::Async) => b"substream".to_vec(),
            (None, TrackKind::Thread | TrackKind::Lane) => b"thread".to_vec(),
        };
        if let Some(number) = number.filter(|_| row.name.is_none() || row.kind == TrackKind::Async)
        {
            name.extend(format!(" {number}").bytes());
        }
        break;
    }
    if name.is_empty() {
        name = format!("track {}", id.raw()).into_bytes();
    }
    for lane in lanes.iter().rev() {
        name.extend(format!(" lane {lane}").bytes());
    }
    name
}
