//! Charsets by the numbers that Windows and its fonts give them, and text of such a charset.

use encoding_rs::Encoding;

/// The charset with a Windows number.
pub(crate) fn codepage(number: i32) -> Option<&'static Encoding> {
    use encoding_rs as known;
    Some(match number {
        437 | 850 | 1252 | 1200 | 20_127 | 28_591 | 32_769 | 367 => known::WINDOWS_1252,
        866 => known::IBM866,
        874 => known::WINDOWS_874,
        932 | 20_932 => known::SHIFT_JIS,
        936 => known::GBK,
        949 | 1361 => known::EUC_KR,
        950 => known::BIG5,
        1250 | 852 => known::WINDOWS_1250,
        1251 => known::WINDOWS_1251,
        1253 => known::WINDOWS_1253,
        1254 => known::WINDOWS_1254,
        1255 => known::WINDOWS_1255,
        1256 => known::WINDOWS_1256,
        1257 => known::WINDOWS_1257,
        1258 => known::WINDOWS_1258,
        // Old workbooks have a number of their own for it.
        10_000 | 32_768 => known::MACINTOSH,
        10_007 => known::X_MAC_CYRILLIC,
        20_866 => known::KOI8_R,
        21_866 => known::KOI8_U,
        28_592 => known::ISO_8859_2,
        28_595 => known::ISO_8859_5,
        28_605 => known::ISO_8859_15,
        50_220..=50_222 => known::ISO_2022_JP,
        51_932 => known::EUC_JP,
        51_949 => known::EUC_KR,
        54_936 => known::GB18030,
        65_001 => known::UTF_8,
        _ => return None,
    })
}

/// The charset of a font by its Windows number.
pub(crate) fn charset(number: i32) -> Option<&'static Encoding> {
    codepage(match number {
        0 => 1252,
        77 => 10_000,
        128 => 932,
        129 => 949,
        130 => 1361,
        134 => 936,
        136 => 950,
        161 => 1253,
        162 => 1254,
        163 => 1258,
        177 => 1255,
        178..=180 => 1256,
        186 => 1257,
        204 => 1251,
        222 => 874,
        238 => 1250,
        _ => return None,
    })
}

/// Text in sixteen bits, up to its end or a zero.
pub(crate) fn utf16(bytes: &[u8]) -> String {
    let units = bytes.chunks_exact(2).map(|two| u16::from_le_bytes([two[0], two[1]]));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Text in bytes of a charset.
pub(crate) fn narrow(bytes: &[u8], encoding: &'static Encoding) -> String {
    encoding.decode_without_bom_handling(bytes).0.into_owned()
}
