//! What the codes of a font mean when its own map of them cannot be read, or when it has none: through the readable parts of
//! the map, or through the collection that the font's glyphs are numbered by.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

use hayro_interpret::font::{FontData, Glyph};
use hayro_interpret::hayro_cmap::{self, BfString, CMap, CMapName, CidFamily};
use hayro_syntax::Pdf;
use hayro_syntax::object::{Array, Dict, Name, Object, Stream, String as Text};

use crate::cipher::Hash;

/// Fonts of one file.
const FONTS_MAX: usize = 1_000;
/// Bytes of their programs that are compared.
const PROGRAMS_BYTES_MAX: usize = 64 << 20;
/// Begins and ends of the parts of a map that tell what codes mean.
const PARTS: &[(&[u8], &[u8])] = &[(b"beginbfchar", b"endbfchar"), (b"beginbfrange", b"endbfrange")];

/// What a code means.
enum Meaning {
    /// As a map says.
    Mapped(Box<CMap>),
    /// The code is the character.
    Itself,
}

/// Fonts by what they are known by; by none when two are known by the same.
#[derive(Default)]
struct Fonts {
    meanings: Vec<Meaning>,
    known_by: HashMap<Key, Option<usize>>,
}

impl Fonts {
    fn get(&self, key: &[u8]) -> Option<&Meaning> {
        self.meanings.get((*self.known_by.get(key)?)?)
    }
}

/// The meanings of a file's fonts; looked for when the first code without a meaning is met.
pub(super) struct Meanings<'p> {
    pdf: &'p Pdf,
    fonts: OnceCell<Fonts>,
    /// Keys of programs by where they are in memory.
    keys: RefCell<HashMap<usize, Key>>,
}

/// What a font is known by: the digest of its program, or its name.
type Key = Vec<u8>;

fn key(program: &[u8]) -> Key {
    Hash::Sha1.of(&[program])
}

impl<'p> Meanings<'p> {
    pub(super) fn of(pdf: &'p Pdf) -> Self {
        Self { pdf, fonts: OnceCell::new(), keys: RefCell::default() }
    }

    /// What a glyph means that its font tells nothing of.
    pub(super) fn meaning(&self, glyph: &Glyph<'_>) -> Option<String> {
        let Glyph::Outline(outline) = glyph else { return None };
        let fonts = self.fonts.get_or_init(|| fonts(self.pdf));
        if fonts.meanings.is_empty() {
            return None;
        }
        let code = outline.char_code();
        let meaning = match (outline.font_data(), fonts.meanings.as_slice()) {
            // A font whose program is not in the file, or cannot be read, is known by its name.
            (Some(font), _) => fonts
                .get(&self.key(&font.data))
                .or_else(|| fonts.get(font.postscript_name.as_deref()?.as_bytes())),
            // Nothing is known of a font that another one stands in for: it can only be the only one.
            (None, [only]) => Some(only),
            (None, _) => None,
        };
        match meaning? {
            Meaning::Itself => char::from_u32(code).filter(|c| !c.is_control()).map(String::from),
            Meaning::Mapped(map) => match map.lookup_bf_string(code)? {
                BfString::Char(c) => Some(String::from(c)),
                BfString::String(text) => Some(text),
            },
        }
    }

    fn key(&self, program: &FontData) -> Key {
        let bytes: &[u8] = (**program).as_ref();
        let place = bytes.as_ptr() as usize;
        self.keys.borrow_mut().entry(place).or_insert_with(|| key(bytes)).clone()
    }
}

/// The fonts whose codes mean something by other ways than their own.
fn fonts(pdf: &Pdf) -> Fonts {
    let (mut found, mut bytes) = (Fonts::default(), 0);
    for object in pdf.objects() {
        let Object::Dict(font) = object else { continue };
        let is_composite = font.get::<Name<'_>>("Subtype").is_some_and(|kind| kind.as_ref() == b"Type0");
        if !is_composite || found.meanings.len() >= FONTS_MAX || bytes > PROGRAMS_BYTES_MAX {
            continue;
        }
        let below = font.get::<Array<'_>>("DescendantFonts").and_then(|all| all.iter::<Dict<'_>>().next());
        let Some(below) = below else { continue };
        let program = program(&below).unwrap_or_default();
        bytes += program.len();
        if let Some(meaning) = meaning(&font, &below) {
            let program = Some(key(&program)).filter(|_| !program.is_empty());
            for key in program.into_iter().chain(name(&font)) {
                let number = Some(found.meanings.len());
                found.known_by.entry(key).and_modify(|other| *other = None).or_insert(number);
            }
            found.meanings.push(meaning);
        }
    }
    found
}

/// What the codes of a font mean, as far as it is known.
fn meaning(font: &Dict<'_>, below: &Dict<'_>) -> Option<Meaning> {
    let resolve = |name: CMapName<'_>| hayro_cmap::load_embedded(name);
    if let Some(map) = font.get::<Stream<'_>>("ToUnicode").and_then(|map| map.decoded().ok()) {
        return CMap::parse(&readable(&map), resolve).map(|map| Meaning::Mapped(Box::new(map)));
    }
    if font.get::<Name<'_>>("ToUnicode").is_some_and(|name| name.as_ref().starts_with(b"Identity")) {
        return Some(Meaning::Itself);
    }
    // Only where codes are numbers of the collection.
    let numbered =
        font.get::<Name<'_>>("Encoding").is_some_and(|name| name.as_ref().starts_with(b"Identity"));
    let about = below.get::<Dict<'_>>("CIDSystemInfo").filter(|_| numbered)?;
    let (registry, ordering) = (about.get::<Text<'_>>("Registry")?, about.get::<Text<'_>>("Ordering")?);
    let family = CidFamily::from_registry_ordering(registry.as_bytes(), ordering.as_bytes());
    CMap::parse(hayro_cmap::load_embedded(family.ucs2_cmap()?)?, resolve)
        .map(|map| Meaning::Mapped(Box::new(map)))
}

/// The parts of a map that tell what codes mean, without all that may be wrong around them.
fn readable(map: &[u8]) -> Vec<u8> {
    let mut out = b"1 begincodespacerange <0000> <ffff> endcodespacerange\n".to_vec();
    for (begin, end) in PARTS {
        let mut rest = map;
        while let Some(at) = find(rest, begin) {
            rest = &rest[at..];
            let length = find(rest, end).map_or(rest.len(), |at| at + end.len());
            out.extend(b"1 ");
            out.extend_from_slice(&rest[..length]);
            out.push(b'\n');
            rest = &rest[length..];
        }
    }
    out
}

fn find(bytes: &[u8], word: &[u8]) -> Option<usize> {
    bytes.windows(word.len()).position(|piece| piece == word)
}

/// The name of a font, without the letters that tell parts of one font apart.
fn name(font: &Dict<'_>) -> Option<Key> {
    let name = font.get::<Name<'_>>("BaseFont")?;
    let name: &[u8] = name.as_ref();
    Some(name.get(7..).filter(|_| name.get(6) == Some(&b'+')).unwrap_or(name).to_vec())
}

/// The program of a font, if it is in the file.
fn program(below: &Dict<'_>) -> Option<Vec<u8>> {
    let about = below.get::<Dict<'_>>("FontDescriptor")?;
    let program = ["FontFile2", "FontFile3"].into_iter().find_map(|key| about.get::<Stream<'_>>(key))?;
    Some(program.decoded().ok()?.into_owned())
}
