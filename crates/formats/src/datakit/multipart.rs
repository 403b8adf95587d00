//! Uploads as agents post them.

/// Returns the Content-Type and the body of an upload of files: the metadata is the file `event.json`.
#[must_use]
pub fn multipart(files: &[(&str, &[u8])]) -> (String, Vec<u8>) {
    let is_in = |boundary: &str| {
        let mut contents = files.iter().map(|(_, content)| content);
        contents.any(|content| memchr::memmem::find(content, boundary.as_bytes()).is_some())
    };
    let mut boundaries = (0..).map(|number: u64| format!("traceloom-{number}"));
    let boundary = boundaries.find(|boundary| !is_in(boundary));
    let boundary = boundary.unwrap_or_default();
    let mut body = Vec::new();
    for (name, content) in files {
        let field = match *name {
            "event.json" => "event",
            name => name,
        };
        let plain = |text: &str| text.replace(['"', '\\', '\r', '\n'], "_");
        let (field, file) = (plain(field), plain(name));
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{file}\"\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    (format!("multipart/form-data; boundary={boundary}"), body)
}

#[cfg(test)]
mod tests {
    use super::super::Upload;
    use super::*;

    #[test]
    fn files_come_back_whatever_they_hold() {
        let files: [(&str, &[u8]); 3] = [
            ("event.json", b"{}"),
            ("a\"b.pprof", b"\r\n--traceloom-0--\r\n"),
            ("empty", b""),
        ];
        let (content_type, body) = multipart(&files);
        assert_eq!(content_type, "multipart/form-data; boundary=traceloom-1");
        let upload = Upload::read(&content_type, &body).unwrap();
        let read: Vec<_> = upload
            .parts()
            .map(|part| (part.field, part.file, part.content))
            .collect();
        let expected: [(&str, &str, &[u8]); 3] = [
            ("event", "event.json", files[0].1),
            ("a_b.pprof", "a_b.pprof", files[1].1),
            ("empty", "empty", files[2].1),
        ];
        assert_eq!(read, expected);
    }
}
