//! For tests: the words of a server of LDAP that answers what it is told.

use std::io::Read;
use std::net::TcpStream;

use crate::wire::ber::{self, Elements};
use crate::wire::message;

/// What looks like `ann` to a directory, and is not that name: widths, circles, mathematical and raised letters, what is not seen, accents.
pub(crate) const NOT_ANN: [&str; 13] = [
    "ａｎｎ",
    "ⓐnn",
    "𝐚nn",
    "ªnn",
    "ₐnn",
    "an\u{34f}n",
    "ann\u{fe0f}",
    "ann\u{ad}",
    "ann\u{200b}",
    "\u{feff}ann",
    "ánn",
    "a\u{301}nn",
    "an  n",
];

pub(crate) type Attributes = Vec<(String, Vec<Vec<u8>>)>;

/// The next message of a client.
pub(crate) fn next_message(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut bytes = vec![0; 2];
    stream.read_exact(&mut bytes).ok()?;
    let (head, length) = loop {
        match ber::length(&bytes[1..]).unwrap() {
            Some(known) => break known,
            None => {
                let mut one = [0];
                stream.read_exact(&mut one).ok()?;
                bytes.extend(one);
            }
        }
    };
    let read = bytes.len();
    bytes.resize(1 + head + length, 0);
    stream.read_exact(&mut bytes[read..]).ok()?;
    Some(bytes)
}

pub(crate) fn answer(id: u32, tag: u8, parts: &[Vec<u8>]) -> Vec<u8> {
    ber::of(ber::SEQUENCE, &[ber::number(ber::INTEGER, id), ber::of(tag, parts)])
}

pub(crate) fn result(id: u32, tag: u8, code: u32) -> Vec<u8> {
    let empty = || ber::element(ber::OCTETS, b"");
    answer(id, tag, &[ber::number(ber::ENUMERATED, code), empty(), empty()])
}

pub(crate) fn entry(id: u32, dn: &str, attributes: &Attributes) -> Vec<u8> {
    let of_it: Vec<Vec<u8>> = attributes
        .iter()
        .map(|(name, values)| {
            let values: Vec<Vec<u8>> = values.iter().map(|value| ber::element(ber::OCTETS, value)).collect();
            ber::of(ber::SEQUENCE, &[ber::element(ber::OCTETS, name.as_bytes()), ber::of(ber::SET, &values)])
        })
        .collect();
    answer(id, message::ENTRY, &[ber::element(ber::OCTETS, dn.as_bytes()), ber::of(ber::SEQUENCE, &of_it)])
}

/// What a search asks for.
pub(crate) fn attributes_of(search: &[u8]) -> Vec<String> {
    let mut parts = Elements(search);
    (0..7).for_each(|_| assert!(parts.any().is_ok()));
    let mut listed = Elements(parts.next(ber::SEQUENCE).unwrap());
    let mut names = Vec::new();
    while !listed.is_empty() {
        names.push(listed.text(ber::OCTETS).unwrap().to_owned());
    }
    names
}
