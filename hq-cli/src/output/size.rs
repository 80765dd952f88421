/// A number of bytes as people read it: whole below 2048, else with two decimals of the largest unit of which there are
/// two.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [(&str, u32); 3] = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let fits = |(_, shift): &(&str, u32)| bytes >> shift < 2048;
    let Some((unit, shift)) = UNITS.iter().find(|unit| fits(unit)).or(UNITS.last()).filter(|_| bytes >= 2048) else {
        return format!("{bytes} B");
    };
    let hundredths = (u128::from(bytes) * 100 + (1 << (shift - 1))) >> shift;
    format!("{}.{:02} {unit}", hundredths / 100, hundredths % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (bytes, expected) in [
            (0, "0 B"),
            (271, "271 B"),
            (2047, "2047 B"),
            (2048, "2.00 KiB"),
            (3000, "2.93 KiB"),
            ((2 << 20) - 1, "2048.00 KiB"),
            (2 << 20, "2.00 MiB"),
            (2 << 30, "2.00 GiB"),
            (5 << 40, "5120.00 GiB"),
            (u64::MAX, "17179869184.00 GiB"),
        ] {
            assert_eq!(size(bytes), expected, "{bytes}");
        }
    }
}
