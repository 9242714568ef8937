//! Numbers in files of Windows programs: the lowest byte first, and zero where the file ends before.

/// Two bytes, the lower one first; zero where there are none.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(|rest| rest.get(..2)).map_or(0, |two| u16::from_le_bytes([two[0], two[1]]))
}

/// Four bytes, the lowest one first; zero where there are none.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at.saturating_add(2))) << 16
}

/// Eight bytes as a number with a point.
pub(crate) fn f64_at(bytes: &[u8], at: usize) -> f64 {
    f64::from_bits(u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32)
}

/// A number of a cell in four bytes: thirty bits of a number with a point or a whole one, perhaps a hundred times too large.
pub(crate) fn packed_number(packed: u32) -> f64 {
    let value = match packed & 2 {
        0 => f64::from_bits(u64::from(packed & 0xffff_fffc) << 32),
        _ => f64::from((packed as i32) >> 2),
    };
    if packed & 1 == 1 { value / 100.0 } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_numbers_are_unpacked() {
        assert_eq!(packed_number(0x3ff0_0000), 1.0);
        assert_eq!(packed_number(0x3ff0_0001), 0.01);
        assert_eq!(packed_number((12_345 << 2) | 2), 12_345.0);
        assert_eq!(packed_number((12_345 << 2) | 3), 123.45);
        assert_eq!(packed_number(((-5i32 << 2) | 2) as u32), -5.0);
    }
}
