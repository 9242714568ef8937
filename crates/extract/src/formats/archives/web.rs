//! Archives of the web: WARC, and ARC before it. What servers answered are parts, named by their addresses.

use std::io::{self, Read};

use flate2::read::{MultiGzDecoder, ZlibDecoder};

use crate::page::{Expanding, Outcome, Stated, TextSink};
use crate::{Input, dates};

/// Bytes of the headers of a record, and of an answer.
const HEADERS_BYTES_MAX: usize = 256 << 10;

/// Headers by name in lower case.
type Headers = Vec<(String, String)>;

/// Reads records of WARC.
pub(crate) fn warc(input: Input, sink: &mut TextSink<'_>) -> Outcome {
    sink.series(|sink| records(input, sink))
}

fn records(mut input: Input, sink: &mut TextSink<'_>) -> Outcome {
    let mut at = 0;
    loop {
        at += blank(&mut input, at)?;
        if at >= input.len() {
            return Ok(());
        }
        let (first, headers, length) = headers(&mut input, at)?;
        if !first.starts_with("WARC/") {
            return Err("a record of the archive is damaged".into());
        }
        let body = at + length;
        let size = header(&headers, "content-length").and_then(|size| size.parse::<u64>().ok());
        let size = size.ok_or("a record of the archive does not say how long it is")?;
        at = body.saturating_add(size);
        let name =
            header(&headers, "warc-target-uri").unwrap_or_default().trim_matches(['<', '>']).to_owned();
        let media = header(&headers, "content-type").unwrap_or_default();
        let kind = header(&headers, "warc-type").unwrap_or_default();
        let modified = header(&headers, "warc-date").and_then(dates::stated_digits);
        if matches!(kind, "response" | "resource" | "conversion") && !sink.goes_on() {
            return Ok(());
        }
        match kind {
            "response" if media.starts_with("application/http") => {
                answer(&mut input, body, size, (&name, modified), sink)?
            }
            "response" | "resource" | "conversion" => {
                let declared = Some(media).filter(|media| !media.is_empty());
                let stated = Stated { size: Some(size), modified };
                sink.member(&name, stated, declared, input.piece(body, size)?);
            }
            // What was asked, and what is said about all this.
            _ => {}
        }
        if at > input.len() {
            return Err("the archive is cut off".into());
        }
    }
}

/// Reads records of ARC: a line with address and length, then what the server answered.
pub(crate) fn arc(input: Input, sink: &mut TextSink<'_>) -> Outcome {
    sink.series(|sink| answers(input, sink))
}

fn answers(mut input: Input, sink: &mut TextSink<'_>) -> Outcome {
    let mut at = 0;
    loop {
        at += blank(&mut input, at)?;
        if at >= input.len() {
            return Ok(());
        }
        let head = window(&mut input, at)?;
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let text = String::from_utf8_lossy(line).into_owned();
        let mut words = text.split_ascii_whitespace();
        let (name, size) =
            (words.next().unwrap_or_default(), words.next_back().and_then(|size| size.parse::<u64>().ok()));
        let modified = words.nth(1).and_then(dates::stated_digits);
        let size = size.ok_or("a record of the archive is damaged")?;
        let body = at + line.len() as u64 + 1;
        at = body.saturating_add(size);
        // What the archive says about itself comes first.
        if !name.starts_with("filedesc:") {
            if !sink.goes_on() {
                return Ok(());
            }
            answer(&mut input, body, size, (name, modified), sink)?;
        }
        if at > input.len() {
            return Err("the archive is cut off".into());
        }
    }
}

/// An answer of a server becomes a part.
fn answer(
    input: &mut Input,
    at: u64,
    size: u64,
    (name, modified): (&str, Option<i64>),
    sink: &mut TextSink<'_>,
) -> Outcome {
    let mut record = input.piece(at, size)?;
    let begin = window(&mut record, 0)?;
    if !begin.starts_with(b"HTTP/") {
        sink.member(name, Stated { size: Some(size), modified }, None, record);
        return Ok(());
    }
    let (_, headers, length) = headers(&mut record, 0)?;
    let body = record.piece(length, u64::MAX)?;
    let chunked =
        header(&headers, "transfer-encoding").is_some_and(|way| way.eq_ignore_ascii_case("chunked"));
    let body: Box<dyn Read + '_> = if chunked { Box::new(Chunks::new(body)) } else { Box::new(body) };
    let packed = header(&headers, "content-encoding").unwrap_or_default().to_ascii_lowercase();
    let body: Box<dyn Read + '_> = match packed.as_str() {
        "gzip" | "x-gzip" => Box::new(Expanding::over(sink.budget(), MultiGzDecoder::new(body))),
        "deflate" => Box::new(Expanding::over(sink.budget(), ZlibDecoder::new(body))),
        "" | "identity" => body,
        other => {
            sink.lost_part(name, &format!("unsupported: {other} as a way to pack answers"));
            return Ok(());
        }
    };
    let declared = header(&headers, "content-type").filter(|media| !media.is_empty());
    let mut body = body;
    let (input, outcome) = sink.budget().collect(name, &mut body);
    let is_whole = outcome.is_ok() && matches!(body.read(&mut [0]), Ok(0));
    let stated = Stated { size: Some(input.len()).filter(|_| is_whole), modified };
    match outcome {
        Err(error) if input.is_empty() => sink.lost_part(name, &error.to_string()),
        _ if input.is_empty() => {}
        Ok(()) => sink.member(name, stated, declared, input),
        // The beginning of an answer that was cut off is still worth reading.
        Err(error) => sink.part_by(name, |sink| {
            sink.stated(stated);
            crate::formats::read(sink, declared, input);
            sink.broken_off(error.to_string());
        }),
    }
    Ok(())
}

