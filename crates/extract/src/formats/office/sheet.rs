//! One sheet of a workbook as a stream of cells, and the remarks about them.

use std::io::Read;

use super::book::{Book, unescaped};
use crate::page::{Outcome, TextSink};
use crate::xml::{self, Go, Met, Tag};

/// How the value of a cell is to be read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Shared,
    Text,
    Flag,
}

/// The cell that is being read.
struct Cell {
    kind: Kind,
    style: usize,
    value: String,
    /// Inside an element whose text is the value.
    open: bool,
    /// Its column, where it says so, and the one after the last cell.
    column: Option<usize>,
    next: usize,
}

/// Empty cells that are shown between two others.
const EMPTY_MAX: usize = 64;

/// The column of a place such as `AB12`, from 0.
fn column(place: &str) -> Option<usize> {
    let letters = place.bytes().take_while(u8::is_ascii_uppercase).take(3);
    letters
        .fold(None, |sum, letter| Some(sum.map_or(0, |sum: usize| sum + 1) * 26 + usize::from(letter - b'A')))
}

/// Writes the cells of a sheet.
pub(super) fn read(source: impl Read, book: &Book, sink: &mut TextSink<'_>) -> Outcome {
    let mut cell =
        Cell { kind: Kind::Number, style: 0, value: String::new(), open: false, column: None, next: 0 };
    let mut header = None;
    xml::walk(source, |met| {
        match met {
            Met::Open(tag) => open(&tag, &mut cell, &mut header),
            Met::Text(text) if cell.open => cell.value.push_str(text),
            Met::Text(text) => {
                if let Some(header) = &mut header {
                    header.push_str(text);
                }
            }
            Met::Close(name) => match name {
                "v" | "t" => cell.open = false,
                "c" => write(&mut cell, book, sink),
                "row" => {
                    cell.next = 0;
                    sink.row_end();
                }
                "sheetData" => sink.table_end(),
                "oddHeader" | "oddFooter" | "evenHeader" | "evenFooter" | "firstHeader" | "firstFooter" => {
                    header_text(&header.take().unwrap_or_default(), sink);
                }
                _ => {}
            },
        }
        if sink.is_full() { Go::Stop } else { Go::On }
    })
}

fn open(tag: &Tag<'_>, cell: &mut Cell, header: &mut Option<String>) {
    match tag.name() {
        "c" => {
            cell.value.clear();
            cell.style = 0;
            cell.column = None;
            cell.kind = Kind::Number;
            for (name, value) in tag.attributes() {
                match name.as_str() {
                    "t" => {
                        cell.kind = match value.as_str() {
                            "s" => Kind::Shared,
                            "b" => Kind::Flag,
                            "n" => Kind::Number,
                            _ => Kind::Text,
                        };
                    }
                    "r" => cell.column = column(&value),
                    "s" => cell.style = value.parse().unwrap_or(0),
                    _ => {}
                }
            }
        }
        "v" | "t" => cell.open = true,
        "oddHeader" | "oddFooter" | "evenHeader" | "evenFooter" | "firstHeader" | "firstFooter" => {
            *header = Some(String::new());
        }
        _ => {}
    }
}

fn write(cell: &mut Cell, book: &Book, sink: &mut TextSink<'_>) {
    if cell.value.is_empty() {
        return;
    }
    gap(cell.column, &mut cell.next, sink);
    match (cell.kind, cell.value.trim()) {
        (Kind::Shared, value) => sink.text(value.parse().map_or("", |index| book.string(index))),
        (Kind::Flag, value) => sink.text(if value == "1" { "TRUE" } else { "FALSE" }),
        (Kind::Text, _) => sink.text(&unescaped(&cell.value)),
        (Kind::Number, value) => match value.parse() {
            Ok(number) => sink.text(&book.number(cell.style, number)),
            Err(_) => sink.text(value),
        },
    }
    if sink.is_marked() {
        sink.cell_end();
    }
}

/// Sets a cell apart from the one before it; where marks are wanted, the empty ones in between are shown.
pub(crate) fn gap(column: Option<usize>, next: &mut usize, sink: &mut TextSink<'_>) {
    if !sink.is_marked() {
        return sink.tab();
    }
    let column = column.unwrap_or(*next);
    for _ in 0..column.saturating_sub(*next).min(EMPTY_MAX) {
        sink.cell_end();
    }
    *next = column + 1;
}

/// Writes a header or footer without its codes: `&L`, `&P`, `&"Arial"`, `&12`.
pub(crate) fn header_text(coded: &str, sink: &mut TextSink<'_>) {
    let mut text = String::new();
    let mut chars = coded.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '&' {
            text.push(c);
            continue;
        }
        match chars.next() {
            Some('L' | 'C' | 'R') => text.push('\n'),
            Some('"') => {
                for c in chars.by_ref() {
                    if c == '"' {
                        break;
                    }
                }
            }
            Some('K') => {
                for _ in 0..6 {
                    chars.next_if(char::is_ascii_hexdigit);
                }
            }
            Some(c) if c.is_ascii_digit() => while chars.next_if(char::is_ascii_digit).is_some() {},
            Some('&') => text.push('&'),
            _ => {}
        }
    }
    for line in text.lines() {
        sink.line(line);
    }
}

/// Writes the remarks about the cells of a sheet, each after its author.
pub(super) fn comments(bytes: &[u8], sink: &mut TextSink<'_>) {
    let (mut authors, mut author, mut text) = (Vec::new(), String::new(), String::new());
    let mut open = false;
    let _ = xml::walk(bytes, |met| {
        match met {
            Met::Open(tag) => match tag.name() {
                "author" | "t" => open = true,
                "text" => {
                    open = tag.full_name() == "text"
                        && tag.attribute("x").is_none()
                        && !open
                        && bytes_are_threaded(bytes)
                }
                "comment" => {
                    let index = tag.attribute("authorId").and_then(|id| id.parse::<usize>().ok());
                    author = index.and_then(|index| authors.get(index).cloned()).unwrap_or_default();
                    text.clear();
                }
                "threadedComment" => {
                    author.clear();
                    text.clear();
                }
                _ => {}
            },
            Met::Text(piece) if open => text.push_str(piece),
            Met::Text(_) => {}
            Met::Close(name) => match name {
                "author" => {
                    authors.push(std::mem::take(&mut text));
                    open = false;
                }
                "t" => open = false,
                "comment" | "threadedComment" => {
                    let words = std::mem::take(&mut text);
                    let line = if author.is_empty() { words } else { format!("{author}: {words}") };
                    sink.line(&line);
                    open = false;
                }
                _ => {}
            },
        }
        if sink.is_full() { Go::Stop } else { Go::On }
    });
}

/// Whether remarks stand in `text` itself and not in pieces inside it.
fn bytes_are_threaded(bytes: &[u8]) -> bool {
    bytes.windows(16).take(2_048).any(|piece| piece == b"ThreadedComments")
}
