//! Packed pages: honest ones, broken ones, and bombs.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::server::{Server, client, fails, read};

fn packed(coding: &str, bytes: &[u8]) -> Vec<u8> {
    fn through<W: Write>(mut encoder: W, bytes: &[u8], finish: impl FnOnce(W) -> Vec<u8>) -> Vec<u8> {
        encoder.write_all(bytes).unwrap();
        finish(encoder)
    }
    let best = Compression::best();
    match coding {
        "gzip" => through(GzEncoder::new(Vec::new(), best), bytes, |encoder| encoder.finish().unwrap()),
        "zlib" => through(ZlibEncoder::new(Vec::new(), best), bytes, |encoder| encoder.finish().unwrap()),
        "raw" => through(DeflateEncoder::new(Vec::new(), best), bytes, |encoder| encoder.finish().unwrap()),
        "br" => through(brotli::CompressorWriter::new(Vec::new(), 4_096, 9, 22), bytes, |encoder| {
            encoder.into_inner()
        }),
        "zstd" => compress_to_vec(bytes, CompressionLevel::Fastest),
        other => panic!("{other}"),
    }
}

fn server(coding: &str, body: &[u8]) -> Server {
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n", body.len());
    Server::sending([head.as_bytes(), body].concat())
}

#[test]
fn pages_are_unpacked_however_they_are_packed() {
    let text = "hello, ".repeat(10_000).into_bytes();
    for (coding, format) in [
        ("gzip", "gzip"),
        ("X-GZIP", "gzip"),
        ("deflate", "zlib"),
        ("deflate", "raw"),
        ("zstd", "zstd"),
        ("br", "br"),
    ] {
        let server = server(coding, &packed(format, &text));
        assert_eq!(read(&client(), &server.url("/")).unwrap(), text, "{coding} {format}");
    }
    let twice = server("gzip, deflate, identity", &packed("zlib", &packed("gzip", &text)));
    assert_eq!(read(&client(), &twice.url("/")).unwrap(), text);
    let plain = server("identity", &text);
    assert_eq!(read(&client(), &plain.url("/")).unwrap(), text);
}

#[test]
fn a_page_in_several_pieces_is_read_to_its_end() {
    for coding in ["gzip", "zstd"] {
        let server = server(coding, &[packed(coding, b"one "), packed(coding, b"two")].concat());
        assert_eq!(read(&client(), &server.url("/")).unwrap(), b"one two", "{coding}");
    }
}

#[test]
fn a_packed_page_without_a_byte_is_empty() {
    for coding in ["gzip", "deflate", "zstd", "br"] {
        let server = server(coding, b"");
        assert_eq!(read(&client(), &server.url("/")).unwrap(), b"", "{coding}");
    }
}

#[test]
fn a_packed_page_that_ends_too_early_is_broken() {
    let text: Vec<u8> =
        (0..20_000u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    for (coding, format) in
        [("gzip", "gzip"), ("deflate", "zlib"), ("deflate", "raw"), ("zstd", "zstd"), ("br", "br")]
    {
        let whole = packed(format, &text);
        for length in [whole.len() / 2, whole.len() - 1] {
            let server = server(coding, &whole[..length]);
            let came = read(&client(), &server.url("/"));
            // The last byte of these formats is of a checksum, which says nothing of the text.
            let complete = came.as_ref().is_ok_and(|bytes| *bytes == text);
            assert!(
                complete || came.is_err_and(|fault| fault.reason().code == "bad_coding"),
                "{coding} {format} {length}"
            );
        }
    }
}

#[test]
fn what_is_not_packed_as_it_says_is_broken() {
    for coding in ["gzip", "zstd", "br"] {
        let server = server(coding, b"<html>not packed at all</html>");
        assert_eq!(fails(&client(), &server.url("/")), "bad_coding", "{coding}");
    }
    assert_eq!(fails(&client(), &server("compress", b"x").url("/")), "unknown_coding");
    assert_eq!(fails(&client(), &server("gzip, gzip, gzip", b"x").url("/")), "too_many_codings");
}

#[test]
fn a_packed_page_that_is_cut_off_on_its_way_may_pass() {
    let whole = packed("gzip", &[7; 100_000]);
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", whole.len());
    for coding in ["gzip", "zstd", "deflate", "br"] {
        let head = head.replace("gzip", coding);
        let server = Server::sending([head.as_bytes(), &whole[..1]].concat());
        assert_eq!(fails(&client(), &server.url("/")), "cut_off", "{coding}");
    }
}

#[test]
fn bombs_are_defused() {
    let zeros = vec![0; 64 << 20];
    for (coding, format) in [("gzip", "gzip"), ("deflate", "zlib"), ("zstd", "zstd"), ("br", "br")] {
        let server = server(coding, &packed(format, &zeros));
        let code = fails(&client(), &server.url("/"));
        assert!(["bomb", "too_large"].contains(&code.as_str()), "{coding}: {code}");
    }
    let twice = server("gzip, gzip", &packed("gzip", &packed("gzip", &zeros)));
    assert_eq!(fails(&client(), &twice.url("/")), "bomb");
}