/// Bytes of line breaks at a place.
fn blank(input: &mut Input, at: u64) -> io::Result<u64> {
    let window = window(input, at)?;
    Ok(window.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count() as u64)
}

/// The next bytes, as many as headers may have.
fn window(input: &mut Input, at: u64) -> io::Result<Vec<u8>> {
    let most = input.len().saturating_sub(at).min(HEADERS_BYTES_MAX as u64);
    // At most so many.
    input.range(at.min(input.len()), most as usize)
}

/// The first line, the headers, and their length with the blank line.
fn headers(input: &mut Input, at: u64) -> Result<(String, Headers, u64), crate::page::ParseError> {
    let window = window(input, at)?;
    let mut lines = Vec::new();
    let mut length = 0;
    for line in window.split_inclusive(|byte| *byte == b'\n') {
        length += line.len() as u64;
        let line = line.trim_ascii_end();
        if line.is_empty() {
            let first = lines.first().cloned().unwrap_or_default();
            let split = |line: &String| {
                let (name, value) = line.split_once(':')?;
                Some((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
            };
            return Ok((first, lines.iter().skip(1).filter_map(split).collect(), length));
        }
        lines.push(String::from_utf8_lossy(line).into_owned());
    }
    Err("the headers of a record do not end".into())
}

fn header<'h>(headers: &'h Headers, name: &str) -> Option<&'h str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// What was sent in chunks, each after its length.
struct Chunks {
    input: io::BufReader<Input>,
    left: u64,
    ended: bool,
}

impl Chunks {
    fn new(input: Input) -> Self {
        Self { input: io::BufReader::new(input), left: 0, ended: false }
    }

    /// Reads the length of the next chunk; crawlers often store answers without their chunks.
    fn next(&mut self) -> io::Result<()> {
        let mut line = Vec::new();
        while line.is_empty() && !self.ended {
            self.ended =
                io::BufRead::read_until(&mut self.input.by_ref().take(1_000), b'\n', &mut line)? == 0;
            line.truncate(line.trim_ascii_end().len());
        }
        let text = String::from_utf8_lossy(&line);
        let digits = text.split(';').next().unwrap_or_default().trim();
        self.left = u64::from_str_radix(digits, 16).unwrap_or(0);
        self.ended |= self.left == 0;
        Ok(())
    }
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && !self.ended {
            self.next()?;
        }
        if self.ended {
            return Ok(0);
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let length = self.input.read(&mut buffer[..most])?;
        self.left -= length as u64;
        self.ended |= length == 0;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::tests::extract;
    use std::io::Write;

    fn record(kind: &str, media: &str, body: &[u8]) -> Vec<u8> {
        let head = format!(
            "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: http://example.org/{kind}\r\nContent-Type: {media}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), body, b"\r\n\r\n"].concat()
    }

    fn http(headers: &str, body: &[u8]) -> Vec<u8> {
        [b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n", headers.as_bytes(), b"\r\n", body].concat()
    }

    #[test]
    fn answers_are_parts_without_their_headers() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(b"<p>packed words</p>").unwrap();
        let packed = encoder.finish().unwrap();
        let media = "application/http; msgtype=response";
        let all = [
            record("warcinfo", "application/warc-fields", b"software: x"),
            record("request", "application/http; msgtype=request", b"GET / HTTP/1.1\r\n\r\n"),
            record("response", media, &http("", b"<html><title>T</title>plain <b>words</b></html>")),
            record("response", media, &http("Content-Encoding: gzip\r\n", &packed)),
            record(
                "response",
                media,
                &http(
                    "Transfer-Encoding: chunked\r\n",
                    b"6\r\n<p>one\r\n5\r\n two<\r\n4\r\n/p>x\r\n0\r\n\r\n",
                ),
            ),
            record("resource", "text/plain", b"as it is"),
        ]
        .concat();
        let extracted = extract("a.warc", &all);
        assert_eq!(extracted.media_type, "application/warc");
        let parts: Vec<_> = extracted.parts.iter().map(|part| part.text.as_str()).collect();
        assert_eq!(parts, ["plain words", "packed words", "one two\nx", "as it is"]);
        assert_eq!(
            (extracted.parts[0].name.as_str(), extracted.parts[0].field("title")),
            ("http://example.org/response", Some("T"))
        );
        let cut = extract("a.warc", &all[..all.len() - 10]);
        assert!(cut.broken_off && cut.parts.len() == 4);
    }

    #[test]
    fn the_older_form_is_read_as_well() {
        let body = http("", b"<p>old words</p>");
        let bytes = [
            b"filedesc://a.arc 0.0.0.0 20050614070144 text/plain 5\n1 1 x\n".as_slice(),
            format!("http://example.org/ 127.0.0.1 20050614070150 text/html {}\n", body.len()).as_bytes(),
            &body,
            b"\n",
        ]
        .concat();
        let extracted = extract("a.arc", &bytes);
        assert_eq!(
            (extracted.media_type.as_str(), extracted.parts[0].text.as_str()),
            ("application/x-arc", "old words")
        );
    }
}
