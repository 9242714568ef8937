//! table: the control words of rich text that matter for words.

/// What the text of a group is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Text of the document.
    Body,
    /// Text of the document that stands apart: notes, headers.
    Apart,
    /// The number or sign of an item of a list.
    Label,
    /// A field of the document's information.
    Information(&'static str),
    /// What the document says about itself.
    Document,
    /// Table of fonts.
    Fonts,
    /// An embedded object in hexadecimal digits.
    Object,
    /// A picture in hexadecimal digits.
    Picture,
    /// Nothing to read.
    Skipped,
}

/// What a destination is; nothing when the word is none.
pub(super) fn kind(name: &str) -> Option<Kind> {
    Some(match name {
        "fonttbl" => Kind::Fonts,
        "info" => Kind::Document,
        "title" => Kind::Information("title"),
        "author" => Kind::Information("author"),
        "subject" => Kind::Information("subject"),
        "keywords" => Kind::Information("keywords"),
        "company" => Kind::Information("company"),
        "doccomm" => Kind::Information("description"),
        "header" | "headerl" | "headerr" | "headerf" | "footer" | "footerl" | "footerr" | "footerf"
        | "footnote" | "annotation" | "atnauthor" => Kind::Apart,
        "shptxt" | "shprslt" | "result" | "fldrslt" => Kind::Body,
        "listtext" | "pntext" => Kind::Label,
        "objdata" => Kind::Object,
        "pict" => Kind::Picture,
        "colortbl" | "stylesheet" | "fldinst" | "listtable" | "listoverridetable" | "filetbl" | "revtbl"
        | "rsidtbl" | "generator" | "themedata" | "colorschememapping" | "datastore" | "latentstyles"
        | "xmlnstbl" | "private" | "objclass" | "objname" | "nonshppict" | "bkmkstart" | "bkmkend"
        | "pnseclvl" | "sp" | "atnid" | "atndate" | "atnref" | "atntime" | "atrfstart" | "atrfend" | "tc"
        | "xe" | "operator" | "creatim" | "revtim" | "printim" | "userprops" | "datafield" | "formfield"
        | "ftnsep" | "ftnsepc" | "aftnsep" | "aftnsepc" | "listpicture" | "falt" | "panose" | "template" => {
            Kind::Skipped
        }
        "shppict" | "shpinst" | "shp" | "do" | "dptxbxtext" => Kind::Body,
        _ => return None,
    })
}

/// The character that a control word stands for.
pub(super) fn character(name: &str) -> Option<char> {
    Some(match name {
        "par" | "line" | "sect" | "page" | "row" | "column" | "softline" => '\n',
        "tab" | "cell" | "nestcell" => '\t',
        "emdash" => '\u{2014}',
        "endash" => '\u{2013}',
        "emspace" => '\u{2003}',
        "enspace" => '\u{2002}',
        "qmspace" => '\u{2005}',
        "bullet" => '\u{2022}',
        "lquote" => '\u{2018}',
        "rquote" => '\u{2019}',
        "ldblquote" => '\u{201c}',
        "rdblquote" => '\u{201d}',
        "zwj" => '\u{200d}',
        "zwnj" => '\u{200c}',
        _ => return None,
    })
}
